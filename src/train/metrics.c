/* metrics.c: what a set of outputs is worth, in double precision. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "brim/train.h"
#include "train/metric.h"

void brim_softmax(const float *logits, int32_t count, double *probabilities) {
  double top = -HUGE_VAL, sum = 0.0;
  for (int32_t c = 0; c < count; c++)
    top = fmax(top, (double)logits[c]);
  for (int32_t c = 0; c < count; c++)
    sum += probabilities[c] = exp((double)logits[c] - top);
  for (int32_t c = 0; c < count; c++)
    probabilities[c] /= sum;
}

double brim_sigmoid(float logit) {
  double small = exp(-fabs((double)logit));
  return (logit < 0 ? small : 1.0) / (1.0 + small);
}

int brim_outputs_finite(const float *logits, int32_t outputs, uint64_t row, brim_error *err) {
  for (int32_t c = 0; c < outputs; c++)
    if (!isfinite(logits[c]))
      return brim_error_set(err, BRIM_E_DIVERGED, "row %llu: the model's output is not a finite number; its weights are damaged",
                            (unsigned long long)row);
  return BRIM_OK;
}

static int metrics_no_label(uint64_t row, brim_error *err) {
  return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has no label: metrics need one for every row", (unsigned long long)row);
}

/* ---- classification --------------------------------------------------------------------------------------- */

/* Rows of each class: in the labels, in the predictions, and in both at once. */
typedef struct class_counts {
  uint64_t *truth, *predicted, *hit;
} class_counts;

static int32_t metrics_best(const float *logits, int32_t outputs) {
  int32_t best = 0;
  for (int32_t c = 1; c < outputs; c++)
    if (logits[c] > logits[best])
      best = c;
  return best;
}

brim_outcome brim_outcome_of(const float *logits, int32_t outputs, int32_t label) {
  brim_outcome out = {.label = label, .predicted = metrics_best(logits, outputs)};
  double top = (double)logits[out.predicted], sum = 0.0;
  bool finite = true;
  for (int32_t c = 0; c < outputs; c++) {
    sum += exp((double)logits[c] - top);
    finite = finite && isfinite(logits[c]);
  }
  out.loss = finite ? log(sum) + top - (double)logits[label] : (double)NAN;
  out.score = 1.0 / sum;
  out.label_score = exp((double)logits[label] - top) / sum;
  return out;
}

static double metrics_f1_of(const class_counts *counts, int32_t c) {
  return 2.0 * (double)counts->hit[c] / (double)(counts->truth[c] + counts->predicted[c]);
}

/* The mean over the classes that occur among labels or predictions. */
static double metrics_f1_macro(const class_counts *counts, int32_t outputs) {
  double sum = 0.0;
  int32_t present = 0;
  for (int32_t c = 0; c < outputs; c++)
    if (counts->truth[c] + counts->predicted[c])
      sum += metrics_f1_of(counts, c), present++;
  return present ? sum / (double)present : (double)NAN;
}

/* Of class 1 for two classes. */
static double metrics_f1(const class_counts *counts, int32_t outputs) {
  if (outputs == 2)
    return counts->truth[1] + counts->predicted[1] ? metrics_f1_of(counts, 1) : (double)NAN;
  return metrics_f1_macro(counts, outputs);
}

/* Matthews' correlation for any number of classes (Gorodkin 2004): with s rows, c of them right, t_k true and p_k predicted of
 * class k: (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)). */
static double metrics_matthews(const class_counts *counts, int32_t outputs, double rows, double right) {
  double cross = 0.0, truth = 0.0, predicted = 0.0;
  for (int32_t c = 0; c < outputs; c++) {
    double t = (double)counts->truth[c], p = (double)counts->predicted[c];
    cross += t * p, truth += t * t, predicted += p * p;
  }
  double below = (rows * rows - predicted) * (rows * rows - truth);
  return below > 0.0 ? (right * rows - cross) / sqrt(below) : (double)NAN;
}

/* The class of a row, within the model's. */
static int metrics_label(const brim_dataset *dataset, uint64_t row, int32_t outputs, int32_t *label, brim_error *err) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  if (isnan(sample.label))
    return metrics_no_label(row, err);
  if (!(sample.label >= 0.0f && sample.label < (float)outputs))
    return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has label %g, but the model knows %d classes", (unsigned long long)row,
                          (double)sample.label, (int)outputs);
  *label = (int32_t)sample.label;
  return BRIM_OK;
}

int brim_outcomes_label(const brim_dataset *dataset, uint64_t row, int32_t outputs, brim_outcome *out, brim_error *err) {
  return metrics_label(dataset, row, outputs, &out->label, err);
}

/* Sums over rows, in their order. */
typedef struct class_sums {
  class_counts counts;
  double loss, right;
} class_sums;

