/* pack.h: best fit. Items are put, in the order given, into the fullest bin that still holds them; a new bin is opened when none
 * does. Constant time an item: open bins hang on lists by what they have left, and a bit set finds the next list. */
#ifndef BRIM_BATCH_PACK_H
#define BRIM_BATCH_PACK_H
#include "brim/base.h"

typedef struct brim_bin {
  int64_t left; /* capacity - weight; negative for an item over the capacity, which is alone */
  int64_t rows;
  uint32_t next; /* in the list of bins with as much left */
} brim_bin;

/* Reusable memory for packing; zeroed before its first use. */
typedef struct brim_packer {
  brim_runtime *runtime;
  uint32_t *heads;   /* [units + 1] first bin that has so many units left */
  uint64_t *bits[3]; /* which heads hold a bin; each level has a bit for every word of the level before */
  size_t unit_capacity;
  brim_bin *bins;
  size_t bin_count, bin_capacity;
} brim_packer;

void brim_packer_init(brim_packer *packer, brim_runtime *runtime);
void brim_packer_free(brim_packer *packer);

/* Packs items of weights[count] (each at least 1) and sizes[count] rows (NULL: one each) into bins of `capacity` weight and
 * `row_capacity` rows; bin_of[i] is the bin of item i, packer->bins describes the bins. Capacities above 2^20 are compared in
 * units of capacity / 2^20, rounded to the safe side. */
int brim_pack(brim_packer *packer, const int64_t *weights, const uint32_t *sizes, uint64_t count, int64_t capacity,
              int64_t row_capacity, uint32_t *bin_of, brim_error *err) BRIM_CHECK;

#endif
