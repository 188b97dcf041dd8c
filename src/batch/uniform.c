/* Uniform-length ("smart") batching as in McCormick's tutorial: rows sorted by length; a run of neighbours is taken from a random
 * place of what is left, until nothing is left. What is left is a bit per row with a Fenwick tree over the words, so a batch
 * costs O(log rows + batch) instead of moving the list. */
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "batch/compose.h"
#include "batch/order.h"
#include <string.h>

#define NOWHERE UINT64_MAX

typedef struct remaining {
  uint64_t *bits;             /* bit i of word w: sorted row 64 w + i is still there */
  uint32_t *tree;             /* [words + 1] Fenwick tree of the words' counts */
  uint64_t words, count, top; /* top: largest power of two <= words */
} remaining;

static int remaining_init(remaining *r, brim_runtime *runtime, uint64_t rows, brim_error *err) {
  r->words = (rows + 63) / 64;
  r->count = rows;
  r->bits = brim_alloc_array(runtime, r->words, sizeof *r->bits);
  r->tree = brim_alloc_array(runtime, r->words + 1, sizeof *r->tree);
  if (!r->bits || !r->tree)
    return BRIM_NOMEM(err);
  memset(r->bits, 0xff, r->words * sizeof *r->bits);
  if (rows % 64)
    r->bits[r->words - 1] = (1ull << (rows % 64)) - 1;
  for (r->top = 1; r->top * 2 <= r->words;)
    r->top *= 2;
  r->tree[0] = 0;
  for (uint64_t i = 1; i <= r->words; i++)
    r->tree[i] = (uint32_t)__builtin_popcountll(r->bits[i - 1]);
  for (uint64_t i = 1; i <= r->words; i++) {
    uint64_t parent = i + (i & (~i + 1));
    if (parent <= r->words)
      r->tree[parent] += r->tree[i];
  }
  return BRIM_OK;
}

/* Position of the k-th remaining row, k < count. */
static uint64_t remaining_select(const remaining *r, uint64_t k) {
  uint64_t at = 0;
  for (uint64_t step = r->top; step; step /= 2) {
    if (at + step <= r->words && r->tree[at + step] <= k) {
      at += step;
      k -= r->tree[at];
    }
  }
  uint64_t word = r->bits[at];
  for (; k; k--)
    word &= word - 1;
  return at * 64 + (uint64_t)__builtin_ctzll(word);
}

/* The first remaining row at or after `from`. */
static uint64_t remaining_next(const remaining *r, uint64_t from) {
  uint64_t at = from / 64;
  if (at >= r->words)
    return NOWHERE;
  uint64_t word = r->bits[at] & (~0ull << (from % 64));
  while (!word) {
    if (++at >= r->words)
      return NOWHERE;
    word = r->bits[at];
  }
  return at * 64 + (uint64_t)__builtin_ctzll(word);
}

/* The last remaining row before `before`. */
static uint64_t remaining_previous(const remaining *r, uint64_t before) {
  if (before == 0)
    return NOWHERE;
  uint64_t at = (before - 1) / 64, last = (before - 1) % 64;
  uint64_t word = r->bits[at] & (~0ull >> (63 - last));
  while (!word) {
    if (at-- == 0)
      return NOWHERE;
    word = r->bits[at];
  }
  return at * 64 + 63 - (uint64_t)__builtin_clzll(word);
}

/* Takes away all that remains from position `first` to `last`, both included. */
static void remaining_remove(remaining *r, uint64_t first, uint64_t last) {
  for (uint64_t at = first / 64; at <= last / 64; at++) {
    uint64_t mask = ~0ull;
    if (at == first / 64)
      mask &= ~0ull << (first % 64);
    if (at == last / 64)
      mask &= ~0ull >> (63 - last % 64);
    uint32_t gone = (uint32_t)__builtin_popcountll(r->bits[at] & mask);
    if (!gone)
      continue;
    r->bits[at] &= ~mask;
    r->count -= gone;
    for (uint64_t i = at + 1; i <= r->words; i += i & (~i + 1))
      r->tree[i] -= gone;
  }
}

