/* reduce_tree.h: the slices of a step, and the fixed tree along which their sums are added.
 *
 * A node holds 2^k neighbouring slices that begin at a multiple of 2^k, and is the sum of its halves; a half without rows is left
 * out. So the sum of all slices has the same bits wherever, and in however many pieces, its nodes were added up. A sum is named
 * by one of its slices: two neighbouring sums are added at the height that follows from the names. */
#ifndef BRIM_BASE_REDUCE_TREE_H
#define BRIM_BASE_REDUCE_TREE_H
#include "brim/base.h"

/* A run of slices: what a rank adds up by itself. */
typedef struct brim_slice_range {
  int32_t slices, first, end;
} brim_slice_range;

/* Of a rank. */
brim_slice_range brim_slice_range_of(int32_t slices, int32_t world, int32_t rank);
/* The rank whose run has the slice. */
int32_t brim_slice_rank(int32_t slices, int32_t world, int32_t slice);

/* The height of the smallest node that holds both. */
int32_t brim_reduce_tree_height(int32_t one, int32_t other);
/* May the neighbouring sums be added, when `next` (the run's end: nothing) is the slice that comes after them? */
bool brim_reduce_tree_adds(const brim_slice_range *run, int32_t one, int32_t other, int32_t next);
/* The fewest sums that a run's slices make by themselves: its largest nodes, in their order, or the smaller ones first, so that
 * what waits for other ranks is sent while the largest is worked on. */
enum { BRIM_MOST_ROOTS = 16 };
int32_t brim_reduce_tree_roots(const brim_slice_range *run, bool smaller_first, brim_slice_range roots[BRIM_MOST_ROOTS]);
/* The most sums that a run has waiting while it works on another one, slice by slice, in the order of its roots. */
int32_t brim_reduce_tree_waiting(const brim_slice_range *run, bool smaller_first);

/* The most sums that there are at once while so many slices are added, the one that is worked on included. */
int32_t brim_reduce_tree_depth(int32_t slices);
/* The same of BRIM_MOST_SLICES. */
enum { BRIM_SLICE_DEPTH = 9 };
/* For slices of these names, in their order, which together are one node: how often the last two sums are added after each.
 * Returns the most sums that there are at once. */
int32_t brim_reduce_tree_joins(const int32_t *names, int32_t count, uint8_t *joins);
#endif
