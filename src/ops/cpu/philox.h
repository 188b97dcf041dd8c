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
BRIM_INLINE wide wide_xor(wide a, wide b) {
  return _mm512_xor_si512(a, b);
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
BRIM_INLINE wide wide_xor(wide a, wide b) {
  return _mm256_xor_si256(a, b);
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

/* What the counters of a row have in common. Only the block, the last counter word, varies: the first round multiplies constants
 * alone, the two rounds behind it one constant each. `block`, `first` and `second` are what these rounds make of the constants
 * and their keys. */
enum { FIXED_ROUNDS = 3, PHILOX_ROUNDS = 10 };
typedef struct dropout_line {
  uint64_t block, first, second[3];
  uint64_t keys[PHILOX_ROUNDS][2];
} dropout_line;

BRIM_INLINE dropout_line dropout_line_of(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token) {
  const uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  dropout_line l;
  for (uint32_t round = 0; round < PHILOX_ROUNDS; round++) {
    l.keys[round][0] = d->key[0] + round * 0x9E3779B9u;
    l.keys[round][1] = d->key[1] + round * 0xBB67AE85u;
  }
  uint64_t p0 = m0 * place, p1 = m1 * token;
  const uint32_t x0 = (uint32_t)(p1 >> 32 ^ site ^ l.keys[0][0]), x1 = (uint32_t)p1, x3 = (uint32_t)p0;
  l.block = (uint32_t)(p0 >> 32 ^ l.keys[0][1]);
  p0 = m0 * x0;
  const uint32_t x2 = (uint32_t)(p0 >> 32 ^ x3 ^ l.keys[1][1]);
  l.first = (uint32_t)(x1 ^ l.keys[1][0]);
  p1 = m1 * x2;
  l.second[0] = (uint32_t)(p1 >> 32 ^ l.keys[2][0]);
  l.second[1] = (uint32_t)p1;
  l.second[2] = (uint32_t)((uint32_t)p0 ^ l.keys[2][1]);
  return l;
}

#define PHILOX_M0 wide_set(0xD2511F53)
#define PHILOX_M1 wide_set(0xCD9E8D57)

BRIM_INLINE wide wide_high(wide x) {
  return WIDE(srli_epi64)(x, 32);
}

/* The first rounds of the counters with these blocks. */
BRIM_INLINE philox_state philox_start(const dropout_line *l, wide blocks) {
  const wide p1 = WIDE(mul_epu32)(wide_xor(blocks, wide_set((int64_t)l->block)), PHILOX_M1);
  const wide p0 = WIDE(mul_epu32)(wide_xor(wide_high(p1), wide_set((int64_t)l->first)), PHILOX_M0);
  return (philox_state){{wide_xor(p1, wide_set((int64_t)l->second[0])), wide_set((int64_t)l->second[1]),
                         wide_xor(wide_high(p0), wide_set((int64_t)l->second[2])), p0}};
}

BRIM_INLINE philox_state philox_round(philox_state s, const uint64_t key[2]) {
  const wide p0 = WIDE(mul_epu32)(s.x[0], PHILOX_M0), p1 = WIDE(mul_epu32)(s.x[2], PHILOX_M1);
  return (philox_state){{wide_xor3(wide_high(p1), s.x[1], wide_set((int64_t)key[0])), p1,
                         wide_xor3(wide_high(p0), s.x[3], wide_set((int64_t)key[1])), p0}};
}

/* Words of columns first_column .. first_column + 4 * VEC - 1; first_column is a multiple of 4. Lane 4g + j of the counters takes
 * block VEC / 4 * j + g, so that transposing groups of four words leaves them in column order. */
BRIM_INLINE words dropout_words(const dropout_line *l, int64_t first_column) {
  const wide blocks = WIDE(add_epi32)(first_blocks(), WIDE(set1_epi32)((int)(first_column / 4)));
  philox_state even = philox_start(l, blocks), odd = philox_start(l, wide_high(blocks));
  BRIM_UNROLL(7)
  for (int round = FIXED_ROUNDS; round < PHILOX_ROUNDS; round++) {
    even = philox_round(even, l->keys[round]);
    odd = philox_round(odd, l->keys[round]);
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

/* Where the word is at least the threshold dropout_keep gives x, else 0; dropout_mark gives x, else -x. */
#if BRIM_LEVEL == 2
BRIM_INLINE __mmask16 dropout_lanes(ivec word, const brim_dropout *d) {
  return _mm512_cmpge_epu32_mask((__m512i)word, _mm512_set1_epi32((int)d->threshold));
}
BRIM_INLINE vec dropout_keep(ivec word, const brim_dropout *d, vec x) {
  return _mm512_maskz_mov_ps(dropout_lanes(word, d), x);
}
BRIM_INLINE vec dropout_mark(ivec word, const brim_dropout *d, vec x) {
  return _mm512_mask_mov_ps(-x, dropout_lanes(word, d), x);
}
#else
BRIM_INLINE __m256 dropout_lanes(ivec word, const brim_dropout *d) {
  const __m256i w = (__m256i)word;
  return _mm256_castsi256_ps(_mm256_cmpeq_epi32(_mm256_max_epu32(w, _mm256_set1_epi32((int)d->threshold)), w));
}
BRIM_INLINE vec dropout_keep(ivec word, const brim_dropout *d, vec x) {
  return _mm256_and_ps(dropout_lanes(word, d), x);
}
BRIM_INLINE vec dropout_mark(ivec word, const brim_dropout *d, vec x) {
  return _mm256_xor_ps(_mm256_andnot_ps(dropout_lanes(word, d), vset(-0.0f)), x);
}
#endif

#else
typedef struct dropout_line {
  uint32_t counter[3], key[2];
} dropout_line;

BRIM_INLINE dropout_line dropout_line_of(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token) {
  return (dropout_line){{place, site, token}, {d->key[0], d->key[1]}};
}
BRIM_INLINE words dropout_words(const dropout_line *l, int64_t first_column) {
  words w;
  for (int block = 0; block < 4; block++) {
    uint32_t out[4];
    const uint32_t column = (uint32_t)(first_column / 4 + block);
    brim_philox4x32((const uint32_t[4]){l->counter[0], l->counter[1], l->counter[2], column}, l->key, out);
    memcpy(&w.word[block], out, sizeof out);
  }
  return w;
}
BRIM_INLINE vec dropout_keep(ivec word, const brim_dropout *d, vec x) {
  for (int i = 0; i < VEC; i++)
    x[i] = (uint32_t)word[i] < d->threshold ? 0 : x[i];
  return x;
}
BRIM_INLINE vec dropout_mark(ivec word, const brim_dropout *d, vec x) {
  for (int i = 0; i < VEC; i++)
    x[i] = (uint32_t)word[i] < d->threshold ? -x[i] : x[i];
  return x;
}
#endif

/* y = dropout(x) on n columns of a row, y may be x. */
BRIM_INLINE void dropout_row(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int64_t n, const float *x,
                             float *y) {
  const dropout_line line = dropout_line_of(d, site, place, token);
  for (int64_t i = 0; i < n; i += 4 * VEC) {
    const words w = dropout_words(&line, i);
    BRIM_UNROLL(4)
    for (int j = 0; j < 4; j++) {
      const int64_t at = i + j * VEC;
      if (at < n)
        vstore_n(y + at, dropout_keep(w.word[j], d, vload_n(x + at, n - at) * vset(d->scale)), n - at);
    }
  }
}
#endif
