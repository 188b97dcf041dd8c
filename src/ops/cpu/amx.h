/* amx.h: AMX's tile registers: eight of up to 16 rows of 64 bytes.
 *
 * Sums have AMX's own order: of each 32 k, those of even k and those of odd k separately, from 0; then both together, and that is
 * added to what was there. That is Intel's description (SDM, TDPBF16PS), and what a Granite Rapids did in 3.6 million random sums
 * of any bits; tests/unit/ops_bf16 compares again wherever there is AMX. Whoever includes this is compiled a second time with
 * BRIM_AMX_EMULATED, where the five operations on tiles are plain C in that order: so tests run everything else on any processor
 * with AVX-512. */
#ifndef BRIM_OPS_CPU_AMX_H
#define BRIM_OPS_CPU_AMX_H
#include "ops/cpu/vec.h"

enum { SIDE = 16, LINE = SIDE * 4 }; /* rows, and bytes a row */

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

#if defined(BRIM_AMX_EMULATED) || defined(BRIM_WIDE_IN_C)
#define TILES_IN_C
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

BRIM_INLINE void tile_zero(tiles *t, int number) {
  memset(t->unit[number], 0, sizeof t->unit[number]);
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
      float products[2] = {0, 0}, c;
      for (int k = 0; k < SIDE; k++)
        for (int odd = 0; odd < 2; odd++)
          products[odd] = __builtin_fmaf(half_of(t->unit[left][i][k], odd), half_of(t->unit[right][k][j], odd), products[odd]);
      memcpy(&c, &t->unit[sum][i][j], sizeof c);
      c += products[0] + products[1];
      memcpy(&t->unit[sum][i][j], &c, sizeof c);
    }
}
#define AMX_BEGIN NULL
#define AMX_END   NULL

#else
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
#define ZERO(n)                                                                                                                  \
  case n:                                                                                                                        \
    __asm__ volatile("tilezero %tmm" #n);                                                                                        \
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
BRIM_INLINE void tile_zero(tiles *t, const int number) {
  (void)t;
  switch (number) { ZERO(0) ZERO(1) ZERO(2) ZERO(3) }
}
BRIM_INLINE void tile_dot(tiles *t, const int sum, const int left, const int right) {
  (void)t, (void)left, (void)right; /* a sum has its sides */
  switch (sum) { DOT(0, 4, 6) DOT(1, 4, 7) DOT(2, 5, 6) DOT(3, 5, 7) }
}

static void amx_begin(void) {
  const shapes s = shapes_for(2 * SIDE);
  tile_shapes(NULL, &s);
}
static void amx_end(void) {
  __asm__ volatile("tilerelease"); /* the system need not save them */
}
#define AMX_BEGIN amx_begin
#define AMX_END   amx_end
#endif
#endif
