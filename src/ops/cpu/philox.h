/* philox.h: the random bits of dropout on vectors (ops.h has their order). One call makes those of a stretch of columns. */
#ifndef BRIM_OPS_CPU_PHILOX_H
#define BRIM_OPS_CPU_PHILOX_H
#include "base/random.h"
#include "ops/cpu/vec.h"
#include "ops/ops.h"

/* Vector k of a stretch has its bits in word[k % HALF], below for the first HALF vectors, above for the others. */
enum { DROPOUT_VECTORS = BRIM_DROPOUT_STRETCH / VEC, DROPOUT_HALF = DROPOUT_VECTORS / 2 };
typedef struct words {
  ivec word[DROPOUT_HALF];
} words;

#if BRIM_LEVEL > 0
/* Counters live in 64-bit lanes, low half: there one multiplication gives both halves of a product, and rubbish in the upper half
 * does no harm. The last round puts the other half of a word's product to use: both words of a pair leave in one vector. */
#if BRIM_LEVEL >= 2
typedef __m512i wide;
#define WIDE(name)  _mm512_##name
#define wide_set(x) _mm512_set1_epi64(x)
BRIM_INLINE wide wide_xor3(wide a, wide b, wide c) {
  return _mm512_ternarylogic_epi32(a, b, c, 0x96);
}
BRIM_INLINE wide wide_xor(wide a, wide b) {
  return _mm512_xor_si512(a, b);
}
BRIM_INLINE wide first_blocks(void) {
  return _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
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
BRIM_INLINE wide first_blocks(void) {
  return _mm256_setr_epi64x(0, 1, 2, 3);
}
#endif

typedef struct philox_state {
  wide x[4];
} philox_state;

/* What the counters of a row have in common. Only the block, the last counter word, varies: the first round multiplies constants
 * alone, the two rounds after it one constant each. `block`, `first` and `second` are what these rounds make of the constants
 * and their keys. */
enum { FIXED_ROUNDS = 3, LAST_ROUND = BRIM_DROPOUT_ROUNDS - 1 };
typedef struct dropout_line {
  uint64_t block, first, second[3];
  uint64_t keys[BRIM_DROPOUT_ROUNDS][2];
} dropout_line;

BRIM_INLINE dropout_line dropout_line_of(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token) {
  const uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  dropout_line l;
  for (uint32_t round = 0; round < BRIM_DROPOUT_ROUNDS; round++) {
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

/* The words of each lane's block: 1 and 0, 3 and 2. */
BRIM_INLINE void philox_last(philox_state s, const uint64_t key[2], ivec *word01, ivec *word23) {
  const wide p0 = WIDE(mul_epu32)(s.x[0], PHILOX_M0), p1 = WIDE(mul_epu32)(s.x[2], PHILOX_M1);
  *word01 = (ivec)wide_xor3(p1, WIDE(slli_epi64)(s.x[1], 32), wide_set((int64_t)(key[0] << 32)));
  *word23 = (ivec)wide_xor3(p0, WIDE(slli_epi64)(s.x[3], 32), wide_set((int64_t)(key[1] << 32)));
}

/* The bits of the stretch that begins at first_column. */
BRIM_INLINE words dropout_words(const dropout_line *l, int64_t first_column) {
  enum { STATES = 16 / VEC };
  philox_state s[STATES];
  words w;
  BRIM_UNROLL(2)
  for (int i = 0; i < STATES; i++)
    s[i] = philox_start(l, WIDE(add_epi64)(first_blocks(), wide_set(first_column / 8 + i * VEC / 2)));
  BRIM_UNROLL(7)
  for (int round = FIXED_ROUNDS; round < LAST_ROUND; round++)
    BRIM_UNROLL(2)
  for (int i = 0; i < STATES; i++)
    s[i] = philox_round(s[i], l->keys[round]);
  BRIM_UNROLL(2)
  for (int i = 0; i < STATES; i++)
    philox_last(s[i], l->keys[LAST_ROUND], &w.word[i], &w.word[STATES + i]);
  return w;
}

/* Where vector k of the stretch has bits of at least the threshold dropout_keep gives x, else 0; dropout_mark gives x, else -x.
 */
#if BRIM_LEVEL >= 2
BRIM_INLINE __mmask16 dropout_lanes(const words *w, int k, const brim_dropout *d) {
  const __m512i word = (__m512i)w->word[k % DROPOUT_HALF];
  return _mm512_cmpge_epu32_mask(k < DROPOUT_HALF ? _mm512_slli_epi32(word, 16) : word,
                                 _mm512_set1_epi32((int)(d->threshold << 16)));
}
BRIM_INLINE vec dropout_keep(const words *w, int k, const brim_dropout *d, vec x) {
  return _mm512_maskz_mov_ps(dropout_lanes(w, k, d), x);
}
BRIM_INLINE vec dropout_mark(const words *w, int k, const brim_dropout *d, vec x) {
  return _mm512_mask_mov_ps(-x, dropout_lanes(w, k, d), x);
}
#else
/* All bits set where x is dropped. */
BRIM_INLINE __m256 dropout_lanes(const words *w, int k, const brim_dropout *d) {
  const __m256i word = (__m256i)w->word[k % DROPOUT_HALF];
  const __m256i bits = k < DROPOUT_HALF ? _mm256_and_si256(word, _mm256_set1_epi32(0xffff)) : _mm256_srli_epi32(word, 16);
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32((int)d->threshold), bits));
}
BRIM_INLINE vec dropout_keep(const words *w, int k, const brim_dropout *d, vec x) {
  return _mm256_andnot_ps(dropout_lanes(w, k, d), x);
}
BRIM_INLINE vec dropout_mark(const words *w, int k, const brim_dropout *d, vec x) {
  return _mm256_xor_ps(_mm256_and_ps(dropout_lanes(w, k, d), vset(-0.0f)), x);
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
  for (int block = 0; block < BRIM_DROPOUT_BLOCKS; block++) {
    uint32_t out[4];
    const uint32_t counter[4] = {l->counter[0], l->counter[1], l->counter[2], (uint32_t)(first_column / 8 + block)};
    brim_philox_rounds(BRIM_DROPOUT_ROUNDS, counter, l->key, out);
    for (int i = 0; i < 4; i++) {
      const int column = i / 2 * 16 + 2 * block + 1 - i % 2;
      w.word[column / VEC][column % VEC] = (int32_t)out[i];
    }
  }
  return w;
}
BRIM_INLINE bool dropout_lane(const words *w, int k, int i, const brim_dropout *d) {
  return ((uint32_t)w->word[k % DROPOUT_HALF][i] >> (k < DROPOUT_HALF ? 0 : 16) & 0xffff) >= d->threshold;
}
BRIM_INLINE vec dropout_keep(const words *w, int k, const brim_dropout *d, vec x) {
  for (int i = 0; i < VEC; i++)
    x[i] = dropout_lane(w, k, i, d) ? x[i] : 0;
  return x;
}
BRIM_INLINE vec dropout_mark(const words *w, int k, const brim_dropout *d, vec x) {
  for (int i = 0; i < VEC; i++)
    x[i] = dropout_lane(w, k, i, d) ? x[i] : -x[i];
  return x;
}
#endif

/* y = dropout(x) on n columns of a row, y may be x. */
BRIM_INLINE void dropout_row(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int64_t n, const float *x,
                             float *y) {
  const dropout_line line = dropout_line_of(d, site, place, token);
  for (int64_t i = 0; i < n; i += BRIM_DROPOUT_STRETCH) {
    const words w = dropout_words(&line, i);
    BRIM_UNROLL(16)
    for (int k = 0; k < DROPOUT_VECTORS; k++) {
      const int64_t at = i + k * VEC;
      if (at < n)
        vstore_n(y + at, dropout_keep(&w, k, d, vload_n(x + at, n - at) * vset(d->scale)), n - at);
    }
  }
}
#endif
