/* slices.h: products of columns over rows, cut at slices.
 *
 * The rows are walked in stretches, which no slice shares; some of them are packed at once, a chunk. Within it a tile of the
 * result goes from stretch to stretch: sums that the chunk needs again stay in the first cache, and those that a later chunk
 * needs are spilled as they come. Without slices a chunk is one stretch, which is added to the result. */
#ifndef BRIM_OPS_CPU_SLICES_H
#define BRIM_OPS_CPU_SLICES_H
#include "ops/cpu/cpu.h"
#include "ops/cpu/tile.h"
#include "ops/slices.h"

typedef struct stretch {
  int64_t row, depth, at; /* at: from here on in what is packed */
  bool accumulates;       /* it is added to the sum of the stretch before */
  int32_t waiting, joins; /* sums that wait before it; how often the last two are added after it */
  int32_t adds;           /* how many of those that wait are added to its own sum */
  int32_t fresh;          /* of `adds`, how many this chunk computed: they are still in the first cache */
  int32_t index;          /* of its sum, among those that wait */
  bool stays;             /* a later stretch of this chunk adds it to its own */
} stretch;

typedef struct chunk {
  int32_t count, before, left; /* sums that wait before it, and after it */
  int32_t lowest;              /* of those that wait before it, the ones from here on are added to its own */
  bool ends;                   /* its last sum is added to the result */
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

/* Where sums wait: one that this chunk needs again stays in the first cache, others are spilled. */
BRIM_INLINE void index_sums(chunk *c) {
  int32_t lowest = BRIM_SLICE_DEPTH;
  for (int32_t k = c->count - 1; k >= 0; k--) {
    stretch *s = &c->list[k];
    s->adds = s->joins + s->accumulates;
    s->index = s->waiting - s->adds;
    s->stays = s->index >= lowest;
    lowest = s->adds > 0 && s->index < lowest ? s->index : lowest;
  }
  c->lowest = c->before;
  for (int32_t k = 0; k < c->count; k++) {
    stretch *s = &c->list[k];
    s->fresh = (int32_t)least(s->adds, s->waiting - c->lowest); /* from `lowest` on, all are of this chunk */
    c->lowest = (int32_t)least(c->lowest, s->index);
  }
}

/* False: there is none left. Sums that wait at its end are spilled and read again, so a chunk is as long as it can be for each
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
    *next = (stretch){.row = first + from, .depth = depth, .at = used};
    if (s->count > 0) {
      next->accumulates = w->number > 0;
      next->waiting = w->waiting;
      next->joins = ends ? s->joins[w->slice] : 0;
      w->waiting += !next->accumulates - next->joins;
    }
    used += divided(depth, w->align) * w->align;
    w->number = ends ? 0 : w->number + 1;
    w->slice += ends;
    if (w->slice == slices || used * best.waiting >= used_best * w->waiting)
      best = *w, c->count = count, used_best = used;
  }
  *w = best;
  c->left = w->waiting;
  c->ends = w->slice == slices || s->count == 0;
  index_sums(c);
  return c->count > 0;
}

/* The sum of some values over a stretch, [n] at `sum`: it comes to those that wait, [n] each and `apart`. */
BRIM_INLINE void wait_for(const stretch *s, int64_t n, const float *sum, float *lines, int64_t apart) {
  int32_t count = s->waiting + !s->accumulates;
  float *to = lines + (count - 1) * apart;
  for (int64_t i = 0; i < n; i += VEC) {
    const vec x = vload_n(sum + i, n - i), before = s->accumulates ? vload_n(to + i, n - i) : vzero();
    vstore_n(to + i, before + x, n - i);
  }
  for (int32_t joins = s->joins; joins > 0; joins--) {
    to = lines + (--count - 1) * apart;
    for (int64_t i = 0; i < n; i += VEC)
      vstore_n(to + i, vload_n(to + i, n - i) + vload_n(to + apart + i, n - i), n - i);
  }
}

/* ---- a tile of a product: its sums over stretches, each of rows of TILE_COLUMNS values */

typedef struct tile_sums {
  float *held; /* those that this chunk needs again, `size` values apart */
  int64_t size;
  float *spill; /* those of earlier chunks, or for later ones, `apart` */
  int64_t apart;
} tile_sums;

BRIM_INLINE float *sum_goes_to(const tile_sums *t, const stretch *s) {
  return s->stays ? t->held + s->index * t->size : t->spill + s->index * t->apart;
}

/* What is added to the sum of a stretch, in this order. */
BRIM_INLINE void list_sums(const tile_sums *t, const stretch *s, const float *sums[BRIM_SLICE_DEPTH]) {
  for (int32_t k = 0; k < s->adds; k++) {
    const int32_t which = s->index + s->adds - 1 - k;
    sums[k] = k < s->fresh ? t->held + which * t->size : t->spill + which * t->apart;
  }
}

/* Asks for those of earlier chunks that this one needs. */
BRIM_INLINE void fetch_sums(const tile_sums *t, const chunk *c, int64_t rows) {
  for (int32_t which = c->lowest; which < c->before; which++)
    for (int64_t i = 0; i < rows * TILE_COLUMNS; i += 16)
      __builtin_prefetch(t->spill + which * t->apart + i);
}

/* The most sums that there are at once. Of slices with empty ones between them more wait than of as many neighbours. */
BRIM_INLINE int64_t most_waiting(const brim_row_slices *s) {
  int64_t most = 0, waiting = 0;
  for (int32_t k = 0; k < s->count; waiting -= s->joins[k++])
    most = ++waiting > most ? waiting : most;
  return most;
}

/* Values spilled for a product's result and its column sums: at most brim_reduce_tree_depth of each. */
BRIM_INLINE int64_t spill_size(const brim_ops_limits *limits, int64_t chunk_rows) {
  if (limits->slices < 1)
    return 0;
  const int64_t some = 4 * (int64_t)(limits->hidden > limits->intermediate ? limits->hidden : limits->intermediate);
  const int64_t longest = round_up(limits->longest, 16); /* such as that of a head of many classes */
  return brim_reduce_tree_depth(limits->slices) *
         ((some > longest ? some : longest) + (limits->max_slots > chunk_rows ? limits->weight : 0));
}
#endif
