/* multi_label.c: any number of labels a row, none too; binary cross entropy of each. A label is given where its logit is above 0.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "task/task.h"
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  (void)outputs;
  return number >= 0.0f && number <= 1.0f;
}

/* Sums over rows, in their order. */
typedef struct sums {
  brim_class_counts counts;
  double loss, right;
} sums;

static void add_row(sums *s, const float *logits, const float *labels, int32_t outputs) {
  bool all = true;
  for (int32_t c = 0; c < outputs; c++) {
    const bool truth = labels[c] > 0.5f, guess = logits[c] > 0.0f;
    s->loss += brim_binary_loss((double)logits[c], (double)labels[c], 1) / (double)outputs;
    s->counts.truth[c] += truth, s->counts.predicted[c] += guess, s->counts.hit[c] += truth && guess;
    all = all && truth == guess;
  }
  s->right += all;
}

static int add_rows(sums *all, const brim_scored *s, brim_error *err) {
  for (uint64_t r = 0; r < s->rows; r++) {
    const float *logits = s->logits + (size_t)r * (size_t)s->outputs, *labels;
    BRIM_TRY(brim_scored_label(s, BRIM_TASK_MULTI_LABEL, r, &labels, err));
    BRIM_TRY(brim_outputs_finite(logits, s->outputs, r, err));
    add_row(all, logits, labels, s->outputs);
  }
  return BRIM_OK;
}

static int measure(const brim_scored *s, brim_metrics *out, brim_error *err) {
  sums all = {0};
  int status = brim_class_counts_make(s->runtime, s->outputs, &all.counts, err);
  if (!status)
    status = add_rows(&all, s, err);
  if (!status) {
    out->loss = all.loss / (double)s->rows;
    out->accuracy = all.right / (double)s->rows;
    out->f1_micro = brim_f1_micro(&all.counts, s->outputs);
    out->f1_macro = brim_f1_macro(&all.counts, s->outputs);
  }
  brim_release(s->runtime, all.counts.truth);
  return status;
}

/* Of each label: rows without and with it, predicted without and with it. */
static int confuse(const brim_scored *s, uint64_t *counts, brim_error *err) {
  const size_t classes = (size_t)s->outputs;
  memset(counts, 0, 4 * classes * sizeof *counts);
  for (uint64_t r = 0; r < s->rows; r++) {
    const float *logits = s->logits + (size_t)r * classes, *labels;
    BRIM_TRY(brim_scored_label(s, BRIM_TASK_MULTI_LABEL, r, &labels, err));
    for (size_t c = 0; c < classes; c++)
      counts[4 * c + 2 * (labels[c] > 0.5f) + (logits[c] > 0.0f)]++;
  }
  return BRIM_OK;
}

static void count(const float *label, int32_t outputs, uint64_t *counts) {
  for (int32_t c = 0; c < outputs; c++)
    counts[c] += label[c] > 0.5f;
}

static double balance(double own, double rows, int32_t outputs) {
  (void)outputs;
  return (rows - own) / own;
}

static void opinion(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = brim_sigmoid(logits[c]);
}

static float logit(float mean) {
  const float least = 1e-37f;
  return logf(fmaxf(mean, least)) - logf(fmaxf(1.0f - mean, least));
}

const brim_task_rules brim_multi_label = {.name = "multi-label",
                                          .problem = "multi_label_classification",
                                          .class = "ForSequenceClassification",
                                          .named = true,
                                          .least = 1,
                                          .valid = "of many labels each is 0 or 1",
                                          .fits = fits,
                                          .loss = BRIM_LOSS_BINARY,
                                          .count = count,
                                          .balance = balance,
                                          .metrics = {"loss", "accuracy", "f1_micro", "f1_macro"},
                                          .best = "accuracy",
                                          .measure = measure,
                                          .confuse = confuse,
                                          .opinion = opinion,
                                          .logit = logit};
