/* dropout.c: the dropout of one site. Shared by every device, so that masks are the same wherever they are computed. */
#include "base/random.h"
#include "ops/ops.h"

#include <math.h>

/* 128 bits of (seed, step) become a 64-bit key through the generator itself. */
void brim_dropout_key(uint64_t seed, uint64_t optimizer_step, uint32_t key[2]) {
  const uint32_t counter[4] = {(uint32_t)optimizer_step, (uint32_t)(optimizer_step >> 32), BRIM_PURPOSE_DROPOUT, 0};
  const uint32_t seed_key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
  uint32_t out[4];
  brim_philox4x32(counter, seed_key, out);
  key[0] = out[0];
  key[1] = out[1];
}

brim_dropout brim_dropout_make(double p, const uint32_t key[2], uint32_t site) {
  brim_dropout d = {.on = false, .threshold = 0, .scale = 1, .key = {key[0], key[1]}, .site = site};
  const double dropped = p > 0 ? floor(fmin(p, 1) * 65536 + 0.5) : 0;
  d.on = dropped > 0;
  if (dropped >= 65536) { /* everything is dropped; 65535 is the nearest threshold, and a zero scale covers the last word */
    d.threshold = 65535;
    d.scale = 0;
  } else if (d.on) {
    d.threshold = (uint32_t)dropped;
    d.scale = (real)(65536 / (65536 - dropped));
  }
  return d;
}
