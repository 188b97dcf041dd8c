/* philox.h: Philox4x32-10 on vectors, for dropout. One call makes the words of 4 * VEC columns of one row, in column order. */
#ifndef BRIM_OPS_CPU_PHILOX_H
#define BRIM_OPS_CPU_PHILOX_H
#include "ops/cpu/vec.h"
#include "ops/ops.h"

/* A stretch of random words: word of column i of the stretch in lane i % VEC of word[i / VEC]. */
typedef struct words {
  ivec word[4];
} words;

#if BRIM_LEVEL > 0
/* Counters live in 64-bit lanes, low half: there one multiplication gives both halves of a product, and rubbish in the upper half
 * does no harm. Two such states, for the even and the odd 32-bit lanes, make a vector of counters. */
#if BRIM_LEVEL == 2
typedef __m512i wide;
#define WIDE(name)  _mm512_##name
#define wide_set(x) _mm512_set1_epi64(x)
BRIM_INLINE wide wide_xor3(wide a, wide b, wide c) {
  return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}
BRIM_INLINE wide wide_merge(wide even, wide odd) {
  return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
}
BRIM_INLINE wide first_blocks(void) {
  return _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
}
#else
typedef __m256i wide;
#define WIDE(name)  _mm256_##name
#define wide_set(x) _mm256_set1_epi64x(x)
BRIM_INLINE wide wide_xor3(wide a, wide b, wide c) {
  return _mm256_xor_si256(_mm256_xor_si256(a, b), c);
}
BRIM_INLINE wide wide_merge(wide even, wide odd) {
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
}
BRIM_INLINE wide first_blocks(void) {
  return _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
}
#endif

typedef struct philox_state {
  wide x[4];
} philox_state;

BRIM_INLINE philox_state philox_round(philox_state s, wide key0, wide key1) {
  const wide p0 = WIDE(mul_epu32)(s.x[0], wide_set(0xD2511F53)), p1 = WIDE(mul_epu32)(s.x[2], wide_set(0xCD9E8D57));
  return (philox_state){
      {wide_xor3(WIDE(srli_epi64)(p1, 32), s.x[1], key0), p1, wide_xor3(WIDE(srli_epi64)(p0, 32), s.x[3], key1), p0}};
}

/* Words of columns first_column .. first_column + 4 * VEC - 1; first_column is a multiple of 4. Lane 4g + j of the counters takes
 * block VEC / 4 * j + g, so that transposing groups of four words leaves them in column order. */
BRIM_INLINE words dropout_words(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int64_t first_column) {
  const wide blocks = WIDE(add_epi32)(first_blocks(), WIDE(set1_epi32)((int)(first_column / 4)));
  const wide fixed[3] = {wide_set(place), wide_set(site), wide_set(token)};
  philox_state even = {{fixed[0], fixed[1], fixed[2], blocks}}, odd = even;
  odd.x[3] = WIDE(srli_epi64)(blocks, 32);
  for (uint32_t round = 0, key0 = d->key[0], key1 = d->key[1]; round < 10; round++, key0 += 0x9E3779B9, key1 += 0xBB67AE85) {
    even = philox_round(even, wide_set(key0), wide_set(key1));
    odd = philox_round(odd, wide_set(key0), wide_set(key1));
  }
  wide w[4];
  BRIM_UNROLL(4)
  for (int i = 0; i < 4; i++)
    w[i] = wide_merge(even.x[i], odd.x[i]);
  const wide low01 = WIDE(unpacklo_epi32)(w[0], w[1]), low23 = WIDE(unpacklo_epi32)(w[2], w[3]);
  const wide high01 = WIDE(unpackhi_epi32)(w[0], w[1]), high23 = WIDE(unpackhi_epi32)(w[2], w[3]);
  return (words){{(ivec)WIDE(unpacklo_epi64)(low01, low23), (ivec)WIDE(unpackhi_epi64)(low01, low23),
                  (ivec)WIDE(unpacklo_epi64)(high01, high23), (ivec)WIDE(unpackhi_epi64)(high01, high23)}};
}

/* x * scale where the word is at least the threshold, else 0. */
BRIM_INLINE vec dropout_apply(ivec word, const brim_dropout *d, vec x) {
#if BRIM_LEVEL == 2
  const __mmask16 keep = _mm512_cmpge_epu32_mask((__m512i)word, _mm512_set1_epi32((int)d->threshold));
  return _mm512_maskz_mul_ps(keep, x, vset(d->scale));
#else
  const __m256i w = (__m256i)word, keep = _mm256_cmpeq_epi32(_mm256_max_epu32(w, _mm256_set1_epi32((int)d->threshold)), w);
  return _mm256_and_ps(_mm256_castsi256_ps(keep), x * vset(d->scale));
#endif
}

#else
BRIM_INLINE words dropout_words(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int64_t first_column) {
  words w;
  for (int block = 0; block < 4; block++) {
    uint32_t out[4];
    brim_philox4x32((const uint32_t[4]){place, site, token, (uint32_t)(first_column / 4 + block)}, d->key, out);
    memcpy(&w.word[block], out, sizeof out);
  }
  return w;
}
BRIM_INLINE vec dropout_apply(ivec word, const brim_dropout *d, vec x) {
  for (int i = 0; i < VEC; i++)
    x[i] = (uint32_t)word[i] < d->threshold ? 0 : x[i] * d->scale;
  return x;
}
#endif

/* y = dropout(x) on n columns of a row, y may be x. */
BRIM_INLINE void dropout_row(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int64_t n, const float *x,
                             float *y) {
  for (int64_t i = 0; i < n; i += 4 * VEC) {
    const words w = dropout_words(d, site, place, token, i);
    BRIM_UNROLL(4)
    for (int j = 0; j < 4; j++) {
      const int64_t at = i + j * VEC;
      if (at < n)
        vstore_n(y + at, dropout_apply(w.word[j], d, vload_n(x + at, n - at)), n - at);
    }
  }
}
#endif
