/* Ways to give the rows of a step to ranks and parts. */
#include "base/memory.h"
#include "base/status.h"
#include "batch/share.h"
#include <math.h>

static int make_room(brim_share *s, brim_assignment *out, brim_error *err) {
  return brim_grow(s->runtime, (void **)&out->part_of, &out->room, s->count, sizeof *out->part_of, err);
}

static uint32_t ranks_of(const brim_share *s) {
  return (uint32_t)s->recipe->world;
}

/* Parts of a rank: the number asked for, or (0) the fewest that hold so many groups. */
static int set_parts(const brim_share *s, uint64_t parts, uint64_t groups, brim_assignment *out, brim_error *err) {
  uint64_t ranks = ranks_of(s);
  out->parts = parts ? parts : (groups + ranks - 1) / ranks;
  if (out->parts * ranks < UINT32_MAX)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_UNSUPPORTED, "a step of %llu parts on each of %llu ranks is too much: raise max_tokens",
                        (unsigned long long)out->parts, (unsigned long long)ranks);
}

static void read_costs(const brim_share *s, brim_assignment *out) {
  out->worst = brim_balance_worst(&s->balance);
  out->mean = brim_balance_mean(&s->balance);
}

/* Deals groups of known cost to the ranks, at most `parts` to each: part_of_group[g] is the part that group g becomes. The
 * balance holds one item a group with its cost. */
static void deal(brim_balance *b, uint64_t parts, uint32_t *part_of_group) {
  b->capacity = (int64_t)parts; /* one bin a rank, one unit of weight a group */
  b->text_capacity = INT64_MAX;
  for (size_t i = 0; i < b->count; i++)
    b->items[i].weight = b->items[i].texts = 1;
  if (parts == 1) {
    for (size_t i = 0; i < b->count; i++)
      b->items[i].bin = b->items[i].id;
    brim_balance_adopt(b);
  } else {
    brim_balance_sort(b);
    brim_balance_assign(b); /* always fits: ranks * parts >= groups */
    brim_balance_improve(b);
  }
  for (uint32_t rank = 0; rank < b->ranks; rank++)
    b->heap[rank] = 0; /* groups of the rank so far */
  for (size_t i = 0; i < b->count; i++) {
    uint32_t rank = b->items[i].bin;
    part_of_group[b->items[i].id] = rank * (uint32_t)parts + b->heap[rank]++;
  }
}

int brim_assign_batches(brim_share *s, const uint32_t *ends, uint32_t base, uint64_t batches, brim_assignment *out,
                        brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  BRIM_TRY(make_room(s, out, err));
  BRIM_TRY(set_parts(s, 0, batches, out, err));
  BRIM_TRY(brim_balance_shape(&s->balance, ranks_of(s), 1, batches, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->bin_of, &s->bin_room, batches, sizeof *s->bin_of, err));
  for (uint64_t b = 0, place = 0; b < batches; b++) {
    brim_load load = {0};
    for (; place < ends[b] - base; place++)
      load = brim_load_add(budget, load, &s->sizes, (uint32_t)place);
    s->balance.items[b] = (brim_balance_item){.id = (uint32_t)b, .cost = brim_budget_cost(budget, &load)};
  }
  deal(&s->balance, out->parts, s->bin_of);
  read_costs(s, out);
  for (uint64_t b = 0, place = 0; b < batches; b++) {
    for (; place < ends[b] - base; place++)
      out->part_of[place] = s->bin_of[b];
  }
  return BRIM_OK;
}

/* Cuts `sorted` from the front into groups that hold and cost at most `cap` (of the rows beyond the required multiple); gives up
 * after `most` groups. With `rest`, the cost of all rows, a group ends where it comes closest to its share of what is left. */
