/* add.c: a branch joins a residual stream: residual + dropout(branch W + b). */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { BRANCH, RESIDUAL }; /* in */
enum { WEIGHT, BIAS };     /* weights; the second may be absent */

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_weight_rows(brim_program_of(l), o->weights.of[WEIGHT]);
}

static void product(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y) {
  brim_product_forward(
      l,
      &(brim_product_call){
          .weight = o->weights.of[WEIGHT], .bias = o->weights.of[BIAS], .rows = brim_rows_of(l, o->out.of[0]), .x = x, .y = y});
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read_factor(l, o->in.of[BRANCH]),
                residual = brim_read_rows(l, o->in.of[RESIDUAL], brim_rows_of(l, o->out.of[0])), y = brim_write(l, o->out.of[0]);
  brim_stream_sum op = {.width = width_of(l, o)};
  if (brim_in_bytes(l))
    brim_product_of_bytes(l, o, 0, x, y, brim_rows_of(l, o->out.of[0]));
  else
    product(l, o, x, y);
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, brim_rows_of(l, o->out.of[0]));
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &op.residual, residual, BRIM_READS);
  brim_fill(l, &op.x, y, BRIM_READS);
  brim_fill(l, &op.y, y, BRIM_CHANGES);
  if (brim_uses_half(l))
    brim_fill(l, &op.rounded_y, brim_write_half(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, stream_sum, op);
}

/* The gradient of x W + b, from that of the sum: the same where nothing is dropped; a factor. */
static brim_at drop_backward(brim_lowering *l, const brim_operation *o) {
  const brim_row_kind rows = brim_rows_of(l, o->out.of[0]);
  brim_dropout_rows op = {.width = width_of(l, o), .dropout = brim_dropout_make(o->terms.dropout, (const uint32_t[2]){0}, 0)};
  if (!op.dropout.on)
    return brim_gradient_factor(l, o->out.of[0]);
  const brim_at dy = brim_gradient(l, o->out.of[0]), dbranch = brim_spare(l, rows, width_of(l, o));
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows);
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &op.x, dy, BRIM_READS);
  brim_fill(l, &op.y, dbranch, BRIM_WRITES);
  BRIM_CALL(l, dropout, op);
  return brim_uses_half(l) ? brim_rounded(l, dbranch) : dbranch;
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const int32_t branch = o->in.of[BRANCH];
  const brim_at dy = drop_backward(l, o), x = brim_read_factor(l, branch);
  bool add = false;
  const brim_at dx = brim_wants_gradient(l, branch) ? brim_add_gradient(l, branch, &add) : BRIM_NOWHERE;
  brim_product_backward(l, &(brim_product_gradient){.weight = o->weights.of[WEIGHT],
                                                    .bias = o->weights.of[BIAS],
                                                    .rows = brim_rows_of(l, o->out.of[0]),
                                                    .x = x,
                                                    .dy = dy,
                                                    .dx = dx,
                                                    .add = add});
  brim_share_gradient(l, o->out.of[0], o->in.of[RESIDUAL]);
}

static const brim_kind kind = {.name = "add",
                               .reads = {.in = 1 << BRANCH},
                               .half = {.in = 1 << BRANCH, .weights = 1 << WEIGHT},
                               .forward = forward,
                               .backward = backward,
                               .flops = brim_one_product_flops,
                               .products = brim_one_product};

int32_t brim_append_add(brim_program *p, int32_t branch, int32_t residual, int32_t linear, brim_drop_at drop) {
  const int32_t out = brim_add_value(p, "stream", BRIM_ROW_TOKENS, brim_width_of(p, residual));
  const brim_operation o = {.kind = &kind,
                            .in = BRIM_LIST(branch, residual),
                            .out = BRIM_LIST(out),
                            .weights = BRIM_LIST(linear, brim_bias_of(p, linear)),
                            .terms = {.dropout = drop.rate, .site = drop.site}};
  brim_add_operation(p, &o);
  return out;
}
