/* wide_in_c.h: AVX-512 in C, for tests of its kernels and of AMX's on a processor that has AVX2 alone (make test-wide). SIMDe has
 * most of it; what its version 0.7.4 lacks is here, as Intel's guide describes it. */
#ifndef BRIM_TESTS_WIDE_IN_C_H
#define BRIM_TESTS_WIDE_IN_C_H
#pragma GCC system_header /* its warnings are not ours */
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>
#include <stdint.h>
#include <string.h>

#define IN_C static inline __attribute__((always_inline, unused))
/* A function of lanes: `x`, `y` and `to` are what the vectors hold; `i` goes through the result's lanes. */
#define EACH_LANE(count, type, each)                                                                                             \
  for (int i = 0; i < count; i++)                                                                                                \
    to.type[i] = each;

typedef union in_c_lanes {
  float f[16];
  int32_t d[16];
  int16_t w[32];
  uint16_t u[32];
  int8_t b[64];
  uint8_t c[64];
  __m512 ps;
  __m512i si;
  __m256 half;
  __m256i half_si;
  __m128i quarter_si;
} in_c_lanes;

IN_C __m512 in_c_maskz_loadu_ps(__mmask16 mask, const void *p) {
  const float *from = (const float *)p;
  in_c_lanes to;
  EACH_LANE(16, f, mask >> i & 1 ? from[i] : 0)
  return to.ps;
}
IN_C void in_c_mask_storeu_ps(void *p, __mmask16 mask, __m512 v) {
  const in_c_lanes x = {.ps = v};
  for (int i = 0; i < 16; i++)
    if (mask >> i & 1)
      ((float *)p)[i] = x.f[i];
}
IN_C __m512i in_c_maskz_loadu_epi16(__mmask32 mask, const void *p) {
  const int16_t *from = (const int16_t *)p;
  in_c_lanes to;
  EACH_LANE(32, w, mask >> i & 1 ? from[i] : 0)
  return to.si;
}
IN_C __m256i in_c_256_maskz_loadu_epi16(__mmask16 mask, const void *p) {
  return (in_c_lanes){.si = in_c_maskz_loadu_epi16(mask, p)}.half_si;
}
IN_C void in_c_256_mask_storeu_epi16(void *p, __mmask16 mask, __m256i v) {
  const in_c_lanes x = {.half_si = v};
  for (int i = 0; i < 16; i++)
    if (mask >> i & 1)
      ((int16_t *)p)[i] = x.w[i];
}
IN_C __m512i in_c_cvtepu16_epi32(__m256i v) {
  const in_c_lanes x = {.half_si = v};
  in_c_lanes to;
  EACH_LANE(16, d, x.u[i])
  return to.si;
}
IN_C __m256i in_c_cvtepi32_epi16(__m512i v) {
  const in_c_lanes x = {.si = v};
  in_c_lanes to;
  EACH_LANE(16, w, (int16_t)x.d[i])
  return to.half_si;
}
IN_C __m128i in_c_cvtepi32_epi8(__m512i v) {
  const in_c_lanes x = {.si = v};
  in_c_lanes to;
  EACH_LANE(16, b, (int8_t)x.d[i])
  return to.quarter_si;
}
IN_C __m512i in_c_madd_epi16(__m512i v, __m512i w) {
  const in_c_lanes x = {.si = v}, y = {.si = w};
  in_c_lanes to;
  EACH_LANE(16, d, x.w[2 * i] * y.w[2 * i] + x.w[2 * i + 1] * y.w[2 * i + 1])
  return to.si;
}
IN_C __mmask16 in_c_cmplt_epi32_mask(__m512i v, __m512i w) {
  const in_c_lanes x = {.si = v}, y = {.si = w};
  uint32_t mask = 0;
  for (int i = 0; i < 16; i++)
    mask |= (uint32_t)(x.d[i] < y.d[i]) << i;
  return (__mmask16)mask;
}
IN_C __m512 in_c_shuffle_f32x4(__m512 v, __m512 w, int which) {
  const in_c_lanes x = {.ps = v}, y = {.ps = w};
  in_c_lanes to;
  EACH_LANE(16, f, (i < 8 ? x : y).f[(which >> (2 * (i / 4)) & 3) * 4 + i % 4])
  return to.ps;
}
IN_C __m512 in_c_permute_ps(__m512 v, int which) {
  const in_c_lanes x = {.ps = v};
  in_c_lanes to;
  EACH_LANE(16, f, x.f[i / 4 * 4 + (which >> (2 * (i % 4)) & 3)])
  return to.ps;
}
IN_C __m256 in_c_extractf32x8_ps(__m512 v, int upper) {
  const in_c_lanes x = {.ps = v};
  in_c_lanes to;
  EACH_LANE(8, f, x.f[8 * upper + i])
  return to.half;
}
/* Each 16 bytes of both after each other, w first, are moved down by `n`. */
IN_C __m512i in_c_mask_alignr_epi8(__m512i other, __mmask64 mask, __m512i v, __m512i w, int n) {
  const in_c_lanes x = {.si = v}, y = {.si = w}, z = {.si = other};
  in_c_lanes to;
  for (int i = 0; i < 64; i++) {
    const int lane = i / 16 * 16, from = i % 16 + n;
    const uint8_t moved = from < 16 ? y.c[lane + from] : from < 32 ? x.c[lane + from - 16] : 0;
    to.c[i] = mask >> i & 1 ? moved : z.c[i];
  }
  return to.si;
}
/* What is left of a number after its largest whole one below: the only use of vreduceps here. */
IN_C __m512 in_c_reduce_ps(__m512 v, int how) {
  const in_c_lanes x = {.ps = v};
  in_c_lanes to;
  (void)how;
  EACH_LANE(16, f, __builtin_isinf(x.f[i]) ? 0 : x.f[i] - __builtin_floorf(x.f[i]))
  return to.ps;
}

