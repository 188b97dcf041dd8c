/* random.h: Philox4x32 inline, for inner loops. The public functions are in brim/base.h. */
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

#endif
