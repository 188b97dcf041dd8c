/* slices.h: the gradient of a step, slice by slice, with the same bits for any number of ranks. */
#ifndef BRIM_TRAIN_SLICES_H
#define BRIM_TRAIN_SLICES_H
#include "base/slices.h"
#include "dist/tree.h"
#include "model/partial.h"

typedef struct brim_slice_sums {
  brim_runtime *runtime;
  brim_model *model;
  const brim_group *group;
  brim_slice_run run;
  brim_partials *partials;
  /* The step's sums of this rank, in their order: the last one is the model's gradient, those before it wait in `partials`. */
  int32_t names[BRIM_MOST_SLICES], count;
  double *shared; /* [2 * slices + BRIM_SLICE_MORE] losses, owners of sums, what else ranks add up at once */
} brim_slice_sums;

/* Bytes for a rank of a group. */
uint64_t brim_slice_sums_memory(const brim_model *model, const brim_group *group, int32_t slices);
/* The model is prepared for training. */
int brim_slice_sums_open(brim_slice_sums *sums, brim_runtime *runtime, brim_model *model, const brim_group *group, int32_t slices,
                         brim_error *err) BRIM_CHECK;
void brim_slice_sums_close(brim_slice_sums *sums);

/* A step begins: nothing is waiting. */
void brim_slice_sums_begin(brim_slice_sums *sums);
/* Before the gradient of this slice is computed, which is the rank's next one that is not empty: the model's is zero then. */
void brim_slice_sums_next(brim_slice_sums *sums, int32_t slice);
/* After the rank's last slice. */
void brim_slice_sums_end(brim_slice_sums *sums);
/* Notes the loss of a slice. */
void brim_slice_sums_note(brim_slice_sums *sums, int32_t slice, double loss);

/* Adds up over all ranks: the loss, in the order of slices, into *loss, and each of `more` [count, at most BRIM_SLICE_MORE]. */
enum { BRIM_SLICE_MORE = 8 };
int brim_slice_sums_share(brim_slice_sums *sums, double *loss, double *more, int count, brim_error *err) BRIM_CHECK;
/* After that: the gradient of all slices becomes the model's, on every rank. */
int brim_slice_sums_add(brim_slice_sums *sums, brim_error *err) BRIM_CHECK;
#endif