static int metrics_add_outcome(class_sums *sums, const brim_outcome *one, uint64_t row, brim_error *err) {
  const float damaged = NAN;
  if (isnan(one->loss))
    return brim_outputs_finite(&damaged, 1, row, err);
  sums->loss += one->loss;
  sums->counts.truth[one->label]++;
  sums->counts.predicted[one->predicted]++;
  if (one->predicted == one->label)
    sums->counts.hit[one->label]++, sums->right += 1.0;
  return BRIM_OK;
}

static void metrics_of_sums(const class_sums *sums, int32_t outputs, brim_metrics *out) {
  double rows = (double)out->rows;
  out->loss = sums->loss / rows;
  out->accuracy = sums->right / rows;
  out->f1 = metrics_f1(&sums->counts, outputs);
  out->matthews = metrics_matthews(&sums->counts, outputs, rows, sums->right);
}

static int metrics_classes(const class_counts *counts, int32_t outputs, const float *logits, const brim_dataset *dataset,
                           brim_metrics *out, brim_error *err) {
  class_sums sums = {.counts = *counts};
  for (uint64_t r = 0; r < out->rows; r++) {
    int32_t label = 0;
    BRIM_TRY(metrics_label(dataset, r, outputs, &label, err));
    const brim_outcome one = brim_outcome_of(logits + (size_t)r * (size_t)outputs, outputs, label);
    BRIM_TRY(metrics_add_outcome(&sums, &one, r, err));
  }
  metrics_of_sums(&sums, outputs, out);
  return BRIM_OK;
}

/* ---- many labels ------------------------------------------------------------------------------------------ */

/* The labels of a row: as many as the model has outputs, none missing. */
static int metrics_labels(const brim_dataset *dataset, uint64_t row, int32_t outputs, const float **labels, brim_error *err) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  if (!sample.labels)
    return metrics_no_label(row, err);
  if (sample.label_width != outputs)
    return brim_error_set(err, BRIM_E_MISMATCH, "row %llu has %d labels, but the model has %d outputs", (unsigned long long)row,
                          (int)sample.label_width, (int)outputs);
  for (int32_t c = 0; c < outputs; c++)
    if (isnan(sample.labels[c]))
      return metrics_no_label(row, err);
  *labels = sample.labels;
  return BRIM_OK;
}

/* BCEWithLogitsLoss: max(z, 0) - z y + log(1 + exp(-|z|)). */
static double metrics_binary(double logit, double label) {
  return fmax(logit, 0.0) - logit * label + log1p(exp(-fabs(logit)));
}

static double metrics_f1_micro(const class_counts *counts, int32_t outputs) {
  uint64_t hit = 0, all = 0;
  for (int32_t c = 0; c < outputs; c++)
    hit += counts->hit[c], all += counts->truth[c] + counts->predicted[c];
  return all ? 2.0 * (double)hit / (double)all : (double)NAN;
}

static int metrics_many(const class_counts *counts, int32_t outputs, const float *logits, const brim_dataset *dataset,
                        brim_metrics *out, brim_error *err) {
  double loss = 0.0, right = 0.0;
  for (uint64_t r = 0; r < out->rows; r++) {
    const float *row = logits + (size_t)r * (size_t)outputs, *labels;
    bool all = true;
    BRIM_TRY(metrics_labels(dataset, r, outputs, &labels, err));
    BRIM_TRY(brim_outputs_finite(row, outputs, r, err));
    for (int32_t c = 0; c < outputs; c++) {
      bool truth = labels[c] > 0.5f, guess = row[c] > 0.0f;
      loss += metrics_binary((double)row[c], (double)labels[c]) / (double)outputs;
      counts->truth[c] += truth, counts->predicted[c] += guess, counts->hit[c] += truth && guess;
      all = all && truth == guess;
    }
    right += all;
  }
  out->loss = loss / (double)out->rows;
  out->accuracy = right / (double)out->rows;
  out->f1_micro = metrics_f1_micro(counts, outputs);
  out->f1_macro = metrics_f1_macro(counts, outputs);
  return BRIM_OK;
}

static int metrics_of_classes(brim_runtime *runtime, brim_task task, int32_t outputs, const float *logits,
                              const brim_dataset *dataset, brim_metrics *out, brim_error *err) {
  size_t classes = (size_t)outputs;
  uint64_t *memory = brim_alloc_array_zero(runtime, 3 * classes, sizeof *memory);
  if (!memory)
    return BRIM_NOMEM(err);
  class_counts counts = {memory, memory + classes, memory + 2 * classes};
  int status = (task == BRIM_TASK_MULTI_LABEL ? metrics_many : metrics_classes)(&counts, outputs, logits, dataset, out, err);
  brim_release(runtime, memory);
  return status;
}

