/* dtype.h: numbers in files, of any type, as `real`. */
#ifndef BRIM_MODEL_DTYPE_H
#define BRIM_MODEL_DTYPE_H
#include "ops/ops.h"

typedef struct brim_widen {
  size_t size;                                               /* bytes of an element */
  void (*values)(const void *from, int64_t count, real *to); /* little-endian, any alignment; NULL: unknown dtype */
} brim_widen;
/* By the name in safetensors: "F32", "F16", "BF16", "F64". */
brim_widen brim_widen_find(const char *dtype);

/* IEEE 754 half precision; exact. */
float brim_half_value(uint16_t bits);

#endif
