/* Rows packed into batches of a token budget by best fit, over all rows or over read-ahead windows.
 *
 * First the rows are packed in random order: mixed batches without any length bias. Where that takes the least possible number of
 * steps (to one in a thousand) it is kept. Otherwise they are packed longest first as well (best fit decreasing) and the smaller
 * number of batches wins. Either way the composition is new in every epoch. */
#include "base/memory.h"
#include "base/runtime.h"
#include "base/sort.h"
#include "base/status.h"
#include "batch/compose.h"
#include "batch/order.h"
#include "batch/pack.h"
#include <string.h>

/* Of several ranks' batches this share of the budget is left free, if that costs no step: room to even out the ranks by swaps. */
enum { FREE_SHARE = 1024 };

/* Items are `multiple` rows that are neighbours in the order. Fewer, where the budget or the order ends, take a separate bin.
 */
typedef struct packing {
  brim_packer packer;
  int64_t *weights;    /* [items] tokens */
  uint32_t *sizes;     /* [items] rows */
  uint32_t *texts;     /* [items] the same memory where each row is one text */
  uint32_t *bin_of;    /* [items] */
  uint32_t *plan;      /* [rows] the better order so far */
  uint32_t *plan_ends; /* [bins] */
  uint64_t plan_bins;
  size_t end_capacity;
} packing;

static int packing_init(packing *p, const brim_composition *c, brim_error *err) {
  brim_packer_init(&p->packer, c->runtime);
  p->weights = brim_alloc_array(c->runtime, c->rows, sizeof *p->weights);
  p->sizes = brim_alloc_array(c->runtime, c->rows, sizeof *p->sizes);
  p->texts = c->sizes.several ? brim_alloc_array(c->runtime, c->rows, sizeof *p->texts) : p->sizes;
  p->bin_of = brim_alloc_array(c->runtime, c->rows, sizeof *p->bin_of);
  p->plan = brim_alloc_array(c->runtime, c->rows, sizeof *p->plan);
  if (!p->weights || !p->sizes || !p->texts || !p->bin_of || !p->plan)
    return BRIM_NOMEM(err);
  return BRIM_OK;
}

static void packing_free(packing *p, brim_runtime *runtime) {
  brim_packer_free(&p->packer);
  brim_release(runtime, p->weights);
  if (p->texts != p->sizes)
    brim_release(runtime, p->texts);
  brim_release(runtime, p->sizes);
  brim_release(runtime, p->bin_of);
  brim_release(runtime, p->plan);
  brim_release(runtime, p->plan_ends);
}

static uint64_t make_items(const brim_composition *c, packing *p, const uint32_t *rows, uint64_t count) {
  const brim_budget *budget = &c->recipe->compose;
  uint64_t items = 0, most = (uint64_t)budget->multiple;
  for (uint64_t begin = 0; begin < count; items++) {
    brim_load load = brim_load_add(budget, (brim_load){0}, &c->sizes, rows[begin]);
    uint64_t size = 1;
    for (; size < most && begin + size < count; size++) {
      const brim_load more = brim_load_add(budget, load, &c->sizes, rows[begin + size]);
      if (more.tokens > budget->slots || more.texts > budget->texts)
        break;
      load = more;
    }
    p->weights[items] = size == most ? load.tokens : budget->slots;
    p->texts[items] = (uint32_t)load.texts;
    p->sizes[items] = (uint32_t)size;
    begin += size;
  }
  return items;
}

/* Where each bin's rows begin in the plan; the end when they are in place. */
static void find_starts(packing *p, uint64_t items, uint64_t bins) {
  uint32_t sum = 0;
  memset(p->plan_ends, 0, bins * sizeof *p->plan_ends);
  for (uint64_t i = 0; i < items; i++)
    p->plan_ends[p->bin_of[i]] += p->sizes[i];
  for (uint64_t b = 0; b < bins; b++) {
    const uint32_t rows = p->plan_ends[b];
    p->plan_ends[b] = sum;
    sum += rows;
  }
}

