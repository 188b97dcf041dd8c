/* split.h: products of fp32 on AMX, each value as the exact sum of three of 16 bits (bfloat16).
 *
 * A value's 24 significant bits are cut into h + m + l of 8 bits each: h is the value rounded to bfloat16, m what is left
 * rounded, l the rest, exactly. Of the nine products of two values' parts six are summed, the smallest first: l h', m h', m m', h
 * m', h l', h h'. What is left out (m l', l m', l l') is less than 2^-23 of a product, and of either sign. A tile multiplies 32 k
 * at a time and sums from 0 before it adds to what was there (amx.h), so that a long sum is rounded 6/32 times as often as one of
 * a fused multiply-add a term: results are at least as near to exact ones (tests/unit/ops_split). Six products of 16 bits take
 * 6/16 of the time of one in fp32 by AVX-512. The idea is Henry, Tang and Heinecke's ("Leveraging the bfloat16 Artificial
 * Intelligence Datatype For Higher-Precision Computations", 2019).
 *
 * Parts below 2^-126 are 0, so that of values below 2^-102 only 16 bits or 8 count; what is not finite, or above 3.39e38, gives
 * NaN.
 *
 * A packed side has, for each step of 32 k, three parts of two halves (16 rows, or 16 columns) of 1 KiB: a row of a left half is
 * a row's 16 units, a row of a right half one unit of 16 columns. Unit u of a step is k = u in the lower half and k = u + 16 in
 * the upper one, on both sides: then a unit is made without moving values about. Missing rows, columns and k are 0. */
#ifndef BRIM_OPS_CPU_SPLIT_H
#define BRIM_OPS_CPU_SPLIT_H
#include "base/runtime.h"
#include "ops/cpu/product.h"

#if BRIM_LEVEL == 3 && defined(BRIM_HAS_BF16)
#define SPLITS 1
#else
#define SPLITS 0
#endif

enum {
  SPLIT_SIDE = 32,             /* rows, and columns, of a tile */
  SPLIT_K = 32,                /* of a step */
  SPLIT_PIECES = 2,            /* of a step of a panel: its halves */
  SPLIT_PARTS = 3,             /* h, m, l */
  SPLIT_HALF = 16 * 64,        /* bytes */
  SPLIT_PART = 2 * SPLIT_HALF, /* bytes */
  SPLIT_STEP = 3 * SPLIT_PART, /* bytes of a step of one side */
  SPLIT_CHUNK = 16, /* steps that are packed at a time: eight left tiles of these, and two right ones, fit the second cache */
  SPLIT_TILE = SPLIT_CHUNK * SPLIT_STEP, /* bytes of a packed side of a tile */
  SPLIT_LEAST = 16                       /* narrower weights are not worth it, on either side */
};

BRIM_INLINE int64_t split_steps(int64_t depth) {
  return divided(depth, SPLIT_K);
}

/* A right side that is to be packed: `depth` k, up to 32 columns. Value (k, j) is x[k * stride + j], or x[j * stride + k] if it
 * is `turned`. */
typedef struct split_panel {
  int64_t columns, depth;
  const float *x;
  int64_t stride;
  bool turned;
  const float *next; /* x of the panel that is packed afterwards, whose first lines are asked for in time; or NULL */
  char *to;
} split_panel;

/* ---- split_tile.c */

/* c[i, j] = start[j] + sum over k of a(i, k) b(k, j) for 32 rows and 32 columns. */
typedef struct split_tile {
  int64_t steps;
  const char *a, *b;
  const float *start; /* 32 values every row starts from; NULL: 0 */
  float *c;
  int64_t c_row;     /* values */
  bool half;         /* of the first 16 rows alone */
  bool goes_on;      /* sums go on from what c holds, instead of from `start` */
  const char *fetch; /* what will be needed afterwards: `fetch_lines` cache lines a step; or NULL */
  int64_t fetch_lines;
  const split_panel *beside; /* of which pieces are packed meanwhile, from `piece` on, before `piece_end`; or NULL */
  int64_t piece, piece_end;
  const float *next; /* the c of the next tile, with the same rows; or NULL */
} split_tile;

typedef struct split_kernel {
  void (*run)(const split_tile *t);
  void (*begin)(void), (*end)(void); /* of a task; may be NULL */
} split_kernel;
split_kernel CPU(split_kernel_amx)(void);
split_kernel CPU(split_kernel_amx_emulated)(void);

/* There is none at other levels. */
BRIM_INLINE split_kernel split_kernel_of(const brim_ops_context *c) {
#if SPLITS
  return c->runtime->bf16 == BRIM_BF16_TILES_EMULATED ? CPU(split_kernel_amx_emulated)() : CPU(split_kernel_amx)();
#else
  (void)c;
  return (split_kernel){0};
#endif
}

/* ---- split_pack.c: `depth` k, and up to 32 rows or columns.
 * left: value (i, k) is x[i * stride + k]. left_turned: x[k * stride + i], and column sums over k are added to sums[32] unless it
 * is NULL. pieces: from `first` on, before `end`. */
void CPU(split_left)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to);
void CPU(split_left_turned)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to, float *sums);
void CPU(split_pieces)(const split_panel *p, int64_t first, int64_t end);
/* All of them. */
BRIM_INLINE void split_right(const split_panel *p) {
  CPU(split_pieces)(p, 0, SPLIT_PIECES * split_steps(p->depth));
}

/* ---- split_product.c: product.h's, by tiles; its statistics are counted already */
void CPU(split_product_run)(brim_ops_context *c, const product *p);
size_t CPU(split_product_workspace)(int threads, const brim_ops_limits *limits);

/* ---- split_gradient.c: dw += dy^T x and db */
void CPU(split_weight_gradient)(brim_ops_context *c, const brim_linear_gradient *l);
size_t CPU(split_weight_gradient_workspace)(int threads, const brim_ops_limits *limits);

/* Of a weight; its shorter side is at most limits->hidden. */
BRIM_INLINE int64_t split_longest(const brim_ops_limits *limits) {
  const int32_t some = limits->hidden > limits->intermediate ? limits->hidden : limits->intermediate;
  return limits->longest > some ? limits->longest : some;
}

/* Of a layer with these sides. By the weight alone, so that a row's bits do not hang on how many there are. */
BRIM_INLINE bool split_is_worth(int64_t in, int64_t out) {
  return in >= SPLIT_LEAST && out >= SPLIT_LEAST;
}
#endif
