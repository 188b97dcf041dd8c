/* bf16_tile.c: one tile with vectors, by `vdpbf16ps` or widened. See bf16_tile.h; the loop is that of tile.c. */
#include "ops/cpu/bf16_tile.h"

enum { LINE = 16, LEAST_DEPTH = 4 * LINE };

typedef enum how { WIDENED, PAIRS, EXACT } how;

/* The next unit of a row in all lanes. */
BRIM_INLINE vec spread(const char *p) {
  uint32_t unit;
  memcpy(&unit, p, sizeof unit);
  return (vec)((uvec){0} + unit);
}

#if BRIM_LEVEL > 0 || defined(__FP_FAST_FMAF)
#define MULTIPLIES_EXACTLY 1
#else
#define MULTIPLIES_EXACTLY 0

/* a * b + c rounded once: the product is exact in double precision, and the sum is rounded to odd there, which makes its second
 * rounding right (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008). */
static float fused(float a, float b, float c) {
  const double p = (double)a * (double)b, q = (double)c, sum = p + q;
  const double back = sum - p, lost = (p - (sum - back)) + (q - back);
  double odd = sum;
  uint64_t bits;
  memcpy(&bits, &sum, sizeof bits);
  if (lost < 0 || lost > 0) { /* neither for NaN */
    if (!(bits & 1))
      bits += (lost > 0) == (sum > 0) ? 1 : -1ull;
    memcpy(&odd, &bits, sizeof odd);
  }
  return (float)odd;
}
#endif

#if BRIM_LEVEL == 0
/* Where the state of the processor does not do it. */
BRIM_INLINE vec flush(vec x) {
#if !defined(__SSE2__)
  const uvec normal = (uvec)(((uvec)x & 0x7f800000u) != 0);
  return (vec)((uvec)x & (normal | 0x80000000u));
#else
  return x;
#endif
}
#endif

