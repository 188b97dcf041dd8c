/* tile.c: the micro-kernel and the packing of its right-hand side. */
#include "ops/cpu/tile.h"
#include "ops/cpu/transpose.h"

#define START_ROW(i)                                                                                                             \
  if (i < rows) {                                                                                                                \
    c0[i] = start0;                                                                                                              \
    c1[i] = start1;                                                                                                              \
  }
#define MULTIPLY_ROW(i)                                                                                                          \
  if (i < rows) {                                                                                                                \
    const vec x = vset(a[i / 3][i % 3 * a_row]);                                                                                 \
    c0[i] = vmadd(x, b0, c0[i]);                                                                                                 \
    c1[i] = vmadd(x, b1, c1[i]);                                                                                                 \
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
      c0[i] += vload(c);                                                                                                         \
      c1[i] += vload(c + VEC);                                                                                                   \
    }                                                                                                                            \
    vstore(c, c0[i]);                                                                                                            \
    vstore(c + VEC, c1[i]);                                                                                                      \
  }

#define FETCH_ROW(i)                                                                                                             \
  if (i < rows)                                                                                                                  \
    __builtin_prefetch(a[i / 3] + i % 3 * a_row + LINE);

/* What is not in the first-level cache is asked for a line's worth of steps ahead. The caches' own prefetching does not keep up
 * with 14 rows at once (with 6 it does), and asking for all of c at one time would hold up the rest. Short products have their
 * sides in the cache, and branches would cost more. */
enum { LINE = 16, LEAST_DEPTH = 4 * LINE };

BRIM_INLINE void fetch_result(const tile *t, int64_t row) {
  __builtin_prefetch(t->c + row * t->c_row, 1);
  __builtin_prefetch(t->c + row * t->c_row + TILE_COLUMNS - 1, 1);
}

/* The first line of the rows that follow: most likely the next tile's. */
BRIM_INLINE void fetch_next(const int rows, const tile *t) {
  const float *a = t->a + rows * t->a_row;
  BRIM_UNROLL(14)
  for (int i = 0; i < rows; i++, a += t->a_row)
    __builtin_prefetch(a);
}

#define STEPS(count)                                                                                                             \
  for (int64_t k = (count); k > 0; k--) {                                                                                        \
    const vec b0 = vload(b), b1 = vload(b + VEC);                                                                                \
    EACH_ROW(MULTIPLY_ROW)                                                                                                       \
    BRIM_UNROLL(8)                                                                                                               \
    for (int i = 0; i < POINTERS; i++)                                                                                           \
      if (3 * i < rows) {                                                                                                        \
        a[i] += a_step;                                                                                                          \
        APART(a[i]);                                                                                                             \
      }                                                                                                                          \
    b += b_step;                                                                                                                 \
  }

/* `rows` is a constant wherever this is called. */
BRIM_INLINE void run(const int rows, const tile *t) {
  const int64_t a_row = t->a_row, a_step = t->a_step, b_step = t->b_step;
  const float *a[POINTERS], *b = t->b;
  vec c0[TILE_ROWS], c1[TILE_ROWS];
  const vec start0 = t->start ? vload(t->start) : vzero(), start1 = t->start ? vload(t->start + VEC) : vzero();
  EACH_ROW(START_ROW)
  BRIM_UNROLL(8)
  for (int i = 0; i < POINTERS; i++) {
    a[i] = t->a + 3 * i * a_row;
    if (3 * i < rows)
      APART(a[i]);
  }
  int64_t left = t->depth, fetched = 0;
  const int64_t lines = TILE_ROWS < 14 || left < LEAST_DEPTH ? 0 : (left - 1) / LINE;
  for (int64_t i = lines; i < rows; i++)
    fetch_result(t, i);
  for (; fetched < lines; fetched++, left -= LINE) {
    if (a_step == 1) {
      EACH_ROW(FETCH_ROW)
    }
    if (fetched < rows)
      fetch_result(t, fetched);
    STEPS(LINE)
  }
  if (a_step == 1 && lines > 0)
    fetch_next(rows, t);
  STEPS(left)
  for (int32_t k = 0; k < t->sum_count; k++) {
    const float *sum = t->sums[k];
    EACH_ROW(ADD_ROW)
  }
  EACH_ROW(STORE_ROW)
}