/* Packs the rows in their present order. When that takes fewer bins than the plan so far it becomes the plan. */
static int try_order(brim_composition *c, packing *p, const uint32_t *rows, uint64_t count, int64_t capacity, brim_error *err) {
  uint64_t items = make_items(c, p, rows, count);
  BRIM_TRY(brim_pack(&p->packer, p->weights, p->texts, items, capacity, c->recipe->compose.texts, p->bin_of, err));
  uint64_t bins = p->packer.bin_count;
  if (p->plan_bins && bins >= p->plan_bins)
    return BRIM_OK;
  BRIM_TRY(brim_grow(c->runtime, (void **)&p->plan_ends, &p->end_capacity, bins, sizeof *p->plan_ends, err));
  find_starts(p, items, bins);
  for (uint64_t i = 0, begin = 0; i < items; begin += p->sizes[i++]) {
    uint32_t *to = &p->plan_ends[p->bin_of[i]];
    memcpy(p->plan + *to, rows + begin, p->sizes[i] * sizeof *rows);
    *to += p->sizes[i];
  }
  p->plan_bins = bins;
  return BRIM_OK;
}

/* What order[begin, end) takes; all rows are faster counted in file order. */
static brim_load count_all(const brim_composition *c, uint64_t begin, uint64_t end) {
  const brim_budget *budget = &c->recipe->compose;
  brim_load load = {0};
  if (end - begin < c->rows)
    return brim_load_of(budget, &c->sizes, c->order + begin, end - begin);
  for (uint64_t row = 0; row < c->rows; row++)
    load = brim_load_add(budget, load, &c->sizes, (uint32_t)row);
  return load;
}

/* The number of batches that no packing can go below. */
static uint64_t fewest_bins(const brim_composition *c, uint64_t begin, uint64_t end) {
  const brim_budget *budget = &c->recipe->compose;
  const brim_load all = count_all(c, begin, end);
  const uint64_t slots = (uint64_t)budget->slots, texts = (uint64_t)budget->texts;
  const uint64_t by_tokens = ((uint64_t)all.tokens + slots - 1) / slots, by_texts = ((uint64_t)all.texts + texts - 1) / texts;
  return by_tokens > by_texts ? by_tokens : by_texts;
}

/* Whether so many batches take as few steps as any could, to one in a thousand. */
static bool few_enough(const brim_composition *c, uint64_t bins, uint64_t fewest) {
  uint64_t size = c->recipe->accumulate, steps = (bins + size - 1) / size, least = (fewest + size - 1) / size;
  return bins && steps <= least + least / 1000;
}

/* Whether batches with a share left free may be few enough: best fit leaves a little unused, too. */
static bool may_be_free(const brim_composition *c, uint64_t fewest) {
  uint64_t bins = fewest + fewest / (FREE_SHARE - 1);
  return c->recipe->accumulate > 1 && few_enough(c, bins + bins / (4 * FREE_SHARE), fewest);
}

/* The rows of order[begin, end) come out bin by bin; *mixed says that the random order won. */
static int pack_window(brim_composition *c, packing *p, uint64_t begin, uint64_t end, bool *mixed, brim_error *err) {
  const brim_budget *budget = &c->recipe->compose;
  uint32_t *rows = c->order + begin;
  uint64_t count = end - begin, fewest = fewest_bins(c, begin, end);
  p->plan_bins = 0;
  if (may_be_free(c, fewest))
    BRIM_TRY(try_order(c, p, rows, count, budget->slots - budget->slots / FREE_SHARE, err));
  if (!few_enough(c, p->plan_bins, fewest))
    BRIM_TRY(try_order(c, p, rows, count, budget->slots, err));
  uint64_t bins = p->plan_bins;
  if (!few_enough(c, p->plan_bins, fewest)) {
    BRIM_TRY(brim_order_sort(c->runtime, c->sizes.keys, budget->limit, rows, c->scratch, count, err));
    BRIM_TRY(try_order(c, p, rows, count, budget->slots, err));
  }
  *mixed = p->plan_bins == bins;
  memcpy(rows, p->plan, count * sizeof *rows);
  for (uint64_t b = 0; b < p->plan_bins; b++)
    BRIM_TRY(brim_composition_end(c, begin + p->plan_ends[b], err));
  return BRIM_OK;
}

