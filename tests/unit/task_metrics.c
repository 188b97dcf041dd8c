/* Metrics against values by hand, and against slow versions that follow the definitions literally. */
#include "base/utf8.h"
#include "brim/train.h"
#include "tap.h"
#include "target/ranking.h"
#include "task/task.h"
#include "train/answers/evaluate.h"

static brim_runtime *runtime;

static brim_dataset *labelled(const float *labels, uint64_t count) {
  static const int32_t ids[] = {1, 2};
  brim_sample *samples = calloc(count, sizeof *samples);
  brim_dataset *dataset = NULL;
  brim_error err;
  for (uint64_t i = 0; i < count; i++)
    samples[i] = (brim_sample){.ids = ids, .length = 2, .label = labels[i], .row = i};
  if (brim_dataset_from_samples(runtime, samples, count, NULL, &dataset, &err))
    printf("# %s\n", err.message);
  free(samples);
  return dataset;
}

static brim_metrics measure(brim_task task, int32_t outputs, const float *logits, const float *labels, uint64_t count) {
  brim_metrics metrics = {0};
  brim_error err = {0};
  brim_dataset *dataset = labelled(labels, count);
  int status = brim_metrics_compute(runtime, task, outputs, (brim_meaning){0}, logits, dataset, &metrics, &err);
  if (!ok(status == BRIM_OK, "metrics of %d rows", (int)count))
    printf("# %s\n", err.message);
  brim_dataset_free(dataset);
  return metrics;
}

/* ---- by hand ---------------------------------------------------------------------------------------------- */

/* Predictions 0 0 1 1 1 0 for labels 0 1 1 1 0 0: tp 2, tn 2, fp 1, fn 1. */
static void two_classes(void) {
  const float logits[] = {2, 1, 1, 0, -1, 3, 0, 0.5f, -2, -1, 0.25f, 0}, labels[] = {0, 1, 1, 1, 0, 0};
  brim_metrics m = measure(BRIM_TASK_CLASSIFICATION, 2, logits, labels, 6);
  ok_near(m.accuracy, 4.0 / 6.0, 1e-15, "accuracy");
  ok_near(m.f1, 4.0 / 6.0, 1e-15, "F1 of class 1: 2 tp / (2 tp + fp + fn)");
  ok_near(m.matthews, 3.0 / 9.0, 1e-15, "Matthews: (tp tn - fp fn) / sqrt(3 3 3 3)");
  double loss = log1p(exp(-1.0)) + log1p(exp(1.0)) + log1p(exp(-4.0)) + log1p(exp(-0.5)) + log1p(exp(1.0)) + log1p(exp(-0.25));
  ok_near(m.loss, loss / 6.0, 1e-14, "cross entropy");
  ok(isnan(m.rmse) && isnan(m.pearson) && isnan(m.spearman), "nothing of regression");
}

static void undefined_values(void) {
  const float logits[] = {2, 1, 3, 0}, labels[] = {0, 0};
  brim_metrics m = measure(BRIM_TASK_CLASSIFICATION, 2, logits, labels, 2);
  ok(isnan(m.f1) && isnan(m.matthews) && m.accuracy == 1.0, "one class only: F1 and Matthews are undefined");
  const float flat[] = {1, 1, 1}, values[] = {1, 2, 3};
  m = measure(BRIM_TASK_REGRESSION, 1, flat, values, 3);
  ok(isnan(m.pearson) && isnan(m.spearman), "constant predictions: no correlation");
  ok_near(m.rmse, sqrt(5.0 / 3.0), 1e-15, "but an error");
}

static void large_logits(void) {
  const float logits[] = {3e38f, -3e38f, 0, 1000}, labels[] = {0, 0};
  brim_metrics m = measure(BRIM_TASK_CLASSIFICATION, 2, logits, labels, 2);
  ok_near(m.loss, 500.0, 1e-9, "huge logits do not overflow");
}

