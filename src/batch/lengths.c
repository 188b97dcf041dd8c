/* lengths.c: the rows that are planned: whether the options can take them, and what each of them takes. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "batch/recipe.h"
#include "brim/batch.h"
#include "data/facts.h"

/* ---- rows of one text ------------------------------------------------------------------------------------- */

static int bad_length(uint64_t row, int32_t length, brim_error *err) {
  if (length < 1)
    return brim_error_set(err, BRIM_E_FORMAT, "row %llu has length %d: a row needs at least one token, leave it out",
                          (unsigned long long)row, (int)length);
  return brim_error_set(err, BRIM_E_FORMAT, "row %llu has %d tokens, too many to round up to pad_to_multiple_of",
                        (unsigned long long)row, (int)length);
}

static int too_long(const brim_recipe *recipe, uint64_t row, int32_t length, int64_t slots, brim_error *err) {
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "row %llu with %d tokens takes %lld slots, more than max_tokens %lld: raise it, lower max_length, or "
                        "choose truncate or alone (oversize)",
                        (unsigned long long)row, (int)length, (long long)slots, (long long)recipe->budget.slots);
}

/* Checks every length and counts what is cut: *truncated rows, *lost tokens. */
static int check_lengths(const brim_recipe *recipe, const int32_t *lengths, uint64_t rows, uint64_t *truncated, uint64_t *lost,
                         brim_error *err) {
  const brim_budget *budget = &recipe->budget;
  bool strict = recipe->options.oversize == BRIM_OVERSIZE_ERROR;
  *truncated = *lost = 0;
  for (uint64_t row = 0; row < rows; row++) {
    int32_t length = brim_budget_cut(budget, lengths[row]);
    if (length < 1)
      return bad_length(row, length, err);
    if (brim_budget_width(budget, length) > INT32_MAX)
      return bad_length(row, length, err);
    brim_load alone = {.rows = 1, .texts = 1, .tokens = length, .longest = length};
    int64_t slots = brim_budget_slots(budget, &alone);
    if (strict && slots > budget->slots)
      return too_long(recipe, row, length, slots, err);
    *truncated += lengths[row] > length;
    *lost += (uint64_t)((int64_t)lengths[row] - length);
  }
  return BRIM_OK;
}

/* ---- rows of several texts -------------------------------------------------------------------------------- */

/* What `row` takes; false where its texts are not its tokens. */
static bool measure(const brim_lengths *lengths, uint64_t row, brim_row_size *out) {
  int64_t tokens = 0;
  *out = (brim_row_size){.tokens = lengths->lengths[row], .texts = (int32_t)(lengths->firsts[row + 1] - lengths->firsts[row])};
  for (uint64_t t = lengths->firsts[row]; t < lengths->firsts[row + 1]; t++) {
    const int32_t length = lengths->text_lengths[t];
    if (length < 1)
      return false;
    tokens += length;
    out->squares += (double)length * length;
    out->longest = length > out->longest ? length : out->longest;
  }
  return out->texts > 0 && tokens == out->tokens;
}

static int bad_texts(uint64_t row, brim_error *err) {
  return brim_error_set(err, BRIM_E_FORMAT, "row %llu: its texts need at least one token each, and together as many as the row",
                        (unsigned long long)row);
}

static int bad_cut(const brim_recipe *recipe, uint64_t row, int32_t longest, brim_error *err) {
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "row %llu has a text of %d tokens, and max_length is %d: rows of several texts are cut when they are "
                        "encoded, so encode them with this max_length",
                        (unsigned long long)row, (int)longest, (int)recipe->options.max_length);
}