int brim_confusion_count(brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset, uint64_t *counts,
                         brim_error *err) {
  size_t classes = (size_t)outputs;
  if (task == BRIM_TASK_REGRESSION)
    return brim_error_set(err, BRIM_E_USAGE, "a regression has no confusion matrix");
  memset(counts, 0, (task == BRIM_TASK_MULTI_LABEL ? 4 * classes : classes * classes) * sizeof *counts);
  for (uint64_t r = 0; r < brim_dataset_rows(dataset); r++) {
    const float *row = logits + (size_t)r * classes, *labels;
    int32_t label = 0;
    if (task == BRIM_TASK_MULTI_LABEL) {
      BRIM_TRY(metrics_labels(dataset, r, outputs, &labels, err));
      for (size_t c = 0; c < classes; c++)
        counts[4 * c + 2 * (labels[c] > 0.5f) + (row[c] > 0.0f)]++;
    } else {
      BRIM_TRY(metrics_label(dataset, r, outputs, &label, err));
      counts[(size_t)label * classes + (size_t)metrics_best(row, outputs)]++;
    }
  }
  return BRIM_OK;
}

/* ---- regression ------------------------------------------------------------------------------------------- */

/* Two-pass: the means first, so that large values do not cancel. NaN when one side is constant. */
static double metrics_pearson(const double *x, const double *y, uint64_t count) {
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
static int metrics_read_regression(const float *logits, const brim_dataset *dataset, int32_t c, int32_t outputs, double *x,
                                   double *y, brim_error *err) {
  for (uint64_t r = 0; r < brim_dataset_rows(dataset); r++) {
    const float *labels, *row = logits + (size_t)r * (size_t)outputs;
    BRIM_TRY(metrics_labels(dataset, r, outputs, &labels, err));
    BRIM_TRY(brim_outputs_finite(row + c, 1, r, err));
    x[r] = (double)row[c];
    y[r] = (double)labels[c];
  }
  return BRIM_OK;
}

/* Adds one output's part to the metrics. memory: [3, rows]. */
static int metrics_add_output(const float *logits, const brim_dataset *dataset, int32_t c, int32_t outputs, double *memory,
                              uint64_t *order, brim_metrics *out, brim_error *err) {
  uint64_t rows = out->rows;
  double *x = memory, *y = x + rows, *ranks = y + rows, square = 0.0;
  BRIM_TRY(metrics_read_regression(logits, dataset, c, outputs, x, y, err));
  for (uint64_t r = 0; r < rows; r++)
    square += (x[r] - y[r]) * (x[r] - y[r]);
  out->loss += square / (double)rows / (double)outputs;
  out->pearson += metrics_pearson(x, y, rows) / (double)outputs;
  ranks_of(x, order, ranks, rows);
  ranks_of(y, order, ranks, rows);
  out->spearman += metrics_pearson(x, y, rows) / (double)outputs;
  return BRIM_OK;
}

static int metrics_regression(brim_runtime *runtime, int32_t outputs, const float *logits, const brim_dataset *dataset,
                              brim_metrics *out, brim_error *err) {
  double *memory = brim_alloc_array(runtime, (size_t)out->rows, 3 * sizeof *memory);
  uint64_t *order = brim_alloc_array(runtime, (size_t)out->rows, sizeof *order);
  int status = memory && order ? BRIM_OK : BRIM_NOMEM(err);
  out->loss = out->pearson = out->spearman = 0.0;
  for (int32_t c = 0; c < outputs && !status; c++)
    status = metrics_add_output(logits, dataset, c, outputs, memory, order, out, err);
  out->rmse = sqrt(out->loss);
  brim_release(runtime, memory);
  brim_release(runtime, order);
  return status;
}

static brim_metrics metrics_none(uint64_t rows) {
  double none = (double)NAN;
  return (brim_metrics){.rows = rows,
                        .loss = none,
                        .accuracy = none,
                        .f1 = none,
                        .matthews = none,
                        .f1_micro = none,
                        .f1_macro = none,
                        .rmse = none,
                        .pearson = none,
                        .spearman = none};
}

int brim_outcomes_metrics(brim_runtime *runtime, int32_t outputs, const brim_outcome *outcomes, uint64_t rows, brim_metrics *out,
                          brim_error *err) {
  *out = metrics_none(rows);
  if (rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  size_t classes = (size_t)outputs;
  uint64_t *memory = brim_alloc_array_zero(runtime, 3 * classes, sizeof *memory);
  if (!memory)
    return BRIM_NOMEM(err);
  class_sums sums = {.counts = {memory, memory + classes, memory + 2 * classes}};
  int status = BRIM_OK;
  for (uint64_t r = 0; r < rows && !status; r++)
    status = metrics_add_outcome(&sums, &outcomes[r], r, err);
  if (!status)
    metrics_of_sums(&sums, outputs, out);
  brim_release(runtime, memory);
  return status;
}

int brim_metrics_compute(brim_runtime *runtime, brim_task task, int32_t outputs, const float *logits, const brim_dataset *dataset,
                         brim_metrics *out, brim_error *err) {
  *out = metrics_none(brim_dataset_rows(dataset));
  out->tokens = brim_dataset_tokens(dataset);
  if (out->rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  if (task == BRIM_TASK_REGRESSION)
    return metrics_regression(runtime, outputs, logits, dataset, out, err);
  return metrics_of_classes(runtime, task, outputs, logits, dataset, out, err);
}
