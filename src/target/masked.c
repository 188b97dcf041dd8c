/* masked.c: masked words: which token of the vocabulary was there; cross entropy over the tokens that were chosen. */
#include <math.h>
#include <stdio.h>

#include "base/status.h"
#include "task/task.h"

static int judge(const brim_outcomes *o, brim_metrics *out, brim_error *err) {
  const float damaged = NAN;
  double loss = 0.0;
  uint64_t right = 0;
  if (o->count == 0)
    return brim_error_set(err, BRIM_E_USAGE, "no token is masked: there is nothing to evaluate");
  for (uint64_t i = 0, row = 0; i < o->count; i++) {
    while (i >= o->firsts[row + 1])
      row++;
    if (isnan(o->at[i].loss))
      return brim_outputs_finite(&damaged, 1, row, err);
    loss += o->at[i].loss;
    right += o->at[i].label == o->at[i].predicted;
  }
  out->loss = loss / (double)o->count;
  out->perplexity = exp(out->loss);
  out->accuracy = (double)right / (double)o->count;
  return BRIM_OK;
}

static const char *describe(int32_t outputs, const char *names, char *text, size_t size) {
  (void)outputs, (void)names;
  snprintf(text, size, "masked words (mlm)");
  return NULL;
}

const brim_task_rules brim_masked = {
    .shape = {.one_class = true, .made = true, .outputs = BRIM_OUTPUTS_OF_LABELLED, .counted = "masked"},
    .class = "ForMaskedLM",
    .head = BRIM_HEAD_OF_WORDS,
    .least = 1,
    .fits = brim_fits_class,
    .loss = BRIM_LOSS_CROSS_ENTROPY,
    .metrics = {"loss", "perplexity", "accuracy"},
    .best = "loss",
    .judge = judge,
    .opinion = brim_softmax,
    .logit = brim_logit_of_class,
    .describe = describe};
