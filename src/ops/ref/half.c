/* half.c: values in 16 bits. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

void REF(narrow)(brim_ops_context *c, const brim_to_bfloat *n) {
  (void)c;
  for (int64_t i = 0; i < n->count; i++) {
    const float value = (float)n->x[i];
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t half = 0x7fff + (bits >> 16 & 1);
    n->y[i] = isnan(value) ? (brim_bfloat)(bits >> 16 | 0x40) : (brim_bfloat)((bits + half) >> 16);
  }
}

void REF(widen)(brim_ops_context *c, const brim_from_bfloat *w) {
  (void)c;
  for (int64_t i = 0; i < w->count; i++) {
    const uint32_t bits = (uint32_t)w->x[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    w->y[i] = (real)value;
  }
}
