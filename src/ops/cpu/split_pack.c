/* split_pack.c: fp32 as three values of 16 bits, laid out for tiles. See split.h. */
#include "ops/cpu/split.h"
#include "ops/cpu/transpose.h"
#include "ops/cpu/vecmath.h"

/* One unit in each lane, of each component. */
typedef struct units {
  vec component[SPLIT_COMPONENTS];
} units;

/* Rounded to 16 bits, halves away from 0, where the lower half is left out. A rounding error of m is less than l can hold, which
 * is therefore exact. Infinity's and NaN's rest is NaN. */
BRIM_INLINE __m512i rounded(vec x) {
  return _mm512_add_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x8000));
}

/* What its upper half leaves. */
BRIM_INLINE vec rest(vec x, __m512i high) {
  return x - _mm512_castsi512_ps(_mm512_and_si512(high, _mm512_set1_epi32(-0x10000)));
}

/* The upper halves of both. */
BRIM_INLINE vec joined(__m512i lower, __m512i upper) {
  return _mm512_castsi512_ps(_mm512_mask_alignr_epi8(upper, 0x3333333333333333u, lower, lower, 2));
}

/* Values of k = u and k = u + 16. */
BRIM_INLINE units split(vec lower, vec upper) {
  units u;
  BRIM_UNROLL(2)
  for (int i = 0; i + 1 < SPLIT_COMPONENTS; i++) {
    const __m512i low = rounded(lower), high = rounded(upper);
    u.component[i] = joined(low, high);
    lower = rest(lower, low);
    upper = rest(upper, high);
  }
  u.component[SPLIT_COMPONENTS - 1] = joined(_mm512_castps_si512(lower), _mm512_castps_si512(upper));
  return u;
}

/* A row of a half's components. */
BRIM_INLINE void put_units(const units *u, char *half, int64_t row) {
  BRIM_UNROLL(3)
  for (int i = 0; i < SPLIT_COMPONENTS; i++)
    vstore((float *)(void *)(half + i * SPLIT_COMPONENT + row * 64), u->component[i]);
}

BRIM_INLINE void put(vec lower, vec upper, char *half, int64_t row) {
  const units u = split(lower, upper);
  put_units(&u, half, row);
}

/* Where half h of step s begins. */
BRIM_INLINE char *half_at(char *to, int64_t s, int64_t h) {
  return to + s * SPLIT_STEP + h * SPLIT_HALF;
}

BRIM_INLINE vec load_first(const float *x, int64_t n) {
  return n > 0 ? vload_n(x, n) : vzero();
}

/* ---- as they lie */

enum { AHEAD = 64 }; /* values of a row that are asked for */

void CPU(split_left)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to) {
  for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K)
    for (int64_t i = 0; i < SPLIT_SIDE; i++) {
      const float *row = x + i * stride + k;
      if (i < rows) {
        __builtin_prefetch(row + AHEAD);
        __builtin_prefetch(row + AHEAD + VEC);
        put(load_first(row, depth - k), load_first(row + VEC, depth - k - VEC), half_at(to, s, i / VEC), i % VEC);
      } else
        put(vzero(), vzero(), half_at(to, s, i / VEC), i % VEC);
    }
}

/* ---- turned about: units of 16 rows in memory become rows of 16 units */

/* Blocks of 16 rows that become lower and upper halves of units. */
BRIM_INLINE void put_turned(const char *lower, const char *upper, int64_t row, char *half) {
  vec low[VEC], high[VEC];
  transpose(lower, row, low);
  transpose(upper, row, high);
  BRIM_UNROLL(16)
  for (int j = 0; j < VEC; j++)
    put(low[j], high[j], half, j);
}

/* Up to 16 rows of 16 values; what is missing is 0. */
static BRIM_NOINLINE void take_some(int64_t rows, int64_t columns, const float *x, int64_t stride, float block[VEC * VEC]) {
  for (int64_t i = 0; i < VEC; i++)
    vstore(block + i * VEC, load_first(x + i * stride, i < rows ? columns : 0));
}

void CPU(split_left_turned)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to, float *sums) {
  for (int64_t j = 0; j < SPLIT_SIDE; j += VEC) {
    vec sum = vzero();
    for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K) {
      float blocks[2][VEC * VEC];
      const float *first = x + k * stride + j, *second = first + VEC * stride;
      int64_t row = stride;
      for (int64_t i = 0; i < SPLIT_K; i++)
        __builtin_prefetch(first + (i + SPLIT_K) * stride);
      if (rows - j < VEC || depth - k < SPLIT_K) {
        take_some(depth - k, rows - j, first, stride, blocks[0]);
        take_some(depth - k - VEC, rows - j, second, stride, blocks[1]);
        first = blocks[0], second = blocks[1], row = VEC;
      }
      for (int64_t i = 0; sums && i < VEC; i++)
        sum = sum + vload(first + i * row) + vload(second + i * row);
      put_turned((const char *)first, (const char *)second, row * (int64_t)sizeof(float), half_at(to, s, j / VEC));
    }
    if (sums)
      vstore(sums + j, vload(sums + j) + sum);
  }
}

