/* bf16_tile.h: products of 16-bit values with sums in single precision: tiles and what is packed for them.
 *
 * A sum runs over k in pairs, first the odd k of a pair, then the even one:  c = fma(a[1], b[1], c), then c = fma(a[0], b[0], c).
 * Products of two bfloat16 are exact; each addition is rounded once, to nearest even; denormal inputs, sums and results count as
 * 0 of their sign. This is what `vdpbf16ps` does, whatever the state of the processor: no difference in 144 million lanes of
 * random bits, of products and sums near the smallest and the largest numbers, with infinities and NaN (whose bits other than
 * being NaN differ), on Zen 5, and in 20 million ordinary ones on Zen 4. A product of odd length has a pair with one zero each.
 *
 * So all levels give the same bits, with the instruction and without, where the values are widened while they are packed, odd k
 * before even, and multiplied by fused multiply-add. AMX is the exception: it sums odd and even k separately for 32 k.
 *
 * A side of a product is cut into units of four bytes: a pair of 16-bit values, or one widened value. */
#ifndef BRIM_OPS_CPU_BF16_TILE_H
#define BRIM_OPS_CPU_BF16_TILE_H
#include "base/runtime.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"
#include "ops/cpu/tile.h"

enum {
  BF16_ROWS = 32, /* of a tile, at most; AMX has the highest */
  BF16_SPARE = 16,
  BF16_UNIT = 4,
  BF16_CHUNK = 512 /* units of a side that are multiplied at a time: what is packed of it stays in the second cache */
};

/* ---- bf16_tile.c, bf16_amx.c */

/* c[i, j] = start[j] + sum over k of a(i, k) b(k, j) for all TILE_COLUMNS columns. Unit k of a's row i is at a + i * a_row + k *
 * a_step (bytes, any alignment), b is [steps, TILE_COLUMNS] units. `odd`: after the steps comes a pair whose second value is not
 * to be read in a, and is 0 in b. */
typedef struct bf16_tile {
  int64_t steps;
  bool odd;
  const char *a;
  int64_t a_row, a_step;
  const char *b;
  const float *start; /* TILE_COLUMNS values every row starts from; NULL: 0 */
  float *c;
  int64_t c_row;    /* values */
  bool spare;       /* a has rows up to a multiple of BF16_SPARE; so has c, unless something is added */
  bool accumulates; /* sums continue from what c holds, instead of from `start` */
  bool add;         /* c += instead of c = */
  /* Sums that are added to the product in this order, before what c holds: rows of TILE_COLUMNS values. */
  int32_t sum_count;
  const float *const *sums;
  const char *fetch; /* lines that will be needed afterwards: `fetch_bytes` a row; or NULL */
  int64_t fetch_row, fetch_bytes;
} bf16_tile;

typedef struct bf16_kernel {
  int64_t rows;                                  /* of a tile, at most */
  bool widens;                                   /* units are single values, in the order of sums */
  bool whole;                                    /* as many tiles as can be have all rows; else they are nearly equal */
  bool turned;                                   /* wants the units of a row of a side by side (a_step is BF16_UNIT) */
  int64_t deep;                                  /* is fastest where steps are a multiple of that, with zeros at the end */
  void (*run)(int64_t rows, const bf16_tile *t); /* 1 .. rows */
  void (*begin)(void), (*end)(void);             /* of a task; may be NULL */
} bf16_kernel;
bf16_kernel CPU(bf16_kernel)(brim_bf16_way way);
/* Any number of rows, as tiles; a and c move on with the rows. */
void CPU(bf16_tile_rows)(const bf16_kernel *kernel, int64_t rows, const bf16_tile *t);
#if BRIM_LEVEL >= 2 && defined(BRIM_HAS_BF16)
bf16_kernel CPU(bf16_kernel_amx)(void);
bf16_kernel CPU(bf16_kernel_amx_emulated)(void) __attribute__((weak)); /* tests link it */
#endif

/* ---- bf16_pack.c: right sides, [units, TILE_COLUMNS], zeros where columns or the last pair's partner are missing. `depth`
 * counts 16-bit values. pack_rows: value (k, j) is x[k * stride + j]. pack_columns: it is x[j * stride + k]. */
void CPU(bf16_pack_rows)(bool widen, int64_t depth, int64_t columns, const brim_bfloat *x, int64_t stride, char *panel);
void CPU(bf16_pack_columns)(bool widen, int64_t depth, int64_t columns, const brim_bfloat *x, int64_t stride, char *panel);
/* One row of a left side, widened in the order of sums; an even number of values. */
void CPU(bf16_widen_row)(int64_t depth, const brim_bfloat *x, float *y);

BRIM_INLINE int64_t bf16_units(bool widen, int64_t depth) {
  return widen ? (depth + 1) / 2 * 2 : (depth + 1) / 2;
}
/* With zeros, as many as the kernel likes. */
BRIM_INLINE int64_t bf16_deep_units(const bf16_kernel *kernel, int64_t depth) {
  const int64_t units = bf16_units(kernel->widens, depth);
  return kernel->deep > 1 ? (units + kernel->deep - 1) / kernel->deep * kernel->deep : units;
}
/* Units from .. to - 1 of a panel become 0. */
BRIM_INLINE void bf16_clear_units(char *panel, int64_t from, int64_t to) {
  memset(panel + from * TILE_COLUMNS * BF16_UNIT, 0, (size_t)(to - from) * TILE_COLUMNS * BF16_UNIT);
}
#endif
