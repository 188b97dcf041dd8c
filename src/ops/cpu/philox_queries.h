/* philox_queries.h: the bits of philox.h with queries in the lanes, for attention, whose scores have keys for rows and queries
 * for columns: one call makes those of the eight keys of a block (columns of dropout) for VEC queries (rows of dropout). */
#ifndef BRIM_OPS_CPU_PHILOX_QUERIES_H
#define BRIM_OPS_CPU_PHILOX_QUERIES_H
#include "ops/cpu/philox.h"

enum { BLOCK_KEYS = 8 };
typedef struct query_words {
  ivec word[4];
} query_words;

/* Where key k of a block lies in its stretch. They ascend. */
BRIM_INLINE int64_t block_key(int64_t block, int k) {
  return 2 * block + k % 2 + k / 2 * 16;
}

#if BRIM_LEVEL > 0
/* Queries in even and in odd lanes. Of the first rounds only what depends on the block of keys is left: one multiplication of
 * vectors; `block` and the four others are what the rounds make of the rest. */
typedef struct dropout_queries {
  uint64_t block;
  uint64_t keys[BRIM_DROPOUT_ROUNDS][2];
  wide second[2], third[2][3];
} dropout_queries;

BRIM_INLINE wide first_tokens(void) {
#if BRIM_LEVEL >= 2
  return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
#endif
}

/* The even lanes of one and of the other, in turns. */
BRIM_INLINE wide wide_merge(wide even, wide odd) {
#if BRIM_LEVEL >= 2
  return _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
#else
  return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
#endif
}

BRIM_INLINE dropout_queries dropout_queries_of(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token) {
  dropout_queries q;
  for (uint32_t round = 0; round < BRIM_DROPOUT_ROUNDS; round++) {
    q.keys[round][0] = (uint32_t)(d->key[0] + round * 0x9E3779B9u);
    q.keys[round][1] = (uint32_t)(d->key[1] + round * 0xBB67AE85u);
  }
  const uint64_t p0 = UINT64_C(0xD2511F53) * place;
  q.block = (uint32_t)(p0 >> 32 ^ q.keys[0][1]);
  wide tokens = WIDE(add_epi32)(first_tokens(), WIDE(set1_epi32)((int)token));
  for (int i = 0; i < 2; i++, tokens = wide_high(tokens)) {
    const wide p1 = WIDE(mul_epu32)(tokens, PHILOX_M1);
    const wide x0 = wide_xor(wide_high(p1), wide_set((int64_t)(site ^ q.keys[0][0])));
    const wide s0 = WIDE(mul_epu32)(x0, PHILOX_M0);
    const wide x2 = wide_xor(wide_high(s0), wide_set((int64_t)((uint32_t)p0 ^ q.keys[1][1])));
    const wide t1 = WIDE(mul_epu32)(x2, PHILOX_M1);
    q.second[i] = p1;
    q.third[i][0] = wide_xor(wide_high(t1), wide_set((int64_t)q.keys[2][0]));
    q.third[i][1] = t1;
    q.third[i][2] = wide_xor(s0, wide_set((int64_t)q.keys[2][1]));
  }
  return q;
}

/* The first rounds of the queries in even (0) or odd (1) lanes. */
BRIM_INLINE philox_state philox_queries_start(const dropout_queries *q, int odd, uint64_t p1) {
  const wide x0 = wide_xor(q->second[odd], wide_set((int64_t)((p1 >> 32) ^ q->keys[1][0])));
  const wide p0 = WIDE(mul_epu32)(x0, PHILOX_M0);
  return (philox_state){
      {wide_xor(q->third[odd][0], wide_set((int64_t)p1)), q->third[odd][1], wide_xor(wide_high(p0), q->third[odd][2]), p0}};
}

BRIM_INLINE query_words dropout_query_words(const dropout_queries *q, int64_t block) {
  const uint64_t p1 = UINT64_C(0xCD9E8D57) * ((uint32_t)block ^ q->block);
  philox_state even = philox_queries_start(q, 0, p1), odd = philox_queries_start(q, 1, p1);
  BRIM_UNROLL(4)
  for (int round = FIXED_ROUNDS; round < BRIM_DROPOUT_ROUNDS; round++) {
    even = philox_round(even, q->keys[round]);
    odd = philox_round(odd, q->keys[round]);
  }
  query_words w;
  BRIM_UNROLL(4)
  for (int i = 0; i < 4; i++)
    w.word[i] = (ivec)wide_merge(even.x[i], odd.x[i]);
  return w;
}

#else
typedef struct dropout_queries {
  uint32_t place, site, token, key[2];
} dropout_queries;

BRIM_INLINE dropout_queries dropout_queries_of(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token) {
  return (dropout_queries){place, site, token, {d->key[0], d->key[1]}};
}
BRIM_INLINE query_words dropout_query_words(const dropout_queries *q, int64_t block) {
  query_words w;
  for (uint32_t i = 0; i < VEC; i++) {
    uint32_t out[4];
    const uint32_t counter[4] = {q->place, q->site, q->token + i, (uint32_t)block};
    brim_philox_rounds(BRIM_DROPOUT_ROUNDS, counter, q->key, out);
    for (int k = 0; k < 4; k++)
      w.word[k][i] = (int32_t)out[k];
  }
  return w;
}
#endif

/* x where key k of the block stays, else 0. */
BRIM_INLINE vec dropout_keep_key(const query_words *w, int k, const brim_dropout *d, vec x) {
  words one;
  one.word[0] = w->word[k / 2 % 2 * 2 + 1 - k % 2];
  return dropout_keep(&one, k < 4 ? 0 : DROPOUT_HALF, d, x);
}
#endif
