/* join.c: a branch joins what it branched off from: norm(residual + dropout(branch W + b)). */
#include "model/kinds/kinds.h"
#include "model/kinds/normed.h"
#include "model/kinds/product.h"

enum { BRANCH, RESIDUAL };          /* in */
enum { SUM, MEAN, RSTD };           /* inner */
enum { WEIGHT, BIAS, GAMMA, BETA }; /* weights */

static brim_normed_operands operands(const brim_operation *o) {
  const int32_t *inner = o->inner.of, *w = o->weights.of;
  return (brim_normed_operands){inner[SUM], inner[MEAN], inner[RSTD], w[WEIGHT], w[BIAS], w[GAMMA], w[BETA], o->in.of[RESIDUAL]};
}

static void forward_in_bytes(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n) {
  const brim_at residual = brim_read_residual(l, o, n);
  brim_int8_norm op = {0};
  brim_fill_packed(l, &op.w, o, 0);
  brim_fill(l, &op.x, brim_read(l, o->in.of[BRANCH]), BRIM_READS);
  brim_fill_residual(l, &op.residual, o, n, residual);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, int8_norm_forward, op);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  if (brim_in_bytes(l))
    forward_in_bytes(l, o, &n);
  else
    brim_normed_forward(l, o, &n, brim_read_factor(l, o->in.of[BRANCH]), brim_weight_columns(brim_program_of(l), n.weight));
}

static void again(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  brim_normed_again(l, o, &n);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const brim_normed_operands n = operands(o);
  const int32_t branch = o->in.of[BRANCH];
  brim_product_gradient g = {.weight = n.weight, .bias = n.bias, .rows = brim_rows_of(l, o->out.of[0])};
  g.dy = brim_normed_backward(l, o, &n);
  g.x = brim_read_factor(l, branch);
  g.dx = brim_wants_gradient(l, branch) ? brim_add_gradient(l, branch, &g.add) : BRIM_NOWHERE;
  brim_product_backward(l, &g);
}

static const brim_kind kind = {.name = "join",
                               .reads = {.in = 1 << BRANCH, .inner = 1 << SUM | 1 << MEAN | 1 << RSTD},
                               .half = {.in = 1 << BRANCH, .inner = 1 << SUM, .weights = 1 << WEIGHT},
                               .forward = forward,
                               .backward = backward,
                               .again = again,
                               .flops = brim_one_product_flops,
                               .products = brim_one_product};

int32_t brim_append_join(brim_program *p, int32_t branch, int32_t residual, int32_t linear, brim_drop_at drop, brim_normed norm) {
  const int32_t width = brim_width_of(p, residual);
  const int32_t sum = brim_add_value(p, "sum", BRIM_ROW_TOKENS, width), mean = brim_add_exact(p, "mean", BRIM_ROW_TOKENS, 1),
                rstd = brim_add_exact(p, "rstd", BRIM_ROW_TOKENS, 1), out = brim_add_value(p, "attended", BRIM_ROW_TOKENS, width);
  const brim_operation o = {.kind = &kind,
                            .in = BRIM_LIST(branch, residual),
                            .out = BRIM_LIST(out),
                            .inner = BRIM_LIST(sum, mean, rstd),
                            .weights = BRIM_LIST(linear, brim_bias_of(p, linear), norm.norm, brim_bias_of(p, norm.norm)),
                            .terms = {.dropout = drop.rate, .site = drop.site, .eps = norm.eps}};
  brim_add_operation(p, &o);
  return out;
}
