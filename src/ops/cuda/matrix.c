/* matrix.c: attention in 16 bits by tensor cores (kernels/attention_matrix.cuh). Which kernels compute is settled by the card,
 * the type and the shape of heads, so that bits repeat: the first two are in the name that a run records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/cuda/cuda.h"

enum { TILE = 64, LEAST_CAPABILITY = 80, EACH = 8 }; /* EACH: values that are copied at once, 16 bytes */
enum { NARROW = 32, WIDE = 64, WIDEST = 128 };       /* columns of a head in shared memory */
enum { RESERVED = 1024 };                            /* bytes of shared memory that a card takes for each block */

void brim_cuda_open_matrices(brim_cuda *d) {
  const char *told = getenv("BRIM_CUDA_MMA");
  d->matrices = d->capability >= LEAST_CAPABILITY && !(told && strcmp(told, "0") == 0);
  snprintf(d->half_name, sizeof d->half_name, "%s%s", d->name, d->matrices ? "-mma" : "");
}

/* Whether rows of a head are whole pieces of 16 bytes, which begin at multiples of them. */
static bool has_pieces(cu_typed x, int64_t stride) {
  return stride % EACH == 0 && (uintptr_t)x.half % (EACH * sizeof *x.half) == 0;
}

bool brim_cuda_by_matrices(const brim_cuda *d, const cu_attention *a) {
  return d->matrices && a->head_size % EACH == 0 && a->head_size <= WIDEST && has_pieces(a->q, a->q_stride) &&
         has_pieces(a->k, a->kv_stride) && has_pieces(a->v, a->kv_stride) && has_pieces(a->out, a->out_stride) &&
         has_pieces(a->dout, a->out_stride) && has_pieces(a->dq, a->q_stride) && has_pieces(a->dk, a->kv_stride) &&
         has_pieces(a->dv, a->kv_stride);
}

/* ---- shared memory */

/* Columns of a head there. */
static int width_of(const cu_attention *a) {
  return a->head_size <= NARROW ? NARROW : a->head_size <= WIDE ? WIDE : WIDEST;
}

/* Rows of what a block's own rows are multiplied with, which are taken at a time. */
static int stream_of(const cu_attention *a) {
  return a->head_size <= WIDE ? TILE : TILE / 2;
}

static size_t row_size(const cu_attention *a) {
  return (size_t)(width_of(a) / 2 + 4) * sizeof(uint32_t);
}

/* Pairs of tiles in memory with `own` rows: at least two, one of which is on its way; and as many as the longest text has, where
 * no block has to wait for it that registers would let run with the others. */
static int held(const brim_cuda *d, const brim_layout *layout, const cu_attention *a, int own) {
  const int blocks = width_of(a) == NARROW ? CU_BLOCKS_NARROW : CU_BLOCKS_WIDE,
            each = (d->most_shared + RESERVED) / blocks - RESERVED, most = (each / (int)row_size(a) - own) / (2 * stream_of(a)),
            all = brim_cuda_slot_tiles(layout, stream_of(a)), wanted = all < most ? all : most;
  return wanted > 2 ? wanted : 2;
}

/* ---- launches: `own` rows stay along with the pairs of tiles, and so many words more */

typedef struct widths {
  brim_cuda_kernel narrow, wide, widest;
} widths;

static void launch(brim_ops_context *c, widths of, int64_t heads, int own, int words, const cu_attention *a) {
  const int width = width_of(a), rows = own + a->held * 2 * stream_of(a);
  const brim_cuda_kernel kernel = width == NARROW ? of.narrow : width == WIDE ? of.wide : of.widest;
  brim_cuda_launch(c, kernel, (int64_t)a->texts * a->tiles, heads, (size_t)rows * row_size(a) + (size_t)words * sizeof(uint32_t),
                   a);
}

void brim_cuda_matrix_forward(brim_ops_context *c, const brim_attention *op, cu_attention *a) {
  a->tiles = brim_cuda_query_tiles(op, TILE);
  a->held = held(c->device, &op->layout, a, TILE);
  launch(c, (widths){CU_matrix_forward_32, CU_matrix_forward_64, CU_matrix_forward_128}, op->heads, TILE, 0, a);
}

void brim_cuda_matrix_backward(brim_ops_context *c, const brim_attention *op, cu_attention *a) {
  const int own = a->head_size <= WIDE ? 0 : 2 * TILE; /* else they are in registers */
  a->tiles = brim_cuda_query_tiles(op, TILE);
  a->held = held(c->device, &op->layout, a, own);
  launch(c, (widths){CU_matrix_queries_32, CU_matrix_queries_64, CU_matrix_queries_128}, op->heads, own, 0, a);
  a->tiles = brim_cuda_slot_tiles(&op->layout, TILE);
  a->held = 2; /* each block reads the queries once */
  launch(c, (widths){CU_matrix_keys_32, CU_matrix_keys_64, CU_matrix_keys_128}, op->heads / a->group, own, 4 * TILE, a);
}
