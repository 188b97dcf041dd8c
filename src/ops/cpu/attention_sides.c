/* attention_sides.c: what attention multiplies, packed; and its products. */
#include "ops/cpu/attention.h"
#include "ops/cpu/transpose.h"

/* ---- sides */

static bool in_pairs(const attention_work *w) {
  return w->store == STORE_PAIRS || w->store == STORE_PAIRS_IN_C;
}

static bool is_half(const attention_work *w) {
  return w->store != STORE_SINGLE;
}

/* Never but on AMX. */
static bool in_three(const attention_work *w) {
  return SPLITS && w->splits;
}

/* Bytes of a row of a left side: of floats, or of 16-bit values. */
static int64_t left_row(const attention_work *w, int64_t values) {
  return values * (in_pairs(w) ? (int64_t)sizeof(brim_bfloat) : (int64_t)sizeof(float));
}

/* Rows of a head are far from each other, each on another page, so that the processor does not see which comes next. Of a short
 * text nothing is asked for: requests for rows that are not read take the place of those that are. */
enum { AHEAD = 40 /* rows */ };
static void fetch_row(const void *row, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)row + i);
}

void CPU(attention_pack)(const attention_work *w, int64_t rows, const float *x, int64_t stride, float factor, float *to) {
  const int64_t size = w->a->head_size, room = w->head_room;
  for (int64_t r = 0; r < rows; r++, x += stride, to += room) {
    if (r + AHEAD < rows)
      fetch_row(x + AHEAD * stride, size * (int64_t)sizeof *x);
    for (int64_t i = 0; i < room; i += VEC)
      vstore(to + i, vload_n(x + i, i < size ? size - i : 0) * vset(factor));
  }
}

/* 16-bit values as they are, zeros at their ends. */
static void copy_row(const attention_work *w, const brim_bfloat *x, float *to) {
  const size_t row = (size_t)left_row(w, w->head_room), used = (size_t)w->a->head_size * sizeof *x;
  memcpy(to, x, used);
  memset((char *)to + used, 0, row - used);
}

void CPU(attention_left)(const attention_work *w, int64_t rows, attention_side x, int64_t at, int64_t stride, float *to) {
  if (in_three(w)) {
    CPU(attention_split_left)(w, rows, floats_at(x, at), stride, (char *)to);
    return;
  }
  if (!is_half(w)) {
    CPU(attention_pack)(w, rows, floats_at(x, at), stride, 1, to);
    return;
  }
  const brim_bfloat *from = halves_at(x, at);
  for (int64_t r = 0; r < rows; r++, from += stride) {
    if (r + AHEAD < rows)
      fetch_row(from + AHEAD * stride, w->a->head_size * (int64_t)sizeof *from);
    if (in_pairs(w))
      copy_row(w, from, to + r * w->head_room / 2);
    else
      CPU(bf16_widen_row)(w->a->head_size, from, to + r * w->head_room);
  }
}

const float *CPU(attention_left_from)(const attention_work *w, const float *left, int64_t row) {
  const int64_t bytes = in_three(w) ? attention_split_row(w) : left_row(w, w->head_room);
  return (const float *)(const void *)((const char *)left + row * bytes);
}

attention_right CPU(attention_right_of)(const attention_work *w, const float *rows) {
  return (attention_right){(const char *)rows, w->head_room * (int64_t)sizeof *rows, TILE_COLUMNS * (int64_t)sizeof *rows};
}

attention_right CPU(attention_right)(const attention_work *w, int64_t rows, attention_side x, int64_t at, int64_t stride,
                                     float *to) {
  if (in_three(w))
    return CPU(attention_split_right)(w, rows, floats_at(x, at), stride, (char *)to);
  if (!is_half(w))
    return CPU(attention_right_of)(w, to);
  const brim_bfloat *from = halves_at(x, at);
  const int64_t units = bf16_units(w->kernel.widens, rows), room = bf16_deep_units(&w->kernel, rows), size = w->a->head_size;
  const int64_t row = TILE_COLUMNS * BF16_UNIT, panel = room * row;
  char *out = (char *)to;
  for (int64_t r = 0; r < rows; r++)
    fetch_row(from + r * stride, size * (int64_t)sizeof *from);
  for (int64_t i = 0; i < size; i += TILE_COLUMNS, out += panel) {
    CPU(bf16_pack_rows)(w->kernel.widens, rows, least(TILE_COLUMNS, size - i), from + i, stride, out);
    bf16_clear_units(out, units, room);
  }
  return (attention_right){(const char *)to, row, panel};
}

