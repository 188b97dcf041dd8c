/* weight.h: what the rows of a part count, as a loss divides by it. */
#ifndef BRIM_BATCH_WEIGHT_H
#define BRIM_BATCH_WEIGHT_H
#include "brim/batch.h"

/* A plan's lengths are those of the data set, cut. */
static inline int32_t brim_planned_length(const brim_planned *part, int32_t length) {
  return part->cut > 0 && part->cut < length ? part->cut : length;
}

/* The sum of the weights of the part's rows, or of its labelled tokens; of these without weights (NULL) how many there are. */
double brim_part_weight(const brim_dataset *dataset, const brim_planned *part, const double *class_weights);
#endif
