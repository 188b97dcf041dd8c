/* masks.h: masked words: which tokens of a row are to be found, and what is read in their place.
 *
 * Of a row's n ordinary tokens max(1, round(rate n)) are chosen: those of the units with the smallest hash of (seed, epoch, row,
 * unit), where a unit is a token, or a word whose tokens have one number (brim_encode_options.numbering). A word that would make
 * them too many is passed over; where each word of a row would, they are the first tokens of one. So a lower rate chooses some of
 * those that a higher one does; nothing depends on the batch, on threads, ranks or where a run was resumed; and the counts of
 * single tokens follow from the row's length alone. Of the chosen tokens 80 % become the mask token, 10 % any token of the
 * vocabulary, and 10 % stay (Devlin et al., "BERT", 2019). */
#ifndef BRIM_TRAIN_MASKS_H
#define BRIM_TRAIN_MASKS_H
#include "brim/batch.h"

#define BRIM_MASK_RATE 0.15

typedef struct brim_mask_unit {
  uint64_t hash;
  int32_t first, count; /* tokens */
} brim_mask_unit;

typedef struct brim_masks {
  brim_runtime *runtime;
  uint64_t seed, epoch;
  double first_rate, last_rate; /* of the first step and of the last */
  double rate, mask_share, random_share;
  int32_t mask_id, ids;  /* ids: random tokens are below */
  brim_mask_unit *units; /* scratch of a row */
  size_t room;
} brim_masks;

/* With BERT's shares. BRIM_E_USAGE: no tokenizer, or one without a mask token; `rates` as brim_mask_rates has it. `ids`: rows of
 * the model's vocabulary. */
int brim_masks_init(brim_masks *masks, brim_runtime *runtime, const brim_tokenizer *tokenizer, int32_t ids, const char *rates,
                    brim_error *err) BRIM_CHECK;
/* Rows of so many tokens take no memory from then on. */
int brim_masks_reserve(brim_masks *masks, int32_t longest, brim_error *err) BRIM_CHECK;
void brim_masks_free(brim_masks *masks);

/* "0.15", or "0.3:0.15": the rate of the first step and that of the last, between 0 and 1. NULL: the default. */
int brim_mask_rates(const char *text, double *first, double *last, brim_error *err) BRIM_CHECK;
/* At the step after `step` of `total`. */
void brim_masks_at_step(brim_masks *masks, uint64_t step, uint64_t total);
/* The highest rate of all steps: brim_model_limits.chosen_share. */
double brim_masks_highest(const brim_masks *masks);

/* Tokens of a row that are chosen. Its first `length` tokens count, of which a cut keeps the last of `whole`. */
int32_t brim_masks_count(brim_masks *masks, uint64_t row, const int32_t *numbers, int32_t length, int32_t whole);
/* Masks the rows of a batch, which has the numbers of its tokens as labels; they become the labels of the tokens that are chosen,
 * by batch->rows. */
void brim_masks_make(brim_masks *masks, brim_batch *batch);
/* The same of one row. */
void brim_masks_row(brim_masks *masks, uint64_t row, int32_t *ids, int32_t *numbers, int32_t length);
/* BRIM_E_MISMATCH: tokens of the rows are not numbered, or there are none that could be masked. */
int brim_masks_fit(const brim_dataset *dataset, const char *name, brim_error *err) BRIM_CHECK;
/* Rows that are masked once and for all, as evaluation sees them: with the last step's rate, whatever the run's seed is. */
int brim_masks_dataset(const brim_masks *masks, const brim_dataset *numbered, const char *name, brim_dataset **out,
                       brim_error *err) BRIM_CHECK;

#endif
