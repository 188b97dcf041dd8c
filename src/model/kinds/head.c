/* head.c: drop and loss: what a head has besides products, for the rows of its input: texts, or tokens. */
#include "base/status.h"
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "task/task.h"

/* The rows that are computed: those of the input. */
static brim_row_kind rows_of(const brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->in.of[0]);
}

/* A value for the rows that `x` has. */
static int32_t add_like(brim_program *p, const char *name, int32_t x, int32_t width) {
  return brim_add_value(p, name, p->status ? BRIM_ROW_TEXTS : p->values[x].rows, width);
}

/* ---- drop: dropout alone -------------------------------------------------------------------------------------- */

static void call_drop(brim_lowering *l, const brim_operation *o, brim_at from, brim_at to) {
  brim_dropout_rows op = {.width = brim_stride(l, from)};
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows_of(l, o));
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &op.x, from, BRIM_READS);
  brim_fill(l, &op.y, to, BRIM_WRITES);
  brim_may_replace(l, to, from);
  BRIM_CALL(l, dropout, op);
}

static void drop_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[0]);
  call_drop(l, o, x, brim_write(l, o->out.of[0]));
}

static void drop_backward(brim_lowering *l, const brim_operation *o) {
  if (brim_wants_gradient(l, o->in.of[0]))
    call_drop(l, o, brim_gradient(l, o->out.of[0]), brim_write_gradient(l, o->in.of[0], rows_of(l, o)));
}

static const brim_kind drop_kind = {.name = "drop", .forward = drop_forward, .backward = drop_backward};

int32_t brim_append_drop(brim_program *p, int32_t x, brim_drop_at drop) {
  const int32_t out = add_like(p, "dropped", x, brim_width_of(p, x));
  const brim_operation o = {
      .kind = &drop_kind, .in = BRIM_LIST(x), .out = BRIM_LIST(out), .terms = {.dropout = drop.rate, .site = drop.site}};
  brim_add_operation(p, &o);
  return out;
}

/* ---- loss: its forward leaves the scores' gradient, so that there is no backward ------------------------------ */

static void loss_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_loss op = {.outputs = brim_stride(l, x), .kind = o->terms.loss};
  brim_fill_from_frame(l, &op.n, offsetof(brim_frame, rows) + rows_of(l, o) * sizeof(brim_rows) + offsetof(brim_rows, count),
                       sizeof op.n);
  brim_fill_slices(l, &op.slices, rows_of(l, o));
  brim_fill(l, &op.logits, x, BRIM_READS);
  brim_fill_from_frame(l, &op.labels, offsetof(brim_frame, labels), sizeof op.labels);
  brim_fill_from_frame(l, &op.classes, offsetof(brim_frame, classes), sizeof op.classes);
  brim_fill_from_frame(l, &op.weights, offsetof(brim_frame, class_weights), sizeof op.weights);
  brim_fill_from_frame(l, &op.smoothing, offsetof(brim_frame, smoothing), sizeof op.smoothing);
  brim_fill_from_frame(l, &op.divisor, offsetof(brim_frame, divisor), sizeof op.divisor);
  brim_fill_from_frame(l, &op.loss, offsetof(brim_frame, loss), sizeof op.loss);
  if (brim_is_trained(l, o))
    brim_fill(l, &op.dlogits, brim_write_gradient(l, o->in.of[0], rows_of(l, o)), BRIM_WRITES);
  BRIM_CALL(l, loss, op);
  brim_only_with_loss(l);
}

/* Whatever rows the scores have are all wanted. */
static const brim_kind loss_kind = {.name = "loss", .needs = {BRIM_NEED_ALL}, .forward = loss_forward};

/* Labels of tokens are for scores of tokens. */
void brim_append_loss(brim_program *p, int32_t x, brim_task task) {
  if (!p->status && (p->values[x].rows == BRIM_ROW_TOKENS) != (brim_task_shape(task)->outputs == BRIM_OUTPUTS_OF_TOKENS))
    p->status = BRIM_E_UNSUPPORTED;
  const brim_operation o = {.kind = &loss_kind, .in = BRIM_LIST(x), .terms = {.loss = brim_task_rules_of(task)->loss}};
  brim_add_operation(p, &o);
}
