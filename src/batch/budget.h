/* budget.h: what a batch of rows takes, and what may be computed at once. */
#ifndef BRIM_BATCH_BUDGET_H
#define BRIM_BATCH_BUDGET_H
#include "brim/batch.h"

/* The limits of what is computed at once, ready for inner loops: absent limits are INT64_MAX, INT32_MAX or 1. */
typedef struct brim_budget {
  brim_padding padding;
  int64_t slots;      /* max_tokens */
  int64_t rows;       /* max_rows */
  int64_t multiple;   /* required_batch_size_multiple */
  int32_t limit;      /* lengths are cut here */
  int32_t rounding;   /* pad_to_multiple_of */
  int32_t full_width; /* of BRIM_PAD_MAX_LENGTH, rounded */
  double linear, square;
  brim_rows_fn rows_for;
  void *rows_context;
} brim_budget;

/* Rows that are computed together. */
typedef struct brim_load {
  int64_t rows, tokens;
  int32_t longest;
  double squares; /* of the lengths; exact below 2^53 */
} brim_load;

static inline int32_t brim_budget_cut(const brim_budget *budget, int32_t length) {
  return length < budget->limit ? length : budget->limit;
}

/* Slots of one row when the longest has `longest` tokens; 0 when ragged. */
static inline int64_t brim_budget_width(const brim_budget *budget, int32_t longest) {
  if (budget->padding == BRIM_PAD_NONE)
    return 0;
  if (budget->padding == BRIM_PAD_MAX_LENGTH)
    return budget->full_width;
  return ((int64_t)longest + budget->rounding - 1) / budget->rounding * budget->rounding;
}

static inline int64_t brim_budget_slots(const brim_budget *budget, const brim_load *load) {
  if (budget->padding == BRIM_PAD_NONE)
    return load->tokens;
  return load->rows * brim_budget_width(budget, load->longest);
}

static inline brim_load brim_load_add(brim_load load, int32_t length) {
  load.rows++;
  load.tokens += length;
  load.squares += (double)length * length;
  if (length > load.longest)
    load.longest = length;
  return load;
}

static inline bool brim_budget_holds(const brim_budget *budget, const brim_load *load) {
  if (load->rows > budget->rows || brim_budget_slots(budget, load) > budget->slots)
    return false;
  return !budget->rows_for || load->rows == 1 || load->rows <= budget->rows_for(budget->rows_context, load->longest);
}

/* linear * s + square * s^2 over the sequences as they are computed. */
double brim_budget_cost(const brim_budget *budget, const brim_load *load);

/* Whether no limit but the batch size holds: everything can be computed at once. */
static inline bool brim_budget_open(const brim_budget *budget) {
  return budget->slots == INT64_MAX && budget->rows == INT64_MAX && !budget->rows_for;
}

/* The load of rows[0 .. count-1]. */
brim_load brim_load_of(const brim_budget *budget, const int32_t *lengths, const uint32_t *rows, uint64_t count);

/* How many of rows[0 .. count-1], taken in this order, make the next batch: as many as the budget holds, at least one (a row over
 * the budget is alone), trimmed to the required multiple where there are enough. `room` is set when the rows ended before the
 * budget did. */
uint64_t brim_budget_take(const brim_budget *budget, const int32_t *lengths, const uint32_t *rows, uint64_t count, bool *room);

#endif
