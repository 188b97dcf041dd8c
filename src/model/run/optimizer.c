/* optimizer.c: see optimizer.h. */
#include "model/run/optimizer.h"

#include <math.h>
#include <string.h>

#include "base/status.h"

static void correct(const brim_update_options *options, brim_update_step *out) {
  out->correction1 = 1 - pow(options->beta1, (double)options->step);
  out->correction2 = 1 - pow(options->beta2, (double)options->step);
}

/* X(name, other names, rule, momentum, prepare, states) */
#define OPTIMIZERS_LIST(X)                                                                                                       \
  X("adamw", "adamw_torch adamw_torch_fused adamw_hf", ADAMW, false, correct, "moment1", "moment2")                              \
  X("bert_adam", NULL, ADAMW, false, NULL, "moment1", "moment2")                                                                 \
  X("sgd", NULL, SGD, true, NULL, "momentum")                                                                                    \
  X("madgrad", NULL, MADGRAD, true, NULL, "grad_sum_sq", "s")

#define ROW(name, same, rule, momentum, prepare, ...) {name, same, BRIM_RULE_##rule, {__VA_ARGS__}, momentum, prepare},
#define NAME(name, ...)                               "|" name
static const brim_optimizer optimizers[] = {OPTIMIZERS_LIST(ROW)};
static const char names[] = OPTIMIZERS_LIST(NAME);
enum { OPTIMIZERS = sizeof optimizers / sizeof *optimizers };

static bool has_word(const char *words, const char *word) {
  const size_t length = strlen(word);
  for (const char *at = words; at && *at; at += strcspn(at, " "), at += *at == ' ')
    if (strcspn(at, " ") == length && memcmp(at, word, length) == 0)
      return true;
  return false;
}

const brim_optimizer *brim_optimizer_find(const char *name) {
  for (int i = 0; i < OPTIMIZERS; i++)
    if (!name || strcmp(optimizers[i].name, name) == 0 || has_word(optimizers[i].same, name))
      return &optimizers[i];
  return NULL;
}

const char *brim_optimizer_names(void) {
  return names + 1;
}

#define FACTS(RULE, name, states, rests, starts) [BRIM_RULE_##RULE] = {states, starts},
static const struct {
  int states;
  bool starts;
} rules[] = {BRIM_RULES_LIST(FACTS)};

int brim_optimizer_states(const brim_optimizer *optimizer) {
  return rules[optimizer->rule].states;
}

bool brim_optimizer_starts(const brim_optimizer *optimizer) {
  return rules[optimizer->rule].starts;
}

int brim_optimizer_check(const brim_optimizer_options *options, brim_error *err) {
  BRIM_GIVEN(err, options);
  if (!(options->mixout >= 0 && options->mixout < 1))
    return brim_error_set(err, BRIM_E_USAGE, "mixout is %g: the share must be at least 0 and below 1, such as 0.1",
                          options->mixout);
  if (brim_optimizer_find(options->name))
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "optimizer is \"%.40s\": use one of %s", options->name, brim_optimizer_names());
}
