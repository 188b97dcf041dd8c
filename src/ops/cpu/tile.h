/* tile.h: the matrix product of one tile, which everything else is made of.
 *
 * c[i, j] = start[j] + sum over k of a[i * a_row + k * a_step] * b[k * b_step + j]     for i < rows <= TILE_ROWS, j <
 * TILE_COLUMNS
 *
 * The strides of a make x, x^T and packed matrices alike; b has TILE_COLUMNS readable values at each step. An element's sum runs
 * over k in order, whatever the tile, so results do not depend on how a product is cut (into columns, rows or tasks). */
#ifndef BRIM_OPS_CPU_TILE_H
#define BRIM_OPS_CPU_TILE_H
#include "ops/cpu/vec.h"

enum {
#if BRIM_LEVEL >= 2
  TILE_ROWS = 14, /* 28 accumulators of 32 registers */
#else
  TILE_ROWS = 6, /* 12 of 16 */
#endif
  TILE_COLUMNS = 2 * VEC
};

/* Written out, not looped: the accumulators are then registers for every compiler. */
#if BRIM_LEVEL >= 2
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11) DO(12) DO(13)
#else
#define EACH_ROW(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)
#endif

/* A pointer for every three rows, so that each row is one address away: a pointer for all would take more registers for their
 * distances than there are, and moving those about takes the place of multiplications. Compilers must not see through it. */
enum { POINTERS = (TILE_ROWS + 2) / 3 };
#define APART(pointer) __asm__("" : "+r"(pointer))

typedef struct tile {
  int64_t depth; /* steps of k */
  const float *a;
  int64_t a_row, a_step;
  const float *b;
  int64_t b_step;
  const float *start; /* TILE_COLUMNS values every row starts from; NULL: 0 */
  float *c;
  int64_t c_row;
  bool add; /* c += instead of c = */
  /* Sums that are added to the product in this order, before what c holds: rows of TILE_COLUMNS values. */
  int32_t sum_count;
  const float *const *sums;
} tile;

/* One tile of 1 .. TILE_ROWS rows, all TILE_COLUMNS columns. */
void CPU(tile_run)(int64_t rows, const tile *t);
/* The same for the first `columns` columns only (1 .. TILE_COLUMNS): b must still be readable in full. */
void CPU(tile_run_partial)(int64_t rows, int64_t columns, const tile *t);
/* Any number of rows, as tiles of nearly equal height; columns as above. a and c move on with the rows. */
void CPU(tile_rows)(int64_t rows, int64_t columns, const tile *t);

/* b panels: `columns` (<= TILE_COLUMNS, the rest is zeroed) of [depth, TILE_COLUMNS].
 * pack_rows: value (k, j) is x[k * stride + j]. pack_columns: it is x[j * stride + k]. */
void CPU(pack_rows)(int64_t depth, int64_t columns, const float *x, int64_t stride, float *panel);
void CPU(pack_columns)(int64_t depth, int64_t columns, const float *x, int64_t stride, float *panel);
#endif