/* y = 1 2 3 4, predictions 2 1 4 3: Pearson and Spearman 0.6. With a tie: ranks 1.5 1.5 3 4. */
static void regression(void) {
  const float logits[] = {2, 1, 4, 3}, labels[] = {1, 2, 3, 4}, tied[] = {5, 5, 6, 9};
  brim_metrics m = measure(BRIM_TASK_REGRESSION, 1, logits, labels, 4);
  ok_near(m.loss, 1.0, 1e-15, "mean squared error");
  ok_near(m.rmse, 1.0, 1e-15, "RMSE");
  ok_near(m.pearson, 0.6, 1e-15, "Pearson");
  ok_near(m.spearman, 0.6, 1e-15, "Spearman");
  m = measure(BRIM_TASK_REGRESSION, 1, tied, labels, 4);
  ok_near(m.spearman, 4.5 / sqrt(4.5 * 5.0), 1e-15, "ties share the mean of their ranks");
  const float shifted[] = {1e6f + 2, 1e6f + 1, 1e6f + 4, 1e6f + 3};
  m = measure(BRIM_TASK_REGRESSION, 1, shifted, labels, 4);
  ok_near(m.pearson, 0.6, 1e-12, "a large mean does not cancel");
}

/* Ranks of cosines have ties only where equal vectors have one value, of which rounding leaves nothing. */
static void equal_vectors(void) {
  int beside = 0, outside = 0;
  for (int k = 1; k < 200; k++) {
    double a[5], b[5];
    for (int i = 0; i < 5; i++)
      b[i] = 3 * (a[i] = sin(k * 7.0 + i));
    beside += brim_similarity_of(BRIM_SIMILARITY_COSINE, a, a, 5) != 1;
    outside += brim_similarity_of(BRIM_SIMILARITY_COSINE, a, b, 5) > 1;
  }
  ok(beside == 0 && outside == 0, "equal vectors have the cosine 1, none has more");
  const double nothing[5] = {0};
  ok(brim_similarity_of(BRIM_SIMILARITY_COSINE, nothing, nothing, 5) == 0, "vectors without a length have the cosine 0");
}

/* e^0 : e^-1 : e^-2, and a row that is damaged. */
static void outcomes(void) {
  const float logits[] = {2, 1, 0}, damaged[] = {2, NAN, 0};
  const double sum = 1 + exp(-1) + exp(-2);
  const brim_outcome rows[] = {brim_outcome_of(logits, 3, 1), brim_outcome_of(logits, 3, 0), brim_outcome_of(damaged, 3, 0)};
  brim_metrics m;
  brim_error err;
  ok(rows[0].predicted == 0 && rows[0].label == 1, "the largest is predicted");
  ok_near(rows[0].loss, log(sum) + 1, 1e-15, "cross entropy");
  ok_near(rows[0].score, 1 / sum, 1e-15, "the prediction's probability");
  ok_near(rows[0].label_score, exp(-1) / sum, 1e-15, "the label's");
  int status = brim_outcomes_metrics(runtime, 3, rows, 2, &m, &err);
  ok(!status && m.accuracy == 0.5 && fabs(m.loss - log(sum) - 0.5) < 1e-15, "metrics of outcomes");
  status = brim_outcomes_metrics(runtime, 3, rows, 3, &m, &err);
  ok(status == BRIM_E_DIVERGED && strstr(err.message, "row 2"), "damaged: %s", err.message);
}

/* Numbers of torch 2.15 (BCEWithLogitsLoss, float64) and scikit-learn (accuracy_score, f1_score). The last label occurs neither
 * in the data nor in the predictions: its F1 is 0 in the macro mean, as with zero_division=0. */
