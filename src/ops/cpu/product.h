/* product.h: a whole matrix product with a weight on the right, in tasks of some rows by some panels.
 *
 * c[r, j] (+)= start[j] + sum over k of a[r * a_stride + k] * w(k, j), where w(k, j) is w[j * w_stride + k] when `transposed` (y
 * = x w^T) and w[k * w_stride + j] otherwise (dx = dy w). A task packs its panels of w itself, one at a time, and asks for the
 * next one's lines while it computes: reading a weight costs as much as 20 rows of computing. */
#ifndef BRIM_OPS_CPU_PRODUCT_H
#define BRIM_OPS_CPU_PRODUCT_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"

typedef struct product product;
/* What follows in the same task: rows first .. first + rows - 1, columns from .. to - 1 of c are done. */
typedef void (*product_after_fn)(const product *p, int64_t first, int64_t rows, int64_t from, int64_t to);

struct product {
  int64_t rows, depth, columns;
  const float *a, *w, *start; /* start: [columns] or NULL */
  float *c;
  int64_t a_stride, w_stride, c_stride;
  bool transposed, add;
  product_after_fn after; /* may be NULL */
  const void *context;    /* its own */
  float *scratch;         /* from here on filled by product_run */
  int64_t panels, blocks, groups;
};

/* Counts itself in the statistics. */
void CPU(product_run)(brim_ops_context *c, product *p);
size_t CPU(product_workspace)(int threads);
#endif
