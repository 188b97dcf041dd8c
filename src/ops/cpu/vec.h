/* vec.h: the vector of a level. The kernels are written once against these few names and compiled once a level, with BRIM_LEVEL 3
 * (AVX-512 and AMX, whose products of fp32 are split.h's), 2 (AVX-512: F, BW, DQ, VL), 1 (AVX2 and FMA) or 0 (plain C on four
 * lanes, which any machine has). CPU(x) is the name of x there. The operators + - * / come from the compilers' vector types. */
#ifndef BRIM_OPS_CPU_VEC_H
#define BRIM_OPS_CPU_VEC_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BRIM_INLINE      static inline __attribute__((always_inline))
#define BRIM_NOINLINE    __attribute__((noinline))
#define BRIM_PASTE(a, b) a##b
#if defined(__clang__)
#define BRIM_UNROLL(n) _Pragma("unroll")
#else
#define BRIM_UNROLL(n) BRIM_PRAGMA(GCC unroll n)
#define BRIM_PRAGMA(x) _Pragma(#x)
#endif

#if BRIM_LEVEL >= 2
#ifdef BRIM_WIDE_IN_C
#include "wide_in_c.h"
#else
#include <immintrin.h>
#endif
#if BRIM_LEVEL == 3
#include "ops/cpu/amx_shared.h"
#define CPU(name) brim_amx_##name
#else
#define CPU(name) brim_avx512_##name
#endif
enum { VEC = 16 };
typedef __m512 vec;
typedef int32_t ivec __attribute__((vector_size(64)));

BRIM_INLINE vec vset(float x) {
  return _mm512_set1_ps(x);
}
BRIM_INLINE vec vload(const float *p) {
  return _mm512_loadu_ps(p);
}
BRIM_INLINE void vstore(float *p, vec x) {
  _mm512_storeu_ps(p, x);
}
BRIM_INLINE __mmask16 vec_lanes(int64_t n) {
  return (__mmask16)((1u << n) - 1);
}
/* The first n of VEC values (n may exceed VEC); the others are 0. */
BRIM_INLINE vec vload_n(const float *p, int64_t n) {
  return n >= VEC ? _mm512_loadu_ps(p) : _mm512_maskz_loadu_ps(vec_lanes(n), p);
}
BRIM_INLINE void vstore_n(float *p, vec x, int64_t n) {
  if (n >= VEC)
    _mm512_storeu_ps(p, x);
  else
    _mm512_mask_storeu_ps(p, vec_lanes(n), x);
}
/* x with the lanes from n on replaced by y's. */
BRIM_INLINE vec vfirst_n(vec x, int64_t n, vec y) {
  return n >= VEC ? x : _mm512_mask_mov_ps(y, vec_lanes(n), x);
}
/* a * b + c and c - a * b */
BRIM_INLINE vec vmadd(vec a, vec b, vec c) {
  return _mm512_fmadd_ps(a, b, c);
}
BRIM_INLINE vec vnmadd(vec a, vec b, vec c) {
  return _mm512_fnmadd_ps(a, b, c);
}
BRIM_INLINE vec vmax(vec a, vec b) {
  return _mm512_max_ps(a, b);
}
BRIM_INLINE vec vmin(vec a, vec b) {
  return _mm512_min_ps(a, b);
}
BRIM_INLINE vec vsqrt(vec a) {
  return _mm512_sqrt_ps(a);
}
BRIM_INLINE ivec imin(ivec a, ivec b) {
  return (ivec)_mm512_min_epi32((__m512i)a, (__m512i)b);
}
BRIM_INLINE ivec imax(ivec a, ivec b) {
  return (ivec)_mm512_max_epi32((__m512i)a, (__m512i)b);
}
/* Lane i is x[at[i]], with 0 <= at[i] < VEC. */
BRIM_INLINE vec vdeal(vec x, ivec at) {
  return _mm512_permutexvar_ps((__m512i)at, x);
}
/* The same where low < high, elsewhere 0: `at` may be anything there. False: nowhere. */
BRIM_INLINE bool vdeal_between(vec x, ivec at, ivec low, ivec high, vec *dealt) {
  const __mmask16 is = _mm512_cmplt_epi32_mask((__m512i)low, (__m512i)high);
  *dealt = _mm512_maskz_permutexvar_ps(is, (__m512i)at, x);
  return is != 0;
}

#elif BRIM_LEVEL == 1
#include <immintrin.h>
#define CPU(name) brim_avx2_##name
enum { VEC = 8 };
typedef __m256 vec;
typedef int32_t ivec __attribute__((vector_size(32)));

