/* score.c: what several tasks make of outputs and labels. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "task/task.h"

void brim_softmax(const float *logits, int32_t count, double *probabilities) {
  double top = -HUGE_VAL, sum = 0.0;
  for (int32_t c = 0; c < count; c++)
    top = fmax(top, (double)logits[c]);
  for (int32_t c = 0; c < count; c++)
    sum += probabilities[c] = exp((double)logits[c] - top);
  for (int32_t c = 0; c < count; c++)
    probabilities[c] /= sum;
}

double brim_sigmoid(double logit) {
  const double small = exp(-fabs(logit));
  return (logit < 0 ? small : 1.0) / (1.0 + small);
}

int brim_outputs_finite(const float *logits, int32_t outputs, uint64_t row, brim_error *err) {
  for (int32_t c = 0; c < outputs; c++)
    if (!isfinite(logits[c]))
      return brim_error_set(err, BRIM_E_DIVERGED, "row %llu: the model's output is not a finite number; its weights are damaged",
                            (unsigned long long)row);
  return BRIM_OK;
}

int brim_scored_label(const brim_scored *s, brim_task task, uint64_t row, const float **label, brim_error *err) {
  *label = s->labels ? s->labels + (size_t)row * (size_t)s->width : NULL;
  return brim_label_fits(task, s->outputs, *label, s->width, false, (brim_row_name){.row = row}, err);
}

int brim_class_counts_make(brim_runtime *runtime, int32_t classes, brim_class_counts *out, brim_error *err) {
  const size_t count = (size_t)classes;
  uint64_t *block = brim_alloc_array_zero(runtime, 3 * count, sizeof *block);
  *out = block ? (brim_class_counts){block, block + count, block + 2 * count} : (brim_class_counts){0};
  return block ? BRIM_OK : BRIM_NOMEM(err);
}

double brim_f1_of(const brim_class_counts *counts, int32_t c) {
  return 2.0 * (double)counts->hit[c] / (double)(counts->truth[c] + counts->predicted[c]);
}

double brim_f1_macro(const brim_class_counts *counts, int32_t classes) {
  double sum = 0.0;
  int32_t present = 0;
  for (int32_t c = 0; c < classes; c++)
    if (counts->truth[c] + counts->predicted[c])
      sum += brim_f1_of(counts, c), present++;
  return present ? sum / (double)present : (double)NAN;
}

double brim_f1_micro(const brim_class_counts *counts, int32_t classes) {
  uint64_t hit = 0, all = 0;
  for (int32_t c = 0; c < classes; c++)
    hit += counts->hit[c], all += counts->truth[c] + counts->predicted[c];
  return all ? 2.0 * (double)hit / (double)all : (double)NAN;
}
