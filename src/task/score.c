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

int brim_scored_label(const brim_scored *s, uint64_t row, const float **label, brim_error *err) {
  *label = s->labels ? s->labels + (size_t)row * (size_t)s->width : NULL;
  return brim_label_fits(s->task, s->outputs, *label, s->width, false, (brim_row_name){.row = row}, err);
}

/* ---- values --------------------------------------------------------------------------------------------------- */

bool brim_fits_value(int32_t outputs, float number) {
  (void)outputs;
  return isfinite(number);
}

void brim_opinion_of_values(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = (double)logits[c];
}

float brim_logit_of_value(float mean) {
  return mean;
}

/* Output `c` of every row: predictions to x, labels to y. */
static int read_output(const brim_scored *s, int32_t c, double *x, double *y, brim_error *err) {
  for (uint64_t r = 0; r < s->rows; r++) {
    const float *labels, *row = s->logits + (size_t)r * (size_t)s->outputs;
    BRIM_TRY(brim_scored_label(s, r, &labels, err));
    BRIM_TRY(brim_outputs_finite(row + c, 1, r, err));
    x[r] = (double)row[c];
    y[r] = (double)labels[c];
  }
  return BRIM_OK;
}

/* Adds one output's part to the metrics. memory: [2, rows], and room for a correlation. */
static int add_output(const brim_scored *s, int32_t c, double *memory, brim_metrics *out, brim_error *err) {
  const uint64_t rows = s->rows;
  double *x = memory, *y = x + rows, square = 0.0;
  BRIM_TRY(read_output(s, c, x, y, err));
  for (uint64_t r = 0; r < rows; r++)
    square += (x[r] - y[r]) * (x[r] - y[r]);
  out->loss += square / (double)rows;
  const brim_correlation correlation = brim_correlate(x, y, rows, y + rows);
  out->pearson += correlation.pearson;
  out->spearman += correlation.spearman;
  return BRIM_OK;
}

int brim_measure_values(const brim_scored *s, brim_metrics *out, brim_error *err) {
  double *memory = brim_alloc_array(s->runtime, (size_t)s->rows, 2 * sizeof *memory + BRIM_CORRELATION_WORK);
  int status = memory ? BRIM_OK : BRIM_NOMEM(err);
  out->loss = out->pearson = out->spearman = 0.0;
  for (int32_t c = 0; c < s->outputs && !status; c++)
    status = add_output(s, c, memory, out, err);
  out->loss /= s->outputs, out->pearson /= s->outputs, out->spearman /= s->outputs;
  out->rmse = sqrt(out->loss);
  brim_release(s->runtime, memory);
  return status;
}

/* ---- classes -------------------------------------------------------------------------------------------------- */

bool brim_fits_class(int32_t outputs, float number) {
  return number >= 0.0f && number < (float)outputs && number == floorf(number);
}

float brim_logit_of_class(float mean) {
  return logf(fmaxf(mean, 1e-37f));
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
