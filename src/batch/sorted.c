/* Sorted by length, cut, batches shuffled. Three things keep an epoch from repeating the last one: equal lengths come in random
 * order, the first cut is random, and so is the order of the batches. */
#include "base/memory.h"
#include "base/status.h"
#include "batch/compose.h"
#include "batch/order.h"

/* Whether a cut falls between two rows of equal length: then their random order makes the composition new. */
static bool cuts_a_tie(const brim_composition *c) {
  const brim_budget *budget = &c->recipe->compose;
  for (uint64_t begin = 0; begin < c->rows;) {
    bool room;
    begin += brim_budget_take(budget, &c->sizes, c->order + begin, c->rows - begin, &room);
    if (begin == c->rows)
      return false;
    const uint32_t *cut = c->order + begin;
    if (brim_budget_cut(budget, c->sizes.keys[cut[-1]]) == brim_budget_cut(budget, c->sizes.keys[cut[0]]))
      return true;
  }
  return false;
}

/* Sorted rows cut by count: all batches are full but one, which may fall anywhere. Where there is no short batch to move the
 * cuts and none falls among equal lengths, the two rows at a cut change places with probability one half. */
static int cut_by_count(brim_composition *c, brim_error *err) {
  uint64_t size = (uint64_t)c->recipe->compose.rows, batches = (c->rows + size - 1) / size, rest = c->rows % size;
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_CUT);
  uint64_t at = rest ? brim_random_below(&random, 0, batches) : BRIM_NO_BATCH, end = 0;
  for (uint64_t b = 0; b < batches; b++) {
    end += b == at ? rest : size;
    BRIM_TRY(brim_composition_end(c, end, err));
  }
  c->unfinished = at;
  const bool stays = rest || cuts_a_tie(c);
  for (uint64_t b = 1; !stays && b < batches; b++) {
    if (!(brim_random_u64(&random, b) & 1))
      continue;
    uint64_t cut = c->ends[b - 1];
    uint32_t row = c->order[cut];
    c->order[cut] = c->order[cut - 1];
    c->order[cut - 1] = row;
  }
  return BRIM_OK;
}

typedef struct cutting {
  uint64_t batches, first;
  int64_t slots;
} cutting;

/* What cutting the sorted rows takes when the first batch has `first` rows (0: as many as it holds). */
static cutting measure(const brim_composition *c, uint64_t first) {
  const brim_budget *budget = &c->recipe->compose;
  cutting result = {.first = first};
  for (uint64_t begin = 0; begin < c->rows; result.batches++) {
    bool room;
    uint64_t available = begin == 0 && first ? first : c->rows - begin;
    uint64_t count = brim_budget_take(budget, &c->sizes, c->order + begin, available, &room);
    brim_load load = brim_load_of(budget, &c->sizes, c->order + begin, count);
    if (begin == 0)
      result.first = count;
    result.slots += brim_budget_slots(budget, &load);
    begin += count;
  }
  return result;
}

/* A random number of rows for the first batch that costs neither a batch nor a slot. Where a few tries find none and no tie makes
 * the epoch differ from the others, the try that costs least. */
static uint64_t choose_first_cut(const brim_composition *c) {
  enum { TRIES = 4 };
  cutting full = measure(c, 0), best = full;
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_CUT);
  if (full.first < 2 || full.batches < 2)
    return full.first;
  for (uint64_t t = 0; t < TRIES; t++) {
    cutting other = measure(c, 1 + brim_random_below(&random, t, full.first - 1));
    if (other.batches <= full.batches && other.slots <= full.slots)
      return other.first;
    bool better = other.batches < best.batches || (other.batches == best.batches && other.slots < best.slots);
    if (t == 0 || better)
      best = other;
  }
  return cuts_a_tie(c) ? full.first : best.first;
}

int brim_compose_sorted(brim_composition *c, brim_error *err) {
  const brim_recipe *recipe = c->recipe;
  brim_random random = brim_recipe_random(recipe, BRIM_PURPOSE_TIES);
  BRIM_TRY(brim_order_shuffle(c->runtime, &random, 0, c->order, c->rows, err));
  BRIM_TRY(brim_order_sort(c->runtime, c->sizes.keys, recipe->compose.limit, c->order, c->scratch, c->rows, err));
  if (recipe->options.batch_size) {
    BRIM_TRY(cut_by_count(c, err));
  } else {
    uint64_t first = choose_first_cut(c), tail;
    BRIM_TRY(brim_composition_end(c, first, err));
    BRIM_TRY(brim_composition_cut(c, first, c->rows, false, &tail, err));
  }
  return brim_composition_shuffle(c, 0, err);
}
