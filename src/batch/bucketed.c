/* Read-ahead windows of a random order, each sorted longest first and cut, its batches shuffled (infinibatch's
 * BucketedReadaheadBatchIterator).
 *
 * Two things wait for the next window: the rows that do not fill a last batch, so that only the epoch ends short; and the batch
 * whose rows differ most in length, which will find closer neighbours there (once: no row waits twice for that). With windows of
 * ten batches the second rule removes about a third of the padding. */
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "batch/compose.h"
#include "batch/order.h"

/* What padding a batch to its longest row would add, whatever the padding at hand: a step must not depend on it. */
static int64_t unevenness(const brim_composition *c, uint64_t batch) {
  uint64_t start = brim_composition_start(c, batch);
  brim_load load = brim_load_of(&c->recipe->compose, &c->sizes, c->order + start, c->ends[batch] - start);
  return load.texts * load.longest - load.tokens;
}

/* The most uneven of the window's batches goes to its end and is taken back; `waited` has a bit for every row that waited so. */
static int hold_back_worst(brim_composition *c, uint64_t first, uint64_t *waited, brim_error *err) {
  uint64_t worst = BRIM_NO_BATCH;
  int64_t most = 0;
  for (uint64_t b = first; b < c->batches; b++) {
    uint32_t longest = c->order[brim_composition_start(c, b)];
    if (waited[longest / 64] >> (longest % 64) & 1)
      continue;
    int64_t uneven = unevenness(c, b);
    if (uneven <= most)
      continue;
    most = uneven;
    worst = b;
  }
  if (worst == BRIM_NO_BATCH)
    return BRIM_OK;
  BRIM_TRY(brim_composition_move_last(c, worst, err));
  c->batches--;
  for (uint64_t i = brim_composition_start(c, c->batches); i < c->ends[c->batches]; i++)
    waited[c->order[i] / 64] |= 1ull << (c->order[i] % 64);
  return BRIM_OK;
}

static int compose_windows(brim_composition *c, uint64_t window, uint64_t *waited, brim_error *err) {
  for (uint64_t begin = 0, end = 0; end < c->rows;) {
    BRIM_TRY(brim_check_cancel(c->runtime, err));
    end = c->rows - end > window ? end + window : c->rows;
    int32_t limit = c->recipe->compose.limit;
    BRIM_TRY(brim_order_sort(c->runtime, c->sizes.keys, limit, c->order + begin, c->scratch, end - begin, err));
    uint64_t first = c->batches, tail;
    bool last = end == c->rows;
    BRIM_TRY(brim_composition_cut(c, begin, end, !last, &tail, err));
    if (!last)
      BRIM_TRY(hold_back_worst(c, first, waited, err));
    BRIM_TRY(brim_composition_shuffle(c, first, err));
    begin = brim_composition_start(c, c->batches);
  }
  return BRIM_OK;
}

int brim_compose_bucketed(brim_composition *c, brim_error *err) {
  uint64_t window = (uint64_t)c->recipe->options.read_ahead;
  if (window == 0 || window >= c->rows)
    return brim_compose_sorted(c, err); /* one window: nothing but its cuts is random */
  brim_random random = brim_recipe_random(c->recipe, BRIM_PURPOSE_SHUFFLE);
  BRIM_TRY(brim_order_shuffle(c->runtime, &random, 0, c->order, c->rows, err));
  uint64_t *waited = brim_alloc_array_zero(c->runtime, c->rows / 64 + 1, sizeof *waited);
  if (!waited)
    return BRIM_NOMEM(err);
  int status = compose_windows(c, window, waited, err);
  brim_release(c->runtime, waited);
  return status;
}
