#include "batch/share.h"
#include "base/memory.h"
#include "base/status.h"
#include "batch/order.h"
#include <string.h>

void brim_share_init(brim_share *s, brim_runtime *runtime, const brim_recipe *recipe) {
  memset(s, 0, sizeof *s);
  s->runtime = runtime;
  s->recipe = recipe;
  brim_packer_init(&s->packer, runtime);
  brim_balance_init(&s->balance, runtime);
}

void brim_share_free(brim_share *s) {
  if (!s->runtime)
    return;
  brim_release(s->runtime, s->places);
  brim_release(s->runtime, s->ends);
  brim_release(s->runtime, s->slices);
  brim_release(s->runtime, s->keys);
  brim_release(s->runtime, s->several);
  brim_release(s->runtime, s->texts);
  brim_release(s->runtime, s->sorted);
  brim_release(s->runtime, s->scratch);
  brim_release(s->runtime, s->weights);
  brim_release(s->runtime, s->groups);
  brim_release(s->runtime, s->bin_of);
  brim_release(s->runtime, s->first.part_of);
  brim_release(s->runtime, s->second.part_of);
  brim_packer_free(&s->packer);
  brim_balance_free(&s->balance);
  memset(s, 0, sizeof *s);
}

/* Whether one rank can take the step as it was composed: budget batches as they are, rows of a batch_size all at once. */
static bool is_whole(const brim_share *s, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count) {
  const brim_budget *budget = &s->recipe->budget;
  if (s->recipe->world > 1)
    return false;
  if (!s->recipe->options.batch_size)
    return true;
  if (count > (uint64_t)budget->multiple && count % (uint64_t)budget->multiple)
    return false;
  if (brim_budget_open(budget))
    return true;
  brim_load load = brim_load_of(budget, sizes, rows, count);
  return brim_budget_holds(budget, &load);
}

/* The batches as composed are the parts. */
static int share_whole(brim_share *s, const uint32_t *ends, uint32_t base, uint64_t batches, brim_error *err) {
  s->parts = batches;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->ends, &s->end_room, batches, sizeof *s->ends, err));
  for (uint64_t b = 0; b < batches; b++)
    s->ends[b] = ends[b] - base;
  brim_order_identity(s->places, s->count);
  return BRIM_OK;
}

/* The only row goes to the first rank. */
static int share_one(brim_share *s, brim_error *err) {
  uint64_t ranks = (uint64_t)s->recipe->world;
  s->parts = 1;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->ends, &s->end_room, ranks, sizeof *s->ends, err));
  for (uint64_t rank = 0; rank < ranks; rank++)
    s->ends[rank] = 1;
  s->places[0] = 0;
  return BRIM_OK;
}

/* Writes places and ends. The parts of a rank come in the order of their first places, empty ones last. */
static int write_parts(brim_share *s, const brim_assignment *a, brim_error *err) {
  uint64_t ranks = (uint64_t)s->recipe->world, all = ranks * a->parts;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->ends, &s->end_room, all, sizeof *s->ends, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->groups, &s->group_room, all + ranks, sizeof *s->groups, err));
  uint32_t *number = s->groups, *used = s->groups + all; /* new number of each part; parts used by each rank */
  memset(number, 0xff, all * sizeof *number);
  memset(used, 0, ranks * sizeof *used);
  memset(s->ends, 0, all * sizeof *s->ends);
  s->parts = a->parts;
  for (uint64_t place = 0; place < s->count; place++) {
    uint32_t part = a->part_of[place];
    uint64_t rank = part / a->parts;
    if (number[part] == UINT32_MAX)
      number[part] = (uint32_t)(rank * a->parts + used[rank]++);
    s->ends[number[part]]++;
  }
  uint32_t sum = 0;
  for (uint64_t p = 0; p < all; p++) {
    uint32_t size = s->ends[p];
    s->ends[p] = sum;
    sum += size;
  }
  for (uint64_t place = 0; place < s->count; place++)
    s->places[s->ends[number[a->part_of[place]]]++] = (uint32_t)place;
  return BRIM_OK;
}

