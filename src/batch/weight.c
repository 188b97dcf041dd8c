#include "batch/weight.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

int brim_class_counter_weigh(brim_class_counter *counter, brim_runtime *runtime, const double *weights, int32_t classes,
                             brim_error *err) {
  brim_class_counter_free(counter);
  if (!weights)
    return BRIM_OK;
  uint64_t *counts = brim_alloc_array_zero(runtime, (size_t)classes, sizeof *counts);
  if (!counts)
    return BRIM_NOMEM(err);
  *counter = (brim_class_counter){.runtime = runtime, .weights = weights, .classes = classes, .counts = counts};
  return BRIM_OK;
}

void brim_class_counter_free(brim_class_counter *counter) {
  if (counter->counts)
    brim_release(counter->runtime, counter->counts);
  *counter = (brim_class_counter){0};
}

void brim_class_counter_clear(brim_class_counter *counter) {
  if (counter->counts)
    memset(counter->counts, 0, (size_t)counter->classes * sizeof *counter->counts);
  counter->all = 0;
}

static void count_label(brim_class_counter *counter, int32_t label) {
  if (counter->counts)
    counter->counts[label]++;
  else
    counter->all++;
}

/* Of the first `length` tokens, of which a cut keeps the last of the row. */
static void count_tokens(brim_class_counter *counter, const brim_sample *sample, int32_t length) {
  for (int32_t i = 0; i < length; i++) {
    const int32_t label = sample->token_labels[i == length - 1 ? sample->length - 1 : i];
    if (label != BRIM_NO_LABEL)
      count_label(counter, label);
  }
}

void brim_class_counter_add(brim_class_counter *counter, const brim_dataset *dataset, const brim_planned *part) {
  for (uint32_t r = 0; r < part->count; r++) {
    brim_sample sample;
    brim_dataset_sample(dataset, part->rows[r], &sample);
    const uint64_t name = counter->names ? counter->names[part->rows[r]] : part->rows[r];
    if (counter->units)
      counter->all += counter->units(counter->context, &sample, brim_planned_length(part, sample.length), name);
    else if (sample.token_labels)
      count_tokens(counter, &sample, brim_planned_length(part, sample.length));
    else
      count_label(counter, (int32_t)sample.label);
  }
}

double brim_class_counter_sum(const brim_class_counter *counter) {
  double sum = (double)counter->all;
  for (int32_t c = 0; counter->counts && c < counter->classes; c++)
    sum += counter->weights[c] * (double)counter->counts[c];
  return sum;
}

double brim_class_counter_divisor(const brim_class_counter *counter) {
  const double sum = brim_class_counter_sum(counter);
  return sum > 0.0 ? sum : 1.0;
}
