/* bf16_product.h: a whole product of 16-bit values with a weight on the right, in tasks of some rows by some panels.
 *
 * c[r, j] = start[j] + sum over k of a[r * a_stride + k] * w(k, j), in the order of bf16_tile.h, where w(k, j) is w[j * w_stride
 * + k] when `transposed` (y = x w^T) and w[k * w_stride + j] otherwise (dx = dy w). What is done with c, is done a tile at a
 * time, while it is in the first cache. */
#ifndef BRIM_OPS_CPU_BF16_PRODUCT_H
#define BRIM_OPS_CPU_BF16_PRODUCT_H
#include "ops/cpu/bf16_tile.h"

typedef struct bf16_product bf16_product;
/* Rows row .. row + rows - 1 and columns column .. column + columns - 1 of c are done; c is [rows, TILE_COLUMNS], the
 * function's to change. */
typedef void (*bf16_done_fn)(const bf16_product *p, int64_t row, int64_t rows, int64_t column, int64_t columns, float *c);

struct bf16_product {
  int64_t rows, depth, columns;
  const brim_bfloat *a, *w;
  const float *start; /* [columns] or NULL */
  int64_t a_stride, w_stride;
  bool transposed;
  bf16_done_fn done;
  const void *context; /* its own */
  brim_typed out;      /* what `done` will touch, [rows, columns], rows out_stride values apart: it is fetched meanwhile */
  int64_t out_stride;
  bf16_kernel kernel; /* from here on filled by bf16_product_run */
  char *scratch;
  int64_t panels, blocks, groups;
};

/* Counts itself in the statistics. */
void CPU(bf16_product_run)(brim_ops_context *c, bf16_product *p);
size_t CPU(bf16_product_workspace)(int threads);
#endif
