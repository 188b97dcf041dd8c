/* tree.h: the fixed tree along which the sums of a step's slices are added.
 *
 * A node holds 2^k neighbouring slices that begin at a multiple of 2^k, and is the sum of its halves; a half without rows is left
 * out. So the sum of all slices has the same bits wherever, and in however many pieces, its nodes were added up. A sum is named
 * by one of its slices: two neighbouring sums meet at the height that the names tell. */
#ifndef BRIM_DIST_TREE_H
#define BRIM_DIST_TREE_H
#include "brim/dist.h"

/* A run of slices: what a rank adds up by itself. */
typedef struct brim_slice_run {
  int32_t slices, first, end;
} brim_slice_run;

/* Of a rank. */
brim_slice_run brim_slice_run_of(int32_t slices, int32_t world, int32_t rank);
/* May the neighbouring sums be added, when `next` (the run's end: nothing) is the slice that comes after them? */
bool brim_slices_meet(const brim_slice_run *run, int32_t one, int32_t other, int32_t next);
/* The most sums that a run has waiting while it works on another one. */
int32_t brim_slices_waiting(const brim_slice_run *run);

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
