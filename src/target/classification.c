/* classification.c: one class a row; cross entropy. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "task/task.h"

/* ---- outcomes ------------------------------------------------------------------------------------------------ */

static int32_t best_of(const float *logits, int32_t outputs) {
  int32_t best = 0;
  for (int32_t c = 1; c < outputs; c++)
    if (logits[c] > logits[best])
      best = c;
  return best;
}

brim_outcome brim_outcome_of(const float *logits, int32_t outputs, int32_t label) {
  brim_outcome out = {.label = label, .predicted = best_of(logits, outputs)};
  double top = (double)logits[out.predicted], sum = 0.0;
  bool finite = true;
  for (int32_t c = 0; c < outputs; c++) {
    sum += exp((double)logits[c] - top);
    finite = finite && isfinite(logits[c]);
  }
  out.loss = finite ? brim_log_sum_exp(top, sum) - (double)logits[label] : (double)NAN;
  out.score = 1.0 / sum;
  out.label_score = exp((double)logits[label] - top) / sum;
  return out;
}

/* ---- metrics ------------------------------------------------------------------------------------------------- */

/* Of class 1 for two classes. */
static double f1(const brim_class_counts *counts, int32_t outputs) {
  if (outputs == 2)
    return counts->truth[1] + counts->predicted[1] ? brim_f1_of(counts, 1) : (double)NAN;
  return brim_f1_macro(counts, outputs);
}

/* Matthews' correlation for any number of classes (Gorodkin 2004): with s rows, c of them right, t_k true and p_k predicted of
 * class k: (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2) (s^2 - sum t_k^2)). */
static double matthews(const brim_class_counts *counts, int32_t outputs, double rows, double right) {
  double cross = 0.0, truth = 0.0, predicted = 0.0;
  for (int32_t c = 0; c < outputs; c++) {
    double t = (double)counts->truth[c], p = (double)counts->predicted[c];
    cross += t * p, truth += t * t, predicted += p * p;
  }
  double below = (rows * rows - predicted) * (rows * rows - truth);
  return below > 0.0 ? (right * rows - cross) / sqrt(below) : (double)NAN;
}

/* Sums over rows, in their order. */
typedef struct sums {
  brim_class_counts counts;
  double loss, right;
} sums;

static int add_outcome(sums *s, const brim_outcome *one, uint64_t row, brim_error *err) {
  const float damaged = NAN;
  if (isnan(one->loss))
    return brim_outputs_finite(&damaged, 1, row, err);
  s->loss += one->loss;
  s->counts.truth[one->label]++;
  s->counts.predicted[one->predicted]++;
  if (one->predicted == one->label)
    s->counts.hit[one->label]++, s->right += 1.0;
  return BRIM_OK;
}

static void finish(const sums *s, int32_t outputs, brim_metrics *out) {
  double rows = (double)out->rows;
  out->loss = s->loss / rows;
  out->accuracy = s->right / rows;
  out->f1 = f1(&s->counts, outputs);
  out->matthews = matthews(&s->counts, outputs, rows, s->right);
}

int brim_outcomes_metrics(brim_runtime *runtime, int32_t outputs, const brim_outcome *outcomes, uint64_t rows, brim_metrics *out,
                          brim_error *err) {
  sums s = {0};
  *out = brim_metrics_none(rows);
  if (rows == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows to evaluate");
  int status = brim_class_counts_make(runtime, outputs, &s.counts, err);
  for (uint64_t r = 0; r < rows && !status; r++)
    status = add_outcome(&s, &outcomes[r], r, err);
  if (!status)
    finish(&s, outputs, out);
  brim_release(runtime, s.counts.truth);
  return status;
}

static int judge(const brim_outcomes *o, brim_metrics *out, brim_error *err) {
  return brim_outcomes_metrics(o->runtime, o->outputs, o->at, o->count, out, err);
}

static int measure(const brim_scored *s, brim_metrics *out, brim_error *err) {
  sums all = {0};
  int status = brim_class_counts_make(s->runtime, s->outputs, &all.counts, err);
  for (uint64_t r = 0; r < s->rows && !status; r++) {
    const float *label;
    status = brim_scored_label(s, r, &label, err);
    if (status)
      break;
    const brim_outcome one = brim_outcome_of(s->logits + (size_t)r * (size_t)s->outputs, s->outputs, (int32_t)*label);
    status = add_outcome(&all, &one, r, err);
  }
  if (!status)
    finish(&all, s->outputs, out);
  brim_release(s->runtime, all.counts.truth);
  return status;
}

static int confuse(const brim_scored *s, uint64_t *counts, brim_error *err) {
  const size_t classes = (size_t)s->outputs;
  memset(counts, 0, classes * classes * sizeof *counts);
  for (uint64_t r = 0; r < s->rows; r++) {
    const float *label;
    BRIM_TRY(brim_scored_label(s, r, &label, err));
    counts[(size_t)*label * classes + (size_t)best_of(s->logits + (size_t)r * classes, s->outputs)]++;
  }
  return BRIM_OK;
}

/* ---- weights and averages ------------------------------------------------------------------------------------ */

static void count(const float *label, int32_t outputs, uint64_t *counts) {
  (void)outputs;
  counts[(int32_t)*label]++;
}

static double balance(double own, double rows, int32_t outputs) {
  return rows / (outputs * own);
}

static const char *describe(int32_t outputs, const char *names, char *text, size_t size) {
  snprintf(text, size, "classification of %d class%s (%s)", (int)outputs, outputs == 1 ? "" : "es", names);
  return "by the labels";
}

const brim_task_rules brim_classification = {.shape = {.named = true, .one_class = true, .judged = true},
                                             .problem = "single_label_classification",
                                             .class = "ForSequenceClassification",
                                             .least = 2,
                                             .fits = brim_fits_class,
                                             .loss = BRIM_LOSS_CROSS_ENTROPY,
                                             .count = count,
                                             .balance = balance,
                                             .metrics = {"loss", "accuracy", "f1", "matthews"},
                                             .best = "accuracy",
                                             .measure = measure,
                                             .judge = judge,
                                             .confuse = confuse,
                                             .opinion = brim_softmax,
                                             .logit = brim_logit_of_class,
                                             .describe = describe,
                                             .cost = brim_answer_cost_of_class,
                                             .say = brim_answer_say_class,
                                             .put = brim_answer_put_class};
