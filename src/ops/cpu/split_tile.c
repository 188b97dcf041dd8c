/* split_tile.c: a tile of 32 rows by 32 columns. See split.h. */
#include "ops/cpu/amx.h"
#include "ops/cpu/split.h"

#ifdef BRIM_AMX_EMULATED
#define KERNEL CPU(split_kernel_amx_emulated)
#else
#define KERNEL CPU(split_kernel_amx)
#endif

enum { HIGH, MIDDLE, LOW };

BRIM_INLINE void take_left(tiles *t, const char *a, int part) {
  tile_load(t, LEFT, a + part * SPLIT_PART, LINE);
  tile_load(t, LEFT + 1, a + part * SPLIT_PART + SPLIT_HALF, LINE);
}
BRIM_INLINE void take_right(tiles *t, const char *b, int part) {
  tile_load(t, RIGHT, b + part * SPLIT_PART, LINE);
  tile_load(t, RIGHT + 1, b + part * SPLIT_PART + SPLIT_HALF, LINE);
}
BRIM_INLINE void multiply(tiles *t) {
  tile_dot(t, SUMS, LEFT, RIGHT);
  tile_dot(t, SUMS + 1, LEFT, RIGHT + 1);
  tile_dot(t, SUMS + 2, LEFT + 1, RIGHT);
  tile_dot(t, SUMS + 3, LEFT + 1, RIGHT + 1);
}

/* Asks for a sixth of the next step's lines: a step takes as long as they take from the second cache. */
BRIM_INLINE void fetch_next(const char *a, const char *b, int sixth) {
  BRIM_UNROLL(16)
  for (int i = 0; i < SPLIT_STEP / 6; i += LINE) {
    __builtin_prefetch(a + SPLIT_STEP + sixth * (SPLIT_STEP / 6) + i);
    __builtin_prefetch(b + SPLIT_STEP + sixth * (SPLIT_STEP / 6) + i);
  }
}

/* The smallest products first; from one to the next only one side is loaded. */
BRIM_INLINE void step(tiles *t, const char *a, const char *b) {
  fetch_next(a, b, 0);
  take_left(t, a, LOW);
  take_right(t, b, HIGH);
  multiply(t);
  fetch_next(a, b, 1);
  take_left(t, a, MIDDLE);
  multiply(t);
  fetch_next(a, b, 2);
  take_right(t, b, MIDDLE);
  multiply(t);
  fetch_next(a, b, 3);
  take_left(t, a, HIGH);
  multiply(t);
  fetch_next(a, b, 4);
  take_right(t, b, LOW);
  multiply(t);
  fetch_next(a, b, 5);
  take_right(t, b, HIGH);
  multiply(t);
}

static void run(const split_tile *p) {
  static const float zeros[SPLIT_SIDE];
  tiles t;
  const char *a = p->a, *b = p->b, *fetch = p->fetch;
  const int64_t row = p->c_row * (int64_t)sizeof(float), from = p->goes_on ? row : 0;
  const char *start = (const char *)(p->goes_on ? p->c : p->start ? p->start : zeros);
  char *c = (char *)p->c;
#ifdef BRIM_AMX_EMULATED
  t.shape = shapes_for(2 * SIDE);
#endif
  tile_load(&t, SUMS, start, from);
  tile_load(&t, SUMS + 1, start + LINE, from);
  tile_load(&t, SUMS + 2, start + SIDE * from, from);
  tile_load(&t, SUMS + 3, start + SIDE * from + LINE, from);
  for (int64_t k = p->steps; k > 0; k--, a += SPLIT_STEP, b += SPLIT_STEP) {
    for (int64_t i = 0; fetch && i < p->fetch_lines; i++, fetch += LINE)
      __builtin_prefetch(fetch, 0, 2);
    step(&t, a, b);
  }
  tile_store(&t, SUMS, c, row);
  tile_store(&t, SUMS + 1, c + LINE, row);
  tile_store(&t, SUMS + 2, c + SIDE * row, row);
  tile_store(&t, SUMS + 3, c + SIDE * row + LINE, row);
}

split_kernel KERNEL(void) {
  return (split_kernel){.run = run, .begin = AMX_BEGIN, .end = AMX_END};
}
