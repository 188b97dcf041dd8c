/* narrow.c: values in 16 bits. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

void REF(narrow)(brim_ops_context *c, int64_t count, const real *x, brim_bfloat *y) {
  (void)c;
  for (int64_t i = 0; i < count; i++) {
    const float value = (float)x[i];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t half = 0x7fff + (bits >> 16 & 1);
    y[i] = isnan(value) ? (brim_bfloat)(bits >> 16 | 0x40) : (brim_bfloat)((bits + half) >> 16);
  }
}

void REF(widen)(brim_ops_context *c, int64_t count, const brim_bfloat *x, real *y) {
  (void)c;
  for (int64_t i = 0; i < count; i++) {
    const uint32_t bits = (uint32_t)x[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    y[i] = (real)value;
  }
}
