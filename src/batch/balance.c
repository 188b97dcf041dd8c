#include "batch/balance.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

void brim_balance_init(brim_balance *b, brim_runtime *runtime) {
  *b = (brim_balance){.runtime = runtime};
}

void brim_balance_free(brim_balance *b) {
  if (!b->runtime)
    return;
  brim_release(b->runtime, b->items);
  brim_release(b->runtime, b->bins);
  brim_release(b->runtime, b->costs);
  brim_release(b->runtime, b->heap);
  brim_release(b->runtime, b->starts);
  brim_release(b->runtime, b->lists);
  *b = (brim_balance){0};
}

int brim_balance_shape(brim_balance *b, uint32_t ranks, uint32_t bins_per_rank, uint64_t count, brim_error *err) {
  brim_runtime *r = b->runtime;
  b->ranks = ranks;
  b->bins_per_rank = bins_per_rank;
  b->count = count;
  BRIM_TRY(brim_grow(r, (void **)&b->items, &b->item_room, count, sizeof *b->items, err));
  BRIM_TRY(brim_grow(r, (void **)&b->lists, &b->list_room, count, sizeof *b->lists, err));
  BRIM_TRY(brim_grow(r, (void **)&b->bins, &b->bin_room, (size_t)ranks * bins_per_rank, sizeof *b->bins, err));
  BRIM_TRY(brim_grow(r, (void **)&b->costs, &b->cost_room, ranks, sizeof *b->costs, err));
  BRIM_TRY(brim_grow(r, (void **)&b->heap, &b->heap_room, ranks, sizeof *b->heap, err));
  return brim_grow(r, (void **)&b->starts, &b->start_room, (size_t)ranks + 1, sizeof *b->starts, err);
}

static bool costlier(const brim_balance_item *a, const brim_balance_item *b) {
  return a->cost > b->cost || (a->cost == b->cost && a->id < b->id);
}

static void sift_item(brim_balance_item *heap, size_t count, size_t at) {
  brim_balance_item item = heap[at];
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= count)
      break;
    if (child + 1 < count && costlier(&heap[child], &heap[child + 1]))
      child++;
    if (!costlier(&item, &heap[child]))
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = item;
}

void brim_balance_sort(brim_balance *b) { /* heap sort with the cheapest on top */
  for (size_t i = b->count / 2; i-- > 0;)
    sift_item(b->items, b->count, i);
  for (size_t i = b->count; i-- > 1;) {
    brim_balance_item cheapest = b->items[0];
    b->items[0] = b->items[i];
    b->items[i] = cheapest;
    sift_item(b->items, i, 0);
  }
}

static void empty(brim_balance *b) {
  memset(b->bins, 0, (size_t)b->ranks * b->bins_per_rank * sizeof *b->bins);
  memset(b->costs, 0, b->ranks * sizeof *b->costs);
}

/* Whether a bin of this content, of which `without` is taken away (NULL: nothing), holds the item too. */
static bool holds(const brim_balance *b, const brim_balance_bin *bin, const brim_balance_item *without,
                  const brim_balance_item *item) {
  const int64_t weight = bin->weight - (without ? without->weight : 0), texts = bin->texts - (without ? without->texts : 0);
  return texts == 0 || (weight <= b->capacity - item->weight && texts <= b->text_capacity - item->texts);
}

static void put(brim_balance *b, brim_balance_item *item, uint32_t bin) {
  item->bin = bin;
  b->bins[bin].weight += item->weight;
  b->bins[bin].texts += item->texts;
  b->costs[bin / b->bins_per_rank] += item->cost;
}

static void take(brim_balance *b, const brim_balance_item *item) {
  b->bins[item->bin].weight -= item->weight;
  b->bins[item->bin].texts -= item->texts;
  b->costs[item->bin / b->bins_per_rank] -= item->cost;
}

static bool cheaper(const brim_balance *b, uint32_t x, uint32_t y) {
  return b->costs[x] < b->costs[y] || (b->costs[x] == b->costs[y] && x < y);
}

static void sift_rank(const brim_balance *b, uint32_t count, uint32_t at) {
  uint32_t rank = b->heap[at];
  for (;;) {
    uint32_t child = 2 * at + 1;
    if (child >= count)
      break;
    if (child + 1 < count && cheaper(b, b->heap[child + 1], b->heap[child]))
      child++;
    if (!cheaper(b, b->heap[child], rank))
      break;
    b->heap[at] = b->heap[child];
    at = child;
  }
  b->heap[at] = rank;
}

/* The fullest bin of the rank that holds the item; UINT32_MAX: none. */
static uint32_t find_bin(const brim_balance *b, uint32_t rank, const brim_balance_item *item) {
  uint32_t best = UINT32_MAX, first = rank * b->bins_per_rank;
  for (uint32_t bin = first; bin < first + b->bins_per_rank; bin++) {
    if (!holds(b, &b->bins[bin], NULL, item))
      continue;
    if (best == UINT32_MAX || b->bins[bin].weight > b->bins[best].weight)
      best = bin;
  }
  return best;
}

/* The cheapest rank is on top of the heap; ranks without room wait after its end until the item is placed. */
static bool assign_item(brim_balance *b, brim_balance_item *item) {
  uint32_t live = b->ranks;
  while (live) {
    uint32_t rank = b->heap[0], bin = find_bin(b, rank, item);
    if (bin != UINT32_MAX) {
      put(b, item, bin);
      sift_rank(b, live, 0);
      break;
    }
    b->heap[0] = b->heap[--live];
    b->heap[live] = rank;
    if (live)
      sift_rank(b, live, 0);
  }
  if (live == 0)
    return false;
  for (; live < b->ranks; live++) { /* back into the heap */
    for (uint32_t at = live; at && cheaper(b, b->heap[at], b->heap[(at - 1) / 2]); at = (at - 1) / 2) {
      uint32_t rank = b->heap[at];
      b->heap[at] = b->heap[(at - 1) / 2];
      b->heap[(at - 1) / 2] = rank;
    }
  }
  return true;
}