static void many_labels(void) {
  static const float logits[20] = {1.5f, -2, 0.25f, -1, 0.5f, 0.5f, -0.5f, -1, -1, -1, -1, -1, 2, -0.25f, 3, -4, -0.5f, 1, 1, -2};
  static const float labels[20] = {1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 0};
  static const int32_t ids[] = {1, 2};
  brim_sample samples[5];
  brim_dataset *dataset;
  brim_metrics m;
  uint64_t counts[16];
  brim_error err = {0};
  for (int i = 0; i < 5; i++)
    samples[i] = (brim_sample){.ids = ids, .length = 2, .labels = labels + 4 * i, .label_width = 4};
  int status = brim_dataset_from_samples(runtime, samples, 5, NULL, &dataset, &err);
  if (!status)
    status = brim_metrics_compute(runtime, BRIM_TASK_MULTI_LABEL, 4, (brim_meaning){0}, logits, dataset, &m, &err);
  if (!ok(status == BRIM_OK, "metrics of many labels")) {
    printf("# %s\n", err.message);
    return;
  }
  ok_near(m.loss, 0.3851607433613559, 1e-15, "the mean over rows and labels of PyTorch's loss");
  ok_near(m.accuracy, 0.4, 1e-15, "rows with every label right");
  ok_near(m.f1_micro, 0.75, 1e-15, "micro F1");
  ok_near(m.f1_macro, 0.5416666666666666, 1e-15, "macro F1");
  ok(isnan(m.f1) && isnan(m.rmse), "nothing of other tasks");
  brim_field fields[BRIM_METRIC_FIELDS];
  ok(brim_metrics_fields(BRIM_TASK_MULTI_LABEL, &m, fields) == 4 && strcmp(fields[2].name, "f1_micro") == 0 &&
         fields[2].real == m.f1_micro,
     "as fields");
  status = brim_confusion_count(BRIM_TASK_MULTI_LABEL, 4, logits, dataset, counts, &err);
  ok(status == BRIM_OK && counts[0] == 2 && counts[1] == 0 && counts[2] == 0 && counts[3] == 3 && counts[4] == 2 &&
         counts[5] == 1 && counts[6] == 1 && counts[7] == 1 && counts[12] == 5,
     "without, wrongly with, wrongly without, with: of each label");
  m = (brim_metrics){0};
  status = brim_metrics_compute(runtime, BRIM_TASK_MULTI_LABEL, 5, (brim_meaning){0}, logits, dataset, &m, &err);
  ok(status == BRIM_E_MISMATCH, "another number of labels: %s", err.message);
  status = brim_metrics_compute(runtime, BRIM_TASK_REGRESSION, 4, (brim_meaning){0}, logits, dataset, &m, &err);
  double square = 0;
  for (int i = 0; i < 20; i++)
    square += pow((double)logits[i] - (double)labels[i], 2) / 20;
  ok(status == BRIM_OK && isnan(m.pearson), "values: one output without spread has no correlation, and so has no mean of them");
  ok_near(m.rmse, sqrt(square), 1e-14, "the error over all values");
  brim_dataset_free(dataset);
}

/* ---- slow versions ---------------------------------------------------------------------------------------- */

enum { ROWS = 500, CLASSES = 5 };

static double random_unit(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*state >> 11) / 9007199254740992.0;
}

/* Matthews for many classes is Pearson's correlation of the one-hot matrices (Gorodkin 2004): trace of the covariances. */
static double slow_matthews(const int *truth, const int *guess, int classes) {
  double xy = 0, xx = 0, yy = 0;
  for (int c = 0; c < classes; c++) {
    double mx = 0, my = 0;
    for (int r = 0; r < ROWS; r++)
      mx += guess[r] == c, my += truth[r] == c;
    mx /= ROWS, my /= ROWS;
    for (int r = 0; r < ROWS; r++) {
      double dx = (guess[r] == c) - mx, dy = (truth[r] == c) - my;
      xy += dx * dy, xx += dx * dx, yy += dy * dy;
    }
  }
  return xy / sqrt(xx * yy);
}

static double slow_macro_f1(const int *truth, const int *guess, int classes) {
  double sum = 0, present = 0;
  for (int c = 0; c < classes; c++) {
    double tp = 0, fp = 0, fn = 0;
    for (int r = 0; r < ROWS; r++)
      tp += truth[r] == c && guess[r] == c, fp += truth[r] != c && guess[r] == c, fn += truth[r] == c && guess[r] != c;
    if (tp + fp + fn == 0)
      continue;
    double precision = tp > 0 ? tp / (tp + fp) : 0, recall = tp > 0 ? tp / (tp + fn) : 0;
    sum += precision + recall > 0 ? 2 * precision * recall / (precision + recall) : 0;
    present++;
  }
  return sum / present;
}

/* Class 4 never occurs in the labels, class 3 neither there nor in the predictions. */
static void many_classes(void) {
  float logits[ROWS * CLASSES], labels[ROWS];
  int truth[ROWS], guess[ROWS];
  uint64_t state = 7;
  double loss = 0;
  for (int r = 0; r < ROWS; r++) {
    truth[r] = (int)(random_unit(&state) * 3);
    labels[r] = (float)truth[r];
    for (int c = 0; c < CLASSES; c++)
      logits[r * CLASSES + c] = c == 3 ? -50 : (float)(random_unit(&state) * 4 + (c == truth[r]));
    guess[r] = 0;
    for (int c = 1; c < CLASSES; c++)
      if (logits[r * CLASSES + c] > logits[r * CLASSES + guess[r]])
        guess[r] = c;
    double p[CLASSES], sum = 0;
    brim_softmax(logits + r * CLASSES, CLASSES, p);
    for (int c = 0; c < CLASSES; c++)
      sum += p[c];
    if (fabs(sum - 1.0) > 1e-14)
      ok(false, "softmax of row %d adds up to 1", r);
    loss -= log(p[truth[r]]);
  }
  brim_metrics m = measure(BRIM_TASK_CLASSIFICATION, CLASSES, logits, labels, ROWS);
  ok_near(m.loss, loss / ROWS, 1e-13, "loss is the mean of -log softmax");
  ok_near(m.matthews, slow_matthews(truth, guess, CLASSES), 1e-13, "Matthews is the correlation of one-hot matrices");
  ok_near(m.f1, slow_macro_f1(truth, guess, CLASSES), 1e-13, "F1 is the mean over the classes that occur");
}

