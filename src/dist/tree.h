/* tree.h: the sums of a step's slices, which ranks have, added along the fixed tree of base/slices.h. */
#ifndef BRIM_DIST_TREE_H
#define BRIM_DIST_TREE_H
#include "brim/dist.h"

/* The sums of one rank are added to those of all others. */
typedef struct brim_tree_sum {
  int32_t slices;
  const int32_t *owners; /* [slices] the rank that has the sum named by this slice; -1: there is none of that name */
  float *const *sums;    /* [own sums] of this rank, in the order of their slices */
  float *out;            /* [count] the sum of all, on every rank; may be one of `sums` */
  int64_t count;
} brim_tree_sum;

/* Every rank calls it with the same owners and count. `sums` are of no use after it. By the group's own sum_tree, or in doubles,
 * in which every sum has a place of its own. */
int brim_group_sum_tree(const brim_group *group, brim_runtime *runtime, const brim_tree_sum *sum, brim_error *err) BRIM_CHECK;

/* The names of all sums in their order; returns how many. */
int32_t brim_tree_names(const brim_tree_sum *sum, int32_t *names);
/* [count] of each of the sums, whose names are these; they are added up into the first. */
void brim_tree_add(float *const *sums, const int32_t *names, int32_t sum_count, size_t count);
#endif
