/* memory.h: what a run will hold, before it takes it, and parts that are small enough. */
#ifndef BRIM_TRAIN_MEMORY_H
#define BRIM_TRAIN_MEMORY_H
#include "brim/train.h"

typedef struct brim_memory_plan {
  uint64_t held;     /* resident before training takes anything: program, weights, tokenizer, data; 0 where it cannot be known */
  uint64_t training; /* what it takes: gradients, moments, activations, working memory, results of evaluation, the average */
} brim_memory_plan;

/* Bytes of this process that are in memory now, or 0. */
uint64_t brim_memory_resident(void);
/* Bytes of training with parts within these limits. `eval` max_slots 0: no evaluation. `other`: what does not depend on them. */
uint64_t brim_memory_of_limits(const brim_model *model, const brim_model_limits *train, const brim_model_limits *eval,
                               uint64_t other);
/* The most slots computed at once for which `held` and training stay within `limit`; at least `longest`, at most
 * limits->max_slots. No such number is BRIM_E_USAGE, which says what would help. `shortest`: tokens of the shortest row. */
int brim_memory_fit(const brim_model *model, const brim_model_limits *limits, int32_t shortest, uint64_t held, uint64_t other,
                    uint64_t limit, int64_t *slots, brim_error *err) BRIM_CHECK;

#endif
