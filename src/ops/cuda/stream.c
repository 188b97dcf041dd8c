/* stream.c: the operations of encoders with a residual stream, and attention by distance, as kernels. */
#include <limits.h>
#include <math.h>

#include "ops/cuda/cuda.h"

static int64_t row_blocks(int64_t rows) {
  return brim_cuda_blocks(rows, BRIM_CUDA_ROWS);
}

/* ---- norms, sums, gates */

void brim_cuda_prenorm_forward(brim_ops_context *c, const brim_prenorm *op) {
  launch_prenorm_forward(c, row_blocks(op->rows), 1, 0,
                         &(cu_prenorm){.rows = (int)op->rows,
                                       .width = op->width,
                                       .rms = op->rms,
                                       .eps = op->eps,
                                       .x = brim_cuda_typed_of(c, op->x),
                                       .gamma = op->gamma,
                                       .beta = op->beta,
                                       .mean = op->mean,
                                       .rstd = op->rstd,
                                       .y = brim_cuda_typed_of(c, op->y)});
}

void brim_cuda_prenorm_backward(brim_ops_context *c, const brim_prenorm_gradient *op) {
  if (op->dgamma || op->dbeta)
    brim_cuda_norm_columns(c, &(cu_norm_gradient){.at = {.count = (int)op->rows},
                                                  .width = op->width,
                                                  .sum = brim_cuda_typed_of(c, op->x),
                                                  .mean = op->mean,
                                                  .rstd = op->rstd,
                                                  .dy = brim_cuda_typed_of(c, op->dy),
                                                  .dgamma = op->dgamma,
                                                  .dbeta = op->dbeta});
  launch_prenorm_rows(c, row_blocks(op->rows), 1, 0,
                      &(cu_prenorm){.rows = (int)op->rows,
                                    .width = op->width,
                                    .rms = op->rms,
                                    .add = op->add,
                                    .x = brim_cuda_typed_of(c, op->x),
                                    .gamma = op->gamma,
                                    .mean = (real *)(uintptr_t)op->mean,
                                    .rstd = (real *)(uintptr_t)op->rstd,
                                    .dy = brim_cuda_typed_of(c, op->dy),
                                    .dx = op->dx});
}

void brim_cuda_stream_sum(brim_ops_context *c, const brim_stream_sum *op) {
  launch_stream_sum(c, row_blocks(op->at.count), 1, 0,
                    &(cu_stream_sum){.layout = brim_cuda_layout_of(&op->layout),
                                     .at = brim_cuda_rows_of(&op->at),
                                     .dropout = brim_cuda_dropout_of(&op->dropout),
                                     .width = op->width,
                                     .residual = brim_cuda_real(op->residual),
                                     .x = brim_cuda_real(op->x),
                                     .y = brim_cuda_real(op->y),
                                     .copy = brim_cuda_half_of(c, op->rounded_y)});
}

static cu_gate gate_of(const brim_ops_context *c, const brim_gate *op) {
  return (cu_gate){.layout = brim_cuda_layout_of(&op->layout),
                   .at = brim_cuda_rows_of(&op->at),
                   .dropout = brim_cuda_dropout_of(&op->dropout),
                   .width = op->width,
                   .act = (int)op->act,
                   .second = op->second,
                   .pre = brim_cuda_typed_of(c, op->pre),
                   .y = brim_cuda_typed_of(c, op->y),
                   .dy = brim_cuda_typed_of(c, op->dy),
                   .dpre = brim_cuda_typed_of(c, op->dpre)};
}

void brim_cuda_gate_forward(brim_ops_context *c, const brim_gate *op) {
  const cu_gate a = gate_of(c, op);
  launch_gate_forward(c, row_blocks(op->at.count), 1, 0, &a);
}

void brim_cuda_gate_backward(brim_ops_context *c, const brim_gate *op) {
  const cu_gate a = gate_of(c, op);
  launch_gate_backward(c, row_blocks(op->at.count), 1, 0, &a);
}

