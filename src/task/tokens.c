/* tokens.c: one class a token, such as a name's kind, or none; cross entropy over the tokens that have one. */
#include "task/tasks.h"

static bool fits(int32_t outputs, float number) {
  return number >= 0.0f && number < (float)outputs;
}

const brim_task_rules brim_tokens = {.name = "tokens",
                                     .class = "ForTokenClassification",
                                     .named = true,
                                     .one_class = true,
                                     .tokens = true,
                                     .least = 2,
                                     .fits = fits,
                                     .loss = BRIM_LOSS_CROSS_ENTROPY,
                                     .metrics = {"loss"},
                                     .best = "loss"};