/* ---- right sides, in pieces: a piece is a half of a step */

/* Values from a step to the next one. */
BRIM_INLINE int64_t step_of(const split_panel *p) {
  return p->turned ? SPLIT_K : SPLIT_K * p->stride;
}

/* Asks for the same piece of the step after the next one. */
BRIM_INLINE void fetch_piece(const split_panel *p, int64_t s, int64_t h) {
  enum { STEPS = 2 };
  const int64_t left = split_steps(p->depth) - s - STEPS;
  const float *x = left > 0 ? p->x + (s + STEPS) * step_of(p) : p->next ? p->next - left * step_of(p) : NULL;
  if (!x)
    return;
  x += h * VEC * (p->turned ? p->stride : 1);
  for (int64_t i = 0; i < VEC; i++) {
    __builtin_prefetch(x + i * p->stride, 0, 2);
    __builtin_prefetch(x + (p->turned ? i * p->stride + VEC : (i + VEC) * p->stride), 0, 2);
  }
}

static void piece_as_it_lies(const split_panel *p, int64_t columns, int64_t depth, const float *x, char *half) {
  for (int64_t i = 0; i < VEC; i++) {
    const float *first = x + i * p->stride, *second = first + VEC * p->stride;
    put(load_first(first, i < depth ? columns : 0), load_first(second, i + VEC < depth ? columns : 0), half, i);
  }
}

static void piece_turned(const split_panel *p, int64_t columns, int64_t depth, const float *x, char *half) {
  if (columns >= VEC && depth >= SPLIT_K) {
    put_turned((const char *)x, (const char *)(x + VEC), p->stride * (int64_t)sizeof(float), half);
    return;
  }
  float blocks[2][VEC * VEC];
  take_some(columns, depth, x, p->stride, blocks[0]);
  take_some(columns, depth - VEC, x + VEC, p->stride, blocks[1]);
  put_turned((const char *)blocks[0], (const char *)blocks[1], sizeof(vec), half);
}

void CPU(split_pieces)(const split_panel *p, int64_t first, int64_t end) {
  for (int64_t i = first; i < end; i++) {
    const int64_t s = i / SPLIT_PIECES, h = i % SPLIT_PIECES, columns = p->columns - h * VEC, depth = p->depth - s * SPLIT_K;
    const float *x = p->x + s * step_of(p) + h * VEC * (p->turned ? p->stride : 1);
    fetch_piece(p, s, h);
    (p->turned ? piece_turned : piece_as_it_lies)(p, columns, depth, x, half_at(p->to, s, h));
  }
}

/* ---- steps of half the k */

/* Units of two components of one value. */
BRIM_INLINE void put_twice(vec x, const bool left, char *half, int64_t row) {
  const __m512i h = rounded(x);
  x = rest(x, h);
  const __m512i m = rounded(x), l = _mm512_castps_si512(rest(x, m));
  const units u = {{joined(h, h), joined(m, left ? h : m), joined(l, left ? m : h)}};
  put_units(&u, half, row);
}

void CPU(split_right_half)(int64_t columns, int64_t depth, const float *x, int64_t stride, char *to) {
  for (int64_t i = 0; i < VEC; i++)
    for (int64_t j = 0; j < SPLIT_SIDE; j += VEC)
      put_twice(load_first(x + i * stride + j, i < depth ? columns - j : 0), false, half_at(to, 0, j / VEC), i);
}

void CPU(split_left_turned_half)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to, float *sums) {
  for (int64_t j = 0; j < SPLIT_SIDE; j += VEC) {
    float block[VEC * VEC];
    vec sum = vzero(), turned[VEC];
    take_some(depth, rows - j, x + j, stride, block);
    for (int64_t i = 0; i < VEC; i++)
      sum = sum + vload(block + i * VEC);
    vstore(sums + j, vload(sums + j) + sum);
    transpose((const char *)block, sizeof(vec), turned);
    BRIM_UNROLL(16)
    for (int64_t i = 0; i < VEC; i++)
      put_twice(turned[i], true, half_at(to, 0, j / VEC), i);
  }
}