typedef struct filled {
  double key, cost;
  uint32_t batch;
} filled;

static bool is_fuller(const void *a, const void *b, const void *context) {
  (void)context;
  return ((const filled *)a)->key > ((const filled *)b)->key;
}

/* Puts the window's batches into steps of `accumulate`: the emptiest ones last, those that make no full step. The others in
 * random order or, when they are mixtures of all lengths, batches of like cost together (so that ranks finish together) and the
 * steps in random order. */
static int arrange_steps(brim_composition *c, uint64_t first, bool mixed, uint64_t last_count, filled *work, uint32_t *which,
                         brim_error *err) {
  const brim_budget *budget = &c->recipe->compose;
  uint64_t count = c->batches - first, full = count - last_count, size = c->recipe->accumulate;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t start = brim_composition_start(c, first + i);
    brim_load load = brim_load_of(budget, &c->sizes, c->order + start, c->ends[first + i] - start);
    work[i] = (filled){.key = -(double)load.tokens, .cost = brim_budget_cost(budget, &load), .batch = (uint32_t)i};
  }
  brim_sort(work, count, sizeof *work, is_fuller, NULL); /* fullest first */
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_BATCHES);
  uint64_t groups = mixed ? full / size : full, width = mixed ? size : 1;
  for (uint64_t i = 0; mixed && i < full; i++)
    work[i].key = work[i].cost;
  if (mixed)
    brim_sort(work, full, sizeof *work, is_fuller, NULL);
  BRIM_TRY(brim_order_shuffle(c->runtime, &random, first, which + count, groups, err));
  for (uint64_t g = 0; g < groups; g++) {
    for (uint64_t i = 0; i < width; i++)
      which[g * width + i] = work[which[count + g] * width + i].batch;
  }
  for (uint64_t i = full; i < count; i++)
    which[i] = work[i].batch;
  brim_composition_arrange(c, first, which, which + count);
  return BRIM_OK;
}

/* All windows but the last keep back what makes no full step, at least one batch: the next window packs those rows again. */
static int finish_window(brim_composition *c, uint64_t first, bool mixed, bool last, brim_error *err) {
  uint64_t count = c->batches - first, size = c->recipe->accumulate;
  uint64_t rest = last ? count % size : (count - 1) % size + 1;
  filled *work = brim_alloc_array(c->runtime, count, sizeof *work);
  uint32_t *which = brim_alloc_array(c->runtime, 2 * count, sizeof *which);
  int status = work && which ? arrange_steps(c, first, mixed, rest, work, which, err) : BRIM_NOMEM(err);
  brim_release(c->runtime, work);
  brim_release(c->runtime, which);
  if (!last)
    c->batches -= rest;
  return status;
}

static int pack_windows(brim_composition *c, packing *p, brim_error *err) {
  uint64_t window = (uint64_t)c->recipe->options.read_ahead;
  if (window == 0)
    window = c->rows;
  for (uint64_t begin = 0, end = 0; end < c->rows;) {
    BRIM_TRY(brim_check_cancel(c->runtime, err));
    end = c->rows - end > window ? end + window : c->rows;
    uint64_t first = c->batches;
    bool mixed;
    BRIM_TRY(pack_window(c, p, begin, end, &mixed, err));
    BRIM_TRY(finish_window(c, first, mixed, end == c->rows, err));
    begin = brim_composition_start(c, c->batches);
  }
  return BRIM_OK;
}

int brim_compose_packed(brim_composition *c, brim_error *err) {
  const brim_recipe *recipe = c->recipe;
  /* Padded rows cost what the longest costs: there the least number of batches comes from sorting and cutting. */
  if (recipe->options.padding != BRIM_PAD_NONE || recipe->options.rows_for)
    return brim_compose_bucketed(c, err);
  brim_random random = brim_recipe_random(recipe, BRIM_PURPOSE_SHUFFLE);
  BRIM_TRY(brim_order_shuffle(c->runtime, &random, 0, c->order, c->rows, err));
  packing p = {0};
  int status = packing_init(&p, c, err);
  if (status == BRIM_OK)
    status = pack_windows(c, &p, err);
  packing_free(&p, c->runtime);
  return status;
}
