/* weight.h: what the rows of a step count, as a loss divides by it. */
#ifndef BRIM_BATCH_WEIGHT_H
#define BRIM_BATCH_WEIGHT_H
#include "brim/batch.h"

/* A plan's lengths are those of the data set, cut. */
static inline int32_t brim_planned_length(const brim_planned *part, int32_t length) {
  return part->cut > 0 && part->cut < length ? part->cut : length;
}

/* Rows, or labelled tokens, of a step. Those of each class are counted before anything is multiplied: the sum of their weights
 * has the same bits however ranks and parts share out the step. */
typedef struct brim_class_counter {
  brim_runtime *runtime;
  const double *weights; /* [classes], borrowed; NULL: each counts 1 */
  int32_t classes;
  uint64_t *counts; /* [classes]; NULL without weights */
  uint64_t all;     /* without weights: labelled tokens, or what `units` counts */
  /* What of a row's first `length` tokens counts, where that is neither the row nor its labels; NULL: that is so. `name`: the
   * row's number, or names[number]. */
  uint64_t (*units)(void *context, const brim_sample *row, int32_t length, uint64_t name);
  void *context;
  const uint64_t *names;
} brim_class_counter;

/* From now on with these weights, or without (NULL). A zeroed counter has none. */
int brim_class_counter_weigh(brim_class_counter *counter, brim_runtime *runtime, const double *weights, int32_t classes,
                             brim_error *err) BRIM_CHECK;
void brim_class_counter_free(brim_class_counter *counter);
void brim_class_counter_clear(brim_class_counter *counter);
/* Adds the part's rows or, where these have labels, its tokens. Labels are classes. */
void brim_class_counter_add(brim_class_counter *counter, const brim_dataset *dataset, const brim_planned *part);
/* The sum of the weights, or the number. */
double brim_class_counter_sum(const brim_class_counter *counter);
/* The same, but 1 where nothing has a weight: there is no loss then. */
double brim_class_counter_divisor(const brim_class_counter *counter);
#endif
