/* slices.c: a step dealt to slices. Which rows a slice has depends on neither the number of ranks nor what is computed at once.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/reduce_tree.h"
#include "base/status.h"
#include "batch/share.h"

/* Ranks among whom any run of slices should be fair. */
static const int32_t worlds[] = {2, 3, 4, 6, 8};
enum { WORLDS = sizeof worlds / sizeof *worlds, MOST_WORLD = 8 };
enum { SHORT_SLICE = 128 }; /* tokens a slice, below which some are joined */

/* ---- dealing ---------------------------------------------------------------------------------------------- */

/* Rows to slices, as if these were ranks that can compute everything at once: first.part_of is the slice of each place. */
static int deal(brim_share *s, brim_error *err) {
  const brim_recipe *recipe = s->recipe;
  brim_recipe open = *recipe;
  bool fits;
  open.world = recipe->options.slices;
  open.budget.slots = open.budget.rows = open.budget.texts = INT64_MAX;
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

/* Slices change numbers, the costliest first: each takes the free one whose neighbours have least to do, so that runs of them
 * cost nearly the same for several numbers of ranks. */
static void spread(brim_share *s) {
  const int32_t slices = s->recipe->options.slices;
  double costs[BRIM_MOST_SLICES] = {0}, loads[WORLDS][MOST_WORLD] = {{0}};
  int32_t number[BRIM_MOST_SLICES];
  bool taken[BRIM_MOST_SLICES] = {false}, assigned[BRIM_MOST_SLICES] = {false};
  for (uint64_t i = 0; i < s->count; i++)
    costs[s->first.part_of[i]] += brim_budget_row_cost(&s->recipe->budget, &s->sizes, (uint32_t)i);
  for (int32_t k = 0; k < slices; k++) {
    int32_t next = -1, best = -1;
    double least = HUGE_VAL;
    for (int32_t i = 0; i < slices; i++)
      if (!assigned[i] && (next < 0 || costs[i] > costs[next]))
        next = i;
    for (int32_t at = 0; at < slices; at++) {
      double load = 0;
      for (int w = 0; w < WORLDS; w++)
        load += loads[w][brim_slice_rank(slices, worlds[w], at)] * worlds[w];
      if (!taken[at] && load < least)
        best = at, least = load;
    }
    assigned[next] = taken[best] = true;
    number[next] = best;
    for (int w = 0; w < WORLDS; w++)
      loads[w][brim_slice_rank(slices, worlds[w], best)] += costs[next];
  }
  for (uint64_t i = 0; i < s->count; i++)
    s->first.part_of[i] = (uint32_t)number[s->first.part_of[i]];
}

/* Does a run of slices of one of those numbers of ranks begin with it? */
static bool begins_run(int32_t slices, int32_t slice) {
  for (int w = 0; w < WORLDS; w++)
    if (brim_slice_range_of(slices, worlds[w], brim_slice_rank(slices, worlds[w], slice)).first == slice)
      return true;
  return slice == 0;
}

/* Sums of few rows cost more than they help: in a step of few tokens slices that all those numbers of ranks have besides each
 * other are one, the first of them. The others are empty. */
static void join_short(brim_share *s) {
  const int32_t slices = s->recipe->options.slices;
  uint8_t begins[BRIM_MOST_SLICES];
  int64_t tokens = 0;
  for (uint64_t i = 0; i < s->count; i++)
    tokens += brim_row_tokens(&s->recipe->budget, &s->sizes, (uint32_t)i);
  if (tokens >= (int64_t)SHORT_SLICE * slices)
    return;
  for (int32_t slice = 0; slice < slices; slice++)
    begins[slice] = begins_run(slices, slice) ? (uint8_t)slice : begins[slice - 1];
  for (uint64_t i = 0; i < s->count; i++)
    s->first.part_of[i] = begins[s->first.part_of[i]];
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

static int too_large(const brim_share *s, const brim_load *load, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  const brim_plan_options *o = &s->recipe->options;
  const bool texts = load->texts > budget->texts;
  if (!texts && load->rows > budget->rows && (o->max_rows == 0 || budget->rows < o->max_rows)) /* part_rows */
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "one of the %d slices of a step has %lld rows, but accumulate %lld cuts batch_size %lld into parts of "
                          "%lld: slices are computed whole, so take more of them (slices), or fewer parts (accumulate)",
                          (int)o->slices, (long long)load->rows, (long long)o->accumulate, (long long)o->batch_size,
                          (long long)budget->rows);
  if (load->rows > budget->rows || texts)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "one of the %d slices of a step has %lld %s, but only %lld may be computed at once: take more slices",
                          (int)s->recipe->options.slices, (long long)(texts ? load->texts : load->rows),
                          texts && s->sizes.several ? "texts" : "rows", (long long)(texts ? budget->texts : budget->rows));
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "one of the %d slices of a step takes %lld slots, more than max_tokens %lld or the rows function allow: "
                        "slices are computed whole, so take more of them, or raise max_tokens",
                        (int)s->recipe->options.slices, (long long)brim_budget_slots(budget, load), (long long)budget->slots);
}

