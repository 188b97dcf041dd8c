/* rerank.c: a score of a query and a document, as cross-encoders give it: one output of a classifier of pairs. Losses and metrics
 * are in src/target. */
#include <math.h>

#include "task/task.h"
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  (void)outputs;
  return isfinite(number);
}

/* Scores of several models are averaged as probabilities. */
static void opinion(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = brim_sigmoid(logits[c]);
}

static float logit(float mean) {
  const float p = fminf(fmaxf(mean, 1e-7f), 1 - 1e-7f);
  return logf(p / (1 - p));
}

/* transformers knows the class; problem_type is of no consequence there, and a regression has one output, too. */
const brim_task_rules brim_rerank = {
    .name = "rerank",
    .problem = "regression",
    .class = "ForSequenceClassification",
    .scores = true,
    .least = 1,
    .valid = "a score of a query and a document is a finite number",
    .fits = fits,
    .loss = BRIM_LOSS_SQUARED_ERROR,
    .metrics = {"loss", "mrr", "ndcg", "map", "accuracy", "f1", "average_precision", "pearson", "spearman"},
    .best = "ndcg",
    .measuring = 4 * sizeof(double) + BRIM_CORRELATION_WORK,
    .opinion = opinion,
    .logit = logit};