attention_right CPU(attention_right_from)(const attention_work *w, attention_right right, int64_t row) {
  right.at += (in_pairs(w) ? row / 2 : row) * right.row;
  return right;
}

void CPU(attention_turn)(const attention_work *w, const attention_block *b, float *rows, attention_side x, int64_t at,
                         int64_t stride, float *panels) {
  if (in_three(w)) {
    CPU(attention_split_turn)(w, b, rows, (char *)panels);
    return;
  }
  if (!is_half(w))
    memset(rows + b->queries * w->head_room, 0, (size_t)((b->columns - b->queries) * w->head_room) * sizeof *rows);
  for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS, panels += TILE_COLUMNS * w->head_room)
    if (is_half(w))
      CPU(bf16_pack_columns)(w->kernel.widens, w->a->head_size, least(TILE_COLUMNS, b->queries - j),
                             halves_at(x, at + j * stride), stride, (char *)panels);
    else
      CPU(pack_columns)(w->head_room, TILE_COLUMNS, rows + j * w->head_room, w->head_room, panels);
}

/* ---- products of single precision */

static void scores_of_floats(const attention_work *w, const attention_block *b, int64_t keys, const float *left,
                             const float *panels, float *out) {
  for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS) {
    const tile t = {.depth = w->a->head_size,
                    .a = left,
                    .a_row = w->head_room,
                    .a_step = 1,
                    .b = panels + j * w->head_room,
                    .b_step = TILE_COLUMNS,
                    .c = out + j,
                    .c_row = QUERY_BLOCK};
    CPU(tile_rows)(keys, TILE_COLUMNS, &t);
  }
}

static void sum_of_floats(const attention_work *w, int64_t rows, int64_t depth, const float *p, int64_t a_row, int64_t a_step,
                          attention_right right, bool add, float *to) {
  for (int64_t i = 0; i < w->head_room; i += TILE_COLUMNS) {
    const tile t = {.depth = depth,
                    .a = p,
                    .a_row = a_row,
                    .a_step = a_step,
                    .b = (const float *)(const void *)right.at + i,
                    .b_step = w->head_room,
                    .c = to + i,
                    .c_row = w->head_room,
                    .add = add};
    CPU(tile_rows)(rows, TILE_COLUMNS, &t);
  }
}

/* ---- products of 16-bit values */

/* After the keys of a block come no others: rows of the buffers up to KEYS_TO are nobody's, and panels have zeros. */
static bool sees_all(const attention_work *w) {
  return w->a->window == 0;
}

static void scores_of_halves(const attention_work *w, const attention_block *b, int64_t keys, const float *left,
                             const float *panels, float *out) {
  for (int64_t j = 0; j < b->columns; j += TILE_COLUMNS) {
    const bf16_tile t = {.steps = bf16_units(w->kernel.widens, w->a->head_size),
                         .a = (const char *)left,
                         .a_row = left_row(w, w->head_room),
                         .a_step = BF16_UNIT,
                         .b = (const char *)(panels + j * w->head_room),
                         .c = out + j,
                         .c_row = QUERY_BLOCK,
                         .spare = sees_all(w)};
    CPU(bf16_tile_rows)(&w->kernel, keys, &t);
  }
}

/* `units` of p, whose rows are a_row bytes apart, its units a_step. */
static void sum_of_halves(const attention_work *w, int64_t rows, int64_t units, const char *p, int64_t a_row, int64_t a_step,
                          attention_right right, bool spare, bool add, float *to) {
  for (int64_t i = 0; i < w->a->head_size; i += TILE_COLUMNS, right.at += right.panel) {
    const bf16_tile t = {.steps = units,
                         .a = p,
                         .a_row = a_row,
                         .a_step = a_step,
                         .b = right.at,
                         .c = to + i,
                         .c_row = w->head_room,
                         .spare = spare,
                         .accumulates = add};
    CPU(bf16_tile_rows)(&w->kernel, rows, &t);
  }
}

#if BRIM_LEVEL >= 2
enum { TURNED_ROW = (KEY_ROOM / 2 + VEC - 1) / VEC * VEC }; /* units */

