/* tree.h: the sums of a step's slices, which ranks have, added along the fixed tree of base/reduce_tree.h. */
#ifndef BRIM_DIST_TREE_H
#define BRIM_DIST_TREE_H
#include "brim/dist.h"

/* A sum may be sent in two calls: early, all sums of a rank but its last one, into `rooms`, and late the last one. */
typedef enum brim_tree_call { BRIM_TREE_ALL, BRIM_TREE_EARLY, BRIM_TREE_LATE } brim_tree_call;

/* The sums of one rank are added to those of all others. */
typedef struct brim_tree_sum {
  int32_t slices;
  const int32_t *owners;  /* [slices] the rank that has the sum named by this slice; -1: there is none of that name */
  const int32_t *numbers; /* [slices] which of its rank's sums that is, from 0 on */
  float *const *sums;     /* [own sums] of this rank, by number */
  float *out;             /* [count] the sum of all, on every rank; may be one of `sums` */
  int64_t count;
  brim_tree_call call;
  float *const
      *rooms; /* [most sums of a rank but 1] of an early and a late call: sums[i] itself where there is one before the last.
                 An early call puts what other ranks have of this number into the pieces that are theirs to add up */
} brim_tree_sum;

/* Every rank calls it with the same owners, numbers and count. `sums` are of no use after it, but between an early call and the
 * late one. By the group's own sum_tree, or in doubles, in which every sum has its own memory, and where early calls do
 * nothing. */
int brim_group_sum_tree(const brim_group *group, brim_runtime *runtime, const brim_tree_sum *sum, brim_error *err) BRIM_CHECK;

/* How many sums a rank has. */
int32_t brim_tree_sums_of(const brim_tree_sum *sum, int32_t rank);
/* The names of all sums in their order; returns how many. */
int32_t brim_tree_names(const brim_tree_sum *sum, int32_t *names);
/* [count] of each of the sums, whose names are these; they are added up into the first. */
void brim_tree_add(float *const *sums, const int32_t *names, int32_t sum_count, size_t count);
#endif
