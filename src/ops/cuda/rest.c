/* rest.c: the other operations as kernels: rows, pooling, losses, conversions, the optimizer. */
#include <math.h>

#include "ops/cuda/cuda.h"

enum { THREADS = 256, POOL_THREADS = 128 };

static int64_t row_blocks(const brim_rows *at) {
  return brim_cuda_blocks(at->count, BRIM_CUDA_ROWS);
}

/* ---- rows */

void brim_cuda_gather_rows(brim_ops_context *c, const brim_gather *op) {
  launch_gather(
      c, row_blocks(&op->at), 1, 0,
      &(cu_gather){.at = brim_cuda_rows_of(&op->at), .width = op->width, .x_stride = op->x_stride, .x = op->x, .y = op->y});
}

void brim_cuda_scatter_rows(brim_ops_context *c, const brim_scatter *op) {
  launch_scatter(
      c, row_blocks(&op->at), 1, 0,
      &(cu_scatter){
          .at = brim_cuda_rows_of(&op->at), .width = op->width, .dx_stride = op->dx_stride, .dy = op->dy, .dx = op->dx});
}

void brim_cuda_dropout(brim_ops_context *c, const brim_dropout_rows *op) {
  launch_drop(c, row_blocks(&op->at), 1, 0,
              &(cu_drop){.layout = brim_cuda_layout_of(&op->layout),
                         .at = brim_cuda_rows_of(&op->at),
                         .dropout = brim_cuda_dropout_of(&op->dropout),
                         .width = op->width,
                         .x = op->x,
                         .y = op->y});
}

void brim_cuda_add(brim_ops_context *c, const brim_add *op) {
  launch_add(c, brim_cuda_blocks(op->count, THREADS), 1, 0, &(cu_add){.count = op->count, .x = op->x, .y = op->y});
}

void brim_cuda_zero(brim_ops_context *c, const brim_zero *op) {
  brim_ops_cuda()->clear(c, op->x, (size_t)op->count * sizeof *op->x);
}

static void convert(brim_ops_context *c, int64_t count, cu_typed x, cu_typed y) {
  launch_convert(c, brim_cuda_blocks(count, THREADS), 1, 0, &(cu_convert){.count = count, .x = x, .y = y});
}

void brim_cuda_narrow(brim_ops_context *c, const brim_to_bfloat *op) {
  convert(c, op->count, brim_cuda_real(op->x), brim_cuda_half_of(c, op->y));
}

void brim_cuda_widen(brim_ops_context *c, const brim_from_bfloat *op) {
  convert(c, op->count, brim_cuda_half_of(c, op->x), brim_cuda_real(op->y));
}

void brim_cuda_pool_forward(brim_ops_context *c, const brim_pool *op) {
  launch_pool_forward(c, op->layout.n, brim_cuda_blocks(op->width, POOL_THREADS), 0,
                      &(cu_pool){.layout = brim_cuda_layout_of(&op->layout),
                                 .n = op->layout.n,
                                 .slots = op->layout.slots,
                                 .width = op->width,
                                 .x = op->x,
                                 .chosen = op->chosen,
                                 .y = op->y});
}

void brim_cuda_pool_backward(brim_ops_context *c, const brim_pool_gradient *op) {
  launch_pool_backward(c, op->layout.slots, brim_cuda_blocks(op->width, POOL_THREADS), 0,
                       &(cu_pool){.layout = brim_cuda_layout_of(&op->layout),
                                  .n = op->layout.n,
                                  .slots = op->layout.slots,
                                  .width = op->width,
                                  .chosen = (int32_t *)(uintptr_t)op->chosen,
                                  .dy = op->dy,
                                  .dx = op->dx});
}

/* ---- loss */

void brim_cuda_loss(brim_ops_context *c, const brim_loss *op) {
  launch_loss(c, 1, 1, 0,
              &(cu_loss){.n = op->n,
                         .outputs = op->outputs,
                         .kind = (int)op->kind,
                         .smoothing = op->smoothing,
                         .divisor = op->divisor,
                         .logits = op->logits,
                         .labels = op->labels,
                         .classes = op->classes,
                         .weights = op->weights,
                         .loss = op->loss,
                         .dlogits = op->dlogits});
}

/* ---- optimizer: as many ranges at a time as a kernel takes */

static cu_update update_of(const brim_ops_context *c, const brim_update *u) {
  const brim_update_step *s = &u->step;
  return (cu_update){.values = u->values,
                     .gradients = u->gradients,
                     .moment1 = u->states[0],
                     .moment2 = u->states[1],
                     .square = u->square,
                     .sums = c->workspace,
                     .clip = u->clip,
                     .new1 = (float)(1 - s->beta1),
                     .beta2 = (float)s->beta2,
                     .new2 = (float)(1 - s->beta2),
                     .root = (float)sqrt(s->correction2),
                     .eps = (float)s->eps,
                     .unscale = u->scale > 0 ? (float)(1 / u->scale) : 1,
                     .fp16 = c->fp16};
}

