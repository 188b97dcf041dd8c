/* product.h: a whole matrix product with a weight on the right, in tasks of some rows by some panels.
 *
 * c[r, j] (+)= start[j] + sum over k of a[r * a_stride + k] * w(k, j), where w(k, j) is w[j * w_stride + k] when `transposed` (y
 * = x w^T) and w[k * w_stride + j] otherwise (dx = dy w). A task packs its panels of w itself, one at a time, and asks for the
 * next one's lines while it computes: reading a weight costs as much as 20 rows of computing. */
#ifndef BRIM_OPS_CPU_PRODUCT_H
#define BRIM_OPS_CPU_PRODUCT_H
#include "ops/cpu/product_type.h"

/* Counts itself in the statistics. */
void CPU(product_run)(brim_ops_context *c, product *p);
size_t CPU(product_workspace)(int threads);
#endif
