/* share.h: one optimizer step cut into parts. Every rank gets the same number of parts; each part is within the budget, and the
 * ranks' costs are as equal as the rows allow. */
#ifndef BRIM_BATCH_SHARE_H
#define BRIM_BATCH_SHARE_H
#include "batch/balance.h"
#include "batch/pack.h"
#include "batch/recipe.h"

/* Which part each row of the step belongs to: rank * parts + part of the rank. */
typedef struct brim_assignment {
  uint32_t *part_of; /* [rows of the step] */
  size_t room;
  uint64_t parts; /* of each rank */
  double worst;   /* cost of the costliest rank */
  double mean;    /* of all ranks */
} brim_assignment;

typedef struct brim_share {
  brim_runtime *runtime;
  const brim_recipe *recipe;
  /* the result of brim_share_step */
  uint64_t parts;   /* of each rank */
  uint32_t *places; /* [count] part by part, in order of place inside each */
  uint32_t *ends;   /* [world * parts] ends of the parts in `places`; part p of rank r is r * parts + p */
  uint8_t *slices;  /* [count] the slice that each of `places` is in; NULL: there are none */
  /* the step at hand */
  uint64_t count;
  brim_row_sizes sizes; /* [count] by place, cut: these two */
  int32_t *keys;
  brim_row_size *several;
  uint32_t *sorted; /* [count] places, longest first (file order for sequential batching) */
  /* memory */
  uint32_t *scratch;
  int64_t *weights;
  uint32_t *texts;
  uint32_t *groups; /* ends of groups in `sorted` */
  uint32_t *bin_of;
  size_t place_room, key_room, several_room, text_room, sorted_room, scratch_room, weight_room, group_room, bin_room, end_room,
      slice_room;
  brim_assignment first, second;
  brim_packer packer;
  brim_balance balance;
} brim_share;

void brim_share_init(brim_share *share, brim_runtime *runtime, const brim_recipe *recipe);
void brim_share_free(brim_share *share);

/* Shares out the rows of one step, which was composed of batches that end at ends[batches] - base. */
int brim_share_step(brim_share *share, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count, const uint32_t *ends,
                    uint32_t base, uint64_t batches, brim_error *err) BRIM_CHECK;

/* slices.c: the same where a step has slices: the parts are runs of slices, in their order, or in that of brim_reduce_tree_roots
 * where they are whole; empty slices are left out. */
int brim_share_slices(brim_share *share, const brim_row_sizes *sizes, const uint32_t *rows, brim_error *err) BRIM_CHECK;
/* Fills sizes and sorted. */
int brim_share_look(brim_share *share, const brim_row_sizes *sizes, const uint32_t *rows, brim_error *err) BRIM_CHECK;
/* Any rows may be in one part. */
bool brim_share_is_loose(const brim_recipe *recipe);
/* Rows count the same with any others: there is no padding, multiple or rows function. */
bool brim_rows_stand_alone(const brim_plan_options *options);
/* slices.c: nothing but a rank's run cuts its slices: what is computed at once has no limit. */
bool brim_slices_whole(const brim_plan_options *options);

/* ---- ways to assign, in assign.c. Each needs sizes and sorted. ---- */

/* Whole batches dealt to the ranks. */
int brim_assign_batches(brim_share *share, const uint32_t *ends, uint32_t base, uint64_t batches, brim_assignment *out,
                        brim_error *err) BRIM_CHECK;
/* The other two make so many parts a rank (0: as few as the budget allows); *fits says whether those hold everything.
 * Neighbours in `sorted` stay together: for padded rows, required multiples, a rows function and file order. */
int brim_assign_neighbours(brim_share *share, uint64_t parts, brim_assignment *out, bool *fits, brim_error *err) BRIM_CHECK;
/* Any rows may be in one part (ragged): best fit for the budget, LPT and swaps for the ranks. */
int brim_assign_freely(brim_share *share, uint64_t parts, brim_assignment *out, bool *fits, brim_error *err) BRIM_CHECK;
/* Rows change places between the ranks of an assignment, inside the budget. */
int brim_assign_improve(brim_share *share, brim_assignment *assignment, brim_error *err) BRIM_CHECK;

#endif
