/* budget.h: what a batch of rows takes, and what may be computed at once. Rows are counted where steps are made, texts where they
 * are computed; where each row is one text these are the same. */
#ifndef BRIM_BATCH_BUDGET_H
#define BRIM_BATCH_BUDGET_H
#include "brim/batch.h"

/* The limits of what is computed at once, ready for inner loops: absent limits are INT64_MAX, INT32_MAX or 1. */
typedef struct brim_budget {
  brim_padding padding;
  int64_t slots;      /* max_tokens */
  int64_t rows;       /* of a step or, with `accumulate`, of a part */
  int64_t texts;      /* max_rows */
  int64_t multiple;   /* required_batch_size_multiple */
  int32_t limit;      /* lengths are cut here */
  int32_t rounding;   /* pad_to_multiple_of */
  int32_t full_width; /* of BRIM_PAD_MAX_LENGTH, rounded */
  double linear, square;
  brim_rows_fn rows_for;
  void *rows_context;
} brim_budget;

/* What a row of several texts takes. */
typedef struct brim_row_size {
  int32_t tokens, texts, longest; /* longest: tokens of its longest text */
  double squares;                 /* of its texts' tokens */
} brim_row_size;

/* The rows that are looked at. */
typedef struct brim_row_sizes {
  const int32_t *keys;          /* [rows] what they are sorted by: tokens, or those of the longest text where rows are padded */
  const brim_row_size *several; /* [rows]; NULL: each row is a text of so many tokens as its key says */
} brim_row_sizes;

/* Rows that are computed together. */
typedef struct brim_load {
  int64_t rows, texts, tokens;
  int32_t longest; /* tokens of a text */
  double squares;  /* of the texts' tokens; exact below 2^53 */
} brim_load;

static inline int32_t brim_budget_cut(const brim_budget *budget, int32_t length) {
  return length < budget->limit ? length : budget->limit;
}

/* Slots of one text when the longest has `longest` tokens; 0 when ragged. */
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
  return load->texts * brim_budget_width(budget, load->longest);
}

/* A row of one text. */
static inline brim_load brim_load_add_text(brim_load load, int32_t length) {
  load.rows++;
  load.texts++;
  load.tokens += length;
  load.squares += (double)length * length;
  if (length > load.longest)
    load.longest = length;
  return load;
}

static inline brim_load brim_load_add_texts(brim_load load, const brim_row_size *size) {
  load.rows++;
  load.texts += size->texts;
  load.tokens += size->tokens;
  load.squares += size->squares;
  if (size->longest > load.longest)
    load.longest = size->longest;
  return load;
}

/* Row `row` of those at hand, cut. */
static inline brim_load brim_load_add(const brim_budget *budget, brim_load load, const brim_row_sizes *sizes, uint32_t row) {
  return sizes->several ? brim_load_add_texts(load, &sizes->several[row])
                        : brim_load_add_text(load, brim_budget_cut(budget, sizes->keys[row]));
}

/* Its tokens alone. */
static inline int32_t brim_row_tokens(const brim_budget *budget, const brim_row_sizes *sizes, uint32_t row) {
  return sizes->several ? sizes->several[row].tokens : brim_budget_cut(budget, sizes->keys[row]);
}

static inline int32_t brim_row_texts(const brim_row_sizes *sizes, uint32_t row) {
  return sizes->several ? sizes->several[row].texts : 1;
}

static inline bool brim_budget_holds(const brim_budget *budget, const brim_load *load) {
  if (load->rows > budget->rows || load->texts > budget->texts || brim_budget_slots(budget, load) > budget->slots)
    return false;
  return !budget->rows_for || load->rows == 1 || load->texts <= budget->rows_for(budget->rows_context, load->longest);
}

/* Whether it might hold another row. */
static inline bool brim_budget_has_room(const brim_budget *budget, const brim_load *load) {
  return load->rows < budget->rows && load->texts < budget->texts && brim_budget_slots(budget, load) < budget->slots;
}

/* linear * s + square * s^2 over the texts as they are computed. */
double brim_budget_cost(const brim_budget *budget, const brim_load *load);

/* Whether no limit but the batch size holds: everything can be computed at once. */
static inline bool brim_budget_open(const brim_budget *budget) {
  return budget->slots == INT64_MAX && budget->rows == INT64_MAX && budget->texts == INT64_MAX && !budget->rows_for;
}

/* The load of rows[0 .. count-1]. */
brim_load brim_load_of(const brim_budget *budget, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count);
/* That of one row. */
double brim_budget_row_cost(const brim_budget *budget, const brim_row_sizes *sizes, uint32_t row);

/* How many of rows[0 .. count-1], taken in this order, make the next batch: as many as the budget holds, at least one (a row over
 * the budget is alone), trimmed to the required multiple where there are enough. `room` is set when the rows ended before the
 * budget did. */
uint64_t brim_budget_take(const brim_budget *budget, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count,
                          bool *room);

#endif
