#include "batch/weight.h"

/* Of the first `length` tokens, of which a cut keeps the last of the row. */
static double token_weight(const brim_sample *sample, int32_t length, const double *weights) {
  double sum = 0.0;
  for (int32_t i = 0; i < length; i++) {
    const int32_t label = sample->token_labels[i == length - 1 ? sample->length - 1 : i];
    sum += label == BRIM_NO_LABEL ? 0.0 : weights ? weights[label] : 1.0;
  }
  return sum;
}

double brim_part_weight(const brim_dataset *dataset, const brim_planned *part, const double *class_weights) {
  double sum = 0.0;
  for (uint32_t r = 0; r < part->count; r++) {
    brim_sample sample;
    brim_dataset_sample(dataset, part->rows[r], &sample);
    sum += sample.token_labels ? token_weight(&sample, brim_planned_length(part, sample.length), class_weights)
                               : class_weights[(int32_t)sample.label];
  }
  return sum;
}
