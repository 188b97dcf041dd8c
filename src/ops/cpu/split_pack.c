/* split_pack.c: fp32 as three values of 16 bits, laid out for tiles. See split.h. */
#include "ops/cpu/split.h"
#include "ops/cpu/transpose.h"
#include "ops/cpu/vecmath.h"

/* One unit in each lane, of each part. */
typedef struct units {
  vec part[SPLIT_PARTS];
} units;

/* The value rounded to 16 bits, halves away from 0; in the upper halves. A rounding error of m is less than l can hold, which is
 * therefore exact. Infinity's and NaN's rest is NaN. */
BRIM_INLINE uvec high_of(vec x) {
  return ((uvec)x + 0x8000u) & 0xffff0000u;
}

/* Values of k = u and k = u + 16. */
BRIM_INLINE units split(vec lower, vec upper) {
  units u;
  BRIM_UNROLL(2)
  for (int i = 0; i + 1 < SPLIT_PARTS; i++) {
    const uvec low = high_of(lower), high = high_of(upper);
    u.part[i] = (vec)(low >> 16 | high);
    lower -= (vec)low;
    upper -= (vec)high;
  }
  u.part[SPLIT_PARTS - 1] = (vec)((uvec)lower >> 16 | ((uvec)upper & 0xffff0000u));
  return u;
}

BRIM_INLINE void put(char *to, vec x) {
  vstore((float *)(void *)to, x);
}

/* Row i of both halves' parts. */
BRIM_INLINE void put_units(const units *u, char *half, int64_t row) {
  BRIM_UNROLL(3)
  for (int i = 0; i < SPLIT_PARTS; i++)
    put(half + i * SPLIT_PART + row * 64, u->part[i]);
}

/* Where half h of step s begins. */
BRIM_INLINE char *half_at(char *to, int64_t s, int64_t h) {
  return to + s * SPLIT_STEP + h * SPLIT_HALF;
}

/* ---- as they lie */

void CPU(split_left)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to) {
  for (int64_t i = 0; i < SPLIT_SIDE; i++) {
    const float *row = x + i * stride;
    for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K) {
      units u = {{vzero(), vzero(), vzero()}};
      if (i < rows) {
        __builtin_prefetch(row + stride + k);
        __builtin_prefetch(row + stride + k + VEC);
        const vec lower = vload_n(row + k, depth - k);
        u = split(lower, depth - k > VEC ? vload_n(row + k + VEC, depth - k - VEC) : vzero());
      }
      put_units(&u, half_at(to, s, i / VEC), i % VEC);
    }
  }
}

void CPU(split_right)(int64_t columns, int64_t depth, const float *x, int64_t stride, char *to) {
  for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K)
    for (int64_t i = 0; i < VEC; i++) {
      const float *first = x + (k + i) * stride, *second = first + VEC * stride;
      const bool has_first = k + i < depth, has_second = k + i + VEC < depth;
      for (int64_t j = 0; j < SPLIT_SIDE; j += VEC) {
        const int64_t n = columns - j;
        __builtin_prefetch(first + j + SPLIT_K * stride); /* rows are too far apart for the caches to foresee */
        __builtin_prefetch(second + j + SPLIT_K * stride);
        const vec lower = has_first && n > 0 ? vload_n(first + j, n) : vzero();
        const units u = split(lower, has_second && n > 0 ? vload_n(second + j, n) : vzero());
        put_units(&u, half_at(to, s, j / VEC), i);
      }
    }
}

/* ---- turned about: units of 16 rows in memory become rows of 16 units */

typedef struct block {
  vec row[SPLIT_PARTS][VEC];
} block;

BRIM_INLINE void put_in_block(block *b, int64_t row, const units *u) {
  BRIM_UNROLL(3)
  for (int i = 0; i < SPLIT_PARTS; i++)
    b->row[i][row] = u->part[i];
}

static void put_turned(const block *b, char *half) {
  for (int i = 0; i < SPLIT_PARTS; i++) {
    vec turned[VEC];
    transpose((const char *)b->row[i], sizeof(vec), turned);
    BRIM_UNROLL(16)
    for (int j = 0; j < VEC; j++)
      put(half + i * SPLIT_PART + j * 64, turned[j]);
  }
}

void CPU(split_right_turned)(int64_t columns, int64_t depth, const float *x, int64_t stride, char *to) {
  enum { AHEAD = 64 };
  for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K)
    for (int64_t j = 0; j < SPLIT_SIDE; j += VEC) {
      block b;
      for (int64_t i = 0; i < VEC; i++) {
        units u = {{vzero(), vzero(), vzero()}};
        if (j + i < columns) {
          const float *row = x + (j + i) * stride + k;
          __builtin_prefetch(row + AHEAD);
          __builtin_prefetch(row + AHEAD + VEC);
          const vec lower = vload_n(row, depth - k);
          u = split(lower, depth - k > VEC ? vload_n(row + VEC, depth - k - VEC) : vzero());
        }
        put_in_block(&b, i, &u);
      }
      put_turned(&b, half_at(to, s, j / VEC));
    }
}

void CPU(split_left_turned)(int64_t rows, int64_t depth, const float *x, int64_t stride, char *to, float *sums) {
  for (int64_t j = 0; j < SPLIT_SIDE; j += VEC) {
    const int64_t n = rows - j;
    vec sum = vzero();
    for (int64_t s = 0, k = 0; k < depth; s++, k += SPLIT_K) {
      block b;
      for (int64_t i = 0; i < VEC; i++) {
        const float *first = x + (k + i) * stride + j, *second = first + VEC * stride;
        const vec lower = n > 0 && k + i < depth ? vload_n(first, n) : vzero();
        __builtin_prefetch(first + SPLIT_K * stride);
        __builtin_prefetch(second + SPLIT_K * stride);
        const vec upper = n > 0 && k + i + VEC < depth ? vload_n(second, n) : vzero();
        const units u = split(lower, upper);
        sum = sum + lower + upper;
        put_in_block(&b, i, &u);
      }
      put_turned(&b, half_at(to, s, j / VEC));
    }
    if (sums)
      vstore(sums + j, vload(sums + j) + sum);
  }
}
