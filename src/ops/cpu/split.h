/* split.h: products of fp32 on AMX, each value as the exact sum of three of 16 bits (bfloat16).
 *
 * A value's 24 significant bits are cut into h + m + l of 8 bits each: h is the value rounded to bfloat16, m what is left
 * rounded, l the rest, exactly. Of the nine products of two values' components six are summed, the smallest first: l h', m h', m
 * m', h m', h l', h h'. What is left out (m l', l m', l l') is less than 2^-23 of a product, and of either sign. A tile
 * multiplies 32 k at a time and sums from 0 before it adds to what was there (amx.h), so that a long sum is rounded 6/32 times as
 * often as one of a fused multiply-add a term: results are at least as near to exact ones (tests/unit/ops_split). Six products of
 * 16 bits take 6/16 of the time of one in fp32 by AVX-512. The idea is Henry, Tang and Heinecke's ("Leveraging the bfloat16
 * Artificial Intelligence Datatype For Higher-Precision Computations", 2019).
 *
 * Components below 2^-126 are 0, so that of values below 2^-102 only 16 bits or 8 count; what is not finite, or above 3.39e38,
 * gives NaN.
 *
 * A packed side has, for each step of 32 k, three components of two halves (16 rows, or 16 columns) of 1 KiB: a row of a left
 * half is a row's 16 units, a row of a right half one unit of 16 columns. Unit u of a step is k = u in the lower half and k = u +
 * 16 in the upper one, on both sides: then a unit is made without moving values about. Missing rows, columns and k are 0. */
#ifndef BRIM_OPS_CPU_SPLIT_H
#define BRIM_OPS_CPU_SPLIT_H
#include "base/runtime.h"
#include "ops/cpu/product_type.h"
#include "ops/cpu/tile.h"

#if BRIM_LEVEL == 3 && defined(BRIM_HAS_BF16)
#define SPLITS 1
#else
#define SPLITS 0
#endif

enum {
  SPLIT_SIDE = 32,                      /* rows, and columns, of a tile */
  SPLIT_SIZE = SPLIT_SIDE * SPLIT_SIDE, /* its values */
  SPLIT_K = 32,                         /* of a step */
  SPLIT_PIECES = 2,                     /* of a step of a panel: its halves */
  SPLIT_COMPONENTS = 3,                 /* h, m, l */
  SPLIT_HALF = 16 * 64,                 /* bytes */
  SPLIT_COMPONENT = 2 * SPLIT_HALF,     /* bytes */
  SPLIT_STEP = 3 * SPLIT_COMPONENT,     /* bytes of a step of one side */
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
  bool accumulates;  /* sums continue from what c holds, instead of from `start` */
  const char *fetch; /* what will be needed afterwards: `fetch_lines` cache lines a step; or NULL */
  int64_t fetch_lines;
  const split_panel *beside; /* of which pieces are packed meanwhile, from `piece` on, before `piece_end`; or NULL */
  int64_t piece, piece_end;
  const float *next; /* the c of the next tile, with the same rows; or NULL */
} split_tile;

/* The sum of a tile, [SPLIT_SIZE], that is still to be added while the next one is multiplied. Others wait for it, one after
 * another: it is added to the last of them, the sum of both to the one before, and so on. The last `held_count` of them are
 * tiles, those before them rows of memory. What comes out is added to rows of dw, or it waits in its turn. */
typedef struct split_rest {
  const float *sum;          /* NULL: there is none */
  const float *held, *spill; /* the last of those that wait, and the last of those that are rows, `apart` and `spill_row` apart */
  int32_t held_count, spill_count;
  int64_t spill_row, apart;
  float *to; /* rows of dw, of memory, or a tile */
  int64_t stride, rows, columns;
  bool add, is_tile; /* to what is there; `to` is a tile */
} split_rest;

/* Rows of 32 values, from `at` on, before `end`. */
typedef struct split_rows {
  const float *at, *end;
  int64_t stride;
} split_rows;

/* A tile of 32 rows and 32 columns over some rows of a gradient's sides: c = sum over k of a(i, k) b(k, j), and `rest` is added
 * before c is written. Sides are in registers before a sum is out of them: one after another, a tile names the next one's. */
typedef struct split_stretch {
  int64_t steps;
  bool half_k; /* the last step has 16 k: see split_left_turned_half */
  bool begun;  /* the tile before this one has named its sides */
  const char *a, *b, *next_a, *next_b;
  float *c;
  bool waits; /* c is long out of the first cache */
  const split_rest *rest;
  const char *fetch; /* as in split_tile */
  int64_t fetch_lines;
  split_rows *prefetch; /* `prefetch_count` sets of rows that come next; `prefetch_per_step` rows of each are fetched a step,
                         * since too many at once keep sides waiting */
  int64_t prefetch_count, prefetch_per_step;
} split_stretch;

typedef struct split_kernel {
  void (*run)(const split_tile *t);
  void (*stretch)(split_stretch *s);
  void (*begin)(void), (*end)(void); /* of a task; may be NULL */
} split_kernel;

/* Of tiles alone. */
BRIM_INLINE void split_add_lines(const split_rest *r, const int32_t count, const int first) {
  BRIM_UNROLL(8)
  for (int i = first; i < first + SPLIT_SIZE / 2; i += VEC) {
    vec x = vload(r->sum + i);
    BRIM_UNROLL(4)
    for (int32_t k = 0; k < count; k++)
      x = vload(r->held + i - k * SPLIT_SIZE) + x;
    vstore(r->to + i, x);
  }
}

BRIM_INLINE void split_add_rows(const split_rest *r, const bool add, int64_t first) {
  for (int64_t i = first; i < first + SPLIT_SIDE / 2 && i < r->rows; i++)
    for (int64_t j = 0; j < r->columns; j += VEC) {
      vec x = vload(r->sum + i * SPLIT_SIDE + j);
      for (int32_t k = 0; k < r->held_count; k++)
        x = vload(r->held + i * SPLIT_SIDE + j - k * SPLIT_SIZE) + x;
      for (int32_t k = 0; k < r->spill_count; k++)
        x = vload(r->spill + i * r->spill_row + j - k * r->apart) + x;
      float *to = r->to + i * r->stride + j;
      if (add)
        vstore_n(to, vload_n(to, r->columns - j) + x, r->columns - j);
      else
        vstore(to, x);
    }
}

/* Of the upper 16 rows, or of the lower ones. */
BRIM_INLINE void split_add_rest(const split_rest *r, const int half) {
  const int first = half * SPLIT_SIZE / 2;
  if (r->add)
    split_add_rows(r, true, half * SPLIT_SIDE / 2);
  else if (!r->is_tile || r->spill_count > 0)
    split_add_rows(r, false, half * SPLIT_SIDE / 2);
  else if (r->held_count == 1)
    split_add_lines(r, 1, first);
  else if (r->held_count == 2)
    split_add_lines(r, 2, first);
  else
    split_add_lines(r, r->held_count, first);
}

split_kernel CPU(split_kernel_amx)(void);
split_kernel CPU(split_kernel_amx_emulated)(void) __attribute__((weak)); /* tests link it */

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
/* A step of at most 16 k, in half the products: units are two components of one k, (h, h), (m, h) and (l, m) on the left, (h',
 * h'), (m', m') and (l', h') on the right, where h, m and l are else. */
void CPU(split_left_turned_half)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to, float *sums);
void CPU(split_right_half)(int64_t columns, int64_t depth, const float *x, int64_t stride, char *to);

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