static uint64_t cut_in_order(brim_share *s, double cap, double rest, uint64_t most) {
  const brim_budget *budget = &s->recipe->budget;
  uint64_t groups = 0, multiple = (uint64_t)budget->multiple;
  for (uint64_t begin = 0; begin < s->count && groups < most; groups++) {
    brim_load load = {0};
    uint64_t taken = 0;
    double cost = 0, share = rest > 0 ? rest / (double)(most - groups) : HUGE_VAL;
    for (; begin + taken < s->count; taken++) {
      brim_load more = brim_load_add(budget, load, &s->sizes, s->sorted[begin + taken]);
      if (taken > 0 && !brim_budget_holds(budget, &more))
        break;
      double next = brim_budget_cost(budget, &more);
      if (taken >= multiple && (next > cap || next - share > share - cost))
        break;
      load = more;
      cost = next;
    }
    rest -= rest > 0 ? cost : 0;
    if (taken > multiple)
      taken -= taken % multiple;
    begin += taken;
    s->groups[groups] = (uint32_t)begin;
    if (groups + 1 == most && begin < s->count)
      return most + 1;
  }
  return groups;
}

/* The most even cut into at most `most` groups: the smallest cap that does it, by bisection; below that cap, groups of like cost.
 */
static uint64_t cut_evenly(brim_share *s, uint64_t most) {
  brim_load all = {0};
  double rows = 0;
  for (uint64_t i = 0; i < s->count; i++) {
    all = brim_load_add(&s->recipe->budget, all, &s->sizes, (uint32_t)i);
    rows += brim_budget_row_cost(&s->recipe->budget, &s->sizes, (uint32_t)i);
  }
  double low = 0, high = brim_budget_cost(&s->recipe->budget, &all);
  while (high - low > high * 0.004) {
    double middle = (low + high) / 2;
    if (cut_in_order(s, middle, 0, most) <= most) {
      high = middle;
    } else {
      low = middle;
    }
  }
  uint64_t groups = cut_in_order(s, high, rows, most);
  return groups <= most ? groups : cut_in_order(s, high, 0, most);
}

int brim_assign_neighbours(brim_share *s, uint64_t parts, brim_assignment *out, bool *fits, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  BRIM_TRY(make_room(s, out, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->groups, &s->group_room, s->count, sizeof *s->groups, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->bin_of, &s->bin_room, s->count, sizeof *s->bin_of, err));
  double no_cap = HUGE_VAL;
  uint64_t groups = cut_in_order(s, no_cap, 0, s->count), ranks = ranks_of(s);
  BRIM_TRY(set_parts(s, parts, groups, out, err));
  *fits = groups <= out->parts * ranks;
  if (!*fits)
    return BRIM_OK;
  if (ranks > 1)
    groups = cut_evenly(s, out->parts * ranks);
  BRIM_TRY(brim_balance_shape(&s->balance, ranks_of(s), 1, groups, err));
  for (uint64_t g = 0, i = 0; g < groups; g++) {
    brim_load load = {0};
    for (; i < s->groups[g]; i++)
      load = brim_load_add(budget, load, &s->sizes, s->sorted[i]);
    s->balance.items[g] = (brim_balance_item){.id = (uint32_t)g, .cost = brim_budget_cost(budget, &load)};
  }
  deal(&s->balance, out->parts, s->bin_of);
  read_costs(s, out);
  for (uint64_t g = 0, i = 0; g < groups; g++) {
    for (; i < s->groups[g]; i++)
      out->part_of[s->sorted[i]] = s->bin_of[g];
  }
  return BRIM_OK;
}

/* Texts that a part may have, of which `accumulate` counts rows. */
static int64_t text_capacity(const brim_share *s) {
  const brim_budget *budget = &s->recipe->budget;
  return s->sizes.several || budget->texts < budget->rows ? budget->texts : budget->rows;
}

