/* supply.h: where a run's steps come from: a plan over rows in memory, or a feed of rows that are larger than memory. */
#ifndef BRIM_TRAIN_SUPPLY_H
#define BRIM_TRAIN_SUPPLY_H
#include "batch/weight.h"
#include "reduce/reduce.h"
#include "train/masks.h"
#include "train/schedule.h"

typedef struct brim_supply {
  brim_runtime *runtime;
  const brim_model *model;
  const brim_train_options *options;
  const brim_dataset *dataset; /* one of the two; borrowed */
  brim_dataset *mapped;        /* the dataset as the model numbers its labels, which is then `dataset`; NULL: it was so */
  brim_feed *feed;
  brim_class_counter counter; /* of what the loss divides by, where that is not the rows */
  brim_masks masks;           /* of masked words: what is to be found is made with the batch */
  uint64_t number, total;     /* steps of the run before this one, and all: what the rate of masks goes by */

  brim_plan *plan;  /* dataset: of plan_epoch, or NULL */
  brim_plan *first; /* of epoch 0, which the outlook made; NULL: it is used up */
  uint64_t plan_epoch, part, epoch_steps;
  brim_batch *batch;  /* dataset: filled for each part */
  brim_text position; /* feed: its state after the last step that is over */
  char *positions;    /* feed whose ranks read slices: every rank's position, one text after another; or NULL */

  /* The step that is under way, or the last one. Counts are over all ranks. */
  bool open;
  uint64_t step;
  uint32_t rows;
  double divisor; /* of the loss: the rows, or the sum of their weights */
  bool weighed;   /* the latter */
  double weight;  /* of the step in a mean of losses: the divisor, or 0 where no row has a label */
  uint64_t tokens, slots;
} brim_supply;

/* Masked words from now on: `supply->masks` is initialized. */
int brim_supply_mask(brim_supply *supply, brim_error *err) BRIM_CHECK;
/* Rows that the model cannot take are refused: all of a dataset here, those of a feed when they come. */
int brim_supply_check(brim_supply *supply, brim_error *err) BRIM_CHECK;
/* Steps of the run, and what the largest part takes: of a dataset exactly, of a feed at most. */
int brim_supply_outlook(brim_supply *supply, brim_outlook *out, brim_error *err) BRIM_CHECK;
/* What a checkpoint must find again. A feed has its own, finer words for it: rows is 0, and its state is compared. */
void brim_supply_identity(const brim_supply *supply, uint64_t *rows, uint64_t *fingerprint);
/* Windows that the rows of long texts were made into; most 0 and 1: none. */
brim_windowing brim_supply_windows(const brim_supply *supply);
/* What a model is trained on with the rows so far: brim_model_pairs. */
int brim_supply_pairs(const brim_supply *supply);
brim_cutting brim_supply_cutting(const brim_supply *supply);
/* K: the most texts that a row may have. */
int32_t brim_supply_most_texts(const brim_supply *supply);
/* The blocks of its parts; returns their number. */
int brim_supply_blocks(const brim_supply *supply, brim_block_shape shapes[BRIM_MOST_BLOCKS]);
/* Makes ready to give the steps of `epoch` from `epoch_step` on. */
int brim_supply_open_epoch(brim_supply *supply, uint64_t epoch, uint64_t epoch_step, brim_error *err) BRIM_CHECK;
void brim_supply_close(brim_supply *supply);

/* This rank's next part of the step, borrowed until the next call; it may be empty. *last: the step has no further part. BRIM_END
 * when a feed has no further step. */
int brim_supply_next(brim_supply *supply, const brim_batch **part, bool *last, brim_error *err) BRIM_CHECK;
/* Every rank calls it, with its status, after the first brim_supply_next of a step. Ranks that read their own rows know their own
 * shares of the step: now the counts and the divisor are of all. One decision for all ranks. */
int brim_supply_sum(brim_supply *supply, brim_reduce *reduce, int status, brim_error *err) BRIM_CHECK;
/* The step counts: notes where the supply is after it. */
int brim_supply_step_done(brim_supply *supply, brim_error *err) BRIM_CHECK;
/* Is the epoch over after `epoch_step` steps of it, and (a feed that is not endless) is all of it? */
int brim_supply_over(brim_supply *supply, uint64_t epoch, uint64_t epoch_step, bool *epoch_over, bool *all,
                     brim_error *err) BRIM_CHECK;
/* Epochs done, as a fraction. */
double brim_supply_epochs(const brim_supply *supply, uint64_t epoch, uint64_t epoch_step);
/* "row 12" or "a.csv row 12": a row of a part, as messages name it. Returns the length. */
size_t brim_supply_row_text(const brim_supply *supply, uint64_t row, char *text, size_t size);

/* Every rank calls it before rank 0 saves: where ranks read slices, each has its own position. */
int brim_supply_gather(brim_supply *supply, brim_error *err) BRIM_CHECK;
/* A feed's position, in the folder of a checkpoint: feed.json, and of the other ranks that read slices feed-RANK.json; nothing
 * for a dataset. */
int brim_supply_save(const brim_supply *supply, const char *folder, brim_error *err) BRIM_CHECK;
int brim_supply_restore(brim_supply *supply, const char *folder, brim_error *err) BRIM_CHECK;

#endif
