/* half.c: values in 16 bits. Plain loops over bits, which compilers turn into vectors. */
#include "ops/cpu/cpu.h"

enum { CHUNK = 1 << 14 };

typedef struct conversion {
  int64_t count;
  const float *wide;
  brim_bfloat *to;
  const brim_bfloat *narrow;
  float *from;
} conversion;

/* Infinity is above all numbers as bits, and above it lies NaN. */
static void narrow_task(void *context, int64_t task, int worker) {
  (void)worker;
  const conversion *v = context;
  const int64_t first = task * CHUNK, n = v->count - first < CHUNK ? v->count - first : CHUNK;
  const float *x = v->wide + first;
  brim_bfloat *restrict y = v->to + first;
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], sizeof bits);
    const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16, quiet = bits >> 16 | 0x40;
    y[i] = (brim_bfloat)((bits & 0x7fffffff) > 0x7f800000 ? quiet : rounded);
  }
}

static void widen_task(void *context, int64_t task, int worker) {
  (void)worker;
  const conversion *v = context;
  const int64_t first = task * CHUNK, n = v->count - first < CHUNK ? v->count - first : CHUNK;
  const brim_bfloat *x = v->narrow + first;
  float *restrict y = v->from + first;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t bits = (uint32_t)x[i] << 16;
    memcpy(&y[i], &bits, sizeof bits);
  }
}

void CPU(narrow)(brim_ops_context *c, const brim_to_bfloat *n) {
  conversion v = {.count = n->count, .wide = n->x, .to = n->y};
  CPU(run)(c, (n->count + CHUNK - 1) / CHUNK, narrow_task, &v);
}

void CPU(widen)(brim_ops_context *c, const brim_from_bfloat *w) {
  conversion v = {.count = w->count, .narrow = w->x, .from = w->y};
  CPU(run)(c, (w->count + CHUNK - 1) / CHUNK, widen_task, &v);
}
