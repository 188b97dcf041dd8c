/* int8_tile.h: the product of bytes of one tile, with its way back to floats.
 *
 * y[i, j] = (sum over k of x[i, k] * w(k, j)) * (x_scale[i] * w_scale[j]) + bias[j]
 *
 * Four k lie in one lane. Instructions multiply unsigned bytes by signed ones, so a weight is stored with 128 added to it, and a
 * row's sum starts at -128 times the sum of the row: what comes out is exact. Compiled twice where a level has VNNI. */
#ifndef BRIM_OPS_CPU_INT8_TILE_H
#define BRIM_OPS_CPU_INT8_TILE_H
#include "ops/cpu/tile.h"

typedef struct int8_tile {
  int64_t steps;    /* depth / 4 */
  const int32_t *x; /* row i at i * x_row: `steps` times four signed bytes */
  int64_t x_row;
  const int32_t *start; /* of each row */
  const float *x_scale;
  const int32_t *w;            /* [steps, TILE_COLUMNS] times four bytes */
  const float *w_scale, *bias; /* [TILE_COLUMNS] */
  float *y;                    /* row i at i * y_row */
  int64_t y_row;
} int8_tile;

/* The first `columns` (1 .. TILE_COLUMNS) of 1 .. `rows` rows. */
typedef struct int8_kernel {
  int64_t rows; /* at once, at most */
  void (*run)(int64_t rows, int64_t columns, const int8_tile *t);
} int8_kernel;
int8_kernel CPU(int8_kernel)(void);
int8_kernel CPU(int8_kernel_vnni)(void);
#endif
