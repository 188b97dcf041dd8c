/* norm.c: norm(x) alone, of a residual stream. It is made again from x, which is kept. In bf16 it is that of the stream's copy in
 * 16 bits, so that what is made again has the same bits; in embeddings and heads it stays in fp32. In fp16 it is that of the
 * stream itself: a few columns of a trained model's stream grow from layer to layer, beyond what fp16 has. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { MEAN, RSTD };  /* inner */
enum { GAMMA, BETA }; /* weights; the second may be absent */

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_program_of(l)->values[o->out.of[0]].width;
}

static brim_at read_input(brim_lowering *l, const brim_operation *o) {
  return brim_reads_half(l, o, 0) ? brim_read_half(l, o->in.of[0]) : brim_read(l, o->in.of[0]);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = read_input(l, o);
  brim_prenorm op = {.width = width_of(l, o), .rms = o->terms.rms, .eps = (real)o->terms.eps};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill_typed(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.gamma, o->weights.of[GAMMA]);
  brim_fill_weight(l, &op.beta, o->weights.of[BETA]);
  brim_fill(l, &op.mean, brim_write(l, o->inner.of[MEAN]), BRIM_WRITES);
  brim_fill(l, &op.rstd, brim_write(l, o->inner.of[RSTD]), BRIM_WRITES);
  brim_fill_typed(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, prenorm_forward, op);
}

static void again(brim_lowering *l, const brim_operation *o) {
  const brim_at x = read_input(l, o);
  brim_norm op = {.width = width_of(l, o)};
  brim_fill_count(l, &op.rows, brim_rows_of(l, o->out.of[0]), 1);
  brim_fill_typed(l, &op.sum, x, BRIM_READS);
  brim_fill(l, &op.mean, brim_read(l, o->inner.of[MEAN]), BRIM_READS);
  brim_fill(l, &op.rstd, brim_read(l, o->inner.of[RSTD]), BRIM_READS);
  brim_fill_weight(l, &op.gamma, o->weights.of[GAMMA]);
  brim_fill_weight(l, &op.beta, o->weights.of[BETA]);
  brim_fill_typed(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, norm_forward, op);
}

/* Where no gradient of x is wanted it is written all the same, for those of the weights. */
static void backward(brim_lowering *l, const brim_operation *o) {
  const int32_t from = o->in.of[0];
  const brim_row_kind rows = brim_rows_of(l, o->out.of[0]);
  const brim_at x = read_input(l, o);
  bool add = false;
  const brim_at dx = brim_wants_gradient(l, from) ? brim_add_gradient(l, from, &add) : brim_spare(l, rows, width_of(l, o));
  brim_prenorm_gradient op = {.width = width_of(l, o), .rms = o->terms.rms, .add = add};
  brim_fill_count(l, &op.rows, rows, 1);
  brim_fill_slices(l, &op.slices, rows);
  brim_fill_typed(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.mean, brim_read(l, o->inner.of[MEAN]), BRIM_READS);
  brim_fill(l, &op.rstd, brim_read(l, o->inner.of[RSTD]), BRIM_READS);
  brim_fill_weight(l, &op.gamma, o->weights.of[GAMMA]);
  brim_fill_typed(l, &op.dy, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill(l, &op.dx, dx, add ? BRIM_CHANGES : BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dgamma, o->weights.of[GAMMA], 0);
  brim_fill_weight_gradient(l, &op.dbeta, o->weights.of[BETA], 0);
  BRIM_CALL(l, prenorm_backward, op);
}

static const brim_kind kind = {.name = "norm",
                               .reads = {.in = 1, .inner = 1 << MEAN | 1 << RSTD},
                               .half = {.in = 1, .out = 1, .far = 1},
                               .forward = forward,
                               .backward = backward,
                               .again = again};
static const brim_kind outside_kind = {
    .name = "norm", .reads = {.in = 1, .inner = 1 << MEAN | 1 << RSTD}, .forward = forward, .backward = backward, .again = again};

int32_t brim_append_norm(brim_program *p, int32_t x, brim_normed norm) {
  const brim_row_kind rows = p->status ? BRIM_ROW_TOKENS : p->values[x].rows;
  const int32_t mean = brim_add_exact(p, "mean", rows, 1), rstd = brim_add_exact(p, "rstd", rows, 1),
                out = brim_add_value(p, "normed", rows, brim_width_of(p, x));
  const bool in_layer = !p->status && p->sections[p->section_count - 1].layer;
  const brim_operation o = {.kind = in_layer ? &kind : &outside_kind,
                            .in = BRIM_LIST(x),
                            .out = BRIM_LIST(out),
                            .inner = BRIM_LIST(mean, rstd),
                            .weights = BRIM_LIST(norm.norm, brim_bias_of(p, norm.norm)),
                            .terms = {.eps = norm.eps, .rms = norm.rms}};
  brim_add_operation(p, &o);
  return out;
}
