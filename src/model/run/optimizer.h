/* optimizer.h: the optimizers, a row each: a rule (ops/rules.h), names, and the rule's numbers of a step. */
#ifndef BRIM_MODEL_RUN_OPTIMIZER_H
#define BRIM_MODEL_RUN_OPTIMIZER_H
#include "brim/model.h"
#include "ops/ops.h"

typedef struct brim_optimizer {
  const char *name;
  const char *same; /* other names, a space between them; NULL: none */
  brim_rule rule;
  const char *states[BRIM_MOST_STATES]; /* as checkpoints call them */
  bool momentum;                        /* it has one */
  /* The numbers of a step that are this optimizer's own; NULL: there are none. */
  void (*prepare)(const brim_update_options *options, brim_update_step *out);
} brim_optimizer;

/* NULL: the first, AdamW. NULL is returned for a name that nobody has. */
const brim_optimizer *brim_optimizer_find(const char *name);
int brim_optimizer_states(const brim_optimizer *optimizer); /* of a value */
/* It looks at the values at the start of training. */
bool brim_optimizer_starts(const brim_optimizer *optimizer);
#endif
