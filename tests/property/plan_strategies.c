/* What each strategy promises beyond that: a fresh composition each epoch (promise 5), and slow obvious versions to compare with.
 */
#include "batch/order.h"
#include "plan_case.h"

/* ---- promise 5: fresh composition ------------------------------------------------------------------------- */

/* How many pairs of rows that share a step in the one plan also do in the other, as a share. */
static double kept_pairs(const plan_case *c, uint64_t epoch) {
  static uint32_t steps[2][MOST_ROWS], places[2][MOST_ROWS];
  for (int i = 0; i < 2; i++) {
    brim_plan *plan = plan_of(c, &c->options, epoch + (uint64_t)i);
    places_of(plan, world_of(&c->options), steps[i], places[i]);
    brim_plan_free(plan);
  }
  uint64_t pairs = 0, kept = 0;
  for (uint64_t i = 0; i < c->rows; i++) {
    for (uint64_t j = 0; j < i; j++) {
      if (steps[0][i] != steps[0][j])
        continue;
      pairs++;
      kept += steps[1][i] == steps[1][j];
    }
  }
  return (double)kept / (double)pairs;
}

static void test_fresh(void) {
  for (int batching = BRIM_RANDOM; batching <= BRIM_PACKED; batching++) {
    for (int by_tokens = 0; by_tokens < 2; by_tokens++) {
      for (int kind = 0; kind < 2; kind++) { /* many equal lengths; all lengths different, which leaves the cuts alone */
        plan_case c = {.rows = MOST_ROWS};
        for (uint64_t i = 0; i < c.rows; i++)
          c.lengths[i] = kind ? (int32_t)(20 + (i * 7919) % 1009) : (int32_t)(20 + (i * 7919) % 40);
        c.options = (brim_plan_options){.batching = (brim_batching)batching, .padding = BRIM_PAD_LONGEST};
        if (batching == BRIM_PACKED)
          c.options.padding = BRIM_PAD_NONE;
        if (by_tokens || batching == BRIM_PACKED)
          c.options.max_tokens = 8000;
        if (!by_tokens)
          c.options.batch_size = 16;
        int frozen = 0;
        for (uint64_t epoch = 0; epoch < 10; epoch++)
          frozen += kept_pairs(&c, epoch) == 1;
        ok(frozen <= (kind ? 2 : 0), "%s by %s, %s lengths: %d of 10 epochs repeat the last composition",
           brim_batching_name(c.options.batching), by_tokens ? "tokens" : "rows", kind ? "different" : "equal", frozen);
      }
    }
  }
}

/* ---- slow obvious versions -------------------------------------------------------------------------------- */

/* The rows of all parts in order, one rank. */
static uint64_t rows_of(const brim_plan *plan, uint32_t *out, uint32_t *ends) {
  uint64_t rows = 0;
  for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
    brim_planned part;
    brim_plan_part(plan, 0, p, &part);
    for (uint32_t i = 0; i < part.count; i++)
      out[rows++] = (uint32_t)part.rows[i];
    ends[p] = (uint32_t)rows;
  }
  return brim_plan_parts(plan);
}

static int64_t slow_slots(const plan_case *c, const uint32_t *rows, uint64_t count) {
  int64_t tokens = 0, longest = 0;
  for (uint64_t i = 0; i < count; i++) {
    int32_t length = cut_length(&c->options, c->lengths[rows[i]]);
    tokens += length;
    longest = length > longest ? length : longest;
  }
  return c->options.padding == BRIM_PAD_NONE ? tokens : (int64_t)count * longest;
}

/* File order: each batch is the longest prefix of what is left that the budget holds. */
static bool sequential_is_greedy(const plan_case *c, const uint32_t *rows, const uint32_t *ends, uint64_t batches) {
  for (uint64_t i = 0; i < c->rows; i++)
    if (rows[i] != i)
      return false;
  for (uint64_t b = 0, begin = 0; b < batches; begin = ends[b++]) {
    if (slow_slots(c, rows + begin, ends[b] - begin) > c->options.max_tokens)
      return false;
    bool more = ends[b] < c->rows;
    if (more && slow_slots(c, rows + begin, ends[b] - begin + 1) <= c->options.max_tokens)
      return false;
  }
  return true;
}