typedef struct run {
  uint64_t first, last; /* positions, both included */
  uint64_t rows;
} run;

/* batch_size: a run of so many, from a start that leaves room for them. */
static run choose_by_count(const brim_composition *c, const remaining *left, uint64_t random) {
  uint64_t size = (uint64_t)c->recipe->compose.rows;
  run out = {.rows = left->count < size ? left->count : size};
  out.first = out.last = remaining_select(left, random);
  for (uint64_t i = 1; i < out.rows; i++)
    out.last = remaining_next(left, out.last + 1);
  return out;
}

/* Rows to take off a run so that it has a multiple of the required number. */
static uint64_t excess(const brim_budget *budget, uint64_t rows) {
  uint64_t multiple = (uint64_t)budget->multiple;
  return rows > multiple ? rows % multiple : 0;
}

/* A budget: from a random start as far as it holds towards the shorter rows and, where the list ends first, the longer ones. */
static run choose_by_budget(const brim_composition *c, const remaining *left, uint64_t random, bool *room) {
  const brim_budget *budget = &c->recipe->compose;
  run out = {.rows = 1};
  out.first = out.last = remaining_select(left, random);
  brim_load load = brim_load_add(budget, (brim_load){0}, &c->sizes, c->scratch[out.first]);
  bool forward = true;
  for (;;) {
    uint64_t at = forward ? remaining_next(left, out.last + 1) : remaining_previous(left, out.first);
    if (at == NOWHERE && !forward)
      break;
    if (at == NOWHERE) {
      forward = false;
      continue;
    }
    brim_load more = brim_load_add(budget, load, &c->sizes, c->scratch[at]);
    if (!brim_budget_holds(budget, &more))
      break;
    load = more;
    *(forward ? &out.last : &out.first) = at;
  }
  *room = (uint64_t)load.rows == left->count && brim_budget_has_room(budget, &load);
  out.rows = (uint64_t)load.rows;
  for (uint64_t i = excess(budget, out.rows); i > 0; i--, out.rows--) {
    if (forward) {
      out.last = remaining_previous(left, out.last);
    } else {
      out.first = remaining_next(left, out.first + 1);
    }
  }
  return out;
}

/* scratch holds the sorted rows; runs go to `order` in the order in which they are chosen, which is random already. */
static int take_runs(brim_composition *c, remaining *left, brim_error *err) {
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_UNIFORM);
  uint64_t size = (uint64_t)c->recipe->compose.rows, end = 0;
  bool counted = c->recipe->options.batch_size > 0, room = false;
  while (left->count) {
    uint64_t starts = !counted ? left->count : left->count > size ? left->count - size + 1 : 1;
    uint64_t start = brim_random_below(&random, c->batches, starts);
    run chosen = counted ? choose_by_count(c, left, start) : choose_by_budget(c, left, start, &room);
    for (uint64_t at = chosen.first, i = 0; i < chosen.rows; i++, at = remaining_next(left, at + 1))
      c->order[end++] = c->scratch[at];
    remaining_remove(left, chosen.first, chosen.last);
    BRIM_TRY(brim_composition_end(c, end, err));
    if (c->batches % 4096 == 0)
      BRIM_TRY(brim_check_cancel(c->runtime, err));
    if (left->count == 0 && (counted ? chosen.rows < size : room))
      c->unfinished = c->batches - 1;
  }
  return BRIM_OK;
}

int brim_compose_uniform(brim_composition *c, brim_error *err) {
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_TIES);
  BRIM_TRY(brim_order_shuffle(c->runtime, &random, 0, c->scratch, c->rows, err));
  BRIM_TRY(brim_order_sort(c->runtime, c->sizes.keys, c->recipe->compose.limit, c->scratch, c->order, c->rows, err));
  remaining left = {0};
  int status = remaining_init(&left, c->runtime, c->rows, err);
  if (status == BRIM_OK)
    status = take_runs(c, &left, err);
  brim_release(c->runtime, left.bits);
  brim_release(c->runtime, left.tree);
  return status;
}
