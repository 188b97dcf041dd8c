/* memory.h: what a run will hold, before it takes it, and parts that are small enough. */
#ifndef BRIM_TRAIN_MEMORY_H
#define BRIM_TRAIN_MEMORY_H
#include "brim/train.h"

typedef struct brim_memory_plan {
  uint64_t held;     /* resident before training takes anything: program, weights, tokenizer, data; 0 where it cannot be known */
  uint64_t besides;  /* what runs keep that take turns with this one */
  uint64_t training; /* what it takes: gradients, moments, activations, working memory, results of evaluation, the average */
  uint64_t slices;   /* what of this slices take */
} brim_memory_plan;

/* Bytes of training with parts within these limits. `eval` max_slots 0: no evaluation. `other`: what does not depend on them. */
uint64_t brim_memory_of_limits(const brim_model *model, const brim_model_limits *train, const brim_model_limits *eval,
                               uint64_t other);
/* Evaluation under a memory_limit: as many slots and rows at once as training computes, but at least its longest row. */
typedef struct brim_memory_eval {
  const char *name; /* of the set that has the row */
  int64_t row;      /* slots of the longest row; 0: no evaluation */
  int32_t longest;  /* tokens of that row */
  int32_t multiple; /* widths are rounded up to it */
} brim_memory_eval;
brim_model_limits brim_memory_eval_limits(const brim_memory_eval *eval, const brim_model_limits *train);

/* What is to fit into what. */
typedef struct brim_memory_question {
  const brim_model *model;
  const brim_model_limits *widest; /* of training, uncut */
  const brim_memory_eval *eval;
  int32_t shortest;     /* tokens of the shortest row of training */
  uint64_t held, other; /* before training; of training, whatever is computed at once */
  uint64_t limit;
} brim_memory_question;

/* Megabytes as a message says them, with one digit after the point: a limit no larger than it is, and what is needed no smaller,
 * so that it does where it is given as the limit. */
double brim_memory_limit_said(uint64_t bytes);
double brim_memory_said(uint64_t bytes);
double brim_memory_advised(const brim_memory_question *question, uint64_t bytes);

/* Bytes of the run, with training's parts at most this large. */
uint64_t brim_memory_needed(const brim_memory_question *q, const brim_model_limits *train);
/* The most slots computed at once for which the run stays within the limit; at least widest->max_length, at most
 * widest->max_slots. No such number is BRIM_E_USAGE, which says what would help. */
int brim_memory_fit(const brim_memory_question *q, int64_t *slots, brim_error *err) BRIM_CHECK;
/* BRIM_E_USAGE if the smallest training fits, but not the longest row of evaluation. */
int brim_memory_check_eval(const brim_memory_question *q, brim_error *err) BRIM_CHECK;

#endif
