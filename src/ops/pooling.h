/* pooling.h: ways of pooling, and which tokens of a text each adds up, with which weights. */
#ifndef BRIM_OPS_POOLING_H
#define BRIM_OPS_POOLING_H
#include <math.h>

#include "brim/base.h"

/* Ways to make one vector of the n tokens h_1 .. h_n that are pooled, in the order in which sentence-transformers joins them. */
typedef enum brim_pool_mode {
  BRIM_POOL_CLS = 0,       /* h_1 */
  BRIM_POOL_MAX,           /* the largest of each column */
  BRIM_POOL_MEAN,          /* sum h / n */
  BRIM_POOL_MEAN_SQRT,     /* sum h / sqrt(n) */
  BRIM_POOL_WEIGHTED_MEAN, /* sum p h_p / sum p, p from 1 at the text's first token, whether that is pooled or not */
  BRIM_POOL_LAST,          /* h_n */
  BRIM_POOL_MODES
} brim_pool_mode;
typedef struct brim_pool_list {
  int32_t count;
  brim_pool_mode of[BRIM_POOL_MODES];
} brim_pool_list;
static inline bool brim_pool_has(const brim_pool_list *list, brim_pool_mode mode) {
  for (int32_t i = 0; i < list->count; i++)
    if (list->of[i] == mode)
      return true;
  return false;
}

/* The sum over p in from .. to - 1 of (by_position ? p + 1 : 1) h_p, divided by `divisor`. Of the largest: the tokens that are
 * looked at. */
typedef struct brim_pool_terms {
  int32_t from, to;
  bool by_position;
  double divisor;
} brim_pool_terms;

/* Of the tokens of a text without the first `skipped`, those of its prompt. As in sentence-transformers, of a text that is
 * nothing but its prompt cls is the first token, and a sum has no terms and is 0. The largest of no tokens is infinite there:
 * here it is that of all. */
static inline brim_pool_terms brim_pool_terms_of(brim_pool_mode mode, int32_t skipped, int32_t count) {
  const bool whole = mode == BRIM_POOL_CLS || mode == BRIM_POOL_MAX;
  const int32_t first = skipped < count ? skipped : whole ? 0 : count;
  brim_pool_terms t = {.from = first, .to = count, .by_position = mode == BRIM_POOL_WEIGHTED_MEAN, .divisor = 1};
  const double n = count - first;
  if (first == count)
    return t;
  if (mode == BRIM_POOL_CLS)
    t.to = first + 1;
  if (mode == BRIM_POOL_LAST)
    t.from = count - 1;
  if (mode == BRIM_POOL_MEAN)
    t.divisor = n;
  if (mode == BRIM_POOL_MEAN_SQRT)
    t.divisor = sqrt(n);
  if (mode == BRIM_POOL_WEIGHTED_MEAN)
    t.divisor = ((double)count * (count + 1) - (double)first * (first + 1)) / 2;
  return t;
}

static inline double brim_pool_term(const brim_pool_terms *t, int32_t p) {
  return t->by_position ? p + 1 : 1;
}

#endif