BRIM_INLINE vec accumulate(how h, vec x, vec b, vec c) {
#if BRIM_LEVEL >= 2 && defined(BRIM_HAS_BF16) && !defined(BRIM_WIDE_IN_C)
  if (h == PAIRS) {
    __asm__("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(b), "v"(x));
    return c;
  }
#endif
#if BRIM_LEVEL > 0
  (void)h;
  return vmadd(x, b, c);
#elif MULTIPLIES_EXACTLY
  (void)h;
  x = flush(x), b = flush(b), c = flush(c);
  for (int i = 0; i < VEC; i++)
    c[i] = __builtin_fmaf(x[i], b[i], c[i]);
  return flush(c);
#else
  if (h == EXACT) {
    x = flush(x), b = flush(b), c = flush(c);
    for (int i = 0; i < VEC; i++)
      c[i] = fused(x[i], b[i], c[i]);
    return flush(c);
  }
  return flush(flush(x) * flush(b) + flush(c));
#endif
}

#define START_ROW(i)                                                                                                             \
  if (i < rows) {                                                                                                                \
    c0[i] = start0;                                                                                                              \
    c1[i] = start1;                                                                                                              \
  }
#define GO_ON_ROW(i)                                                                                                             \
  if (i < rows) {                                                                                                                \
    c0[i] = vload(t->c + i * t->c_row);                                                                                          \
    c1[i] = vload(t->c + i * t->c_row + VEC);                                                                                    \
  }
#define MULTIPLY_ROW(i)                                                                                                          \
  if (i < rows) {                                                                                                                \
    const vec x = spread(a[i / 3] + i % 3 * a_row);                                                                              \
    c0[i] = accumulate(h, x, b0, c0[i]);                                                                                         \
    c1[i] = accumulate(h, x, b1, c1[i]);                                                                                         \
  }
#define MULTIPLY_LAST(i)                                                                                                         \
  if (i < rows) {                                                                                                                \
    brim_bfloat one;                                                                                                             \
    memcpy(&one, a[i / 3] + i % 3 * a_row, sizeof one);                                                                          \
    const vec x = (vec)((uvec){0} + one);                                                                                        \
    c0[i] = accumulate(h, x, b0, c0[i]);                                                                                         \
    c1[i] = accumulate(h, x, b1, c1[i]);                                                                                         \
  }
#define ADD_ROW(i)                                                                                                               \
  if (i < rows) {                                                                                                                \
    c0[i] += vload(sum + i * TILE_COLUMNS);                                                                                      \
    c1[i] += vload(sum + i * TILE_COLUMNS + VEC);                                                                                \
  }
#define STORE_ROW(i)                                                                                                             \
  if (i < rows) {                                                                                                                \
    float *c = t->c + i * t->c_row;                                                                                              \
    if (t->add) {                                                                                                                \
      c0[i] = vload(c) + c0[i];                                                                                                  \
      c1[i] = vload(c + VEC) + c1[i];                                                                                            \
    }                                                                                                                            \
    vstore(c, c0[i]);                                                                                                            \
    vstore(c + VEC, c1[i]);                                                                                                      \
  }
#define FETCH_ROW(i)                                                                                                             \
  if (i < rows)                                                                                                                  \
    __builtin_prefetch(a[i / 3] + i % 3 * a_row + LINE * BF16_UNIT);

BRIM_INLINE void fetch_result(const bf16_tile *t, int64_t row) {
  __builtin_prefetch(t->fetch + row * t->fetch_row, 1);
  __builtin_prefetch(t->fetch + row * t->fetch_row + t->fetch_bytes - 1, 1);
}

#define LOAD_RIGHT const vec b0 = vload((const float *)(const void *)b), b1 = vload((const float *)(const void *)b + VEC);

#define STEPS(count)                                                                                                             \
  for (int64_t k = (count); k > 0; k--) {                                                                                        \
    LOAD_RIGHT                                                                                                                   \
    EACH_ROW(MULTIPLY_ROW)                                                                                                       \
    BRIM_UNROLL(8)                                                                                                               \
    for (int i = 0; i < POINTERS; i++)                                                                                           \
      if (3 * i < rows) {                                                                                                        \
        a[i] += a_step;                                                                                                          \
        APART(a[i]);                                                                                                             \
      }                                                                                                                          \
    b += TILE_COLUMNS * BF16_UNIT;                                                                                               \
  }

/* `rows` and `h` are constants wherever this is called. */
BRIM_INLINE void run(const int rows, const how h, const bf16_tile *t) {
  const int64_t a_row = t->a_row, a_step = t->a_step;
  const char *a[POINTERS], *b = t->b;
  vec c0[TILE_ROWS], c1[TILE_ROWS];
  if (t->accumulates) {
    EACH_ROW(GO_ON_ROW)
  } else {
    const vec start0 = t->start ? vload(t->start) : vzero(), start1 = t->start ? vload(t->start + VEC) : vzero();
    EACH_ROW(START_ROW)
  }
  BRIM_UNROLL(8)
  for (int i = 0; i < POINTERS; i++) {
    a[i] = t->a + 3 * i * a_row;
    if (3 * i < rows)
      APART(a[i]);
  }
  int64_t left = t->steps;
  const int64_t lines = TILE_ROWS < 14 || left < LEAST_DEPTH ? 0 : (left - 1) / LINE;
  const int64_t results = t->fetch ? rows : 0;
  for (int64_t i = lines; i < results; i++)
    fetch_result(t, i);
  for (int64_t line = 0; line < lines; line++, left -= LINE) {
    if (a_step == BF16_UNIT) {
      EACH_ROW(FETCH_ROW)
    }
    if (line < results)
      fetch_result(t, line);
    STEPS(LINE)
  }
  STEPS(left)
  if (h == PAIRS && t->odd) {
    LOAD_RIGHT
    EACH_ROW(MULTIPLY_LAST)
  }
  for (int32_t k = 0; k < t->sum_count; k++) {
    const float *sum = t->sums[k];
    EACH_ROW(ADD_ROW)
  }
  EACH_ROW(STORE_ROW)
}

#define RUN(n, h)                                                                                                                \
  case n:                                                                                                                        \
    run(n, h, t);                                                                                                                \
    break;
#if BRIM_LEVEL >= 2
#define EACH_HEIGHT(h)                                                                                                           \
  RUN(1, h)                                                                                                                      \
  RUN(2, h)                                                                                                                      \
  RUN(3, h)                                                                                                                      \
  RUN(4, h)                                                                                                                      \
  RUN(5, h) RUN(6, h) RUN(7, h) RUN(8, h) RUN(9, h) RUN(10, h) RUN(11, h) RUN(12, h) RUN(13, h) RUN(14, h)
#else
#define EACH_HEIGHT(h) RUN(1, h) RUN(2, h) RUN(3, h) RUN(4, h) RUN(5, h) RUN(6, h)
#endif
#define KERNEL(name, h)                                                                                                          \
  static void name(int64_t rows, const bf16_tile *t) {                                                                           \
    switch (rows) {                                                                                                              \
      EACH_HEIGHT(h)                                                                                                             \
    default:                                                                                                                     \
      break;                                                                                                                     \
    }                                                                                                                            \
  }

#if MULTIPLIES_EXACTLY
KERNEL(run_widened, WIDENED)
#else
KERNEL(run_fast, WIDENED)
KERNEL(run_exact, EXACT)

/* Widens the range of the magnitudes so far, by their bits; zeros are no matter. Bits of infinity and NaN are the largest. */
static void widen_range(const char *p, int64_t n, uint32_t *low, uint32_t *high) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits;
    memcpy(&bits, p + i * BF16_UNIT, sizeof bits);
    bits &= 0x7fffffff;
    *high = bits > *high ? bits : *high;
    *low = bits - 1 < *low - 1 ? bits : *low; /* 0 - 1 is above all */
  }
}