/* Rows by length, longest first, equal lengths in the order of the epoch's shuffle: by insertion. */
static void slow_sort(const plan_case *c, uint32_t *order) {
  brim_random ties = brim_random_make(c->options.seed, 3, BRIM_PURPOSE_TIES);
  if (brim_order_shuffle(runtime, &ties, 0, order, c->rows, NULL))
    exit(1);
  for (uint64_t i = 1; i < c->rows; i++) {
    uint32_t row = order[i];
    uint64_t j = i;
    for (; j > 0 && c->lengths[order[j - 1]] < c->lengths[row]; j--)
      order[j] = order[j - 1];
    order[j] = row;
  }
}

/* McCormick's loop, deleting from a list. */
static uint64_t slow_uniform(const plan_case *c, uint32_t *out, uint32_t *ends) {
  uint32_t list[MOST_ROWS];
  slow_sort(c, list);
  brim_random random = brim_random_make(c->options.seed, 3, BRIM_PURPOSE_UNIFORM);
  uint64_t left = c->rows, batches = 0, done = 0, size = (uint64_t)c->options.batch_size;
  while (left) {
    uint64_t take = left < size ? left : size, start = brim_random_below(&random, batches, left - take + 1);
    memcpy(out + done, list + start, take * sizeof *out);
    memmove(list + start, list + start + take, (left - start - take) * sizeof *list);
    left -= take;
    done += take;
    ends[batches++] = (uint32_t)done;
  }
  return batches;
}

static void test_obvious(void) {
  int sequential = 0, uniform = 0;
  for (uint64_t number = 0; number < 400; number++) {
    plan_case c;
    uint32_t rows[MOST_ROWS], ends[MOST_ROWS], want[MOST_ROWS], want_ends[MOST_ROWS];
    make_case(&c, number);
    brim_padding padding = number % 2 ? BRIM_PAD_LONGEST : BRIM_PAD_NONE;
    c.options = (brim_plan_options){.padding = padding, .max_tokens = 5000, .seed = number};
    brim_plan *plan = plan_of(&c, &c.options, 3);
    uint64_t batches = rows_of(plan, rows, ends);
    sequential += !sequential_is_greedy(&c, rows, ends, batches);
    brim_plan_free(plan);

    c.options = (brim_plan_options){.batching = BRIM_UNIFORM, .batch_size = (int64_t)(1 + number % 40), .seed = number};
    plan = plan_of(&c, &c.options, 3);
    batches = rows_of(plan, rows, ends);
    uint64_t wanted = slow_uniform(&c, want, want_ends);
    uniform += batches != wanted || memcmp(rows, want, c.rows * sizeof *rows) || memcmp(ends, want_ends, wanted * sizeof *ends);
    brim_plan_free(plan);
  }
  ok(sequential == 0, "sequential with a budget is the greedy cut of the file");
  ok(uniform == 0, "uniform is the tutorial's loop over a list, run for run");
}

/* Sorted: no batch reaches into another's range of lengths, but for the neighbours that change places at a cut. */
static void test_sorted(void) {
  int bad = 0, more = 0;
  for (uint64_t number = 0; number < 400; number++) {
    plan_case c;
    make_case(&c, number);
    int64_t size = (int64_t)(1 + number % 20);
    c.options = (brim_plan_options){.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .batch_size = size, .seed = number};
    brim_plan *plan = plan_of(&c, &c.options, 0);
    uint32_t rows[MOST_ROWS], ends[MOST_ROWS];
    uint64_t batches = rows_of(plan, rows, ends), allowed = c.rows % (uint64_t)size ? 0 : 1;
    more += batches != (c.rows + (uint64_t)size - 1) / (uint64_t)size;
    for (uint64_t a = 0; a < batches; a++) {
      for (uint64_t b = 0; b < batches; b++) {
        uint32_t *x = rows + (a ? ends[a - 1] : 0), *y = rows + (b ? ends[b - 1] : 0), *end = rows + ends[b];
        uint64_t above = 0, below = 0;
        int32_t low = INT32_MAX, high = 0;
        for (uint32_t *p = x; p < rows + ends[a]; p++) {
          low = c.lengths[*p] < low ? c.lengths[*p] : low;
          high = c.lengths[*p] > high ? c.lengths[*p] : high;
        }
        for (uint32_t *p = y; p < end; p++) {
          above += c.lengths[*p] > low;
          below += c.lengths[*p] < high;
        }
        bad += a != b && above > allowed && below > allowed;
      }
    }
    brim_plan_free(plan);
  }
  ok(bad == 0, "sorted batches hold neighbours in length");
  ok(more == 0, "and never more than one short batch");
}

