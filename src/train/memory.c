#include "train/memory.h"

#include <math.h>
#include <stdio.h>

#include "base/status.h"

/* Training's block of working memory serves evaluation too, and is as large as the larger of them needs. */
uint64_t brim_memory_of_limits(const brim_model *model, const brim_model_limits *train, const brim_model_limits *eval,
                               uint64_t other) {
  uint64_t all = brim_model_memory(model, train), state = brim_model_state_memory(model);
  uint64_t predicting = eval->max_slots > 0 ? brim_model_memory(model, eval) : 0;
  return other + (all - state > predicting ? all : state + predicting);
}

brim_model_limits brim_memory_eval_limits(const brim_memory_eval *eval, const brim_model_limits *train) {
  brim_model_limits limits = {0};
  if (eval->row == 0)
    return limits;
  limits.max_slots = train->max_slots > eval->row ? train->max_slots : eval->row;
  limits.max_sequences = train->max_sequences;
  limits.max_length = train->max_length > eval->longest ? train->max_length : eval->longest;
  limits.chosen_share = train->chosen_share;
  return limits;
}

uint64_t brim_memory_needed(const brim_memory_question *q, const brim_model_limits *train) {
  const brim_model_limits eval = brim_memory_eval_limits(q->eval, train);
  return q->held + brim_memory_of_limits(q->model, train, &eval, q->other);
}

/* Limits of parts of at most so many slots. */
static brim_model_limits limits_of(const brim_memory_question *q, int64_t slots) {
  brim_model_limits limits = *q->widest;
  int64_t rows = slots / (q->shortest > 0 ? q->shortest : 1);
  limits.max_slots = slots < q->widest->max_slots ? slots : q->widest->max_slots;
  if (rows < limits.max_sequences)
    limits.max_sequences = (int32_t)(rows > 0 ? rows : 1);
  return limits;
}

double brim_memory_limit_said(uint64_t bytes) {
  return floor((double)bytes / 1e5) / 10;
}

double brim_memory_said(uint64_t bytes) {
  return ceil((double)bytes / 1e5) / 10;
}

/* The process's resident memory, which `held` begins with, is not quite the same each time: a limit as it is said is one that the
 * next run fits into. */
double brim_memory_advised(const brim_memory_question *q, uint64_t bytes) {
  const uint64_t most = 16000000, share = q->held / 20;
  return brim_memory_said(bytes + (share < most ? share : most));
}

/* Training alone. */
static uint64_t needed_to_train(const brim_memory_question *q, const brim_model_limits *train) {
  const brim_model_limits none = {0};
  return q->held + brim_memory_of_limits(q->model, train, &none, q->other);
}

/* The smallest limit: one row of the longest at once. What would make it smaller, with what it would be then. */
static int refuse(const brim_memory_question *q, brim_error *err) {
  brim_model_limits least = limits_of(q, q->widest->max_length), shorter = least, anew = least;
  shorter.max_length = least.max_length / 2 > 0 ? least.max_length / 2 : 1;
  shorter.max_slots = shorter.max_length;
  anew.checkpoint_activations = true;
  const double needed = brim_memory_advised(q, needed_to_train(q, &least)),
               again = brim_memory_advised(q, needed_to_train(q, &anew)),
               cut = brim_memory_advised(q, needed_to_train(q, &shorter));
  char advice[80] = "", length[80] = "";
  if (again < needed)
    snprintf(advice, sizeof advice, "checkpoint_activations (%.1f MB), ", again);
  if (cut < needed)
    snprintf(length, sizeof length, ", or max_length %d (%.1f MB)", (int)shorter.max_length, cut);
  return brim_error_set(err, BRIM_E_USAGE,
                        "memory_limit: %.1f MB are too few: this run fits into %.1f MB, with one row of %d tokens at once; less "
                        "would take %sfewer trained layers (freeze)%s",
                        brim_memory_limit_said(q->limit), needed, (int)least.max_length, advice, length);
}

/* Of the smallest training, with an evaluation row of so many slots. */
static uint64_t needed_for_row(const brim_memory_question *q, int64_t row) {
  brim_memory_eval eval = *q->eval;
  const brim_model_limits least = limits_of(q, q->widest->max_length);
  brim_memory_question at = *q;
  eval.row = row;
  eval.longest = (int32_t)(row < eval.longest ? row : eval.longest);
  at.eval = &eval;
  return brim_memory_needed(&at, &least);
}

int brim_memory_check_eval(const brim_memory_question *q, brim_error *err) {
  int64_t low = 0, high = q->eval->row;
  if (needed_for_row(q, high) <= q->limit || needed_for_row(q, 0) > q->limit)
    return BRIM_OK;
  while (low + 1 < high) { /* low fits, high does not */
    int64_t middle = low + (high - low) / 2;
    if (needed_for_row(q, middle) <= q->limit)
      low = middle;
    else
      high = middle;
  }
  return brim_error_set(
      err, BRIM_E_USAGE,
      "memory_limit: %.1f MB are too few to evaluate on \"%s\": its longest row, of %d tokens, takes %.1f MB by "
      "itself; max_length %lld would fit",
      brim_memory_limit_said(q->limit), q->eval->name, (int)q->eval->longest,
      brim_memory_advised(q, needed_for_row(q, q->eval->row)), (long long)(low - low % q->eval->multiple));
}

int brim_memory_fit(const brim_memory_question *q, int64_t *slots, brim_error *err) {
  int64_t low = q->widest->max_length, high = q->widest->max_slots;
  brim_model_limits at = limits_of(q, low);
  if (needed_to_train(q, &at) > q->limit)
    return refuse(q, err);
  BRIM_TRY(brim_memory_check_eval(q, err));
  while (low < high) {
    int64_t middle = low + (high - low + 1) / 2;
    at = limits_of(q, middle);
    if (brim_memory_needed(q, &at) <= q->limit)
      low = middle;
    else
      high = middle - 1;
  }
  *slots = low;
  return BRIM_OK;
}