#define RUN(n)                                                                                                                   \
  case n:                                                                                                                        \
    run(n, t);                                                                                                                   \
    break

void CPU(tile_run)(int64_t rows, const tile *t) {
  switch (rows) {
    RUN(1);
    RUN(2);
    RUN(3);
    RUN(4);
    RUN(5);
    RUN(6);
#if BRIM_LEVEL >= 2
    RUN(7);
    RUN(8);
    RUN(9);
    RUN(10);
    RUN(11);
    RUN(12);
    RUN(13);
    RUN(14);
#endif
  default:
    break;
  }
}

void CPU(tile_run_partial)(int64_t rows, int64_t columns, const tile *t) {
  if (columns == TILE_COLUMNS) {
    CPU(tile_run)(rows, t);
    return;
  }
  float full[TILE_ROWS * TILE_COLUMNS], start[TILE_COLUMNS] = {0};
  tile whole = *t;
  whole.c = full;
  whole.c_row = TILE_COLUMNS;
  whole.add = false;
  if (t->start) {
    memcpy(start, t->start, (size_t)columns * sizeof *start);
    whole.start = start;
  }
  CPU(tile_run)(rows, &whole);
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < columns; j += VEC) {
      float *c = t->c + i * t->c_row + j;
      const vec x = vload(full + i * TILE_COLUMNS + j), old = t->add ? vload_n(c, columns - j) : vzero();
      vstore_n(c, old + x, columns - j);
    }
  }
}

void CPU(tile_rows)(int64_t rows, int64_t columns, const tile *t) {
  if (rows <= 0)
    return;
  const uint32_t count = (uint32_t)((rows + TILE_ROWS - 1) / TILE_ROWS), least = (uint32_t)rows / count,
                 higher = (uint32_t)rows % count; /* 64 bits would take four times as long to divide */
  tile next = *t;
  for (uint32_t i = 0; i < count; i++) {
    const int64_t height = least + (i < higher);
    CPU(tile_run_partial)(height, columns, &next);
    next.a += height * t->a_row;
    next.c += height * t->c_row;
  }
}

void CPU(pack_rows)(int64_t depth, int64_t columns, const float *x, int64_t stride, float *panel) {
  for (int64_t k = 0; k < depth; k++, x += stride, panel += TILE_COLUMNS) {
    vstore(panel, vload_n(x, columns));
    vstore(panel + VEC, columns > VEC ? vload_n(x + VEC, columns - VEC) : vzero());
  }
}

void CPU(pack_columns)(int64_t depth, int64_t columns, const float *x, int64_t stride, float *panel) {
  const int64_t whole_depth = depth / VEC * VEC, whole_columns = columns / VEC * VEC;
  for (int64_t k = 0; k < whole_depth; k += VEC)
    for (int64_t j = 0; j < whole_columns; j += VEC) {
      for (int i = 0; i < VEC; i++) /* rows are too short and too many for the caches to foresee */
        __builtin_prefetch(x + (j + i) * stride + k + 4 * LINE);
      vec turned[VEC];
      transpose((const char *)(x + j * stride + k), stride * (int64_t)sizeof *x, turned);
      BRIM_UNROLL(16)
      for (int i = 0; i < VEC; i++)
        vstore(panel + (k + i) * TILE_COLUMNS + j, turned[i]);
    }
  for (int64_t k = 0; k < depth; k++) {
    const int64_t done = k < whole_depth ? whole_columns : 0;
    for (int64_t j = done; j < columns; j++)
      panel[k * TILE_COLUMNS + j] = x[j * stride + k];
    for (int64_t j = columns; j < TILE_COLUMNS; j++)
      panel[k * TILE_COLUMNS + j] = 0;
  }
}