bool brim_balance_assign(brim_balance *b) {
  empty(b);
  for (uint32_t rank = 0; rank < b->ranks; rank++)
    b->heap[rank] = rank;
  for (size_t i = 0; i < b->count; i++) {
    if (!assign_item(b, &b->items[i]))
      return false;
  }
  return true;
}

void brim_balance_adopt(brim_balance *b) {
  empty(b);
  for (size_t i = 0; i < b->count; i++)
    put(b, &b->items[i], b->items[i].bin);
}

static uint32_t costliest(const brim_balance *b) {
  uint32_t worst = 0;
  for (uint32_t rank = 1; rank < b->ranks; rank++)
    if (b->costs[rank] > b->costs[worst])
      worst = rank;
  return worst;
}

double brim_balance_worst(const brim_balance *b) {
  return b->costs[costliest(b)];
}

double brim_balance_mean(const brim_balance *b) {
  double total = 0;
  for (uint32_t rank = 0; rank < b->ranks; rank++)
    total += b->costs[rank];
  return total / b->ranks;
}

/* lists[starts[rank] .. starts[rank + 1]): the rank's items, costliest first. */
static void make_lists(brim_balance *b) {
  memset(b->starts, 0, ((size_t)b->ranks + 1) * sizeof *b->starts);
  for (size_t i = 0; i < b->count; i++)
    b->starts[b->items[i].bin / b->bins_per_rank + 1]++;
  for (uint32_t rank = 0; rank < b->ranks; rank++)
    b->starts[rank + 1] += b->starts[rank];
  for (size_t i = 0; i < b->count; i++)
    b->lists[b->starts[b->items[i].bin / b->bins_per_rank]++] = (uint32_t)i;
  for (uint32_t rank = b->ranks; rank > 0; rank--)
    b->starts[rank] = b->starts[rank - 1];
  b->starts[0] = 0;
}

typedef struct exchange {
  size_t give, get; /* items; get is NOTHING for a move */
  double worse;     /* cost of the costlier of the two ranks afterwards */
} exchange;

#define NOTHING SIZE_MAX

/* Whether y's bin may hold x in its place, and x's bin y. */
static bool swap_fits(const brim_balance *b, const brim_balance_item *x, const brim_balance_item *y) {
  return holds(b, &b->bins[y->bin], y, x) && holds(b, &b->bins[x->bin], x, y);
}

static void consider(const brim_balance *b, exchange *best, size_t give, size_t get, uint32_t from, uint32_t to) {
  double moved = b->items[give].cost - (get == NOTHING ? 0 : b->items[get].cost);
  double left = b->costs[from] - moved, grown = b->costs[to] + moved, worse = left > grown ? left : grown;
  if (moved > 0 && worse < best->worse)
    *best = (exchange){give, get, worse};
}

/* The best exchange of item x of `from` with something of `to`: ideally half of the difference changes sides. */
static void search_partner(const brim_balance *b, exchange *best, size_t x, uint32_t from, uint32_t to) {
  enum { LOOK = 4 };
  const brim_balance_item *give = &b->items[x];
  double ideal = give->cost - (b->costs[from] - b->costs[to]) / 2;
  if (find_bin(b, to, give) != UINT32_MAX)
    consider(b, best, x, NOTHING, from, to);
  uint32_t low = b->starts[to], high = b->starts[to + 1];
  while (low < high) { /* the first that costs at most the ideal */
    uint32_t middle = low + (high - low) / 2;
    if (b->items[b->lists[middle]].cost > ideal) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  for (uint32_t i = low, seen = 0; i < b->starts[to + 1] && seen < LOOK; i++, seen++) {
    if (!swap_fits(b, give, &b->items[b->lists[i]]))
      continue;
    consider(b, best, x, b->lists[i], from, to);
    break;
  }
  for (uint32_t i = low, seen = 0; i > b->starts[to] && seen < LOOK; i--, seen++) {
    if (!swap_fits(b, give, &b->items[b->lists[i - 1]]))
      continue;
    consider(b, best, x, b->lists[i - 1], from, to);
    break;
  }
}

static void perform(brim_balance *b, const exchange *e, uint32_t to) {
  brim_balance_item *x = &b->items[e->give], *y = e->get == NOTHING ? NULL : &b->items[e->get];
  uint32_t from_bin = x->bin, to_bin = y ? y->bin : find_bin(b, to, x);
  take(b, x);
  if (y)
    take(b, y);
  put(b, x, to_bin);
  if (y)
    put(b, y, from_bin);
}

void brim_balance_improve(brim_balance *b) {
  double enough = brim_balance_mean(b) * 1.0005;
  for (uint32_t round = 0; round < 8 * b->ranks + 64; round++) {
    uint32_t from = costliest(b), best_to = 0;
    if (b->costs[from] <= enough)
      return;
    make_lists(b);
    exchange best = {.worse = b->costs[from] * (1 - 1e-9)};
    for (uint32_t to = 0; to < b->ranks; to++) {
      if (to == from || (b->costs[from] + b->costs[to]) / 2 >= best.worse)
        continue;
      double before = best.worse;
      for (uint32_t i = b->starts[from]; i < b->starts[from + 1]; i++)
        search_partner(b, &best, b->lists[i], from, to);
      if (best.worse < before)
        best_to = to;
    }
    if (best.worse >= b->costs[from] * (1 - 1e-9))
      return;
    perform(b, &best, best_to);
  }
}
