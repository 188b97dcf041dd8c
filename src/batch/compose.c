#include "batch/compose.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "batch/order.h"
#include <string.h>

int brim_composition_end(brim_composition *c, uint64_t end, brim_error *err) {
  BRIM_TRY(brim_grow(c->runtime, (void **)&c->ends, &c->capacity, c->batches + 1, sizeof *c->ends, err));
  c->ends[c->batches++] = (uint32_t)end;
  return BRIM_OK;
}

int brim_composition_cut(brim_composition *c, uint64_t begin, uint64_t end, bool keep_tail, uint64_t *tail, brim_error *err) {
  bool room = false;
  while (begin < end) {
    uint64_t count = brim_budget_take(&c->recipe->compose, &c->sizes, c->order + begin, end - begin, &room);
    if (room && keep_tail)
      break;
    begin += count;
    BRIM_TRY(brim_composition_end(c, begin, err));
  }
  if (room && !keep_tail)
    c->unfinished = c->batches - 1;
  *tail = begin;
  return BRIM_OK;
}

void brim_composition_arrange(brim_composition *c, uint64_t first, const uint32_t *which, uint32_t *new_ends) {
  uint64_t begin = brim_composition_start(c, first), to = begin, unfinished = c->unfinished;
  for (uint64_t i = 0; i < c->batches - first; i++) {
    uint64_t from = brim_composition_start(c, first + which[i]), count = c->ends[first + which[i]] - from;
    memcpy(c->scratch + to, c->order + from, count * sizeof *c->order);
    to += count;
    new_ends[i] = (uint32_t)to;
    if (first + which[i] == c->unfinished)
      unfinished = first + i;
  }
  c->unfinished = unfinished;
  memcpy(c->order + begin, c->scratch + begin, (to - begin) * sizeof *c->order);
  memcpy(c->ends + first, new_ends, (c->batches - first) * sizeof *c->ends);
}

int brim_composition_shuffle(brim_composition *c, uint64_t first, brim_error *err) {
  uint64_t count = c->batches - first;
  if (count < 2)
    return BRIM_OK;
  uint32_t *which = brim_alloc_array(c->runtime, 2 * count, sizeof *which);
  if (!which)
    return BRIM_NOMEM(err);
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_BATCHES);
  int status = brim_order_shuffle(c->runtime, &random, first, which, count, err);
  if (status == BRIM_OK)
    brim_composition_arrange(c, first, which, which + count);
  brim_release(c->runtime, which);
  return status;
}

int brim_composition_move_last(brim_composition *c, uint64_t batch, brim_error *err) {
  uint64_t count = c->batches - batch;
  uint32_t *which = brim_alloc_array(c->runtime, 2 * count, sizeof *which);
  if (!which)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < count; i++)
    which[i] = (uint32_t)((i + 1) % count);
  brim_composition_arrange(c, batch, which, which + count);
  brim_release(c->runtime, which);
  return BRIM_OK;
}

/* File order, or a permutation of it, cut from the front. */
static int compose_plain(brim_composition *c, bool shuffle, brim_error *err) {
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_SHUFFLE);
  if (shuffle) {
    BRIM_TRY(brim_order_shuffle(c->runtime, &random, 0, c->order, c->rows, err));
  } else {
    brim_order_identity(c->order, c->rows);
  }
  uint64_t tail;
  return brim_composition_cut(c, 0, c->rows, false, &tail, err);
}

static int compose(brim_composition *c, brim_error *err) {
  switch (c->recipe->options.batching) {
  case BRIM_SEQUENTIAL:
    return compose_plain(c, false, err);
  case BRIM_RANDOM:
    return compose_plain(c, true, err);
  case BRIM_UNIFORM:
    return brim_compose_uniform(c, err);
  case BRIM_SORTED:
    return brim_compose_sorted(c, err);
  case BRIM_BUCKETED:
    return brim_compose_bucketed(c, err);
  case BRIM_PACKED:
    /* With batch_size the steps are random ones: the budget decides inside each of them only. */
    return c->recipe->options.batch_size ? compose_plain(c, true, err) : brim_compose_packed(c, err);
  }
  return brim_error_set(err, BRIM_E_INTERNAL, "unknown batching");
}

int brim_compose(brim_composition *c, brim_runtime *runtime, const brim_recipe *recipe, const brim_row_sizes *sizes,
                 uint64_t rows, brim_error *err) {
  *c = (brim_composition){.runtime = runtime, .recipe = recipe, .sizes = *sizes, .rows = rows, .unfinished = BRIM_NO_BATCH};
  if (rows == 0)
    return BRIM_OK;
  c->order = brim_alloc_array(runtime, rows, sizeof *c->order);
  c->scratch = brim_alloc_array(runtime, rows, sizeof *c->scratch);
  if (!c->order || !c->scratch)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_check_cancel(runtime, err));
  return compose(c, err);
}

void brim_composition_free(brim_composition *c) {
  brim_release(c->runtime, c->order);
  brim_release(c->runtime, c->scratch);
  brim_release(c->runtime, c->ends);
  memset(c, 0, sizeof *c);
}