static double slow_rank(const float *x, int at) {
  double below = 0, equal = 0;
  for (int r = 0; r < ROWS; r++)
    below += x[r] < x[at], equal += x[r] == x[at];
  return below + (equal + 1) / 2;
}

static double slow_pearson(const double *x, const double *y) {
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  for (int r = 0; r < ROWS; r++)
    sx += x[r], sy += y[r], sxx += x[r] * x[r], syy += y[r] * y[r], sxy += x[r] * y[r];
  return (ROWS * sxy - sx * sy) / sqrt((ROWS * sxx - sx * sx) * (ROWS * syy - sy * sy));
}

static void many_values(void) {
  float logits[ROWS], labels[ROWS];
  double x[ROWS], y[ROWS];
  uint64_t state = 11;
  for (int r = 0; r < ROWS; r++) {
    labels[r] = (float)floor(random_unit(&state) * 20) / 4; /* many ties */
    logits[r] = (float)floor((labels[r] + random_unit(&state) * 3) * 8);
  }
  for (int r = 0; r < ROWS; r++)
    x[r] = slow_rank(logits, r), y[r] = slow_rank(labels, r);
  brim_metrics m = measure(BRIM_TASK_REGRESSION, 1, logits, labels, ROWS);
  ok_near(m.spearman, slow_pearson(x, y), 1e-12, "Spearman is Pearson of the ranks");
  for (int r = 0; r < ROWS; r++)
    x[r] = logits[r], y[r] = labels[r];
  ok_near(m.pearson, slow_pearson(x, y), 1e-12, "Pearson");
}

/* ---- bad input -------------------------------------------------------------------------------------------- */

static void refused(brim_task task, int32_t outputs, float logit, float label, int code, const char *what) {
  const float logits[8] = {0, 0, 0, 0, 0, logit}, labels[] = {0, label, 0};
  brim_metrics m;
  brim_error err = {0};
  brim_dataset *dataset = labelled(labels, 3);
  int status = brim_metrics_compute(runtime, task, outputs, (brim_meaning){0}, logits + (outputs == 1 ? 4 : 2), dataset, &m,
                                    &err);
  ok(status == code && strstr(err.message, "row 1"), "%s: %s", what, err.message);
  brim_dataset_free(dataset);
}

/* Names are cut between characters. */
static void names(void) {
  char name[121] = "", text[400], small[50];
  const char *const all[] = {name, name, name};
  const float on[] = {1, 1, 1};
  const brim_answer answer = {.outputs = 3, .names = all, .label = on, .logits = on};
  for (int i = 0; i < 40; i++)
    strcat(name, "\xe2\x82\xac");
  brim_task_describe(BRIM_TASK_CLASSIFICATION, 3, all, text, sizeof text);
  ok(brim_utf8_valid(text, strlen(text)) == strlen(text), "a task in words: %s", text);
  brim_task_rules_of(BRIM_TASK_MULTI_LABEL)->say(&answer, true, small, sizeof small);
  ok(brim_utf8_valid(small, strlen(small)) == strlen(small), "labels in words: %s", small);
}

int main(void) {
  names();
  equal_vectors();
  brim_error err;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    return 99;
  two_classes();
  undefined_values();
  large_logits();
  regression();
  many_classes();
  many_labels();
  outcomes();
  many_values();
  refused(BRIM_TASK_CLASSIFICATION, 2, 0, 2, BRIM_E_MISMATCH, "a label beyond the classes");
  refused(BRIM_TASK_CLASSIFICATION, 2, 0, (float)NAN, BRIM_E_MISMATCH, "a missing label");
  refused(BRIM_TASK_CLASSIFICATION, 2, (float)NAN, 0, BRIM_E_DIVERGED, "an output that is not a number");
  refused(BRIM_TASK_REGRESSION, 1, (float)INFINITY, 0, BRIM_E_DIVERGED, "an infinite output");
  brim_runtime_free(runtime);
  return tap_done();
}