/* Without a fused multiply-add, products must be exact numbers: none may leave the range of single precision. */
static void run_widened(int64_t rows, const bf16_tile *t) {
  enum { ONE = 127 << 23, BOTTOM = 1 << 23, TOP = 254 << 23 };
  uint32_t low[2] = {0, 0}, high[2] = {0, 0};
  if (t->a_step == BF16_UNIT)
    for (int64_t i = 0; i < rows; i++)
      widen_range(t->a + i * t->a_row, t->steps, &low[0], &high[0]);
  else
    for (int64_t k = 0; k < t->steps; k++)
      widen_range(t->a + k * t->a_step, rows, &low[0], &high[0]);
  widen_range(t->b, t->steps * TILE_COLUMNS, &low[1], &high[1]);
  const bool small = low[0] && low[1] && (int64_t)low[0] + low[1] - ONE < BOTTOM;
  const bool large = (int64_t)high[0] + high[1] - ONE >= TOP - BOTTOM;
  (small || large ? run_exact : run_fast)(rows, t);
}
#endif

#if BRIM_LEVEL >= 2 && defined(BRIM_HAS_BF16)
KERNEL(run_pairs, PAIRS)
#endif

bf16_kernel CPU(bf16_kernel)(brim_bf16_way way) {
#if BRIM_LEVEL >= 2 && defined(BRIM_HAS_BF16)
  if (way == BRIM_BF16_PAIRS)
    return (bf16_kernel){.rows = TILE_ROWS, .run = run_pairs};
  if (way == BRIM_BF16_TILES)
    return CPU(bf16_kernel_amx)();
  if (way == BRIM_BF16_TILES_EMULATED)
    return CPU(bf16_kernel_amx_emulated)();
#endif
  (void)way;
  return (bf16_kernel){.rows = TILE_ROWS, .widens = true, .run = run_widened};
}

void CPU(bf16_tile_rows)(const bf16_kernel *kernel, int64_t rows, const bf16_tile *t) {
  const uint32_t high = (uint32_t)kernel->rows, count = ((uint32_t)rows + high - 1) / high;
  const uint32_t least = count ? (uint32_t)rows / count : 0, higher = count ? (uint32_t)rows % count : 0;
  bf16_tile next = *t;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t height = !kernel->whole  ? (int64_t)least + (i < higher)
                           : i + 1 < count ? (int64_t)high
                                           : rows - (int64_t)(i * high);
    kernel->run(height, &next);
    next.a += height * t->a_row;
    next.c += height * t->c_row;
  }
}
