/* slices.c: a step dealt to slices. Which rows a slice has depends on neither the number of ranks nor what is computed at once.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/slices.h"
#include "base/status.h"
#include "batch/share.h"

/* Ranks among whom any run of slices should be fair. */
static const int32_t worlds[] = {2, 3, 4, 6, 8};
enum { WORLDS = sizeof worlds / sizeof *worlds, MOST_WORLD = 8 };

/* ---- dealing ---------------------------------------------------------------------------------------------- */

/* Rows to slices, as if these were ranks that can compute everything at once: first.part_of is the slice of each place. */
static int deal(brim_share *s, brim_error *err) {
  const brim_recipe *recipe = s->recipe;
  brim_recipe open = *recipe;
  bool fits;
  open.world = recipe->options.slices;
  open.budget.slots = open.budget.rows = INT64_MAX;
  open.budget.rows_for = NULL;
  s->recipe = &open;
  const int status = (brim_share_is_loose(recipe) ? brim_assign_freely : brim_assign_neighbours)(s, 1, &s->first, &fits, err);
  s->recipe = recipe;
  return status;
}

static int deal_all_to_one(brim_share *s, brim_error *err) {
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->first.part_of, &s->first.room, s->count, sizeof *s->first.part_of, err));
  memset(s->first.part_of, 0, s->count * sizeof *s->first.part_of);
  return BRIM_OK;
}

static double row_cost(const brim_budget *budget, int32_t length) {
  const brim_load load = brim_load_add((brim_load){0}, length);
  return brim_budget_cost(budget, &load);
}

/* Slices change numbers, the costliest first: each takes the free one whose neighbours have least to do, so that runs of them
 * cost nearly the same for several numbers of ranks. */
static void spread(brim_share *s) {
  const int32_t slices = s->recipe->options.slices;
  double costs[BRIM_MOST_SLICES] = {0}, loads[WORLDS][MOST_WORLD] = {{0}};
  int32_t number[BRIM_MOST_SLICES];
  bool taken[BRIM_MOST_SLICES] = {false}, placed[BRIM_MOST_SLICES] = {false};
  for (uint64_t i = 0; i < s->count; i++)
    costs[s->first.part_of[i]] += row_cost(&s->recipe->budget, s->lengths[i]);
  for (int32_t k = 0; k < slices; k++) {
    int32_t next = -1, best = -1;
    double least = HUGE_VAL;
    for (int32_t i = 0; i < slices; i++)
      if (!placed[i] && (next < 0 || costs[i] > costs[next]))
        next = i;
    for (int32_t at = 0; at < slices; at++) {
      double load = 0;
      for (int w = 0; w < WORLDS; w++)
        load += loads[w][brim_slice_rank(slices, worlds[w], at)] * worlds[w];
      if (!taken[at] && load < least)
        best = at, least = load;
    }
    placed[next] = taken[best] = true;
    number[next] = best;
    for (int w = 0; w < WORLDS; w++)
      loads[w][brim_slice_rank(slices, worlds[w], best)] += costs[next];
  }
  for (uint64_t i = 0; i < s->count; i++)
    s->first.part_of[i] = (uint32_t)number[s->first.part_of[i]];
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

/* Rows of each slice; ranks have as many parts as the one with the most slices that are not empty, at least one. */
static uint64_t count_parts(const brim_share *s, uint32_t *counts) {
  const int32_t slices = s->recipe->options.slices, world = s->recipe->world;
  uint64_t most = 1;
  memset(counts, 0, (size_t)slices * sizeof *counts);
  for (uint64_t i = 0; i < s->count; i++)
    counts[s->first.part_of[i]]++;
  for (int32_t rank = 0; rank < world; rank++) {
    uint64_t used = 0;
    const brim_slice_run run = brim_slice_run_of(slices, world, rank);
    for (int32_t slice = run.first; slice < run.end; slice++)
      used += counts[slice] > 0;
    most = used > most ? used : most;
  }
  return most;
}

static int too_large(const brim_share *s, const brim_load *load, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  if (load->rows > budget->rows)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "one of the %d slices of a step has %lld rows, but only %lld may be computed at once: take more slices",
                          (int)s->recipe->options.slices, (long long)load->rows, (long long)budget->rows);
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "one of the %d slices of a step takes %lld slots, more than max_tokens %lld or the rows function allow: "
                        "slices are computed whole, so take more of them, or raise max_tokens",
                        (int)s->recipe->options.slices, (long long)brim_budget_slots(budget, load), (long long)budget->slots);
}

static int check_slices(const brim_share *s, brim_error *err) {
  brim_load loads[BRIM_MOST_SLICES] = {{0}};
  for (uint64_t i = 0; i < s->count; i++) {
    brim_load *load = &loads[s->first.part_of[i]];
    *load = brim_load_add(*load, s->lengths[i]);
  }
  for (int32_t slice = 0; slice < s->recipe->options.slices; slice++)
    if (loads[slice].rows > 1 && !brim_budget_holds(&s->recipe->budget, &loads[slice]))
      return too_large(s, &loads[slice], err);
  return BRIM_OK;
}

/* Writes places, ends and slices: each rank's slices in their order, empty parts last. */
static int write_slices(brim_share *s, brim_error *err) {
  const int32_t slices = s->recipe->options.slices, world = s->recipe->world;
  uint32_t counts[BRIM_MOST_SLICES], next[BRIM_MOST_SLICES], end = 0;
  s->parts = count_parts(s, counts);
  const uint64_t all = (uint64_t)world * s->parts;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->ends, &s->end_room, all, sizeof *s->ends, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->slices, &s->slice_room, all, sizeof *s->slices, err));
  for (int32_t rank = 0; rank < world; rank++) {
    const brim_slice_run run = brim_slice_run_of(slices, world, rank);
    uint64_t part = (uint64_t)rank * s->parts;
    for (int32_t slice = run.first; slice < run.end; slice++) {
      if (counts[slice] == 0)
        continue;
      next[slice] = end;
      end += counts[slice];
      s->ends[part] = end, s->slices[part++] = slice;
    }
    for (; part < (uint64_t)(rank + 1) * s->parts; part++)
      s->ends[part] = end, s->slices[part] = 0;
  }
  for (uint64_t place = 0; place < s->count; place++)
    s->places[next[s->first.part_of[place]]++] = (uint32_t)place;
  return BRIM_OK;
}

int brim_share_slices(brim_share *s, const int32_t *lengths, const uint32_t *rows, brim_error *err) {
  BRIM_TRY(brim_share_look(s, lengths, rows, err));
  if (s->recipe->options.slices == 1 || s->count == 1)
    BRIM_TRY(deal_all_to_one(s, err));
  else
    BRIM_TRY(deal(s, err));
  BRIM_TRY(check_slices(s, err));
  spread(s);
  return write_slices(s, err);
}
