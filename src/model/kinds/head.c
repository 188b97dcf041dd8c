/* head.c: drop, dense, scores and loss: what a head is made of, for the rows of its input: texts, or tokens. */
#include "model/kind.h"
#include "model/kinds/kinds.h"

enum { WEIGHT, BIAS }; /* weights of dense and scores */

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

/* ---- products ------------------------------------------------------------------------------------------------- */

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  (void)length;
  return brim_product_flops(s->program, o->weights.of[WEIGHT], rows[s->values[o->in.of[0]].rows]);
}

/* From the gradient of x W + b. */
static void linear_gradient(brim_lowering *l, const brim_operation *o, brim_at dy) {
  const int32_t in = brim_weight_columns(brim_program_of(l), o->weights.of[WEIGHT]),
                out = brim_weight_rows(brim_program_of(l), o->weights.of[WEIGHT]);
  const brim_at x = brim_read(l, o->in.of[0]);
  bool add = false;
  const brim_at dx = brim_wants_gradient(l, o->in.of[0]) ? brim_add_gradient(l, o->in.of[0], &add) : BRIM_NOWHERE;
  brim_linear_gradient op = {.in = in, .out = out, .x_stride = in, .dy_stride = out, .dx_stride = in, .add = add};
  brim_fill_count(l, &op.rows, rows_of(l, o), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[WEIGHT]);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dx, dx, add ? BRIM_CHANGES : BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dw, o->weights.of[WEIGHT], 0);
  brim_fill_weight_gradient(l, &op.db, o->weights.of[BIAS], 0);
  BRIM_CALL(l, linear_backward, op);
}

/* ---- dense: activation(x W + b), whose slope follows from its output */

static void dense_forward(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  brim_linear_act op = {.in = brim_weight_columns(p, o->weights.of[WEIGHT]),
                        .out = brim_weight_rows(p, o->weights.of[WEIGHT]),
                        .act = o->terms.activation};
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_fill_count(l, &op.rows, rows_of(l, o), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[WEIGHT]);
  brim_fill_weight(l, &op.b, o->weights.of[BIAS]);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, linear_act_forward, op);
}

static void dense_backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]);
  brim_act_gradient op = {.act = o->terms.activation};
  brim_fill_count(l, &op.count, rows_of(l, o), brim_stride(l, dy));
  brim_fill(l, &op.pre, brim_read(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dpre, dy, BRIM_CHANGES);
  BRIM_CALL(l, act_backward, op);
  linear_gradient(l, o, dy);
}

static const brim_kind dense = {
    .name = "dense", .reads = {.in = 1, .out = 1}, .forward = dense_forward, .backward = dense_backward, .flops = flops};

static brim_operation linear_operation(brim_program *p, const brim_kind *kind, int32_t x, int32_t linear, const char *name) {
  const int32_t out = add_like(p, name, x, p->status ? 0 : brim_weight_rows(p, linear));
  return (brim_operation){.kind = kind, .in = BRIM_LIST(x), .out = BRIM_LIST(out), .weights = BRIM_LIST(linear, linear + 1)};
}

int32_t brim_append_dense(brim_program *p, int32_t x, int32_t linear, brim_activation activation) {
  brim_operation o = linear_operation(p, &dense, x, linear, "dense");
  o.terms.activation = activation;
  brim_add_operation(p, &o);
  return o.out.of[0];
}

/* ---- scores: x W + b ------------------------------------------------------------------------------------------ */

static void scores_forward(brim_lowering *l, const brim_operation *o) {
  const int32_t in = brim_weight_columns(brim_program_of(l), o->weights.of[WEIGHT]),
                out = brim_weight_rows(brim_program_of(l), o->weights.of[WEIGHT]);
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_linear op = {.in = in, .out = out, .x_stride = in, .y_stride = out};
  brim_fill_count(l, &op.rows, rows_of(l, o), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[WEIGHT]);
  brim_fill_weight(l, &op.b, o->weights.of[BIAS]);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, linear_forward, op);
}

static void scores_backward(brim_lowering *l, const brim_operation *o) {
  linear_gradient(l, o, brim_gradient(l, o->out.of[0]));
}

static const brim_kind scores = {
    .name = "scores", .reads = {.in = 1}, .forward = scores_forward, .backward = scores_backward, .flops = flops};

int32_t brim_append_scores(brim_program *p, int32_t x, int32_t linear) {
  const brim_operation o = linear_operation(p, &scores, x, linear, "logits");
  brim_add_operation(p, &o);
  p->logits = o.out.of[0];
  return o.out.of[0];
}

/* ---- loss: its forward leaves the scores' gradient, so that there is no backward ------------------------------ */

static void loss_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_loss op = {.outputs = brim_stride(l, x), .kind = o->terms.loss};
  brim_fill_from_frame(l, &op.n, offsetof(brim_frame, rows) + rows_of(l, o) * sizeof(brim_rows) + offsetof(brim_rows, count),
                       sizeof op.n);
  brim_fill(l, &op.logits, x, BRIM_READS);
  brim_fill_from_frame(l, &op.labels, offsetof(brim_frame, labels), sizeof op.labels);
  brim_fill_from_frame(l, &op.weights, offsetof(brim_frame, class_weights), sizeof op.weights);
  brim_fill_from_frame(l, &op.smoothing, offsetof(brim_frame, smoothing), sizeof op.smoothing);
  brim_fill_from_frame(l, &op.divisor, offsetof(brim_frame, divisor), sizeof op.divisor);
  brim_fill_from_frame(l, &op.loss, offsetof(brim_frame, loss), sizeof op.loss);
  if (brim_is_trained(l, o))
    brim_fill(l, &op.dlogits, brim_write_gradient(l, o->in.of[0], rows_of(l, o)), BRIM_WRITES);
  BRIM_CALL(l, loss, op);
  brim_only_with_loss(l);
}

static const brim_kind loss_kind = {.name = "loss", .forward = loss_forward};

void brim_append_loss(brim_program *p, int32_t x, brim_loss_kind loss) {
  const brim_operation o = {.kind = &loss_kind, .in = BRIM_LIST(x), .terms = {.loss = loss}};
  brim_add_operation(p, &o);
}
