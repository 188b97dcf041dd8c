/* tree.h: the gradient of a step, slice by slice, with the same bits for any number of ranks. */
#ifndef BRIM_REDUCE_TREE_H
#define BRIM_REDUCE_TREE_H
#include "base/reduce_tree.h"
#include "dist/tree.h"
#include "model/run/pending.h"
#include "reduce/sum.h"

typedef struct brim_slice_sums {
  brim_runtime *runtime;
  brim_model *model;
  const brim_group *group;
  brim_slice_range run;
  brim_pending *pending;
  /* The step's sums of this rank, as they were computed: the last one is the model's gradient, those before it wait in
   * `pending`. */
  int32_t names[BRIM_MOST_SLICES], count;
  int32_t owners[BRIM_MOST_SLICES]; /* of all ranks' sums, once they are known: as those of brim_tree_sum */
  int32_t places[BRIM_MOST_SLICES];
  bool apart;       /* brim_slice_sums_add adds up tables only */
  bool joins;       /* the model computes several slices at once */
  bool whole;       /* no two sums of a rank meet: the last backward of a step completes its last sum */
  int32_t *offsets; /* of a slice by itself */
  size_t offset_room;
  double *shared; /* [2 * slices + BRIM_SLICE_MORE] losses, owners of sums, what else ranks add up at once */
} brim_slice_sums;

/* Bytes for a rank of a group. */
uint64_t brim_slice_sums_memory(const brim_model *model, const brim_group *group, const brim_plan_options *plan);
/* The same where a limit of memory cuts steps into smaller parts. */
uint64_t brim_slice_sums_memory_cut(const brim_model *model, const brim_group *group, const brim_plan_options *plan);
/* Sums that wait on the rank that has most of them. */
int32_t brim_slice_sums_most(const brim_model *model, const brim_group *group, const brim_plan_options *plan);
/* The model is prepared for training. */
int brim_slice_sums_open(brim_slice_sums *sums, brim_runtime *runtime, brim_model *model, const brim_group *group,
                         const brim_plan_options *plan, brim_error *err) BRIM_CHECK;
void brim_slice_sums_close(brim_slice_sums *sums);

/* A step begins: nothing is waiting. */
void brim_slice_sums_begin(brim_slice_sums *sums);
/* Before the gradient of a part is computed, which has this slice: the model's is zero then. */
void brim_slice_sums_next(brim_slice_sums *sums, int32_t slice);
/* After the rank's last slice. */
void brim_slice_sums_end(brim_slice_sums *sums);
/* Notes the loss of a slice. */
void brim_slice_sums_note(brim_slice_sums *sums, int32_t slice, double loss);
/* And those of all slices of the forward that was queued last. */
void brim_slice_sums_note_all(brim_slice_sums *sums);
/* The slice of a batch that begins with row `first`, as a batch that borrows from it until the next call. */
int brim_slice_sums_cut(brim_slice_sums *sums, const brim_batch *batch, int32_t first, brim_batch *out,
                        brim_error *err) BRIM_CHECK;

/* Adds up over all ranks: the loss, in the order of slices, into *loss, and each of `more` [count, at most BRIM_SLICE_MORE]. */
enum { BRIM_SLICE_MORE = 8 };
int brim_slice_sums_share(brim_slice_sums *sums, double *loss, double *more, int count, brim_error *err) BRIM_CHECK;
/* After that the gradient of all slices becomes the model's, on every rank. `wait` (NULL: all is complete): before that, and
 * while the last forward and backward go on, where sums are `whole`. */
int brim_slice_sums_add(brim_slice_sums *sums, brim_sum_wait wait, void *context, brim_error *err) BRIM_CHECK;
#endif
