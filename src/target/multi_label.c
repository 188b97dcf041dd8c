/* multi_label.c: any number of labels a row, none too; binary cross entropy of each. A label is given where its logit is above 0.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "task/task.h"

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
    BRIM_TRY(brim_scored_label(s, r, &labels, err));
    BRIM_TRY(brim_outputs_finite(logits, s->outputs, r, err));
    add_row(all, logits, labels, s->outputs);
  }
  return BRIM_OK;
}

/* A label that neither rows nor predictions have is 0, as for scikit-learn, which averages over every column. */
static double or_zero(double f1) {
  return isnan(f1) ? 0 : f1;
}

static double f1_of_all(const brim_class_counts *counts, int32_t outputs) {
  double sum = 0;
  for (int32_t c = 0; c < outputs; c++)
    sum += or_zero(brim_f1_of(counts, c));
  return sum / (double)outputs;
}

static int measure(const brim_scored *s, brim_metrics *out, brim_error *err) {
  sums all = {0};
  int status = brim_class_counts_make(s->runtime, s->outputs, &all.counts, err);
  if (!status)
    status = add_rows(&all, s, err);
  if (!status) {
    out->loss = all.loss / (double)s->rows;
    out->accuracy = all.right / (double)s->rows;
    out->f1_micro = or_zero(brim_f1_micro(&all.counts, s->outputs));
    out->f1_macro = f1_of_all(&all.counts, s->outputs);
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
    BRIM_TRY(brim_scored_label(s, r, &labels, err));
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

/* ---- what people read ------------------------------------------------------------------------------------- */

static const char *describe(int32_t outputs, const char *names, char *text, size_t size) {
  snprintf(text, size, "multi-label, %d labels (%s)", (int)outputs, names);
  return "because the labels are lists";
}

static double cost(const brim_answer *a, brim_class_count *classes) {
  double loss = 0;
  bool wrong = false;
  for (int32_t k = 0; k < a->outputs; k++) {
    const bool label = a->label[k] > 0.5f, predicted = a->logits[k] > 0;
    loss += brim_binary_loss((double)a->logits[k], label, 1);
    wrong = wrong || label != predicted;
    classes[k].rows += label;
    classes[k].predicted += predicted;
    classes[k].both += label && predicted;
  }
  return wrong ? loss / a->outputs : 0;
}

/* "good, warm", or "none". */
static void say(const brim_answer *a, bool predicted, char *text, size_t size) {
  size_t used = 0;
  for (int32_t k = 0; k < a->outputs && used < size; k++) {
    const size_t room = size - used > 3 ? size - used - 3 : 0;
    if (predicted ? a->logits[k] > 0 : a->label[k] > 0.5f)
      used += (size_t)snprintf(text + used, size - used, "%s%.*s", used ? ", " : "",
                               brim_answer_shown(a->names[k], room < 100 ? room : 100), a->names[k]);
  }
  if (used == 0)
    snprintf(text, size, "none");
}

/* The labels that are more likely than not. */
static void put(brim_json_writer *json, const brim_answer *a) {
  brim_json_open_array(json, "label");
  for (int32_t i = 0; i < a->outputs; i++) {
    a->scores[i] = brim_sigmoid(a->logits[i]);
    if (a->logits[i] > 0)
      brim_answer_put_name(json, NULL, a, i);
  }
  brim_json_close_array(json);
}

const brim_task_rules brim_multi_label = {.shape = {.named = true, .judged = true},
                                          .problem = "multi_label_classification",
                                          .class = "ForSequenceClassification",
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
                                          .logit = logit,
                                          .describe = describe,
                                          .cost = cost,
                                          .say = say,
                                          .put = put};
