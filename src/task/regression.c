/* regression.c: a value a row, or several; squared error. */
#include <math.h>

#include "base/memory.h"
#include "base/sort.h"
#include "task/task.h"
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  (void)outputs;
  return isfinite(number);
}

/* Two-pass: the means first, so that large values do not cancel. NaN when one side is constant. */
static double pearson(const double *x, const double *y, uint64_t count) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  for (uint64_t i = 0; i < count; i++)
    mean_x += x[i], mean_y += y[i];
  mean_x /= (double)count, mean_y /= (double)count;
  for (uint64_t i = 0; i < count; i++) {
    double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx, yy += dy * dy, xy += dx * dy;
  }
  return xx > 0.0 && yy > 0.0 ? xy / (sqrt(xx) * sqrt(yy)) : (double)NAN;
}

static bool is_larger(const void *a, const void *b, const void *values) {
  const double *v = values;
  return v[*(const uint64_t *)a] > v[*(const uint64_t *)b];
}

/* Positions of the values in rising order. Ties may come in any order, since they share a rank. */
static void order_by_value(uint64_t *order, const double *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    order[i] = i;
  brim_sort(order, count, sizeof *order, is_larger, values);
}

/* Replaces values by their ranks from 1; equal values share the mean of theirs. */
static void ranks_of(double *values, uint64_t *order, double *ranks, uint64_t count) {
  order_by_value(order, values, count);
  for (uint64_t first = 0, last; first < count; first = last) {
    for (last = first + 1; last < count && values[order[last]] == values[order[first]];)
      last++;
    for (uint64_t i = first; i < last; i++)
      ranks[order[i]] = ((double)first + (double)last + 1.0) / 2.0;
  }
  for (uint64_t i = 0; i < count; i++)
    values[i] = ranks[i];
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

/* Adds one output's part to the metrics. memory: [3, rows]. */
static int add_output(const brim_scored *s, int32_t c, double *memory, uint64_t *order, brim_metrics *out, brim_error *err) {
  const uint64_t rows = s->rows;
  double *x = memory, *y = x + rows, *ranks = y + rows, square = 0.0;
  BRIM_TRY(read_output(s, c, x, y, err));
  for (uint64_t r = 0; r < rows; r++)
    square += (x[r] - y[r]) * (x[r] - y[r]);
  out->loss += square / (double)rows / (double)s->outputs;
  out->pearson += pearson(x, y, rows) / (double)s->outputs;
  ranks_of(x, order, ranks, rows);
  ranks_of(y, order, ranks, rows);
  out->spearman += pearson(x, y, rows) / (double)s->outputs;
  return BRIM_OK;
}

static int measure(const brim_scored *s, brim_metrics *out, brim_error *err) {
  double *memory = brim_alloc_array(s->runtime, (size_t)s->rows, 3 * sizeof *memory);
  uint64_t *order = brim_alloc_array(s->runtime, (size_t)s->rows, sizeof *order);
  int status = memory && order ? BRIM_OK : BRIM_NOMEM(err);
  out->loss = out->pearson = out->spearman = 0.0;
  for (int32_t c = 0; c < s->outputs && !status; c++)
    status = add_output(s, c, memory, order, out, err);
  out->rmse = sqrt(out->loss);
  brim_release(s->runtime, memory);
  brim_release(s->runtime, order);
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
                                         .measuring = 4 * sizeof(double),
                                         .measure = measure,
                                         .opinion = opinion,
                                         .logit = logit};
