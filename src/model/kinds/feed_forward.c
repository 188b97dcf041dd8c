/* feed_forward.c: norm(x + dropout(activation(x Wup + b) Wdown + b)). The activation is as wide as `up`: backward makes it again
 * from what went into it, in the same memory. */
#include "model/kinds/kinds.h"
#include "model/kinds/normed.h"
#include "model/kinds/product.h"

enum { PRE, SUM, MEAN, RSTD };                      /* inner; PRE: x Wup + b */
enum { UP, UP_BIAS, DOWN, DOWN_BIAS, GAMMA, BETA }; /* weights */

static brim_normed_operands operands(const brim_operation *o) {
  const int32_t *inner = o->inner.of, *w = o->weights.of;
  return (brim_normed_operands){inner[SUM], inner[MEAN], inner[RSTD], w[DOWN], w[DOWN_BIAS], w[GAMMA], w[BETA], o->in.of[0]};
}

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_weight_columns(brim_program_of(l), o->weights.of[UP]);
}

static int32_t wide_of(brim_lowering *l, const brim_operation *o) {
  return brim_weight_rows(brim_program_of(l), o->weights.of[UP]);
}

static void forward_in_bytes(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n) {
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_int8_feed op = {.act = o->terms.activation};
  brim_fill_packed(l, &op.up, o, 0);
  brim_fill_packed(l, &op.down, o, 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_residual(l, &op.residual, o, n, x);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, int8_feed_forward, op);
}

static void activate(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y) {
  brim_linear_act op = {.in = width_of(l, o), .out = wide_of(l, o), .act = o->terms.activation};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[UP]);
  brim_fill_weight(l, &op.b, o->weights.of[UP_BIAS]);
  if (brim_is_kept(l, o->inner.of[PRE]))
    brim_fill(l, &op.pre, brim_write(l, o->inner.of[PRE]), BRIM_WRITES);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, linear_act_forward, op);
}

static void activate_half(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y) {
  brim_bf16_linear_act op = {.in = width_of(l, o), .out = wide_of(l, o), .act = o->terms.activation};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight_half(l, &op.w, o->weights.of[UP], 0);
  brim_fill_weight(l, &op.b, o->weights.of[UP_BIAS]);
  if (brim_is_kept(l, o->inner.of[PRE]))
    brim_fill(l, &op.pre, brim_write(l, o->inner.of[PRE]), BRIM_WRITES);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, bf16_act_forward, op);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  if (brim_in_bytes(l)) {
    forward_in_bytes(l, o, &n);
    return;
  }
  const brim_at x = brim_read_factor(l, o->in.of[0]), wide = brim_spare_factor(l, brim_rows_of(l, o->out.of[0]), wide_of(l, o));
  if (brim_uses_half(l))
    activate_half(l, o, x, wide);
  else
    activate(l, o, x, wide);
  brim_normed_forward(l, o, &n, wide, wide_of(l, o));
}

static void again(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  brim_normed_again(l, o, &n);
}

/* The gradient of PRE, from that of the branch; PRE becomes the activation. */
static void turn(brim_lowering *l, const brim_operation *o, brim_at dbranch, brim_at pre, brim_at dpre) {
  brim_linear_act_gradient op = {.in = wide_of(l, o), .out = width_of(l, o), .act = o->terms.activation};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill_weight(l, &op.w, o->weights.of[DOWN]);
  brim_fill(l, &op.dz, dbranch, BRIM_READS);
  brim_fill(l, &op.pre, pre, BRIM_CHANGES);
  brim_fill(l, &op.dpre, dpre, BRIM_WRITES);
  BRIM_CALL(l, linear_act_backward, op);
}

static void turn_half(brim_lowering *l, const brim_operation *o, brim_at dbranch, brim_at pre, brim_at dpre) {
  brim_bf16_linear_act_gradient op = {.in = wide_of(l, o), .out = width_of(l, o), .act = o->terms.activation};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill_weight_half(l, &op.w, o->weights.of[DOWN], 0);
  brim_fill(l, &op.dz, dbranch, BRIM_READS);
  brim_fill(l, &op.pre, pre, BRIM_CHANGES);
  brim_fill(l, &op.dpre, dpre, BRIM_WRITES);
  BRIM_CALL(l, bf16_act_backward, op);
}

