/* half.h: vectors of 16-bit values (bfloat16) and of tensors that may have either type. */
#ifndef BRIM_OPS_CPU_HALF_H
#define BRIM_OPS_CPU_HALF_H
#include "ops/cpu/vecmath.h"
#include "ops/ops.h"

/* The nearest, to even between two; NaN stays NaN. In the upper halves of the lanes, below which is rubbish. */
BRIM_INLINE uvec round_upper(vec x) {
  const uvec bits = (uvec)x;
  const uvec rounded = bits + 0x7fffu + (bits >> 16 & 1u), quiet = bits | 0x400000u;
#if BRIM_LEVEL >= 2
  return (uvec)_mm512_mask_mov_epi32((__m512i)rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), (__m512i)quiet);
#else
  const uvec nan = (uvec)(x != x);
  return (rounded & ~nan) | (quiet & nan);
#endif
}

#if BRIM_LEVEL >= 2
/* The first n of VEC values, n may exceed VEC; others are 0. */
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  const __m256i x = n >= VEC ? _mm256_loadu_si256((const __m256i_u *)p) : _mm256_maskz_loadu_epi16(vec_lanes(n), p);
  return (vec)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const __m256i y = _mm512_cvtepi32_epi16((__m512i)(round_upper(x) >> 16));
  if (n >= VEC)
    _mm256_storeu_si256((__m256i_u *)p, y);
  else
    _mm256_mask_storeu_epi16(p, vec_lanes(n), y);
}
#elif BRIM_LEVEL == 1
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  __m128i x = _mm_setzero_si128();
  if (n >= VEC)
    x = _mm_loadu_si128((const __m128i_u *)p);
  else
    memcpy(&x, p, (size_t)n * sizeof *p);
  return (vec)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const __m256i y = (__m256i)(round_upper(x) >> 16);
  const __m128i halves = _mm_packus_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
  if (n >= VEC)
    _mm_storeu_si128((__m128i_u *)p, halves);
  else
    memcpy(p, &halves, (size_t)n * sizeof *p);
}
#else
BRIM_INLINE vec hload_n(const brim_bfloat *p, int64_t n) {
  uvec x = {0};
  for (int i = 0; i < VEC && i < n; i++)
    x[i] = (uint32_t)p[i] << 16;
  return (vec)x;
}
BRIM_INLINE void hstore_n(brim_bfloat *p, vec x, int64_t n) {
  const uvec y = round_upper(x) >> 16;
  for (int i = 0; i < VEC && i < n; i++)
    p[i] = (brim_bfloat)y[i];
}
#endif

/* The first n values at `index` of a tensor. */
BRIM_INLINE vec tload_n(brim_typed t, int64_t index, int64_t n) {
  return t.type == BRIM_TYPE_BF16 ? hload_n((const brim_bfloat *)t.at + index, n) : vload_n((const float *)t.at + index, n);
}
BRIM_INLINE void tstore_n(brim_typed t, int64_t index, vec x, int64_t n) {
  if (t.type == BRIM_TYPE_BF16)
    hstore_n((brim_bfloat *)t.at + index, x, n);
  else
    vstore_n((float *)t.at + index, x, n);
}

/* A row as floats. */
BRIM_INLINE void load_row(brim_typed t, int64_t at, int64_t width, float *line) {
  for (int64_t i = 0; i < width; i += VEC)
    vstore_n(line + i, tload_n(t, at + i, width - i), width - i);
}
BRIM_INLINE void store_row(brim_typed t, int64_t at, int64_t width, const float *line) {
  for (int64_t i = 0; i < width; i += VEC)
    tstore_n(t, at + i, vload_n(line + i, width - i), width - i);
}

/* The same where a row may be read and written as it lies: `line` is for one of 16 bits. What was written there is
 * finished once. */
BRIM_INLINE const float *row_of(brim_typed t, int64_t at, int64_t width, float *line) {
  if (t.type == BRIM_TYPE_REAL)
    return (const float *)t.at + at;
  load_row(t, at, width, line);
  return line;
}
BRIM_INLINE float *row_address(brim_typed t, int64_t at, float *line) {
  return t.type == BRIM_TYPE_REAL ? (float *)t.at + at : line;
}
BRIM_INLINE void finish_row(brim_typed t, int64_t at, int64_t width, const float *line) {
  if (t.type == BRIM_TYPE_BF16)
    store_row(t, at, width, line);
}
#endif