static int check_slices(const brim_share *s, brim_load *loads, brim_error *err) {
  memset(loads, 0, BRIM_MOST_SLICES * sizeof *loads);
  for (uint64_t i = 0; i < s->count; i++) {
    brim_load *load = &loads[s->first.part_of[i]];
    *load = brim_load_add(&s->recipe->budget, *load, &s->sizes, (uint32_t)i);
  }
  for (int32_t slice = 0; slice < s->recipe->options.slices; slice++)
    if (loads[slice].rows > 1 && !brim_budget_holds(&s->recipe->budget, &loads[slice]))
      return too_large(s, &loads[slice], err);
  return BRIM_OK;
}

/* A part: the slices first .. end - 1 that are not empty. */
typedef struct node {
  int32_t rank, first, end;
} node;

typedef struct cutting {
  const brim_share *share;
  brim_load loads[BRIM_MOST_SLICES]; /* of each slice */
  int32_t most;                      /* slices of a part */
  bool whole;                        /* parts are the roots of runs, the smaller ones first: they are sent first */
  node parts[BRIM_MOST_SLICES];      /* rank by rank */
  int32_t count;
} cutting;

/* At least `accumulate` parts, as without slices. Rows whose cost depends on others stay with their slice. */
static int32_t most_slices(const brim_plan_options *o) {
  if (!brim_rows_stand_alone(o))
    return 1;
  if (o->batch_size == 0 || o->accumulate <= 1)
    return o->slices;
  return o->accumulate < o->slices ? o->slices / (int32_t)o->accumulate : 1;
}

bool brim_slices_whole(const brim_plan_options *o) {
  return most_slices(o) == o->slices && o->max_tokens == 0 && o->max_rows == 0;
}

static bool holds(const cutting *c, int32_t first, int32_t end) {
  brim_load all = {0};
  for (int32_t i = first; i < end; i++) {
    all.rows += c->loads[i].rows;
    all.texts += c->loads[i].texts;
    all.tokens += c->loads[i].tokens;
    all.longest = c->loads[i].longest > all.longest ? c->loads[i].longest : all.longest;
  }
  return brim_budget_holds(&c->share->recipe->budget, &all);
}

static int64_t rows_of(const cutting *c, int32_t first, int32_t end) {
  int64_t rows = 0;
  for (int32_t i = first; i < end; i++)
    rows += c->loads[i].rows;
  return rows;
}

