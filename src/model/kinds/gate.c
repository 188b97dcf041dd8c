/* gate.c: the wide half of a gated feed-forward: dropout(activation(u) * g), where u and g are the halves of x W + b. It is made
 * again from these, which are kept and whose memory their gradient takes. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { PRE }; /* inner: x W + b */
enum {
  WEIGHT,
  SECOND_WEIGHT,
  BIAS,
  SECOND_BIAS
}; /* weights; the second ones adjoin the first, or are absent, as biases may be */

static int32_t wide_of(brim_lowering *l, const brim_operation *o) {
  return brim_program_of(l)->values[o->inner.of[PRE]].width;
}

static brim_row_kind rows_of(brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[0]);
}

static brim_gate operands(brim_lowering *l, const brim_operation *o) {
  return (brim_gate){.width = wide_of(l, o) / 2, .act = o->terms.activation, .second = o->terms.second};
}

static void fill(brim_lowering *l, const brim_operation *o, brim_gate *op, brim_at pre) {
  brim_fill_layout(l, &op->layout);
  brim_fill_rows(l, &op->at, rows_of(l, o));
  brim_fill_dropout(l, &op->dropout, o->terms.dropout, o->terms.site);
  brim_fill_typed(l, &op->pre, pre, BRIM_READS);
}

static void activate(brim_lowering *l, const brim_operation *o, brim_at pre) {
  brim_gate op = operands(l, o);
  fill(l, o, &op, pre);
  brim_fill_typed(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, gate_forward, op);
}

static void product(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y) {
  brim_product_forward(l, &(brim_product_call){.weight = o->weights.of[WEIGHT],
                                               .bias = o->weights.of[BIAS],
                                               .out = wide_of(l, o),
                                               .rows = rows_of(l, o),
                                               .x = x,
                                               .y = y});
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read_factor(l, o->in.of[0]), pre = brim_is_kept(l, o->inner.of[PRE])
                                                                ? brim_write(l, o->inner.of[PRE])
                                                                : brim_spare_factor(l, rows_of(l, o), wide_of(l, o));
  if (brim_in_bytes(l))
    brim_product_of_bytes(l, o, 0, x, pre, rows_of(l, o));
  else
    product(l, o, x, pre);
  activate(l, o, pre);
}

static void again(brim_lowering *l, const brim_operation *o) {
  activate(l, o, brim_read(l, o->inner.of[PRE]));
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const int32_t from = o->in.of[0];
  const brim_at pre = brim_read(l, o->inner.of[PRE]), x = brim_read_factor(l, from);
  brim_gate op = operands(l, o);
  fill(l, o, &op, pre);
  brim_fill_typed(l, &op.dy, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill_typed(l, &op.dpre, pre, BRIM_CHANGES);
  BRIM_CALL(l, gate_backward, op);
  bool add = false;
  const brim_at dx = brim_wants_gradient(l, from) ? brim_add_gradient(l, from, &add) : BRIM_NOWHERE;
  brim_product_backward(l, &(brim_product_gradient){.weight = o->weights.of[WEIGHT],
                                                    .bias = o->weights.of[BIAS],
                                                    .out = wide_of(l, o),
                                                    .rows = rows_of(l, o),
                                                    .x = x,
                                                    .dy = pre,
                                                    .dx = dx,
                                                    .add = add});
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  (void)length;
  return 2 * rows[s->values[o->out.of[0]].rows] * brim_weight_columns(s->program, o->weights.of[WEIGHT]) *
         s->program->values[o->inner.of[PRE]].width;
}

static int products(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]) {
  const int32_t weight = o->weights.of[WEIGHT], bias = o->weights.of[BIAS];
  out[0] = (brim_product){brim_weight_columns(p, weight), p->values[o->inner.of[PRE]].width, brim_weight_at(p, weight),
                          bias == BRIM_NONE ? -1 : brim_weight_at(p, bias)};
  return 1;
}

static const brim_kind kind = {.name = "gate",
                               .reads = {.in = 1, .inner = 1 << PRE},
                               .half = {.in = 1, .out = 1, .inner = 1 << PRE, .weights = 1 << WEIGHT | 1 << SECOND_WEIGHT},
                               .forward = forward,
                               .backward = backward,
                               .again = again,
                               .flops = flops,
                               .products = products};

int32_t brim_append_gate(brim_program *p, int32_t x, brim_gating g) {
  const bool apart = g.matrices == 2, biased = !p->status && !p->weights[g.linear].bare;
  const int32_t wide = p->status ? 0 : brim_weight_rows(p, g.linear) * g.matrices,
                bias = biased ? g.linear + g.matrices : BRIM_NONE;
  const int32_t pre = brim_add_value(p, "before activation", BRIM_ROW_TOKENS, wide),
                out = brim_add_value(p, "gated", BRIM_ROW_TOKENS, wide / 2);
  const brim_operation o = {
      .kind = &kind,
      .in = BRIM_LIST(x),
      .out = BRIM_LIST(out),
      .inner = BRIM_LIST(pre),
      .weights = BRIM_LIST(g.linear, apart ? g.linear + 1 : BRIM_NONE, bias, apart && biased ? bias + 1 : BRIM_NONE),
      .terms = {.activation = g.activation, .second = g.second, .dropout = g.drop.rate, .site = g.drop.site}};
  brim_add_operation(p, &o);
  return out;
}