static int too_many(const brim_recipe *recipe, uint64_t row, const brim_row_size *size, int64_t slots, brim_error *err) {
  const brim_budget *budget = &recipe->budget;
  if (size->texts > budget->texts)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "row %llu has %d texts, more than max_rows %lld: raise it, or choose alone (oversize)",
                          (unsigned long long)row, (int)size->texts, (long long)budget->texts);
  return brim_error_set(
      err, BRIM_E_MISMATCH,
      "row %llu with %d tokens in %d texts takes %lld slots, more than max_tokens %lld: raise it, encode with a "
      "lower max_length, or choose alone (oversize)",
      (unsigned long long)row, (int)size->tokens, (int)size->texts, (long long)slots, (long long)budget->slots);
}

static int check_row(const brim_recipe *recipe, uint64_t row, const brim_row_size *size, brim_error *err) {
  const brim_budget *budget = &recipe->budget;
  const int32_t most = recipe->options.max_length;
  const brim_load alone = brim_load_add_texts((brim_load){0}, size);
  if (most > 0 && size->longest > most)
    return bad_cut(recipe, row, size->longest, err);
  if (brim_budget_width(budget, size->longest) > INT32_MAX)
    return bad_length(row, size->longest, err);
  const int64_t slots = brim_budget_slots(budget, &alone);
  const bool over = slots > budget->slots || size->texts > budget->texts;
  return over && recipe->options.oversize == BRIM_OVERSIZE_ERROR ? too_many(recipe, row, size, slots, err) : BRIM_OK;
}

static int measure_rows(brim_planned_rows *p, const brim_recipe *recipe, const brim_lengths *lengths, brim_error *err) {
  const bool padded = recipe->options.padding != BRIM_PAD_NONE;
  p->several = brim_alloc_array(p->runtime, lengths->rows, sizeof *p->several);
  p->longest = padded ? brim_alloc_array(p->runtime, lengths->rows, sizeof *p->longest) : NULL;
  if (!p->several || (padded && !p->longest))
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < lengths->rows; row++) {
    if (!measure(lengths, row, &p->several[row]))
      return bad_texts(row, err);
    BRIM_TRY(check_row(recipe, row, &p->several[row], err));
    if (padded)
      p->longest[row] = p->several[row].longest;
  }
  p->sizes = (brim_row_sizes){padded ? p->longest : lengths->lengths, p->several};
  return BRIM_OK;
}

/* Nothing of them is cut, and what is computed at once counts their texts. */
static int take_several(brim_recipe *recipe, brim_error *err) {
  if (recipe->options.oversize == BRIM_OVERSIZE_TRUNCATE && recipe->options.max_tokens)
    return brim_error_set(err, BRIM_E_USAGE,
                          "oversize truncate cuts a row, and these have several texts: set it to error or alone, and encode with "
                          "the max_length that is meant");
  recipe->budget.limit = recipe->compose.limit = INT32_MAX;
  return BRIM_OK;
}

/* ---- both ------------------------------------------------------------------------------------------------- */

int brim_planned_rows_make(brim_planned_rows *p, brim_runtime *runtime, brim_recipe *recipe, const brim_lengths *lengths,
                           brim_error *err) {
  *p = (brim_planned_rows){.runtime = runtime, .sizes = {lengths->lengths, NULL}, .repeating = lengths->dataset};
  if (!lengths->firsts)
    return check_lengths(recipe, lengths->lengths, lengths->rows, &p->truncated, &p->lost, err);
  BRIM_TRY(take_several(recipe, err));
  return measure_rows(p, recipe, lengths, err);
}

void brim_planned_rows_free(brim_planned_rows *p) {
  if (!p->runtime)
    return;
  brim_release(p->runtime, p->several);
  brim_release(p->runtime, p->longest);
}

brim_lengths brim_lengths_of(const brim_dataset *dataset) {
  return (brim_lengths){.rows = brim_dataset_rows(dataset),
                        .lengths = brim_dataset_lengths(dataset),
                        .firsts = brim_dataset_firsts(dataset),
                        .text_lengths = brim_dataset_text_lengths(dataset),
                        .dataset = brim_dataset_windows(dataset).overlap > 0 ? dataset : NULL};
}
