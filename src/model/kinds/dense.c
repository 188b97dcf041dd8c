/* dense.c: activation(x W + b), of tokens or of texts; and the scores, which are x W + b.
 *
 * The slope of tanh and ReLU follows from what they give; that of GELU needs what went in, which is kept. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { WEIGHT, BIAS }; /* weights */
enum { PRE };          /* inner: x W + b */

static brim_row_kind rows_of(brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[0]);
}

/* The input's rows that are those of the output. */
static brim_at read_input(brim_lowering *l, const brim_operation *o) {
  return brim_read_rows(l, o->in.of[0], rows_of(l, o));
}

/* ---- without an activation */

static void linear_forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = read_input(l, o);
  brim_product_forward_real(l, &(brim_product_call){.weight = o->weights.of[WEIGHT],
                                                    .bias = o->weights.of[BIAS],
                                                    .rows = rows_of(l, o),
                                                    .x = x,
                                                    .y = brim_write(l, o->out.of[0])});
}

/* From the gradient of x W + b. */
static void linear_gradient(brim_lowering *l, const brim_operation *o, brim_at dy) {
  const int32_t from = o->in.of[0];
  const brim_row_kind rows = rows_of(l, o);
  const brim_at x = read_input(l, o);
  bool add = false;
  brim_at dx = BRIM_NOWHERE;
  if (brim_wants_gradient(l, from))
    dx = rows == BRIM_ROW_CHOSEN ? brim_add_gradient_chosen(l, from, &add) : brim_add_gradient(l, from, &add);
  brim_product_backward_real(
      l, &(brim_product_gradient){
             .weight = o->weights.of[WEIGHT], .bias = o->weights.of[BIAS], .rows = rows, .x = x, .dy = dy, .dx = dx, .add = add});
}

static void linear_backward(brim_lowering *l, const brim_operation *o) {
  linear_gradient(l, o, brim_gradient(l, o->out.of[0]));
}

/* ---- with one */

static void dense_forward(brim_lowering *l, const brim_operation *o) {
  const brim_product w = brim_product_of(brim_program_of(l), o->weights.of[WEIGHT]);
  brim_linear_act op = {.in = w.in, .out = w.out, .act = o->terms.activation};
  const brim_at x = read_input(l, o);
  brim_fill_count(l, &op.rows, rows_of(l, o), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[WEIGHT]);
  brim_fill_weight(l, &op.b, o->weights.of[BIAS]);
  if (o->inner.count > 0 && brim_is_kept(l, o->inner.of[PRE]))
    brim_fill(l, &op.pre, brim_write(l, o->inner.of[PRE]), BRIM_WRITES);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, linear_act_forward, op);
}

static void dense_backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]);
  brim_act_gradient op = {.act = o->terms.activation};
  brim_fill_count(l, &op.count, rows_of(l, o), brim_stride(l, dy));
  brim_fill(l, &op.pre, brim_read(l, o->inner.count > 0 ? o->inner.of[PRE] : o->out.of[0]), BRIM_READS);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dpre, dy, BRIM_CHANGES);
  BRIM_CALL(l, act_backward, op);
  linear_gradient(l, o, dy);
}

/* ---- kinds: they differ in what backward reads */

static const brim_kind linear_kind = {
    .name = "dense", .reads = {.in = 1}, .forward = linear_forward, .backward = linear_backward, .flops = brim_one_product_flops};
static const brim_kind kind_by_output = {.name = "dense",
                                         .reads = {.in = 1, .out = 1},
                                         .forward = dense_forward,
                                         .backward = dense_backward,
                                         .flops = brim_one_product_flops};
static const brim_kind kind_by_input = {.name = "dense",
                                        .reads = {.in = 1, .inner = 1 << PRE},
                                        .forward = dense_forward,
                                        .backward = dense_backward,
                                        .flops = brim_one_product_flops};
static const brim_kind scores = {.name = "scores",
                                 .reads = {.in = 1},
                                 .forward = linear_forward,
                                 .backward = linear_backward,
                                 .flops = brim_one_product_flops};

static const brim_kind *kind_of(brim_activation activation) {
  if (activation == BRIM_ACT_NONE)
    return &linear_kind;
  return activation == BRIM_ACT_TANH || activation == BRIM_ACT_RELU ? &kind_by_output : &kind_by_input;
}

int32_t brim_append_dense(brim_program *p, int32_t x, int32_t linear, brim_activation activation) {
  const brim_row_kind rows = p->status ? BRIM_ROW_TEXTS : p->values[x].rows;
  const int32_t width = p->status ? 0 : brim_weight_rows(p, linear);
  brim_operation o = {.kind = kind_of(activation),
                      .in = BRIM_LIST(x),
                      .weights = BRIM_LIST(linear, brim_bias_of(p, linear)),
                      .terms = {.activation = activation}};
  if (o.kind == &kind_by_input)
    o.inner = (brim_list)BRIM_LIST(brim_add_value(p, "before activation", rows, width));
  o.out = (brim_list)BRIM_LIST(brim_add_value(p, "dense", rows, width));
  brim_add_operation(p, &o);
  return o.out.of[0];
}

int32_t brim_append_scores(brim_program *p, int32_t x, int32_t linear) {
  const int32_t out = brim_add_value(p, "logits", p->status ? BRIM_ROW_TEXTS : p->values[x].rows,
                                     p->status ? 0 : brim_weight_rows(p, linear));
  const brim_operation o = {
      .kind = &scores, .in = BRIM_LIST(x), .out = BRIM_LIST(out), .weights = BRIM_LIST(linear, brim_bias_of(p, linear))};
  brim_add_operation(p, &o);
  p->logits = out;
  return out;
}
