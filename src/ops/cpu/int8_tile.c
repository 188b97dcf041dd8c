/* int8_tile.c: see int8_tile.h. */
#include "ops/cpu/int8_tile.h"
#include "ops/cpu/vecmath.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef uvec lanes;

BRIM_INLINE lanes lset(int32_t x) {
#if BRIM_LEVEL >= 2
  return (lanes)_mm512_set1_epi32(x);
#elif BRIM_LEVEL == 1
  return (lanes)_mm256_set1_epi32(x);
#else
  return (lanes)(ivec){x, x, x, x};
#endif
}
BRIM_INLINE lanes lload(const int32_t *p) {
  lanes x;
  memcpy(&x, p, sizeof x);
  return x;
}

#ifdef BRIM_VNNI
#define KERNEL CPU(int8_kernel_vnni)
enum { ROWS = TILE_ROWS };
typedef lanes side;
BRIM_INLINE side open_weight(lanes w) {
  return w;
}
BRIM_INLINE side open_row(int32_t x) {
  return lset(x);
}
/* Not the intrinsic: it has vectors of another type, and GCC 12 keeps accumulators in memory over the change of types. */
BRIM_INLINE lanes dot(lanes sum, side w, side x) {
#if BRIM_LEVEL >= 2
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(w), "v"(x));
#else
  __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(w), "x"(x));
#endif
  return sum;
}

#else
/* Bytes 0 and 2, and 1 and 3, of each lane widened to 16 bits: pairs are multiplied and added without a chance to overflow. */
#define KERNEL CPU(int8_kernel)
enum { ROWS = BRIM_LEVEL >= 2 ? 12 : 4 };
typedef int16_t hvec __attribute__((vector_size(sizeof(lanes))));
typedef struct side {
  lanes even, odd;
} side;
BRIM_INLINE side open_weight(lanes w) {
  return (side){w & 0x00ff00ffu, w >> 8 & 0x00ff00ffu};
}
BRIM_INLINE side open_row(int32_t x) {
  const lanes bytes = lset(x);
  return (side){(lanes)((hvec)(bytes << 8) >> 8), (lanes)((hvec)bytes >> 8)};
}
BRIM_INLINE lanes pairs(lanes a, lanes b) {
#if BRIM_LEVEL >= 2
  return (lanes)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif BRIM_LEVEL == 1
  return (lanes)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return (lanes)_mm_madd_epi16((__m128i)a, (__m128i)b);
#else
  return (lanes)(((ivec)(a << 16) >> 16) * ((ivec)(b << 16) >> 16) + ((ivec)a >> 16) * ((ivec)b >> 16));
#endif
}
BRIM_INLINE lanes dot(lanes sum, side w, side x) {
  return sum + (pairs(w.even, x.even) + pairs(w.odd, x.odd));
}
#endif

#define START_ROW(i)                                                                                                             \
  if (i < rows)                                                                                                                  \
    c0[i] = c1[i] = lset(t->start[i]);
#define MULTIPLY_ROW(i)                                                                                                          \
  if (i < rows) {                                                                                                                \
    const side row = open_row(x[i / 3][i % 3 * x_row]);                                                                          \
    c0[i] = dot(c0[i], w0, row);                                                                                                 \
    c1[i] = dot(c1[i], w1, row);                                                                                                 \
  }
#define STORE_ROW(i)                                                                                                             \
  if (i < rows) {                                                                                                                \
    const vec scale = vset(t->x_scale[i]);                                                                                       \
    float *y = t->y + i * t->y_row;                                                                                              \
    vstore_n(y, __builtin_convertvector((ivec)c0[i], vec) * (scale * scale0) + bias0, columns);                                  \
    if (columns > VEC)                                                                                                           \
      vstore_n(y + VEC, __builtin_convertvector((ivec)c1[i], vec) * (scale * scale1) + bias1, columns - VEC);                    \
  }

/* `rows` is a constant wherever this is called. */
BRIM_INLINE void run(const int rows, int64_t columns, const int8_tile *t) {
  const int64_t x_row = t->x_row;
  const int32_t *x[POINTERS], *w = t->w;
  lanes c0[TILE_ROWS], c1[TILE_ROWS];
  EACH_ROW(START_ROW)
  BRIM_UNROLL(8)
  for (int i = 0; i < POINTERS; i++) {
    x[i] = t->x + 3 * i * x_row;
    if (3 * i < rows)
      APART(x[i]);
  }
  for (int64_t k = t->steps; k > 0; k--) {
    const side w0 = open_weight(lload(w)), w1 = open_weight(lload(w + VEC));
    EACH_ROW(MULTIPLY_ROW)
    BRIM_UNROLL(8)
    for (int i = 0; i < POINTERS; i++)
      if (3 * i < rows) {
        x[i]++;
        APART(x[i]);
      }
    w += TILE_COLUMNS;
  }
  const vec scale0 = vload(t->w_scale), scale1 = vload(t->w_scale + VEC);
  const vec bias0 = vload(t->bias), bias1 = vload(t->bias + VEC);
  EACH_ROW(STORE_ROW)
}

#define RUN(n)                                                                                                                   \
  case n:                                                                                                                        \
    run(n < ROWS ? n : ROWS, columns, t);                                                                                        \
    break;

static void run_rows(int64_t rows, int64_t columns, const int8_tile *t) {
  switch (rows) {
    RUN(1)
    RUN(2)
    RUN(3)
    RUN(4)
#if BRIM_LEVEL > 0
    RUN(5)
    RUN(6)
#endif
#if BRIM_LEVEL >= 2
    RUN(7)
    RUN(8)
    RUN(9)
    RUN(10)
    RUN(11)
    RUN(12)
    RUN(13)
    RUN(14)
#endif
  default:
    break;
  }
}

int8_kernel KERNEL(void) {
  return (int8_kernel){ROWS, run_rows};
}
