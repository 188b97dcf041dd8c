#include "base/random.h"
#include <math.h>

__extension__ typedef unsigned __int128 wide;

void brim_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  brim_philox_inline(counter, key, out);
}

/* The key is the seed. The counter is (index low, index high, epoch, purpose and try): 2^24 tries of one purpose before streams
 * could be the same, and a try past the first has probability below 1/2. */
brim_random brim_random_make(uint64_t seed, uint64_t epoch, brim_purpose purpose) {
  uint32_t high = (uint32_t)(epoch >> 32);
  return (brim_random){.key = {(uint32_t)seed, (uint32_t)(seed >> 32) ^ high * 0x9E3779B9u},
                       .epoch = (uint32_t)epoch,
                       .purpose = (uint32_t)purpose};
}

static void block(const brim_random *random, uint64_t index, uint32_t round, uint32_t out[4]) {
  uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), random->epoch, random->purpose << 24 | (round & 0xFFFFFF)};
  brim_philox_inline(counter, random->key, out);
}

static uint64_t join(const uint32_t words[2]) {
  return (uint64_t)words[1] << 32 | words[0];
}

uint64_t brim_random_u64(const brim_random *random, uint64_t index) {
  uint32_t words[4];
  block(random, index, 0, words);
  return join(words);
}

/* Lemire, "Fast random integer generation in an interval" (2019): the high half of word * bound, rejecting the few words that
 * would make some results likelier. Which ones takes a division, but all of them are below the bound, and so very few words are.
 */
uint64_t brim_random_below(const brim_random *random, uint64_t index, uint64_t bound) {
  for (uint32_t round = 0;; round++) {
    uint32_t words[4];
    block(random, index, round, words);
    for (int half = 0; half < 4; half += 2) {
      wide product = (wide)join(words + half) * bound;
      if ((uint64_t)product >= bound || (uint64_t)product >= (0 - bound) % bound)
        return (uint64_t)(product >> 64);
    }
  }
}

static double unit(uint64_t bits) {
  return (double)(bits >> 11) * 0x1p-53;
}

double brim_random_unit(const brim_random *random, uint64_t index) {
  return unit(brim_random_u64(random, index));
}

double brim_random_normal(const brim_random *random, uint64_t index) {
  uint32_t words[4];
  block(random, index, 0, words);
  double radius = sqrt(-2.0 * log(1.0 - unit(join(words)))); /* 1 - u is in (0, 1] */
  return radius * cos(6.283185307179586 * unit(join(words + 2)));
}
