/* normed.c: y = norm(sum), sum = residual + dropout(branch), branch = x W + b. */
#include "model/kinds/normed.h"

#include "model/kinds/product.h"

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_program_of(l)->values[o->out.of[0]].width;
}

brim_at brim_read_residual(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n) {
  return brim_read_rows(l, n->residual, brim_rows_of(l, o->out.of[0]));
}

void brim_fill_residual(brim_lowering *l, brim_residual *r, const brim_operation *o, const brim_normed_operands *n,
                        brim_at residual) {
  r->eps = (real)o->terms.eps;
  brim_fill_layout(l, &r->layout);
  brim_fill_rows(l, &r->at, brim_rows_of(l, o->out.of[0]));
  brim_fill_dropout(l, &r->dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &r->residual, residual, BRIM_READS);
  brim_fill_weight(l, &r->gamma, n->gamma);
  brim_fill_weight(l, &r->beta, n->beta);
}

static void forward_half(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n, brim_at x, int32_t in) {
  const brim_at residual = brim_read_residual(l, o, n);
  brim_bf16_linear_norm op = {.in = in, .out = width_of(l, o), .eps = (real)o->terms.eps};
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight_half(l, &op.w, n->weight, 0);
  brim_fill_weight(l, &op.b, n->bias);
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, brim_rows_of(l, o->out.of[0]));
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill_typed(l, &op.residual, residual, BRIM_READS);
  brim_fill_weight(l, &op.gamma, n->gamma);
  brim_fill_weight(l, &op.beta, n->beta);
  brim_fill_typed(l, &op.sum, brim_write(l, n->sum), BRIM_WRITES);
  brim_fill(l, &op.mean, brim_write(l, n->mean), BRIM_WRITES);
  brim_fill(l, &op.rstd, brim_write(l, n->rstd), BRIM_WRITES);
  brim_fill_typed(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  brim_fill(l, &op.rounded_y, brim_write_half(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, bf16_norm_forward, op);
}

void brim_normed_forward(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n, brim_at x, int32_t in) {
  if (brim_uses_half(l)) {
    forward_half(l, o, n, x, in);
    return;
  }
  const brim_at residual = brim_read_residual(l, o, n), sum = brim_write(l, n->sum);
  brim_linear_norm op = {.in = in, .out = width_of(l, o)};
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, n->weight);
  brim_fill_weight(l, &op.b, n->bias);
  brim_fill_residual(l, &op.residual, o, n, residual);
  brim_fill(l, &op.sum, sum, BRIM_WRITES);
  brim_fill(l, &op.mean, brim_write(l, n->mean), BRIM_WRITES);
  brim_fill(l, &op.rstd, brim_write(l, n->rstd), BRIM_WRITES);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  brim_may_replace(l, sum, residual);
  BRIM_CALL(l, linear_norm_forward, op);
}

/* In bf16 the products that read it want 16 bits; the weights of layers want what forward had. */
void brim_normed_again(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n) {
  const bool half = brim_uses_half(l) && !brim_wants_wide(l);
  const brim_at sum = brim_read(l, n->sum);
  brim_norm op = {.width = width_of(l, o)};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill_typed(l, &op.sum, sum, BRIM_READS);
  brim_fill(l, &op.mean, brim_read(l, n->mean), BRIM_READS);
  brim_fill(l, &op.rstd, brim_read(l, n->rstd), BRIM_READS);
  brim_fill_weight(l, &op.gamma, n->gamma);
  brim_fill_weight(l, &op.beta, n->beta);
  brim_fill_typed(l, &op.y, (half ? brim_write_half : brim_write)(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, norm_forward, op);
}

brim_at brim_normed_backward(brim_lowering *l, const brim_operation *o, const brim_normed_operands *n) {
  const brim_row_kind rows = brim_rows_of(l, o->out.of[0]);
  const bool adds = brim_has_gradient(l, n->residual, rows); /* from the head, which sees several layers */
  const brim_at sum = brim_read(l, n->sum),
                dsum = adds ? brim_spare(l, rows, width_of(l, o)) : brim_write_gradient(l, n->residual, rows),
                dbranch = brim_spare_factor(l, rows, width_of(l, o));
  brim_norm_gradient op = {.width = width_of(l, o)};
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows);
  brim_fill_slices(l, &op.slices, rows);
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill_typed(l, &op.sum, sum, BRIM_READS);
  brim_fill(l, &op.mean, brim_read(l, n->mean), BRIM_READS);
  brim_fill(l, &op.rstd, brim_read(l, n->rstd), BRIM_READS);
  brim_fill_weight(l, &op.gamma, n->gamma);
  brim_fill(l, &op.dy, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, &op.dsum, dsum, BRIM_WRITES);
  brim_fill_typed(l, &op.dbranch, dbranch, BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dgamma, n->gamma, 0);
  brim_fill_weight_gradient(l, &op.dbeta, n->beta, 0);
  BRIM_CALL(l, norm_backward, op);
  if (adds)
    brim_add_to_gradient(l, dsum, n->residual, rows);
  return dbranch;
}
