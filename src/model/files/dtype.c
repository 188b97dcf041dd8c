/* dtype.c: half, bfloat16, single and double precision to `real`. */
#include "model/files/dtype.h"

#include <string.h>

/* The bits of a half, put where a single has them, are a single that is 2^112 times too small. */
float brim_half_value(uint16_t bits) {
  uint32_t wide = (uint32_t)(bits & 0x7fff) << 13;
  const bool finite = (bits & 0x7c00) != 0x7c00;
  float value;
  if (!finite)
    wide |= 0x7f800000;
  memcpy(&value, &wide, sizeof value);
  if (finite)
    value *= 0x1p112f;
  return bits >> 15 ? -value : value;
}

static void from_single(const void *from, int64_t count, real *to) {
  for (int64_t i = 0; i < count; i++) {
    float x;
    memcpy(&x, (const uint8_t *)from + 4 * i, sizeof x);
    to[i] = (real)x;
  }
}

static void from_double(const void *from, int64_t count, real *to) {
  for (int64_t i = 0; i < count; i++) {
    double x;
    memcpy(&x, (const uint8_t *)from + 8 * i, sizeof x);
    to[i] = (real)x;
  }
}

static void from_half(const void *from, int64_t count, real *to) {
  for (int64_t i = 0; i < count; i++) {
    uint16_t x;
    memcpy(&x, (const uint8_t *)from + 2 * i, sizeof x);
    to[i] = (real)brim_half_value(x);
  }
}

/* The upper half of a single. */
static void from_bfloat(const void *from, int64_t count, real *to) {
  for (int64_t i = 0; i < count; i++) {
    uint16_t x;
    memcpy(&x, (const uint8_t *)from + 2 * i, sizeof x);
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    to[i] = (real)value;
  }
}

brim_widen brim_widen_find(const char *dtype) {
  if (strcmp(dtype, "F32") == 0)
    return (brim_widen){4, from_single};
  if (strcmp(dtype, "F16") == 0)
    return (brim_widen){2, from_half};
  if (strcmp(dtype, "BF16") == 0)
    return (brim_widen){2, from_bfloat};
  if (strcmp(dtype, "F64") == 0)
    return (brim_widen){8, from_double};
  return (brim_widen){0, NULL};
}
