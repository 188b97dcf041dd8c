/* transpose.h: square blocks of 32-bit words turned about: rows of VEC words, `stride` bytes apart and of any alignment, become
 * columns. Words are moved, never computed with: two values of 16 bits go together. */
#ifndef BRIM_OPS_CPU_TRANSPOSE_H
#define BRIM_OPS_CPU_TRANSPOSE_H
#include "ops/cpu/vec.h"

#if BRIM_LEVEL >= 2
/* y[q] is column q of 16 rows of 16. */
BRIM_INLINE void transpose(const char *x, int64_t stride, vec y[VEC]) {
  __m512 r[16], s[16];
  BRIM_UNROLL(16)
  for (int i = 0; i < 16; i++)
    r[i] = _mm512_loadu_ps(x + i * stride);
  BRIM_UNROLL(8)
  for (int i = 0; i < 16; i += 2) { /* pairs */
    s[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  BRIM_UNROLL(4)
  for (int i = 0; i < 16; i += 4) { /* fours: r[i + q] has column 4 lane + q of rows i .. i + 3 */
    r[i] = _mm512_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm512_shuffle_ps(s[i], s[i + 2], 0xEE);
    r[i + 2] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm512_shuffle_ps(s[i + 1], s[i + 3], 0xEE);
  }
  BRIM_UNROLL(4)
  for (int q = 0; q < 4; q++) {
    const __m512 low01 = _mm512_shuffle_f32x4(r[q], r[q + 4], 0x88), high01 = _mm512_shuffle_f32x4(r[q], r[q + 4], 0xDD);
    const __m512 low23 = _mm512_shuffle_f32x4(r[q + 8], r[q + 12], 0x88),
                 high23 = _mm512_shuffle_f32x4(r[q + 8], r[q + 12], 0xDD);
    y[q] = _mm512_shuffle_f32x4(low01, low23, 0x88);
    y[8 + q] = _mm512_shuffle_f32x4(low01, low23, 0xDD);
    y[4 + q] = _mm512_shuffle_f32x4(high01, high23, 0x88);
    y[12 + q] = _mm512_shuffle_f32x4(high01, high23, 0xDD);
  }
}
#elif BRIM_LEVEL == 1
/* y[q] is column q of 8 rows of 8. */
BRIM_INLINE void transpose(const char *x, int64_t stride, vec y[VEC]) {
  __m256 r[8], s[8];
  BRIM_UNROLL(8)
  for (int i = 0; i < 8; i++)
    r[i] = _mm256_loadu_ps((const float *)(const void *)(x + i * stride));
  BRIM_UNROLL(4)
  for (int i = 0; i < 8; i += 2) {
    s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  BRIM_UNROLL(2)
  for (int i = 0; i < 8; i += 4) {
    r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
    r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xEE);
    r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
    r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xEE);
  }
  BRIM_UNROLL(4)
  for (int q = 0; q < 4; q++) {
    y[q] = _mm256_permute2f128_ps(r[q], r[q + 4], 0x20);
    y[4 + q] = _mm256_permute2f128_ps(r[q], r[q + 4], 0x31);
  }
}
#else
BRIM_INLINE void transpose(const char *x, int64_t stride, vec y[VEC]) {
  uint32_t cells[VEC][VEC];
  for (int i = 0; i < VEC; i++)
    for (int j = 0; j < VEC; j++)
      memcpy(&cells[j][i], x + i * stride + 4 * j, sizeof cells[j][i]);
  memcpy(y, cells, sizeof cells);
}
#endif
#endif