BRIM_INLINE vec vset(float x) {
  return _mm256_set1_ps(x);
}
BRIM_INLINE vec vload(const float *p) {
  return _mm256_loadu_ps(p);
}
BRIM_INLINE void vstore(float *p, vec x) {
  _mm256_storeu_ps(p, x);
}
BRIM_INLINE __m256i vec_lanes(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
BRIM_INLINE vec vload_n(const float *p, int64_t n) {
  return n >= VEC ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, vec_lanes(n));
}
BRIM_INLINE void vstore_n(float *p, vec x, int64_t n) {
  if (n >= VEC)
    _mm256_storeu_ps(p, x);
  else
    _mm256_maskstore_ps(p, vec_lanes(n), x);
}
BRIM_INLINE vec vfirst_n(vec x, int64_t n, vec y) {
  return n >= VEC ? x : _mm256_blendv_ps(y, x, _mm256_castsi256_ps(vec_lanes(n)));
}
BRIM_INLINE vec vmadd(vec a, vec b, vec c) {
  return _mm256_fmadd_ps(a, b, c);
}
BRIM_INLINE vec vnmadd(vec a, vec b, vec c) {
  return _mm256_fnmadd_ps(a, b, c);
}
BRIM_INLINE vec vmax(vec a, vec b) {
  return _mm256_max_ps(a, b);
}
BRIM_INLINE vec vmin(vec a, vec b) {
  return _mm256_min_ps(a, b);
}
BRIM_INLINE vec vsqrt(vec a) {
  return _mm256_sqrt_ps(a);
}
BRIM_INLINE ivec imin(ivec a, ivec b) {
  return (ivec)_mm256_min_epi32((__m256i)a, (__m256i)b);
}
BRIM_INLINE ivec imax(ivec a, ivec b) {
  return (ivec)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
BRIM_INLINE vec vdeal(vec x, ivec at) {
  return _mm256_permutevar8x32_ps(x, (__m256i)at);
}
BRIM_INLINE bool vdeal_between(vec x, ivec at, ivec low, ivec high, vec *dealt) {
  const __m256 is = _mm256_castsi256_ps(_mm256_cmpgt_epi32((__m256i)high, (__m256i)low));
  *dealt = _mm256_and_ps(_mm256_permutevar8x32_ps(x, (__m256i)at), is);
  return _mm256_movemask_ps(is) != 0;
}

#else
#define CPU(name) brim_plain_##name
enum { VEC = 4 };
typedef float vec __attribute__((vector_size(16)));
typedef int32_t ivec __attribute__((vector_size(16)));

BRIM_INLINE vec vset(float x) {
  return (vec){x, x, x, x};
}
BRIM_INLINE vec vload(const float *p) {
  vec x;
  memcpy(&x, p, sizeof x);
  return x;
}
BRIM_INLINE void vstore(float *p, vec x) {
  memcpy(p, &x, sizeof x);
}
BRIM_INLINE vec vload_n(const float *p, int64_t n) {
  if (n >= VEC)
    return vload(p);
  vec x = {0};
  for (int i = 0; i < n; i++)
    x[i] = p[i];
  return x;
}
BRIM_INLINE void vstore_n(float *p, vec x, int64_t n) {
  for (int i = 0; i < VEC && i < n; i++)
    p[i] = x[i];
}
BRIM_INLINE vec vfirst_n(vec x, int64_t n, vec y) {
  for (int i = 0; i < VEC; i++)
    x[i] = i < n ? x[i] : y[i];
  return x;
}
BRIM_INLINE vec vmadd(vec a, vec b, vec c) {
  return a * b + c;
}
BRIM_INLINE vec vnmadd(vec a, vec b, vec c) {
  return c - a * b;
}
BRIM_INLINE vec vmax(vec a, vec b) {
  for (int i = 0; i < VEC; i++)
    a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}
BRIM_INLINE vec vmin(vec a, vec b) {
  for (int i = 0; i < VEC; i++)
    a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}
BRIM_INLINE vec vsqrt(vec a) {
  for (int i = 0; i < VEC; i++)
    a[i] = sqrtf(a[i]);
  return a;
}
BRIM_INLINE ivec imin(ivec a, ivec b) {
  for (int i = 0; i < VEC; i++)
    a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
}
BRIM_INLINE ivec imax(ivec a, ivec b) {
  for (int i = 0; i < VEC; i++)
    a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
}
BRIM_INLINE vec vdeal(vec x, ivec at) {
  vec y = {0};
  for (int i = 0; i < VEC; i++)
    y[i] = x[at[i]];
  return y;
}
BRIM_INLINE bool vdeal_between(vec x, ivec at, ivec low, ivec high, vec *dealt) {
  bool any = false;
  vec y = {0};
  for (int i = 0; i < VEC; i++)
    if (low[i] < high[i]) {
      y[i] = x[at[i]];
      any = true;
    }
  *dealt = y;
  return any;
}
#endif

BRIM_INLINE ivec iload(const int32_t *p) {
  ivec x;
  memcpy(&x, p, sizeof x);
  return x;
}

BRIM_INLINE vec vzero(void) {
  return vset(0);
}
/* Sum and maximum of the lanes: halves are folded, always in this order. */
#if BRIM_LEVEL > 0
#define FOLD_LANES(x, sse)                                                                                                       \
  __m128 q = sse(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));                                                        \
  q = sse(q, _mm_movehl_ps(q, q));                                                                                               \
  return _mm_cvtss_f32(sse(q, _mm_movehdup_ps(q)));
#if BRIM_LEVEL >= 2
#define FOLD_HALVES(x, avx) avx(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1))
#else
#define FOLD_HALVES(x, avx) (x)
#endif
BRIM_INLINE float vsum(vec x) {
  const __m256 half = FOLD_HALVES(x, _mm256_add_ps);
  FOLD_LANES(half, _mm_add_ps)
}
BRIM_INLINE float vtop(vec x) {
  const __m256 half = FOLD_HALVES(x, _mm256_max_ps);
  FOLD_LANES(half, _mm_max_ps)
}
#else
BRIM_INLINE float vsum(vec x) {
  float lanes[VEC];
  vstore(lanes, x);
  for (int half = VEC / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++)
      lanes[i] += lanes[i + half];
  return lanes[0];
}
BRIM_INLINE float vtop(vec x) {
  float lanes[VEC];
  vstore(lanes, x);
  for (int half = VEC / 2; half > 0; half /= 2)
    for (int i = 0; i < half; i++)
      lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
  return lanes[0];
}
#endif

BRIM_INLINE int64_t round_up(int64_t n, int64_t step) {
  return (n + step - 1) / step * step;
}
#endif