/* ---- rotary positions */

void brim_cuda_rotate(brim_ops_context *c, const brim_rotary *op) {
  cu_rotary a = {.layout = brim_cuda_layout_of(&op->layout),
                 .at = brim_cuda_rows_of(&op->at),
                 .heads = op->heads,
                 .head_size = op->head_size,
                 .back = op->back,
                 .stride = op->stride,
                 .x = brim_cuda_typed_of(c, op->x)};
  if (op->head_size > 2 * CU_HALF_HEAD) {
    brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "rotary positions with %d columns a head are not made for the GPU: at most %d",
                   op->head_size, 2 * CU_HALF_HEAD);
    return;
  }
  for (int32_t i = 0; i < op->head_size / 2; i++)
    a.frequency[i] = brim_rotary_frequency(op, i);
  launch_rotate(c, row_blocks(op->at.count), 1, 0, &a);
}

/* ---- attention by distance */

/* How far a distance is of the first row, or of the middle. */
static int32_t far_of(const brim_distances *d, int32_t size) {
  return d->rule == BRIM_DISTANCE_HALVES ? brim_distance_row(d, size) : d->rows / 2 - brim_distance_row(d, -size);
}

/* False: an embedding has more steps than a kernel takes. */
static bool distances_of(const brim_distances *d, int32_t longest, cu_distances *out) {
  *out = (cu_distances){.rows = d->rows, .halves = d->rule == BRIM_DISTANCE_HALVES};
  int32_t size = 0;
  while (size + 1 < longest && far_of(d, size + 1) == size + 1)
    size++;
  out->exact = size;
  for (; size < longest; size++)
    while (out->exact + out->steps < far_of(d, size)) {
      if (out->steps == CU_STEPS)
        return false;
      out->threshold[out->steps++] = size;
    }
  return true;
}

/* The kernels' operands; false: they cannot take these. */
static bool relative_of(brim_ops_context *c, const brim_relative *op, cu_relative *out) {
  const brim_layout *layout = &op->attention.layout;
  *out = (cu_relative){.of = brim_cuda_attention_of(c, &op->attention),
                       .heads = op->attention.heads,
                       .stride = op->stride,
                       .bias = op->bias,
                       .queries = op->queries,
                       .keys = op->keys,
                       .dbias = op->dbias,
                       .dqueries = op->dqueries,
                       .dkeys = op->dkeys};
  if (distances_of(&op->distances, brim_cuda_longest(layout), &out->distances))
    return true;
  brim_cuda_fail(c, BRIM_E_UNSUPPORTED, "tables of %d distances are not made for the GPU", op->distances.rows);
  return false;
}

void brim_cuda_relative_forward(brim_ops_context *c, const brim_relative *op) {
  cu_relative a;
  if (!relative_of(c, op, &a))
    return;
  a.of.tiles = brim_cuda_query_tiles(&op->attention, BRIM_CUDA_PAIRS);
  launch_relative_forward(c, (int64_t)a.of.texts * a.of.tiles, a.heads, brim_cuda_pair_memory(&op->attention, 3, 1, op->keys),
                          &a);
}

void brim_cuda_relative_backward(brim_ops_context *c, const brim_relative *op) {
  const brim_attention *of = &op->attention;
  cu_relative a;
  if (!relative_of(c, op, &a))
    return;
  a.of.tiles = brim_cuda_query_tiles(of, BRIM_CUDA_PAIRS);
  launch_relative_queries(c, (int64_t)a.of.texts * a.of.tiles, a.heads, brim_cuda_pair_memory(of, 4, 1, op->keys), &a);
  a.of.tiles = brim_cuda_slot_tiles(&of->layout, BRIM_CUDA_PAIRS);
  launch_relative_keys(c, (int64_t)a.of.texts * a.of.tiles, a.heads, brim_cuda_pair_memory(of, 4, 2, op->keys), &a);
  if (op->keys || op->dbias)
    launch_relative_embeddings(c, op->distances.rows, a.heads, 0, &a);
}