/* The slices first .. first + size - 1 of a run: all at once, or each half by itself. */
static void cut_node(cutting *c, int32_t rank, const brim_slice_range *run, int32_t first, int32_t size) {
  const int32_t slices = run->slices, end = first + size < slices ? first + size : slices;
  if (rows_of(c, first > run->first ? first : run->first, end < run->end ? end : run->end) == 0)
    return;
  const bool whole = first >= run->first && end <= run->end && end - first <= c->most;
  if (size == 1 || (whole && holds(c, first, end))) {
    c->parts[c->count++] = (node){rank, first, end};
    return;
  }
  cut_node(c, rank, run, first, size / 2);
  cut_node(c, rank, run, first + size / 2, size / 2);
}

/* The roots of a run that have rows, the smaller ones first. */
static void take_roots(cutting *c, int32_t rank, const brim_slice_range *run) {
  brim_slice_range roots[BRIM_MOST_ROOTS];
  const int32_t count = brim_reduce_tree_roots(run, true, roots);
  for (int32_t i = 0; i < count; i++)
    if (rows_of(c, roots[i].first, roots[i].end) > 0)
      c->parts[c->count++] = (node){rank, roots[i].first, roots[i].end};
}

/* Ranks have as many parts as the one with the most, at least one. */
static uint64_t cut_parts(cutting *c) {
  const int32_t slices = c->share->recipe->options.slices, world = c->share->recipe->world;
  uint64_t most = 1;
  c->most = most_slices(&c->share->recipe->options);
  c->whole = brim_slices_whole(&c->share->recipe->options);
  for (int32_t rank = 0; rank < world; rank++) {
    const brim_slice_range run = brim_slice_range_of(slices, world, rank);
    const int32_t before = c->count;
    if (c->whole)
      take_roots(c, rank, &run);
    else
      cut_node(c, rank, &run, 0, BRIM_MOST_SLICES);
    most = (uint64_t)(c->count - before) > most ? (uint64_t)(c->count - before) : most;
  }
  return most;
}

static int32_t count_of(const cutting *c, int32_t at) {
  int32_t count = 0;
  while (at + count < c->count && c->parts[at + count].rank == c->parts[at].rank)
    count++;
  return count;
}

/* Writes places, ends and slices: each rank's parts in their order. Where they are whole its last one is none of the empty ones,
 * so that sums are sent while it is computed. */
static int write_parts(brim_share *s, const cutting *c, brim_error *err) {
  const int32_t world = s->recipe->world;
  uint32_t next[BRIM_MOST_SLICES], end = 0;
  const uint64_t all = (uint64_t)world * s->parts;
  int32_t at = 0, empty = 0;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->ends, &s->end_room, all, sizeof *s->ends, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->slices, &s->slice_room, s->count, sizeof *s->slices, err));
  for (uint64_t part = 0; part < all; part++) {
    const bool is_own = at < c->count && (uint64_t)c->parts[at].rank == part / s->parts;
    if (is_own && part % s->parts == 0)
      empty = c->whole ? (int32_t)s->parts - count_of(c, at) : 0;
    if (is_own && empty-- <= 0) {
      for (int32_t slice = c->parts[at].first; slice < c->parts[at].end; end += (uint32_t)c->loads[slice++].rows)
        next[slice] = end;
      at++;
    }
    s->ends[part] = end;
  }
  for (uint64_t place = 0; place < s->count; place++) {
    const uint32_t slice = s->first.part_of[place];
    s->places[next[slice]] = (uint32_t)place;
    s->slices[next[slice]++] = (uint8_t)slice;
  }
  return BRIM_OK;
}

int brim_share_slices(brim_share *s, const brim_row_sizes *sizes, const uint32_t *rows, brim_error *err) {
  BRIM_TRY(brim_share_look(s, sizes, rows, err));
  if (s->recipe->options.slices == 1 || s->count == 1)
    BRIM_TRY(deal_all_to_one(s, err));
  else
    BRIM_TRY(deal(s, err));
  cutting c = {.share = s};
  spread(s);
  join_short(s);
  BRIM_TRY(check_slices(s, c.loads, err));
  s->parts = cut_parts(&c);
  return write_parts(s, &c, err);
}