/* Best fit leaves at most one batch half empty or less, whatever the order. */
static void test_packed(void) {
  int half = 0, least = 0, over = 0;
  for (uint64_t number = 0; number < 400; number++) {
    plan_case c;
    make_case(&c, number);
    c.options = (brim_plan_options){.batching = BRIM_PACKED, .max_tokens = 5000 + (int64_t)(number * 13), .seed = number};
    if (number % 3 == 0)
      c.options.read_ahead = 60;
    brim_plan *plan = plan_of(&c, &c.options, 0);
    int sparse = 0;
    int64_t tokens = 0, parts = (int64_t)brim_plan_parts(plan);
    for (int64_t p = 0; p < parts; p++) {
      brim_planned part;
      brim_plan_part(plan, 0, (uint64_t)p, &part);
      sparse += 2 * part.tokens <= c.options.max_tokens;
      over += part.tokens > c.options.max_tokens;
      tokens += part.tokens;
    }
    int64_t bound = (tokens + c.options.max_tokens - 1) / c.options.max_tokens;
    half += sparse > 1;
    least += parts < bound || parts > bound + 1 + bound / 4;
    brim_plan_free(plan);
  }
  ok(half == 0 && over == 0, "packed: at most one batch is half empty or less, none too full");
  ok(least == 0, "packed: close to the least possible number of batches");
}

/* Rows of equal length, ten to a budget: full batches wherever the runs start, and a first cut that costs nothing. */
static void test_equal(void) {
  plan_case c = {.rows = 103};
  int sizes[11] = {0}, short_runs = 0, batches = 0;
  for (uint64_t i = 0; i < c.rows; i++)
    c.lengths[i] = 40;
  for (uint64_t seed = 0; seed < 50; seed++) {
    c.options = (brim_plan_options){.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .max_tokens = 400, .seed = seed};
    brim_plan *plan = plan_of(&c, &c.options, 0);
    uint64_t least = 10;
    for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
      brim_planned part;
      brim_plan_part(plan, 0, p, &part);
      least = part.count < least ? part.count : least;
    }
    sizes[least]++;
    batches += brim_plan_parts(plan) != 11;
    brim_plan_free(plan);
    c.options.batching = BRIM_UNIFORM;
    plan = plan_of(&c, &c.options, 0);
    for (uint64_t p = 0; p + 1 < brim_plan_parts(plan); p++) {
      brim_planned part;
      brim_plan_part(plan, 0, p, &part);
      short_runs += part.count != 10;
    }
    brim_plan_free(plan);
  }
  ok(batches == 0, "sorted by tokens: the random first cut costs no batch");
  ok(sizes[3] < 40 && sizes[4] && sizes[5] && sizes[6], "and is random: smallest batches of 3 (%d), 4 (%d), 5 (%d), 6 (%d) rows",
     sizes[3], sizes[4], sizes[5], sizes[6]);
  ok(short_runs == 0, "uniform by tokens: only the last run is short");
}

/* One window: bucketed is sorted; packed and padded is bucketed. */
static void test_equivalences(void) {
  int bad = 0;
  for (uint64_t number = 0; number < 200; number++) {
    plan_case c;
    make_case(&c, number);
    brim_plan_options a = {.batching = BRIM_SORTED, .padding = BRIM_PAD_LONGEST, .max_tokens = 6000, .seed = number}, b = a;
    b.batching = number % 2 ? BRIM_BUCKETED : BRIM_PACKED;
    b.read_ahead = number % 4 < 2 ? 0 : 5000;
    bad += !same_steps(&c, &a, &b);
  }
  ok(bad == 0, "with one window bucketed, and packed when padded, are sorted");
}

int main(void) {
  brim_runtime_options one = {.threads = 1};
  if (brim_runtime_new(&one, &runtime, NULL))
    return 1;
  test_fresh();
  test_obvious();
  test_sorted();
  test_packed();
  test_equal();
  test_equivalences();
  brim_runtime_free(runtime);
  return tap_done();
}
