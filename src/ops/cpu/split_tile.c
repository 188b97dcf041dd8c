/* split_tile.c: a tile of 32 rows by 32 columns. See split.h. */
#include "ops/cpu/amx.h"
#include "ops/cpu/split.h"

#ifdef BRIM_AMX_EMULATED
#define KERNEL CPU(split_kernel_amx_emulated)
#else
#define KERNEL CPU(split_kernel_amx)
#endif

enum { HIGH, MIDDLE, LOW };

BRIM_INLINE void take_left(tiles *t, const bool half, const char *a, int component) {
  tile_load(t, LEFT, a + component * SPLIT_COMPONENT, LINE);
  if (!half)
    tile_load(t, LEFT + 1, a + component * SPLIT_COMPONENT + SPLIT_HALF, LINE);
}
BRIM_INLINE void take_right(tiles *t, const char *b, int component) {
  tile_load(t, RIGHT, b + component * SPLIT_COMPONENT, LINE);
  tile_load(t, RIGHT + 1, b + component * SPLIT_COMPONENT + SPLIT_HALF, LINE);
}
BRIM_INLINE void multiply(tiles *t, const bool half) {
  tile_dot(t, SUMS, LEFT, RIGHT);
  tile_dot(t, SUMS + 1, LEFT, RIGHT + 1);
  if (half)
    return;
  tile_dot(t, SUMS + 2, LEFT + 1, RIGHT);
  tile_dot(t, SUMS + 3, LEFT + 1, RIGHT + 1);
}

/* Asks for a sixth of the next step's lines: a step takes as long as they take from the second cache. */
BRIM_INLINE void fetch_next(const bool last, const char *a, const char *b, int sixth) {
  BRIM_UNROLL(16)
  for (int i = 0; !last && i < SPLIT_STEP / 6; i += LINE) {
    __builtin_prefetch(a + SPLIT_STEP + sixth * (SPLIT_STEP / 6) + i);
    __builtin_prefetch(b + SPLIT_STEP + sixth * (SPLIT_STEP / 6) + i);
  }
}

/* The first sides of whole steps, and of those of half the k. */
BRIM_INLINE void take_first(tiles *t, const bool half, const char *a, const char *b) {
  take_left(t, half, a, LOW);
  take_right(t, b, HIGH);
}

BRIM_INLINE void add_some(const split_rest *rest, const int half) {
  if (rest)
    split_add_rest(rest, half);
}

/* After take_first. The smallest products come first; from one to the next only one side is loaded. `rest` is added meanwhile,
 * unless it is NULL. */
BRIM_INLINE void step(tiles *t, const bool last, const bool half, const split_rest *rest, const char *a, const char *b) {
  multiply(t, half);
  fetch_next(last, a, b, 1);
  take_left(t, half, a, MIDDLE);
  multiply(t, half);
  add_some(rest, 0);
  fetch_next(last, a, b, 2);
  take_right(t, b, MIDDLE);
  multiply(t, half);
  fetch_next(last, a, b, 3);
  take_left(t, half, a, HIGH);
  multiply(t, half);
  add_some(rest, 1);
  fetch_next(last, a, b, 4);
  take_right(t, b, LOW);
  multiply(t, half);
  fetch_next(last, a, b, 5);
  take_right(t, b, HIGH);
  multiply(t, half);
}

/* Asks for lines of the next panel, and for rows of the next tile's sums. */
BRIM_INLINE void fetch_more(const split_tile *p, int64_t done, int64_t row) {
  for (int64_t i = 0; p->fetch && i < p->fetch_lines; i++)
    __builtin_prefetch(p->fetch + (done * p->fetch_lines + i) * LINE, 0, 2);
  for (int64_t i = SPLIT_SIDE * done / p->steps; p->next && i < SPLIT_SIDE * (done + 1) / p->steps; i++) {
    const char *c = (const char *)p->next + i * row;
    __builtin_prefetch(c, 1);
    __builtin_prefetch(c + LINE, 1);
  }
}

/* Packs a share of what is packed meanwhile: vectors are computed while AMX has a step's products to do. */
BRIM_INLINE void pack_beside(const split_tile *p, int64_t done) {
  const int64_t count = p->piece_end - p->piece;
  if (p->beside)
    CPU(split_pieces)(p->beside, p->piece + count * done / p->steps, p->piece + count * (done + 1) / p->steps);
}

