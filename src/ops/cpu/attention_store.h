/* attention_store.h: scores' successors as the products after them read them. `how` is a constant wherever these are called. */
#ifndef BRIM_OPS_CPU_ATTENTION_STORE_H
#define BRIM_OPS_CPU_ATTENTION_STORE_H
#include "ops/cpu/attention.h"

/* In the order of sums of bf16_tile.h. */
BRIM_INLINE vec rounded(vec x) {
  return (vec)(round_upper(x) & 0xffff0000u);
}

/* Each two neighbours exchanged. */
BRIM_INLINE vec exchanged(vec x) {
#if BRIM_LEVEL >= 2
  return _mm512_permute_ps(x, 0xB1);
#elif BRIM_LEVEL == 1
  return _mm256_permute_ps(x, 0xB1);
#else
  return (vec){x[1], x[0], x[3], x[2]};
#endif
}

#if BRIM_LEVEL >= 2
/* Both rounded, the values of `low` before those of `high`. */
BRIM_INLINE __m512i narrowed(const attention_store how, vec low, vec high) {
  __m512i y;
#if defined(BRIM_HAS_BF16) && !defined(BRIM_WIDE_IN_C)
  if (how == STORE_PAIRS) {
    __asm__("vcvtne2ps2bf16 %1, %2, %0" : "=v"(y) : "v"(low), "v"(high));
    return y;
  }
#endif
  (void)how;
  y = _mm512_castsi256_si512(_mm512_cvtepi32_epi16((__m512i)(round_upper(low) >> 16)));
  return _mm512_inserti64x4(y, _mm512_cvtepi32_epi16((__m512i)(round_upper(high) >> 16)), 1);
}

/* The first half's values and the second's, in turns. */
BRIM_INLINE vec in_turns(__m512i x) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20, 4,
                                         19, 3, 18, 2, 17, 1, 16, 0);
  return (vec)_mm512_permutexvar_epi16(order, x);
}
#endif

/* Keys `key` (even) and key + 1 of the queries from i on, in [keys, QUERY_BLOCK]: for attention_sum. The last key may have no
 * partner: 0 then. */
BRIM_INLINE void store_keys(const attention_store how, bool partner, float *to, int64_t key, int64_t i, vec even, vec odd) {
  float *first = to + key * QUERY_BLOCK + i, *second = first + QUERY_BLOCK;
#if BRIM_LEVEL >= 2
  if (how == STORE_PAIRS || how == STORE_PAIRS_IN_C) {
    vstore(to + key / 2 * QUERY_BLOCK + i, in_turns(narrowed(how, even, odd)));
    return;
  }
#endif
  if (how == STORE_SINGLE) {
    vstore(first, even);
    if (partner)
      vstore(second, odd);
  } else {
    vstore(first, rounded(odd));
    vstore(second, rounded(even));
  }
}

/* The same, and each key's row in `rows`: for attention_add. Of 16-bit values only. */
BRIM_INLINE void store_rows(const attention_store how, bool partner, float *rows, float *to, int64_t key, int64_t i, vec even,
                            vec odd) {
#if BRIM_LEVEL >= 2
  if (how == STORE_PAIRS || how == STORE_PAIRS_IN_C) {
    const __m512i both = narrowed(how, even, odd);
    brim_bfloat *row = (brim_bfloat *)(void *)rows + key * QUERY_BLOCK + i;
    _mm256_storeu_si256((__m256i_u *)row, _mm512_castsi512_si256(both));
    if (partner)
      _mm256_storeu_si256((__m256i_u *)(row + QUERY_BLOCK), _mm512_extracti64x4_epi64(both, 1));
    if (to)
      vstore(to + key / 2 * QUERY_BLOCK + i, in_turns(both));
    return;
  }
#endif
  even = rounded(even), odd = rounded(odd);
  vstore(rows + key * QUERY_BLOCK + i, exchanged(even));
  if (partner)
    vstore(rows + (key + 1) * QUERY_BLOCK + i, exchanged(odd));
  if (to) {
    vstore(to + key * QUERY_BLOCK + i, odd);
    vstore(to + (key + 1) * QUERY_BLOCK + i, even);
  }
  (void)how;
}
#endif