#undef _mm512_maskz_loadu_ps
#undef _mm512_mask_storeu_ps
#undef _mm512_maskz_loadu_epi16
#undef _mm256_maskz_loadu_epi16
#undef _mm256_mask_storeu_epi16
#undef _mm512_cvtepu16_epi32
#undef _mm512_cvtepi32_epi16
#undef _mm512_cvtepi32_epi8
#undef _mm512_madd_epi16
#undef _mm512_cmplt_epi32_mask
#undef _mm512_shuffle_f32x4
#undef _mm512_permute_ps
#undef _mm512_extractf32x8_ps
#undef _mm512_mask_alignr_epi8
#undef _mm512_reduce_ps
#define _mm512_maskz_loadu_ps    in_c_maskz_loadu_ps
#define _mm512_mask_storeu_ps    in_c_mask_storeu_ps
#define _mm512_maskz_loadu_epi16 in_c_maskz_loadu_epi16
#define _mm256_maskz_loadu_epi16 in_c_256_maskz_loadu_epi16
#define _mm256_mask_storeu_epi16 in_c_256_mask_storeu_epi16
#define _mm512_cvtepu16_epi32    in_c_cvtepu16_epi32
#define _mm512_cvtepi32_epi16    in_c_cvtepi32_epi16
#define _mm512_cvtepi32_epi8     in_c_cvtepi32_epi8
#define _mm512_madd_epi16        in_c_madd_epi16
#define _mm512_cmplt_epi32_mask  in_c_cmplt_epi32_mask
#define _mm512_shuffle_f32x4     in_c_shuffle_f32x4
#define _mm512_permute_ps        in_c_permute_ps
#define _mm512_extractf32x8_ps   in_c_extractf32x8_ps
#define _mm512_mask_alignr_epi8  in_c_mask_alignr_epi8
#define _mm512_reduce_ps         in_c_reduce_ps
#endif
