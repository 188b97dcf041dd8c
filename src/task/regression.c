/* regression.c: a value a row, or several; squared error. */
#include <math.h>

#include "base/memory.h"
#include "task/task.h"
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  (void)outputs;
  return isfinite(number);
}

/* Output `c` of every row: predictions to x, labels to y. */
static int read_output(const brim_scored *s, int32_t c, double *x, double *y, brim_error *err) {
  for (uint64_t r = 0; r < s->rows; r++) {
    const float *labels, *row = s->logits + (size_t)r * (size_t)s->outputs;
    BRIM_TRY(brim_scored_label(s, BRIM_TASK_REGRESSION, r, &labels, err));
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
  out->loss += square / (double)rows / (double)s->outputs;
  const brim_correlation correlation = brim_correlate(x, y, rows, y + rows);
  out->pearson += correlation.pearson / (double)s->outputs;
  out->spearman += correlation.spearman / (double)s->outputs;
  return BRIM_OK;
}

static int measure(const brim_scored *s, brim_metrics *out, brim_error *err) {
  double *memory = brim_alloc_array(s->runtime, (size_t)s->rows, 2 * sizeof *memory + BRIM_CORRELATION_WORK);
  int status = memory ? BRIM_OK : BRIM_NOMEM(err);
  out->loss = out->pearson = out->spearman = 0.0;
  for (int32_t c = 0; c < s->outputs && !status; c++)
    status = add_output(s, c, memory, out, err);
  out->rmse = sqrt(out->loss);
  brim_release(s->runtime, memory);
  return status;
}

static void opinion(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = (double)logits[c];
}

static float logit(float mean) {
  return mean;
}

const brim_task_rules brim_regression = {.name = "regression",
                                         .problem = "regression",
                                         .class = "ForSequenceClassification",
                                         .least = 1,
                                         .valid = "a regression takes finite numbers",
                                         .fits = fits,
                                         .loss = BRIM_LOSS_SQUARED_ERROR,
                                         .metrics = {"loss", "rmse", "pearson", "spearman"},
                                         .best = "rmse",
                                         .measuring = 2 * sizeof(double) + BRIM_CORRELATION_WORK,
                                         .measure = measure,
                                         .opinion = opinion,
                                         .logit = logit};
