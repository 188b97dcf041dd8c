/* random.h: random numbers that are pure functions of what they are for; Philox4x32 inline, for inner loops. */
#ifndef BRIM_BASE_RANDOM_H
#define BRIM_BASE_RANDOM_H
#include "brim/base.h"

/* Rounds of two 32x32->64 multiplications each; the constants are those of the paper. */
static inline void brim_philox_rounds(int rounds, const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < rounds; round++) {
    uint64_t a = (uint64_t)c0 * 0xD2511F53u, b = (uint64_t)c2 * 0xCD9E8D57u;
    uint32_t n0 = (uint32_t)(b >> 32) ^ c1 ^ k0, n2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
    c0 = n0;
    c1 = (uint32_t)b;
    c2 = n2;
    c3 = (uint32_t)a;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

static inline void brim_philox_inline(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  brim_philox_rounds(10, counter, key, out);
}

/* Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): a pure function. */
void brim_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* What a random number is for: part of every key, so that no two uses ever share a stream. Values are stable: they are part of
 * what makes a run reproducible between versions. */
typedef enum brim_purpose {
  BRIM_PURPOSE_SHUFFLE = 1, /* order of rows in an epoch */
  BRIM_PURPOSE_TIES = 2,    /* order among equal lengths */
  BRIM_PURPOSE_CUT = 3,     /* first cut, place of the short batch */
  BRIM_PURPOSE_BATCHES = 4, /* order of batches */
  BRIM_PURPOSE_UNIFORM = 5, /* choice of runs in uniform batching */
  BRIM_PURPOSE_DROPOUT = 6,
  BRIM_PURPOSE_INIT = 7, /* new weights */
  BRIM_PURPOSE_FOLDS = 8,
  BRIM_PURPOSE_SHARDS = 9,  /* order of shards */
  BRIM_PURPOSE_WINDOW = 10, /* shuffle window */
  BRIM_PURPOSE_MIX = 11,    /* choice among sources */
  BRIM_PURPOSE_SAMPLE = 12, /* samples shown in reports, calibration, tests */
  BRIM_PURPOSE_MIXOUT = 13,
  BRIM_PURPOSE_HOLD_OUT = 14,
  BRIM_PURPOSE_MASKS = 15 /* of words */
} brim_purpose;

/* A stream of random numbers keyed by (seed, epoch, purpose); element `index` is a pure function of the four. */
typedef struct brim_random {
  uint32_t key[2];
  uint32_t epoch;
  uint32_t purpose;
} brim_random;

brim_random brim_random_make(uint64_t seed, uint64_t epoch, brim_purpose purpose);
/* 64 random bits for (stream, index). */
uint64_t brim_random_u64(const brim_random *random, uint64_t index);
/* Unbiased integer in [0, bound) for (stream, index); bound > 0 (rejection continues on further words of the same index). */
uint64_t brim_random_below(const brim_random *random, uint64_t index, uint64_t bound);
/* In [0, 1), 53 bits. */
double brim_random_unit(const brim_random *random, uint64_t index);
/* Standard normal (Box-Muller on the two 64-bit halves of the index's block). */
double brim_random_normal(const brim_random *random, uint64_t index);

#endif
