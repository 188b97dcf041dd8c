/* slices.h: sums over rows that are cut at slices: one value at a time, or what a kernel needs to know to do it by the vector. */
#ifndef BRIM_OPS_SLICES_H
#define BRIM_OPS_SLICES_H
#include "base/reduce_tree.h"
#include "ops/ops.h"

/* Rows of slice k: the first one. Without slices all rows are slice 0. */
static inline int64_t brim_slice_first(const brim_row_slices *s, int32_t k) {
  return k == 0 ? 0 : s->ends[k - 1];
}

/* The sums of one value that wait for others; zeroed memory: there are none. */
typedef struct brim_pending_sums {
  real sums[BRIM_SLICE_DEPTH];
  int32_t names[BRIM_SLICE_DEPTH], count;
} brim_pending_sums;

/* The sum of the next slice, after which sums are added `joins` times. At the end sums[0] is the sum of all. */
static inline void brim_pending_sums_add(brim_pending_sums *w, real sum, int32_t joins) {
  w->sums[w->count++] = sum;
  for (; joins > 0; joins--, w->count--)
    w->sums[w->count - 2] += w->sums[w->count - 1];
}

/* How often the last two of some sums are added before that of slice `next` comes; `next` < 0: there is none. For sums that only
 * some slices have. */
static inline int32_t brim_slice_joins_before(const int32_t *names, int32_t count, int32_t next) {
  int32_t joins = 0;
  for (; count >= 2; joins++, count--)
    if (next >= 0 &&
        brim_reduce_tree_height(names[count - 2], names[count - 1]) >= brim_reduce_tree_height(names[count - 1], next))
      break;
  return joins;
}
#endif