int brim_share_look(brim_share *s, const brim_row_sizes *sizes, const uint32_t *rows, brim_error *err) {
  brim_runtime *r = s->runtime;
  BRIM_TRY(brim_grow(r, (void **)&s->keys, &s->key_room, s->count, sizeof *s->keys, err));
  if (sizes->several)
    BRIM_TRY(brim_grow(r, (void **)&s->several, &s->several_room, s->count, sizeof *s->several, err));
  BRIM_TRY(brim_grow(r, (void **)&s->sorted, &s->sorted_room, s->count, sizeof *s->sorted, err));
  BRIM_TRY(brim_grow(r, (void **)&s->scratch, &s->scratch_room, s->count, sizeof *s->scratch, err));
  for (uint64_t i = 0; i < s->count; i++)
    s->keys[i] = brim_budget_cut(&s->recipe->budget, sizes->keys[rows[i]]);
  for (uint64_t i = 0; sizes->several && i < s->count; i++)
    s->several[i] = sizes->several[rows[i]];
  s->sizes = (brim_row_sizes){s->keys, sizes->several ? s->several : NULL};
  brim_order_identity(s->sorted, s->count);
  if (s->recipe->options.batching == BRIM_SEQUENTIAL)
    return BRIM_OK;
  return brim_order_sort(r, s->keys, INT32_MAX, s->sorted, s->scratch, s->count, err);
}

/* A step made of token-budget batches: they go to the ranks whole, or its rows are cut again where that leaves the costliest rank
 * less. */
static int share_batches(brim_share *s, bool loose, const uint32_t *ends, uint32_t base, uint64_t batches, brim_error *err) {
  uint64_t ranks = (uint64_t)s->recipe->world, parts = (batches + ranks - 1) / ranks;
  bool anew = s->recipe->options.tail != BRIM_TAIL_FILL;
  if (anew)
    BRIM_TRY((loose ? brim_assign_freely : brim_assign_neighbours)(s, parts, &s->second, &anew, err));
  if (anew && loose && s->second.worst <= s->second.mean * 1.001)
    return write_parts(s, &s->second, err);
  BRIM_TRY(brim_assign_batches(s, ends, base, batches, &s->first, err));
  if (loose && s->recipe->options.tail != BRIM_TAIL_FILL)
    BRIM_TRY(brim_assign_improve(s, &s->first, err));
  return write_parts(s, anew && s->second.worst < s->first.worst ? &s->second : &s->first, err);
}

bool brim_rows_stand_alone(const brim_plan_options *o) {
  return o->padding == BRIM_PAD_NONE && o->required_batch_size_multiple <= 1 && !o->rows_for;
}

bool brim_share_is_loose(const brim_recipe *recipe) {
  return brim_rows_stand_alone(&recipe->options) && recipe->options.batching != BRIM_SEQUENTIAL;
}

int brim_share_step(brim_share *s, const brim_row_sizes *sizes, const uint32_t *rows, uint64_t count, const uint32_t *ends,
                    uint32_t base, uint64_t batches, brim_error *err) {
  const brim_recipe *recipe = s->recipe;
  s->count = count;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->places, &s->place_room, count, sizeof *s->places, err));
  if (recipe->options.slices > 0)
    return brim_share_slices(s, sizes, rows, err);
  if (is_whole(s, sizes, rows, count))
    return share_whole(s, ends, base, batches, err);
  if (count == 1)
    return share_one(s, err);
  BRIM_TRY(brim_share_look(s, sizes, rows, err));
  const bool counted = s->sizes.several && recipe->budget.rows < INT64_MAX; /* packing counts texts */
  const bool loose = brim_share_is_loose(recipe) && !counted;
  if (!recipe->options.batch_size)
    return share_batches(s, loose, ends, base, batches, err);
  bool fits;
  BRIM_TRY((loose ? brim_assign_freely : brim_assign_neighbours)(s, 0, &s->first, &fits, err));
  return write_parts(s, &s->first, err);
}