/* [units, QUERY_BLOCK] to [QUERY_BLOCK, TURNED_ROW], for kernels that want the units of a row side by side; zeros follow. */
static void turn_units(int64_t units, const float *p, float *to) {
  for (int64_t k = 0; k < units; k += VEC)
    for (int64_t i = 0; i < QUERY_BLOCK; i += VEC) {
      vec turned[VEC];
      transpose((const char *)(p + k * QUERY_BLOCK + i), QUERY_BLOCK * (int64_t)sizeof *p, turned);
      BRIM_UNROLL(16)
      for (int64_t j = 0; j < VEC; j++)
        vstore(to + (i + j) * TURNED_ROW + k, _mm512_maskz_mov_ps(vec_lanes(least(units - k, VEC)), turned[j]));
    }
}
#endif

/* ---- either */

void CPU(attention_begin)(const attention_work *w) {
  if (in_three(w) && w->split.begin)
    w->split.begin();
  if (is_half(w) && w->kernel.begin)
    w->kernel.begin();
}

void CPU(attention_end)(const attention_work *w) {
  if (in_three(w) && w->split.end)
    w->split.end();
  if (is_half(w) && w->kernel.end)
    w->kernel.end();
}

void CPU(attention_scores)(const attention_work *w, const attention_block *b, int64_t keys, const float *left,
                           const float *panels, float *out) {
  if (in_three(w))
    CPU(attention_split_scores)(w, keys, (const char *)left, (const char *)panels, out);
  else
    (is_half(w) ? scores_of_halves : scores_of_floats)(w, b, keys, left, panels, out);
}

void CPU(attention_sum)(const attention_work *w, const attention_block *b, int64_t keys, const float *p, attention_right rows,
                        bool add, float *to) {
  if (in_three(w)) {
    CPU(attention_split_sum)(w, b, keys, p, rows, add, to);
    return;
  }
  if (!is_half(w)) {
    sum_of_floats(w, b->queries, keys, p, 1, QUERY_BLOCK, rows, add, to);
    return;
  }
  const int64_t units = bf16_units(w->kernel.widens, keys);
#if BRIM_LEVEL >= 2
  if (w->kernel.turned) {
    float turned[QUERY_BLOCK * TURNED_ROW];
    const int64_t whole = sees_all(w) ? bf16_deep_units(&w->kernel, keys) : units;
    turn_units(units, p, turned);
    sum_of_halves(w, b->queries, whole, (const char *)turned, TURNED_ROW * BF16_UNIT, BF16_UNIT, rows, true, add, to);
    return;
  }
#endif
  sum_of_halves(w, b->queries, units, (const char *)p, BF16_UNIT, QUERY_BLOCK * BF16_UNIT, rows, false, add, to);
}

void CPU(attention_add)(const attention_work *w, const attention_block *b, int64_t keys, const float *p, attention_right rows,
                        bool add, float *to) {
  if (in_three(w))
    CPU(attention_split_add)(w, b, keys, p, rows, add, to);
  else if (is_half(w))
    sum_of_halves(w, keys, bf16_deep_units(&w->kernel, b->queries), (const char *)p, left_row(w, QUERY_BLOCK), BF16_UNIT, rows,
                  sees_all(w), add, to);
  else
    sum_of_floats(w, keys, b->queries, p, QUERY_BLOCK, 1, rows, add, to);
}

/* ---- results */

static void unpack_floats(int64_t rows, int64_t size, const float *from, int64_t room, float factor, float *to, int64_t stride) {
  for (int64_t r = 0; r < rows; r++, from += room, to += stride)
    for (int64_t i = 0; i < size; i += VEC)
      vstore_n(to + i, vload(from + i) * vset(factor), size - i);
}

void CPU(attention_unpack)(const attention_work *w, int64_t rows, const float *from, float factor, brim_typed to, int64_t at,
                           int64_t stride) {
  const int64_t size = w->a->head_size, room = w->head_room;
  if (to.type == BRIM_TYPE_REAL) {
    unpack_floats(rows, size, from, room, factor, (float *)to.at + at, stride);
    return;
  }
  for (int64_t r = 0; r < rows; r++, from += room, at += stride)
    for (int64_t i = 0; i < size; i += VEC)
      tstore_n(to, at + i, vload(from + i) * vset(factor), size - i);
}

void CPU(attention_clear)(const attention_work *w, brim_typed to, int64_t at) {
  const int64_t size = w->a->head_size;
  for (int64_t i = 0; i < size; i += VEC)
    tstore_n(to, at + i, vzero(), size - i);
}
