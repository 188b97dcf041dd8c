/* embedding.c: a vector of each text. A row is two texts with a value, or without, or an anchor, a positive and negatives. Losses
 * and metrics are in src/target: they need vectors, not outputs alone. */
#include <math.h>

#include "task/task.h"
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  (void)outputs;
  return isfinite(number);
}

static void opinion(const float *logits, int32_t outputs, double *out) {
  for (int32_t c = 0; c < outputs; c++)
    out[c] = (double)logits[c];
}

static float logit(float mean) {
  return mean;
}

const brim_task_rules brim_embedding = {.name = "embedding",
                                        .class = "Model",
                                        .vectors = true,
                                        .least = 1,
                                        .valid = "a score of two texts is a finite number",
                                        .fits = fits,
                                        .loss = BRIM_LOSS_SQUARED_ERROR,
                                        .metrics = {"pearson", "spearman", "spearman_dot", "spearman_euclidean",
                                                    "spearman_manhattan", "accuracy", "f1", "average_precision", "mrr"},
                                        .best = "spearman",
                                        .measuring = 2 * sizeof(double) + BRIM_CORRELATION_WORK,
                                        .opinion = opinion,
                                        .logit = logit};