static void down_backward(brim_lowering *l, const brim_operation *o, brim_at activation, brim_at dbranch) {
  brim_product_backward(l, &(brim_product_gradient){.weight = o->weights.of[DOWN],
                                                    .bias = o->weights.of[DOWN_BIAS],
                                                    .rows = brim_rows_of(l, o->out.of[0]),
                                                    .x = activation,
                                                    .dy = dbranch,
                                                    .dx = BRIM_NOWHERE});
}

static void up_backward(brim_lowering *l, const brim_operation *o, brim_at dpre) {
  const int32_t x = o->in.of[0];
  brim_product_gradient g = {.weight = o->weights.of[UP],
                             .bias = o->weights.of[UP_BIAS],
                             .rows = brim_rows_of(l, o->out.of[0]),
                             .dy = dpre,
                             .add = true};
  g.x = brim_read_factor(l, x);
  g.dx = brim_wants_gradient(l, x) ? brim_add_gradient(l, x, &g.add) : BRIM_NOWHERE;
  brim_product_backward(l, &g);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  const brim_at dbranch = brim_normed_backward(l, o, &n), pre = brim_read(l, o->inner.of[PRE]);
  const brim_at dpre = brim_spare_factor(l, brim_rows_of(l, o->out.of[0]), wide_of(l, o));
  if (brim_uses_half(l))
    turn_half(l, o, dbranch, pre, dpre);
  else
    turn(l, o, dbranch, pre, dpre);
  down_backward(l, o, pre, dbranch);
  up_backward(l, o, dpre);
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  (void)length;
  return brim_product_flops(s->program, o->weights.of[UP], rows[s->values[o->out.of[0]].rows]) +
         brim_product_flops(s->program, o->weights.of[DOWN], rows[s->values[o->out.of[0]].rows]);
}

static int products(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]) {
  out[0] = brim_product_of(p, o->weights.of[UP]);
  out[1] = brim_product_of(p, o->weights.of[DOWN]);
  return 2;
}

static const brim_kind kind = {.name = "feed_forward",
                               .reads = {.in = 1, .inner = 1 << PRE | 1 << SUM | 1 << MEAN | 1 << RSTD},
                               .half = {.in = 1, .inner = 1 << PRE | 1 << SUM, .weights = 1 << UP | 1 << DOWN},
                               .forward = forward,
                               .backward = backward,
                               .again = again,
                               .flops = flops,
                               .products = products};

int32_t brim_append_feed_forward(brim_program *p, int32_t x, int32_t up, brim_activation activation, int32_t down,
                                 brim_drop_at drop, brim_normed norm) {
  const int32_t width = brim_width_of(p, x), wide = p->status ? 0 : brim_weight_rows(p, up);
  const int32_t pre = brim_add_value(p, "before activation", BRIM_ROW_TOKENS, wide),
                sum = brim_add_value(p, "sum", BRIM_ROW_TOKENS, width), mean = brim_add_exact(p, "mean", BRIM_ROW_TOKENS, 1),
                rstd = brim_add_exact(p, "rstd", BRIM_ROW_TOKENS, 1), out = brim_add_value(p, "output", BRIM_ROW_TOKENS, width);
  const brim_operation o = {.kind = &kind,
                            .in = BRIM_LIST(x),
                            .out = BRIM_LIST(out),
                            .inner = BRIM_LIST(pre, sum, mean, rstd),
                            .weights = BRIM_LIST(up, up + 1, down, down + 1, norm.norm, norm.norm + 1),
                            .terms = {.activation = activation, .dropout = drop.rate, .site = drop.site, .eps = norm.eps}};
  brim_add_operation(p, &o);
  return out;
}
