/* regression.c: a value a row, or several; squared error. */
#include <stdio.h>

#include "task/task.h"

static const char *describe(int32_t outputs, const char *names, char *text, size_t size) {
  (void)names;
  snprintf(text, size, outputs == 1 ? "regression" : "regression of %d values a row", (int)outputs);
  return outputs == 1 ? "because the labels are decimals" : "because the labels are lists of decimals";
}

const brim_task_rules brim_regression = {.shape = {.judged = true},
                                         .problem = "regression",
                                         .class = "ForSequenceClassification",
                                         .least = 1,
                                         .valid = "a regression takes finite numbers",
                                         .fits = brim_fits_value,
                                         .loss = BRIM_LOSS_SQUARED_ERROR,
                                         .metrics = {"loss", "rmse", "pearson", "spearman"},
                                         .best = "rmse",
                                         .measuring = BRIM_MEASURING_VALUES,
                                         .measure = brim_measure_values,
                                         .opinion = brim_opinion_of_values,
                                         .logit = brim_logit_of_value,
                                         .describe = describe,
                                         .cost = brim_answer_cost_of_values,
                                         .say = brim_answer_say_values,
                                         .put = brim_answer_put_values};