/* Sums begin as rows that are `row` bytes apart, or as 0. */
BRIM_INLINE void begin_sums(tiles *t, const bool half, const void *from, int64_t row) {
#ifdef TILES_IN_C
  t->shape = shapes_for(2 * SIDE);
#endif
  if (from) {
    const char *rows = from;
    tile_load(t, SUMS, rows, row);
    tile_load(t, SUMS + 1, rows + LINE, row);
    if (half)
      return;
    tile_load(t, SUMS + 2, rows + SIDE * row, row);
    tile_load(t, SUMS + 3, rows + SIDE * row + LINE, row);
  } else {
    tile_zero(t, SUMS);
    tile_zero(t, SUMS + 1);
    tile_zero(t, SUMS + 2);
    tile_zero(t, SUMS + 3);
  }
}

BRIM_INLINE void end_sums(const tiles *t, const bool half, void *to, int64_t row) {
  char *c = to;
  tile_store(t, SUMS, c, row);
  tile_store(t, SUMS + 1, c + LINE, row);
  if (half)
    return;
  tile_store(t, SUMS + 2, c + SIDE * row, row);
  tile_store(t, SUMS + 3, c + SIDE * row + LINE, row);
}

/* Of 32 rows, or of the first 16. */
BRIM_INLINE void run_rows(const split_tile *p, const bool half) {
  tiles t;
  const char *a = p->a, *b = p->b;
  const int64_t row = p->c_row * (int64_t)sizeof(float);
  begin_sums(&t, half, p->accumulates ? p->c : p->start, p->accumulates ? row : 0);
  for (int64_t done = 0; done < p->steps - 1; done++, a += SPLIT_STEP, b += SPLIT_STEP) {
    fetch_more(p, done, row);
    fetch_next(false, a, b, 0);
    take_first(&t, half, a, b);
    step(&t, false, half, NULL, a, b);
    pack_beside(p, done);
  }
  fetch_more(p, p->steps - 1, row);
  take_first(&t, half, a, b);
  step(&t, true, half, NULL, a, b);
  pack_beside(p, p->steps - 1);
  end_sums(&t, half, p->c, row);
}

static void run(const split_tile *p) {
  if (p->half)
    run_rows(p, true);
  else
    run_rows(p, false);
}

/* ---- of weight gradients */

BRIM_INLINE void half_step(tiles *t, const split_rest *rest, const char *a, const char *b) {
  multiply(t, false);
  take_left(t, false, a, MIDDLE);
  take_right(t, b, MIDDLE);
  add_some(rest, 0);
  multiply(t, false);
  take_left(t, false, a, HIGH);
  take_right(t, b, LOW);
  add_some(rest, 1);
  multiply(t, false);
}

/* Fetches what is needed next. */
BRIM_INLINE void prefetch_rows(split_stretch *s) {
  for (int64_t i = 0; s->fetch && i < s->fetch_lines; i++, s->fetch += LINE)
    __builtin_prefetch(s->fetch, 0, 2);
  for (split_rows *rows = s->prefetch, *end = rows + s->prefetch_count; rows < end; rows++)
    for (int64_t i = 0; i < s->prefetch_per_step && rows->at != rows->end; i++, rows->at += rows->stride) {
      __builtin_prefetch(rows->at, 1);
      __builtin_prefetch(rows->at + SIDE, 1);
    }
}

/* A sum waits for its last products: the next tile's first sides are on their way by then. */
static void stretch(split_stretch *s) {
  tiles t;
  const char *a = s->a, *b = s->b;
  const split_rest *rest = s->rest->sum ? s->rest : NULL;
  begin_sums(&t, false, NULL, 0);
#ifndef TILES_IN_C /* whose registers are this function's */
  if (!s->begun)
#endif
    take_first(&t, false, a, b);
  for (int i = 0; s->waits && i < SPLIT_SIZE; i += SIDE)
    __builtin_prefetch(s->c + i, 1);
  for (int64_t left = s->steps; left > 0; left--, rest = NULL) {
    prefetch_rows(s);
    if (left == 1 && s->half_k)
      half_step(&t, rest, a, b);
    else
      step(&t, true, false, rest, a, b);
    a += SPLIT_STEP;
    b += SPLIT_STEP;
    if (left > 1)
      take_first(&t, false, a, b);
  }
  if (s->next_a)
    take_first(&t, false, s->next_a, s->next_b);
  end_sums(&t, false, s->c, SPLIT_SIDE * sizeof(float));
}

split_kernel KERNEL(void) {
  return (split_kernel){.run = run, .stretch = stretch, .begin = AMX_BEGIN, .end = AMX_END};
}
