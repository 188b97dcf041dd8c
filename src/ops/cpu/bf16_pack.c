/* bf16_pack.c: sides of products as their tiles read them. See bf16_tile.h. */
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/transpose.h"

static char *unit_at(char *panel, int64_t unit, int64_t column) {
  return panel + (unit * TILE_COLUMNS + column) * BF16_UNIT;
}

static void put_unit(char *panel, int64_t unit, int64_t column, uint32_t value) {
  memcpy(unit_at(panel, unit, column), &value, sizeof value);
}

BRIM_INLINE void store_units(char *panel, int64_t unit, int64_t column, vec units) {
  vstore((float *)(void *)unit_at(panel, unit, column), units);
}

/* Pair k / 2 of a column: as it is, or as its odd value and its even one. */
static void put_pair(bool widen, char *panel, int64_t k, int64_t column, uint32_t even, uint32_t odd) {
  if (widen) {
    put_unit(panel, k, column, odd << 16);
    put_unit(panel, k + 1, column, even << 16);
  } else {
    put_unit(panel, k / 2, column, odd << 16 | even);
  }
}

/* A vector of pairs. */
BRIM_INLINE void store_pairs(bool widen, char *panel, int64_t k, int64_t column, vec pairs) {
  if (widen) {
    store_units(panel, k, column, (vec)((uvec)pairs & 0xffff0000u));
    store_units(panel, k + 1, column, (vec)((uvec)pairs << 16));
  } else {
    store_units(panel, k / 2, column, pairs);
  }
}

/* ---- rows k and k + 1 side by side */

#if BRIM_LEVEL >= 2
/* The first n values of two rows, interleaved: TILE_COLUMNS pairs in two vectors. */
BRIM_INLINE void interleave(const brim_bfloat *even, const brim_bfloat *odd, int64_t n, vec pairs[2]) {
  const __mmask32 lanes = n >= TILE_COLUMNS ? ~0u : (1u << n) - 1;
  const __m512i x = _mm512_maskz_loadu_epi16(lanes, even);
  const __m512i y = odd ? _mm512_maskz_loadu_epi16(lanes, odd) : _mm512_setzero_si512();
  /* 128-bit lanes in the order 0 2 1 3 of halves, so that interleaving within them gives columns in order */
  const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
  const __m512i p = _mm512_permutexvar_epi64(order, x), q = _mm512_permutexvar_epi64(order, y);
  const __m512i low = _mm512_unpacklo_epi16(p, q), high = _mm512_unpackhi_epi16(p, q);
  pairs[0] = (vec)low;
  pairs[1] = (vec)high;
}
#elif BRIM_LEVEL == 1
BRIM_INLINE __m256i first_halves(const brim_bfloat *p, int64_t n) {
  __m256i x = _mm256_setzero_si256();
  if (n >= TILE_COLUMNS)
    return _mm256_loadu_si256((const __m256i_u *)p);
  memcpy(&x, p, (size_t)n * sizeof *p);
  return x;
}
BRIM_INLINE void interleave(const brim_bfloat *even, const brim_bfloat *odd, int64_t n, vec pairs[2]) {
  const __m256i x = _mm256_permute4x64_epi64(first_halves(even, n), 0xD8);
  const __m256i y = _mm256_permute4x64_epi64(odd ? first_halves(odd, n) : _mm256_setzero_si256(), 0xD8);
  pairs[0] = (vec)_mm256_unpacklo_epi16(x, y);
  pairs[1] = (vec)_mm256_unpackhi_epi16(x, y);
}
#else
BRIM_INLINE void interleave(const brim_bfloat *even, const brim_bfloat *odd, int64_t n, vec pairs[2]) {
  uint32_t units[TILE_COLUMNS] = {0};
  for (int64_t j = 0; j < TILE_COLUMNS && j < n; j++)
    units[j] = even[j] | (odd ? (uint32_t)odd[j] << 16 : 0);
  memcpy(pairs, units, sizeof units);
}
#endif

void CPU(bf16_pack_rows)(bool widen, int64_t depth, int64_t columns, const brim_bfloat *x, int64_t stride, char *panel) {
  for (int64_t k = 0; k < depth; k += 2, x += 2 * stride) {
    vec pairs[2];
    interleave(x, k + 1 < depth ? x + stride : NULL, columns, pairs);
    store_pairs(widen, panel, k, 0, pairs[0]);
    store_pairs(widen, panel, k, VEC, pairs[1]);
  }
}

/* ---- columns: pairs lie side by side already, and are turned about */

void CPU(bf16_pack_columns)(bool widen, int64_t depth, int64_t columns, const brim_bfloat *x, int64_t stride, char *panel) {
  enum { AT_ONCE = 2 * VEC, AHEAD = 128 };
  const int64_t whole_depth = depth / AT_ONCE * AT_ONCE, whole_columns = columns / VEC * VEC;
  for (int64_t k = 0; k < whole_depth; k += AT_ONCE)
    for (int64_t j = 0; j < whole_columns; j += VEC) {
      vec turned[VEC];
      for (int i = 0; i < VEC; i++)
        __builtin_prefetch(x + (j + i) * stride + k + AHEAD);
      transpose((const char *)(x + j * stride + k), stride * (int64_t)sizeof *x, turned);
      BRIM_UNROLL(16)
      for (int i = 0; i < VEC; i++)
        store_pairs(widen, panel, k + 2 * i, j, turned[i]);
    }
  for (int64_t k = 0; k < depth; k += 2) {
    const int64_t done = k < whole_depth ? whole_columns : 0;
    for (int64_t j = done; j < columns; j++)
      put_pair(widen, panel, k, j, x[j * stride + k], k + 1 < depth ? x[j * stride + k + 1] : 0);
    for (int64_t j = columns; j < TILE_COLUMNS; j++)
      put_pair(widen, panel, k, j, 0, 0);
  }
}

/* ---- left sides */

void CPU(bf16_widen_row)(int64_t depth, const brim_bfloat *x, float *y) {
  int64_t k = 0;
#if BRIM_LEVEL > 0
  for (; k + VEC <= depth; k += VEC) {
    const vec values = hload_n(x + k, VEC);
#if BRIM_LEVEL >= 2
    vstore(y + k, _mm512_permute_ps(values, 0xB1));
#else
    vstore(y + k, _mm256_permute_ps(values, 0xB1));
#endif
  }
#endif
  for (; k < depth; k += 2) {
    const uint32_t pair[2] = {k + 1 < depth ? (uint32_t)x[k + 1] << 16 : 0, (uint32_t)x[k] << 16};
    memcpy(y + k, pair, sizeof pair);
  }
}
