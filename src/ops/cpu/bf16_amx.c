/* bf16_amx.c: one tile of up to 32 rows by AMX: two of 16 rows by two of 16 columns, 32 values of k at a time.
 *
 * Sums have AMX's own order: of each 32 k, those of even k and those of odd k apart, from 0; then both together, and that is
 * added to what was there. That is Intel's description (SDM, TDPBF16PS), and what a Granite Rapids did in 3.6 million random sums
 * of any bits; tests/unit/ops_bf16 compares again wherever there is AMX. Compiled a second time with BRIM_AMX_EMULATED, where the
 * five operations on tiles are plain C in that order: so tests run everything else that is here on any processor with AVX-512.
 *
 * The shapes of tiles are set once a task: whole. Another shape costs more than a small product; so packed sides have zeros up to
 * 32 k, and rows to spare. Only where somebody else's memory begins after the last row, shapes change for it. */
#include "ops/cpu/bf16_tile.h"

enum { SIDE = 16, LINE = SIDE * BF16_UNIT, RIGHT_LINE = TILE_COLUMNS * BF16_UNIT };

/* ldtilecfg's operand: rows and bytes a row of tiles 0 to 7. */
typedef struct shapes {
  uint8_t palette, start_row, reserved[14];
  uint16_t bytes[16];
  uint8_t rows[16];
} shapes;
_Static_assert(sizeof(shapes) == 64, "what ldtilecfg reads");

/* Tiles 0 to 3 are sums, [row half][column half]; 4 and 5 rows of a; 6 and 7 columns of b. */
enum { SUMS = 0, LEFT = 4, RIGHT = 6 };

static shapes shapes_for(int64_t rows) {
  const uint8_t upper = (uint8_t)(rows < SIDE ? rows : SIDE), lower = (uint8_t)(rows > SIDE ? rows - SIDE : 0);
  shapes s = {.palette = 1};
  for (int i = 0; i < 8; i++) {
    const bool second = i < LEFT ? i >= 2 : i == LEFT + 1;
    s.rows[i] = i >= RIGHT ? SIDE : second ? lower : upper;
    s.bytes[i] = s.rows[i] ? LINE : 0;
  }
  return s;
}

#ifdef BRIM_AMX_EMULATED
#define KERNEL CPU(bf16_kernel_amx_emulated)

typedef struct tiles {
  shapes shape;
  uint32_t unit[8][SIDE][SIDE];
} tiles;

BRIM_INLINE void tile_shapes(tiles *t, const shapes *s) {
  t->shape = *s;
}
BRIM_INLINE void tile_load(tiles *t, int number, const void *p, int64_t stride) {
  for (int i = 0; i < t->shape.rows[number]; i++)
    memcpy(t->unit[number][i], (const char *)p + i * stride, LINE);
}
BRIM_INLINE void tile_store(const tiles *t, int number, void *p, int64_t stride) {
  for (int i = 0; i < t->shape.rows[number]; i++)
    memcpy((char *)p + i * stride, t->unit[number][i], LINE);
}

static float half_of(uint32_t unit, int odd) {
  const uint32_t bits = odd ? unit & 0xffff0000u : unit << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* Denormals are flushed by the state of the processor, as run.c sets it. */
static void tile_dot(tiles *t, int sum, int left, int right) {
  for (int i = 0; i < t->shape.rows[sum]; i++)
    for (int j = 0; j < SIDE; j++) {
      float part[2] = {0, 0}, c;
      for (int k = 0; k < SIDE; k++)
        for (int odd = 0; odd < 2; odd++)
          part[odd] = __builtin_fmaf(half_of(t->unit[left][i][k], odd), half_of(t->unit[right][k][j], odd), part[odd]);
      memcpy(&c, &t->unit[sum][i][j], sizeof c);
      c += part[0] + part[1];
      memcpy(&t->unit[sum][i][j], &c, sizeof c);
    }
}
#define BEGIN NULL
#define END   NULL

#else
#define KERNEL CPU(bf16_kernel_amx)

typedef struct tiles {
  char none;
} tiles;

/* Numbers of tiles must be written into instructions. */
BRIM_INLINE void tile_shapes(tiles *t, const shapes *s) {
  (void)t;
  __asm__ volatile("ldtilecfg %0" : : "m"(*s));
}
#define LOAD(n)                                                                                                                  \
  case n:                                                                                                                        \
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #n : : "r"(p), "r"(stride) : "memory");                                        \
    break;
#define STORE(n)                                                                                                                 \
  case n:                                                                                                                        \
    __asm__ volatile("tilestored %%tmm" #n ", (%0,%1,1)" : : "r"(p), "r"(stride) : "memory");                                    \
    break;
#define DOT(sum, left, right)                                                                                                    \
  case sum:                                                                                                                      \
    __asm__ volatile("tdpbf16ps %tmm" #right ", %tmm" #left ", %tmm" #sum);                                                      \
    break;

BRIM_INLINE void tile_load(tiles *t, const int number, const void *p, int64_t stride) {
  (void)t;
  switch (number) { LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7) }
}
BRIM_INLINE void tile_store(const tiles *t, const int number, void *p, int64_t stride) {
  (void)t;
  switch (number) { STORE(0) STORE(1) STORE(2) STORE(3) }
}
BRIM_INLINE void tile_dot(tiles *t, const int sum, const int left, const int right) {
  (void)t, (void)left, (void)right; /* a sum has its sides */
  switch (sum) { DOT(0, 4, 6) DOT(1, 4, 7) DOT(2, 5, 6) DOT(3, 5, 7) }
}

static void begin(void) {
  const shapes s = shapes_for(BF16_ROWS);
  tile_shapes(NULL, &s);
}
static void end(void) {
  __asm__ volatile("tilerelease"); /* the system need not save them */
}
#define BEGIN begin
#define END   end
#endif

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
  const float *from = p->goes_on ? p->c : p->start ? p->start : zeros;
  const int64_t row = p->goes_on ? p->c_row * (int64_t)sizeof *from : 0;
  const float *second = p->goes_on ? p->c + SIDE * p->c_row : from;
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

static void run(int64_t rows, const bf16_tile *p) {
  tiles t;
  float sums[BF16_ROWS * TILE_COLUMNS], *c = p->add ? sums : p->c;
  const int64_t row = (p->add ? TILE_COLUMNS : p->c_row) * (int64_t)sizeof *c;
#ifdef BRIM_AMX_EMULATED
  t.shape = shapes_for(BF16_ROWS);
#endif
  if (rows % SIDE > 0 && !p->spare)
    run_cut(&t, rows, p, c, row);
  else if (rows > SIDE)
    multiply_all(&t, true, rows, p, c, row);
  else
    multiply_all(&t, false, rows, p, c, row);
  for (int64_t i = 0; p->add && i < rows; i++) {
    float *to = p->c + i * p->c_row;
    vstore(to, vload(to) + vload(sums + i * TILE_COLUMNS));
    vstore(to + VEC, vload(to + VEC) + vload(sums + i * TILE_COLUMNS + VEC));
  }
}

bf16_kernel KERNEL(void) {
  return (bf16_kernel){.rows = BF16_ROWS, .whole = true, .turned = true, .deep = SIDE, .run = run, .begin = BEGIN, .end = END};
}
