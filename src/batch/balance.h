/* balance.h: items of known cost onto ranks of equal speed. Longest processing time first (Graham 1969), then moves and swaps
 * that relieve the costliest rank. Every rank has the same number of bins, and what a bin holds is limited: a deterministic,
 * purely local computation, so that all ranks come to the same answer. */
#ifndef BRIM_BATCH_BALANCE_H
#define BRIM_BATCH_BALANCE_H
#include "brim/base.h"

typedef struct brim_balance_item {
  double cost;
  int64_t weight; /* what it takes of a bin */
  int32_t texts;  /* likewise, at least 1 */
  uint32_t id;    /* the caller's */
  uint32_t bin;   /* rank * bins_per_rank + bin of the rank */
} brim_balance_item;

typedef struct brim_balance_bin {
  int64_t weight, texts;
} brim_balance_bin;

typedef struct brim_balance {
  brim_runtime *runtime;
  uint32_t ranks, bins_per_rank;
  int64_t capacity, text_capacity; /* of a bin; an item heavier than that may be alone in one */
  brim_balance_item *items;        /* [count], costliest first */
  size_t count, item_room;
  brim_balance_bin *bins; /* [ranks * bins_per_rank] */
  size_t bin_room;
  double *costs;    /* [ranks] */
  uint32_t *heap;   /* [ranks] */
  uint32_t *starts; /* [ranks + 1] */
  size_t cost_room, heap_room, start_room;
  uint32_t *lists; /* [count] items by rank, costliest first */
  size_t list_room;
} brim_balance;

void brim_balance_init(brim_balance *balance, brim_runtime *runtime);
void brim_balance_free(brim_balance *balance);
/* Makes room and sets the shape; items[0 .. count) are then the caller's to fill, costliest first (brim_balance_sort helps). */
int brim_balance_shape(brim_balance *balance, uint32_t ranks, uint32_t bins_per_rank, uint64_t count, brim_error *err) BRIM_CHECK;
/* Costliest first; equal costs by id. */
void brim_balance_sort(brim_balance *balance);
/* Each item in turn to the cheapest rank that has room, there into the fullest bin that holds it. False when one fits nowhere. */
bool brim_balance_assign(brim_balance *balance);
/* Takes the items' bins as the caller set them. */
void brim_balance_adopt(brim_balance *balance);
/* Moves and swaps items until the costliest rank cannot be relieved any more (or nearly nothing is to be gained). */
void brim_balance_improve(brim_balance *balance);
/* Cost of the costliest rank. */
double brim_balance_worst(const brim_balance *balance);
double brim_balance_mean(const brim_balance *balance);

#endif