static void add_range(cu_update *to, const brim_update *u, const brim_update_range *from) {
  const double lr = u->step.lr * from->rate;
  const bool decay = from->decay && u->step.weight_decay > 0;
  to->ranges[to->range_count++] = (cu_range){.offset = from->offset,
                                             .frozen = from->frozen,
                                             .count = from->count,
                                             .row_size = from->row_size > 0 ? from->row_size : 0,
                                             .first_piece = to->pieces,
                                             .decay = decay,
                                             .keep = (float)(decay ? 1 - lr * u->step.weight_decay : 1),
                                             .step = (float)(lr / u->step.correction1),
                                             .touched = from->touched,
                                             .alive = from->alive,
                                             .done = from->done,
                                             .copy = from->copy};
  to->pieces += (int)brim_cuda_blocks(from->count, CU_PIECE);
}

/* The next ranges, from *next on; false: there are none left. */
static bool next_ranges(const brim_ops_context *c, const brim_update *u, int32_t *next, cu_update *to) {
  if (*next == u->range_count)
    return false;
  *to = update_of(c, u);
  while (*next < u->range_count && to->range_count < CU_RANGES)
    add_range(to, u, &u->ranges[(*next)++]);
  return true;
}

void brim_cuda_gradient_square(brim_ops_context *c, const brim_update *u) {
  cu_update a;
  int32_t next = 0;
  brim_ops_cuda()->clear(c, c->workspace, CU_SUMS * sizeof(double));
  while (next_ranges(c, u, &next, &a))
    launch_gradient_square(c, a.pieces < CU_SUMS ? a.pieces : CU_SUMS, 1, 0, &a);
  launch_finish_square(
      c, 1, 1, 0,
      &(cu_finish){
          .count = CU_SUMS, .loss_count = u->loss_count, .sums = c->workspace, .losses = u->losses, .square = u->square});
}

_Static_assert((int)CU_PAST >= (int)BRIM_UPDATE_PAST, "a row may be late by as many updates as a kernel takes");

static cu_step step_of(const brim_update_step *s, bool decays) {
  const bool decay = decays && s->weight_decay > 0;
  return (cu_step){.new1 = (float)(1 - s->beta1),
                   .beta2 = (float)s->beta2,
                   .new2 = (float)(1 - s->beta2),
                   .root = (float)sqrt(s->correction2),
                   .eps = (float)s->eps,
                   .keep = (float)(decay ? 1 - s->lr * s->weight_decay : 1),
                   .step = (float)(s->lr / s->correction1),
                   .decay = decay};
}

static void catch_up(brim_ops_context *c, const brim_update *u, const brim_update_range *range, const uint8_t *wanted,
                     const double *square) {
  cu_late a = {.row_size = range->row_size,
               .values = u->values + range->frozen + range->offset,
               .moment1 = u->states[0] + range->offset,
               .moment2 = u->states[1] + range->offset,
               .wanted = wanted,
               .alive = range->alive,
               .done = range->done,
               .square = square,
               .count = u->past_count};
  for (int i = 0; i < u->past_count; i++)
    a.past[i] = step_of(&u->past[i], range->decay);
  if (range->done && u->past_count > 0)
    launch_catch_up(c, range->count / range->row_size, 1, 0, &a);
}

void brim_cuda_catch_up(brim_ops_context *c, const brim_update *u) {
  for (int32_t i = 0; i < u->range_count; i++)
    catch_up(c, u, &u->ranges[i], u->all ? NULL : u->ranges[i].wanted, NULL);
}

void brim_cuda_update(brim_ops_context *c, const brim_update *u) {
  cu_update a;
  int32_t next = 0;
  for (int32_t i = 0; i < u->range_count; i++)
    catch_up(c, u, &u->ranges[i], u->ranges[i].touched, u->square);
  while (next_ranges(c, u, &next, &a))
    launch_adamw(c, a.pieces, 1, 0, &a);
}

void brim_cuda_mark_alive(brim_ops_context *c, const brim_update *u) {
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    if (range->row_size > 0)
      launch_mark_alive(c, range->count / range->row_size, 1, 0,
                        &(cu_alive){.row_size = range->row_size,
                                    .moment1 = u->states[0] + range->offset,
                                    .moment2 = u->states[1] + range->offset,
                                    .alive = range->alive});
  }
}
