/* bf16_tile.h: products of 16-bit values with sums in single precision: tiles and what is packed for them.
 *
 * A sum runs over k in pairs, first the odd k of a pair, then the even one:  c = fma(a[1], b[1], c), then c = fma(a[0], b[0], c).
 * Products of two bfloat16 are exact; each addition is rounded once, to nearest even; denormal inputs, sums and results count as
 * 0 of their sign. This is what `vdpbf16ps` does, whatever the state of the processor: no difference in 144 million lanes of
 * random bits, of products and sums near the smallest and the largest numbers, with infinities and NaN (whose bits other than
 * being NaN differ), on Zen 5, and in 20 million ordinary ones on Zen 4. A product of odd length has a pair with one zero each.
 *
 * So all levels give the same bits, with the instruction and without, where the values are widened while they are packed, odd k
 * before even, and multiplied by fused multiply-add. AMX is the exception: it keeps the sums of odd and even k apart for 32 k.
 *
 * A side of a product is cut into units of four bytes: a pair of 16-bit values, or one widened value. */
#ifndef BRIM_OPS_CPU_BF16_TILE_H
#define BRIM_OPS_CPU_BF16_TILE_H
#include "base/runtime.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"
#include "ops/cpu/vecmath.h"

enum {
  BF16_ROWS = 32, /* of a tile, at most; AMX has the highest */
  BF16_UNIT = 4,
  BF16_CHUNK = 512 /* units of a side that are multiplied at a time: what is packed of it stays in the second cache */
};

/* ---- bf16_tile.c, bf16_amx.c */

/* c[i, j] += sum over k of a(i, k) b(k, j) for all TILE_COLUMNS columns. Unit k of a's row i is at a + i * a_row + k * a_step
 * (bytes, any alignment), b is [steps, TILE_COLUMNS] units. `odd`: after the steps comes a pair whose second value is not to be
 * read in a, and is 0 in b. */
typedef struct bf16_tile {
  int64_t steps;
  bool odd;
  const char *a;
  int64_t a_row, a_step;
  const char *b;
  float *c; /* [rows, TILE_COLUMNS] */
} bf16_tile;

typedef struct bf16_kernel {
  int64_t rows;                                  /* of a tile, at most */
  bool widens;                                   /* units are single values, in the order of sums */
  bool whole;                                    /* as many tiles as can be have all rows; else they are nearly equal */
  bool turned;                                   /* wants the units of a row of a side by side (a_step is BF16_UNIT) */
  void (*run)(int64_t rows, const bf16_tile *t); /* 1 .. rows */
  void (*begin)(void), (*end)(void);             /* of a task; may be NULL */
} bf16_kernel;
bf16_kernel CPU(bf16_kernel)(brim_bf16_way way);
#if BRIM_LEVEL == 2 && defined(BRIM_HAS_BF16)
bf16_kernel CPU(bf16_kernel_amx)(void);
bf16_kernel CPU(bf16_kernel_amx_emulated)(void);
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

/* ---- vectors of 16-bit values */

BRIM_INLINE vec widen_half(brim_bfloat x) {
  return (vec)((uvec){0} + ((uint32_t)x << 16));
}

/* The nearest, to even between two; NaN stays NaN. In the upper halves of the lanes, below which is rubbish. */
BRIM_INLINE uvec round_upper(vec x) {
  const uvec bits = (uvec)x;
  const uvec rounded = bits + 0x7fffu + (bits >> 16 & 1u), quiet = bits | 0x400000u;
#if BRIM_LEVEL == 2
  return (uvec)_mm512_mask_mov_epi32((__m512i)rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), (__m512i)quiet);
#else
  const uvec nan = (uvec)(x != x);
  return (rounded & ~nan) | (quiet & nan);
#endif
}

#if BRIM_LEVEL == 2
/* The first n of VEC values, n may exceed VEC; others are 0. */
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  const __m256i x = n >= VEC ? _mm256_loadu_si256((const __m256i_u *)p) : _mm256_maskz_loadu_epi16(vec_lanes(n), p);
  return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const __m256i y = _mm512_cvtepi32_epi16((__m512i)(round_upper(x) >> 16));
  if (n >= VEC)
    _mm256_storeu_si256((__m256i_u *)p, y);
  else
    _mm256_mask_storeu_epi16(p, vec_lanes(n), y);
}
#elif BRIM_LEVEL == 1
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  __m128i x = _mm_setzero_si128();
  if (n >= VEC)
    x = _mm_loadu_si128((const __m128i_u *)p);
  else
    memcpy(&x, p, (size_t)n * sizeof *p);
  return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const __m256i y = (__m256i)(round_upper(x) >> 16);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
  if (n >= VEC)
    _mm_storeu_si128((__m128i_u *)p, halves);
  else
    memcpy(p, &halves, (size_t)n * sizeof *p);
}
#else
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  uvec x = {0};
  for (int i = 0; i < VEC && i < n; i++)
    x[i] = (uint32_t)p[i] << 16;
  return (vec)x;
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const uvec y = round_upper(x) >> 16;
  for (int i = 0; i < VEC && i < n; i++)
    p[i] = (brim_bfloat)y[i];
}
#endif
#endif
