/* slices.h: products of columns over rows, cut at slices.
 *
 * The rows are walked in stretches, which no slice shares; some of them are packed at once, a chunk. Within it a tile of the
 * result goes from stretch to stretch: its sums, those that wait for others included, are in the first cache, and only those that
 * the next chunk needs are put aside. Without slices a chunk is one stretch, which is added to the result. */
#ifndef BRIM_OPS_CPU_SLICES_H
#define BRIM_OPS_CPU_SLICES_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"
#include "ops/slices.h"

typedef struct stretch {
  int64_t row, depth, at; /* at: from here on in what is packed */
  bool goes_on;           /* it is added to the sum of the stretch before */
  int32_t waiting, joins; /* sums that wait before it; how often the last two are added after it */
} stretch;

typedef struct chunk {
  int32_t count, before, left; /* sums that wait before it, and after it */
  bool last;
  stretch list[BRIM_MOST_SLICES];
} chunk;

typedef struct chunk_walk {
  const brim_row_slices *of;
  int64_t rows;
  int64_t depth, align;  /* most rows of a stretch; where stretches may begin */
  int64_t room;          /* most rows of a chunk */
  int32_t slice, number; /* the next stretch: of this slice, the how many-th */
  int32_t waiting;
} chunk_walk;

/* False: there is none left. Sums that wait at its end are put aside and taken back, so a chunk is as long as it can be for each
 * of them. */
BRIM_INLINE bool next_chunk(chunk_walk *w, chunk *c) {
  const brim_row_slices *s = w->of;
  const int32_t slices = s->count > 0 ? s->count : w->rows > 0, most = s->count > 0 ? BRIM_MOST_SLICES : 1;
  chunk_walk best = *w;
  int64_t used_best = 0;
  int32_t count = 0;
  c->count = 0;
  c->before = w->waiting;
  for (int64_t used = 0; w->slice < slices && count < most;) {
    const int64_t first = brim_slice_first(s, w->slice), rows = (s->count > 0 ? s->ends[w->slice] : w->rows) - first;
    const int64_t stretches = divided(rows, w->depth), from = rows * w->number / stretches;
    const int64_t depth = rows * (w->number + 1) / stretches - from;
    const bool ends = w->number + 1 == stretches;
    if (used + depth > w->room)
      break;
    stretch *next = &c->list[count++];
    *next = (stretch){first + from, depth, used, w->number > 0, w->waiting, ends && s->count > 0 ? s->joins[w->slice] : 0};
    w->waiting += !next->goes_on - next->joins;
    used += divided(depth, w->align) * w->align;
    w->number = ends ? 0 : w->number + 1;
    w->slice += ends;
    if (w->slice == slices || used * best.waiting >= used_best * w->waiting)
      best = *w, c->count = count, used_best = used;
  }
  *w = best;
  c->left = w->waiting;
  c->last = w->slice == slices;
  return c->count > 0;
}

/* The sum of some values over a stretch, [n] at `sum`: it comes to those that wait, [n] each and `apart`. */
BRIM_INLINE void wait_for(const stretch *s, int64_t n, const float *sum, float *lines, int64_t apart) {
  int32_t count = s->waiting + !s->goes_on;
  float *to = lines + (count - 1) * apart;
  for (int64_t i = 0; i < n; i += VEC) {
    const vec x = vload_n(sum + i, n - i), before = s->goes_on ? vload_n(to + i, n - i) : vzero();
    vstore_n(to + i, before + x, n - i);
  }
  for (int32_t joins = s->joins; joins > 0; joins--) {
    to = lines + (--count - 1) * apart;
    for (int64_t i = 0; i < n; i += VEC)
      vstore_n(to + i, vload_n(to + i, n - i) + vload_n(to + apart + i, n - i), n - i);
  }
}

/* ---- a tile of a product: its sums over stretches */

typedef struct tile_sums {
  float *held;        /* those of this chunk, one after the other: [rows, TILE_COLUMNS], `size` values */
  int64_t size, rows; /* of the tile */
  float *aside;       /* where the others are: rows are `row` apart, sums `apart` */
  int64_t row, apart;
  int32_t count, inside; /* how many there are; those before `inside` are aside */
} tile_sums;

BRIM_INLINE void take_back(tile_sums *t, int32_t which) {
  if (which >= t->inside)
    return;
  for (int64_t i = 0; i < t->rows; i++)
    for (int64_t j = 0; j < TILE_COLUMNS; j += VEC)
      vstore(t->held + which * t->size + i * TILE_COLUMNS + j, vload(t->aside + which * t->apart + i * t->row + j));
  t->inside = which;
}

/* Where the product of the next stretch goes; `*add`: to what is there. */
BRIM_INLINE float *begin_stretch(tile_sums *t, const stretch *s, bool *add, int32_t *joins) {
  *joins = s->joins;
  *add = s->goes_on;
  if (!s->goes_on && s->joins > 0)
    *add = true, --*joins; /* it joins the sum before as it comes */
  else if (!s->goes_on)
    t->count++;
  if (*add)
    take_back(t, t->count - 1);
  return t->held + (t->count - 1) * t->size;
}

BRIM_INLINE void end_stretch(tile_sums *t, int32_t joins) {
  for (; joins > 0; joins--) {
    take_back(t, --t->count - 1);
    float *to = t->held + (t->count - 1) * t->size;
    for (int64_t i = 0; i < t->rows * TILE_COLUMNS; i += VEC)
      vstore(to + i, vload(to + i) + vload(to + t->size + i));
  }
}

/* After a chunk: adds the sum of all to c, or puts aside what waits. */
BRIM_INLINE void end_chunk(tile_sums *t, bool last, int64_t columns, float *c, int64_t c_row) {
  for (int64_t i = 0; last && i < t->rows; i++)
    for (int64_t j = 0; j < columns; j += VEC)
      vstore_n(c + i * c_row + j, vload_n(c + i * c_row + j, columns - j) + vload(t->held + i * TILE_COLUMNS + j), columns - j);
  for (int32_t k = t->inside; !last && k < t->count; k++)
    for (int64_t i = 0; i < t->rows; i++)
      for (int64_t j = 0; j < TILE_COLUMNS; j += VEC)
        vstore(t->aside + k * t->apart + i * t->row + j, vload(t->held + k * t->size + i * TILE_COLUMNS + j));
}

/* The most sums that there are at once. Of slices with empty ones between them more wait than of as many neighbours. */
BRIM_INLINE int64_t most_waiting(const brim_row_slices *s) {
  int64_t most = 0, waiting = 0;
  for (int32_t k = 0; k < s->count; waiting -= s->joins[k++])
    most = ++waiting > most ? waiting : most;
  return most;
}

/* Values put aside for a product's result and its column sums: at most brim_slices_depth of each. */
BRIM_INLINE int64_t aside_size(const brim_ops_limits *limits, int64_t chunk_rows) {
  if (limits->slices < 1)
    return 0;
  const int64_t some = 4 * (int64_t)(limits->hidden > limits->intermediate ? limits->hidden : limits->intermediate);
  const int64_t longest = round_up(limits->longest, 16); /* such as that of a head of many classes */
  return brim_slices_depth(limits->slices) *
         ((some > longest ? some : longest) + (limits->max_slots > chunk_rows ? limits->weight : 0));
}
#endif
