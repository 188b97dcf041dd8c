/* bf16_amx.c: one tile of up to 32 rows by AMX: two of 16 rows by two of 16 columns, 32 values of k at a time, in the order of
 * amx.h.
 *
 * The shapes of tiles are set once a task: whole. Another shape costs more than a small product; so packed sides have zeros up to
 * 32 k, and unused rows. Only where somebody else's memory begins after the last row, shapes change for it. */
#include "ops/cpu/amx.h"
#include "ops/cpu/bf16_tile.h"

#ifdef BRIM_AMX_EMULATED
#define KERNEL CPU(bf16_kernel_amx_emulated)
#else
#define KERNEL CPU(bf16_kernel_amx)
#endif

enum { RIGHT_LINE = TILE_COLUMNS * BF16_UNIT };

BRIM_INLINE void multiply(tiles *t, const bool lower, const char *a, int64_t a_row, const char *b) {
  tile_load(t, LEFT, a, a_row);
  tile_load(t, RIGHT, b, RIGHT_LINE);
  tile_dot(t, SUMS, LEFT, RIGHT);
  tile_load(t, RIGHT + 1, b + LINE, RIGHT_LINE);
  tile_dot(t, SUMS + 1, LEFT, RIGHT + 1);
  if (lower) {
    tile_load(t, LEFT + 1, a + SIDE * a_row, a_row);
    tile_dot(t, SUMS + 2, LEFT + 1, RIGHT);
    tile_dot(t, SUMS + 3, LEFT + 1, RIGHT + 1);
  }
}

/* What is left of k, with zeros up to 16 units. Other values of a are somebody else's. */
static void multiply_rest(tiles *t, int64_t rows, const bf16_tile *p, const char *a, const char *b, int64_t units) {
  char left[BF16_ROWS * LINE], right[SIDE * RIGHT_LINE];
  const __mmask32 values = (__mmask32)((1ull << (2 * units - p->odd)) - 1);
  for (int64_t i = 0; i < rows; i++)
    _mm512_storeu_si512(left + i * LINE, _mm512_maskz_loadu_epi16(values, a + i * p->a_row));
  for (int64_t i = 0; i < units * RIGHT_LINE; i += LINE)
    _mm512_storeu_si512(right + i, _mm512_loadu_si512(b + i));
  bf16_clear_units(right, units, SIDE);
  multiply(t, rows > SIDE, left, LINE, right);
}

/* Asks for some rows of what will be touched afterwards. */
BRIM_INLINE void fetch_rows(const bf16_tile *p, int64_t from, int64_t end) {
  for (int64_t i = from; i < end; i++) {
    __builtin_prefetch(p->fetch + i * p->fetch_row, 1);
    __builtin_prefetch(p->fetch + i * p->fetch_row + p->fetch_bytes - 1, 1);
  }
}

/* The lower half of some rows, which are `row` bytes apart. */
BRIM_INLINE float *below(float *c, int64_t row) {
  return (float *)(void *)((char *)c + SIDE * row);
}

/* All rows of sums from one: rows that are no bytes apart. */
BRIM_INLINE void begin_sums(tiles *t, const bool lower, const bf16_tile *p) {
  static const float zeros[TILE_COLUMNS];
  const float *from = p->accumulates ? p->c : p->start ? p->start : zeros;
  const int64_t row = p->accumulates ? p->c_row * (int64_t)sizeof *from : 0;
  const float *second = p->accumulates ? p->c + SIDE * p->c_row : from;
  tile_load(t, SUMS, from, row);
  tile_load(t, SUMS + 1, from + SIDE, row);
  if (lower) {
    tile_load(t, SUMS + 2, second, row);
    tile_load(t, SUMS + 3, second + SIDE, row);
  }
}

/* Sums of the tiles' rows, to c. */
BRIM_INLINE void multiply_all(tiles *t, const bool lower, int64_t rows, const bf16_tile *p, float *c, int64_t row) {
  enum { FETCHED = 4 }; /* rows a step */
  const char *a = p->a, *b = p->b;
  const int64_t results = p->fetch ? rows : 0;
  begin_sums(t, lower, p);
  int64_t left = p->steps, fetched = 0;
  for (; left >= SIDE; left -= SIDE, a += LINE, b += SIDE * RIGHT_LINE) {
    if (fetched < results) {
      fetch_rows(p, fetched, least(fetched + FETCHED, results));
      fetched += FETCHED;
    }
    multiply(t, lower, a, p->a_row, b);
  }
  if (left + p->odd > 0)
    multiply_rest(t, rows, p, a, b, left + p->odd);
  tile_store(t, SUMS, c, row);
  tile_store(t, SUMS + 1, c + SIDE, row);
  if (lower) {
    tile_store(t, SUMS + 2, below(c, row), row);
    tile_store(t, SUMS + 3, below(c, row) + SIDE, row);
  }
}

/* Shapes for fewer rows, and back. */
static BRIM_NOINLINE void run_cut(tiles *t, int64_t rows, const bf16_tile *p, float *c, int64_t row) {
  const shapes shape = shapes_for(rows), all = shapes_for(BF16_ROWS);
  tile_shapes(t, &shape);
  multiply_all(t, rows > SIDE, rows, p, c, row);
  tile_shapes(t, &all);
}

/* To c: the tile's own sums, what is added first, and what c holds. */
static void add_all(int64_t rows, const bf16_tile *p, const float *own) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < TILE_COLUMNS; j += VEC) {
      float *to = p->c + i * p->c_row + j;
      vec x = vload(own + i * TILE_COLUMNS + j);
      for (int32_t k = 0; k < p->sum_count; k++)
        x += vload(p->sums[k] + i * TILE_COLUMNS + j);
      if (p->add)
        x += vload(to);
      vstore(to, x);
    }
}

static void run(int64_t rows, const bf16_tile *p) {
  tiles t;
  const bool adds = p->add || p->sum_count > 0;
  float own[BF16_ROWS * TILE_COLUMNS] __attribute__((aligned(64))), *c = adds ? own : p->c;
  const int64_t row = (adds ? TILE_COLUMNS : p->c_row) * (int64_t)sizeof *c;
#ifdef TILES_IN_C
  t.shape = shapes_for(BF16_ROWS);
#endif
  if (rows % SIDE > 0 && !p->spare)
    run_cut(&t, rows, p, c, row);
  else if (rows > SIDE)
    multiply_all(&t, true, rows, p, c, row);
  else
    multiply_all(&t, false, rows, p, c, row);
  if (adds)
    add_all(rows, p, own);
}

bf16_kernel KERNEL(void) {
  return (bf16_kernel){
      .rows = BF16_ROWS, .whole = true, .turned = true, .deep = SIDE, .run = run, .begin = AMX_BEGIN, .end = AMX_END};
}