/* Best fit decreasing: scratch-free when everything fits one part. bin_of[i] is the bin of sorted[i]. */
static int pack_sorted(brim_share *s, uint64_t *bins, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->bin_of, &s->bin_room, s->count, sizeof *s->bin_of, err));
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->weights, &s->weight_room, s->count, sizeof *s->weights, err));
  for (uint64_t i = 0; i < s->count; i++)
    s->weights[i] = brim_row_tokens(budget, &s->sizes, s->sorted[i]);
  if (s->sizes.several)
    BRIM_TRY(brim_grow(s->runtime, (void **)&s->texts, &s->text_room, s->count, sizeof *s->texts, err));
  for (uint64_t i = 0; s->sizes.several && i < s->count; i++)
    s->texts[i] = (uint32_t)brim_row_texts(&s->sizes, s->sorted[i]);
  const uint32_t *texts = s->sizes.several ? s->texts : NULL;
  BRIM_TRY(brim_pack(&s->packer, s->weights, texts, s->count, budget->slots, text_capacity(s), s->bin_of, err));
  *bins = s->packer.bin_count;
  return BRIM_OK;
}

/* Rows as items of the balance, costliest first, in bins of the budget. */
static int rows_as_items(brim_share *s, uint64_t parts, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  brim_balance *b = &s->balance;
  BRIM_TRY(brim_balance_shape(b, ranks_of(s), (uint32_t)parts, s->count, err));
  b->capacity = budget->slots;
  b->text_capacity = text_capacity(s);
  for (uint64_t i = 0; i < s->count; i++) {
    const uint32_t place = s->sorted[i];
    b->items[i] = (brim_balance_item){.id = place,
                                      .weight = brim_row_tokens(budget, &s->sizes, place),
                                      .texts = brim_row_texts(&s->sizes, place),
                                      .cost = brim_budget_row_cost(budget, &s->sizes, place)};
  }
  return BRIM_OK;
}

static void read_items(const brim_share *s, brim_assignment *out) {
  for (size_t i = 0; i < s->balance.count; i++)
    out->part_of[s->balance.items[i].id] = s->balance.items[i].bin;
  read_costs(s, out);
}

/* The packed bins become the parts, dealt to the ranks by cost. */
static int adopt_bins(brim_share *s, uint64_t bins, brim_assignment *out, brim_error *err) {
  const brim_budget *budget = &s->recipe->budget;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->groups, &s->group_room, bins, sizeof *s->groups, err));
  BRIM_TRY(brim_balance_shape(&s->balance, ranks_of(s), 1, bins, err));
  for (uint64_t g = 0; g < bins; g++)
    s->balance.items[g] = (brim_balance_item){.id = (uint32_t)g};
  for (uint64_t i = 0; i < s->count; i++)
    s->balance.items[s->bin_of[i]].cost += brim_budget_row_cost(budget, &s->sizes, s->sorted[i]);
  deal(&s->balance, out->parts, s->groups);
  for (uint64_t i = 0; i < s->count; i++)
    out->part_of[s->sorted[i]] = s->groups[s->bin_of[i]];
  read_costs(s, out);
  return BRIM_OK;
}

int brim_assign_improve(brim_share *s, brim_assignment *assignment, brim_error *err) {
  BRIM_TRY(rows_as_items(s, assignment->parts, err));
  for (size_t i = 0; i < s->balance.count; i++)
    s->balance.items[i].bin = assignment->part_of[s->balance.items[i].id];
  brim_balance_adopt(&s->balance);
  brim_balance_improve(&s->balance);
  read_items(s, assignment);
  return BRIM_OK;
}

int brim_assign_freely(brim_share *s, uint64_t parts, brim_assignment *out, bool *fits, brim_error *err) {
  uint64_t bins = 1, ranks = ranks_of(s);
  BRIM_TRY(make_room(s, out, err));
  if (parts == 0 && !brim_budget_open(&s->recipe->budget))
    BRIM_TRY(pack_sorted(s, &bins, err));
  BRIM_TRY(set_parts(s, parts, bins, out, err));
  *fits = true;
  if (ranks == 1)
    return adopt_bins(s, bins, out, err);
  BRIM_TRY(rows_as_items(s, out->parts, err));
  if (brim_balance_assign(&s->balance)) {
    brim_balance_improve(&s->balance);
    read_items(s, out);
    return BRIM_OK;
  }
  *fits = parts == 0;
  if (!*fits)
    return BRIM_OK;
  BRIM_TRY(adopt_bins(s, bins, out, err));
  return brim_assign_improve(s, out, err);
}
