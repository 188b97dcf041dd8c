/* What each strategy promises beyond that: a fresh composition each epoch, and slow obvious versions to compare with.
 */
#include "batch/order.h"
#include "plan_case.h"

/* ---- fresh composition ------------------------------------------------------------------------- */

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

/* Rows by length, longest first; equal lengths as they were. */
static void insertion_sort(const plan_case *c, uint32_t *order) {
  for (uint64_t i = 1; i < c->rows; i++) {
    uint32_t row = order[i];
    uint64_t j = i;
    for (; j > 0 && c->lengths[order[j - 1]] < c->lengths[row]; j--)
      order[j] = order[j - 1];
    order[j] = row;
  }
}

/* The same, equal lengths in the order of the epoch's shuffle. */
static void slow_sort(const plan_case *c, uint32_t *order) {
  brim_random ties = brim_random_make(c->options.seed, 3, BRIM_PURPOSE_TIES);
  if (brim_order_shuffle(runtime, &ties, 0, order, c->rows, NULL))
    exit(1);
  insertion_sort(c, order);
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
    if (!tap_takes("obvious", number))
      continue;
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

/* ---- sorted and packed, batch for batch ------------------------------------------------------------------- */

/* Batches as a list: rows in order, and where each batch ends. */
typedef struct batch_list {
  uint32_t rows[MOST_ROWS], ends[MOST_ROWS];
  uint64_t count;
} batch_list;

static uint32_t start_of(const batch_list *list, uint64_t batch) {
  return batch ? list->ends[batch - 1] : 0;
}

static brim_random random_for(const plan_case *c, brim_purpose purpose) {
  return brim_random_make(c->options.seed, 3, purpose);
}

static void shuffle(const plan_case *c, brim_purpose purpose, uint32_t *out, uint64_t count) {
  brim_random random = random_for(c, purpose);
  if (brim_order_shuffle(runtime, &random, 0, out, count, NULL))
    exit(1);
}

/* Cuts list->rows from the front, the first batch after `first` rows (0: when it is full); the slots that it takes. */
static int64_t slow_cut(const plan_case *c, uint64_t first, batch_list *list) {
  int64_t slots = 0;
  list->count = 0;
  for (uint64_t begin = 0, end = 0; begin < c->rows; begin = end) {
    do
      end++;
    while (end < c->rows && !(begin == 0 && end == first) &&
           slow_slots(c, list->rows + begin, end - begin + 1) <= c->options.max_tokens);
    slots += slow_slots(c, list->rows + begin, end - begin);
    list->ends[list->count++] = (uint32_t)end;
  }
  return slots;
}

static bool has_tie_at_cut(const plan_case *c, const batch_list *list) {
  for (uint64_t b = 0; b + 1 < list->count; b++)
    if (c->lengths[list->rows[list->ends[b]]] == c->lengths[list->rows[list->ends[b] - 1]])
      return true;
  return false;
}

/* One batch is short, anywhere; where none is and no equal lengths meet at a cut, the neighbours at each change places at the
 * toss of a coin. */
static void slow_sorted_by_rows(const plan_case *c, batch_list *list) {
  brim_random random = random_for(c, BRIM_PURPOSE_CUT);
  uint64_t size = (uint64_t)c->options.batch_size, rest = c->rows % size;
  list->count = (c->rows + size - 1) / size;
  uint64_t at = rest ? brim_random_below(&random, 0, list->count) : list->count;
  for (uint64_t b = 0, end = 0; b < list->count; b++)
    list->ends[b] = (uint32_t)(end += b == at ? rest : size);
  const bool stays = rest || has_tie_at_cut(c, list);
  for (uint64_t b = 1; !stays && b < list->count; b++) {
    uint32_t *cut = list->rows + list->ends[b - 1], row = *cut;
    if (brim_random_u64(&random, b) & 1) {
      *cut = cut[-1];
      cut[-1] = row;
    }
  }
}

/* Of four random first cuts the first that costs nothing; else none if equal lengths meet at a cut; else the cheapest of the
 * four. */
static void slow_sorted_by_tokens(const plan_case *c, batch_list *list) {
  brim_random random = random_for(c, BRIM_PURPOSE_CUT);
  int64_t slots = slow_cut(c, 0, list), least = 0;
  uint64_t full = list->ends[0], batches = list->count, fewest = 0, first = 0;
  if (full < 2 || batches < 2)
    return;
  bool tie = has_tie_at_cut(c, list);
  for (uint64_t i = 0; i < 4; i++) {
    uint64_t rows = 1 + brim_random_below(&random, i, full - 1);
    int64_t other = slow_cut(c, rows, list);
    if (list->count <= batches && other <= slots)
      return;
    if (i == 0 || list->count < fewest || (list->count == fewest && other < least)) {
      first = rows;
      fewest = list->count;
      least = other;
    }
  }
  slow_cut(c, tie ? 0 : first, list);
}

static bool sorted_as_slow(const plan_case *c) {
  batch_list slow, got;
  uint32_t which[MOST_ROWS], at = 0;
  slow_sort(c, slow.rows);
  if (c->options.batch_size)
    slow_sorted_by_rows(c, &slow);
  else
    slow_sorted_by_tokens(c, &slow);
  brim_plan *plan = plan_of(c, &c->options, 3);
  got.count = rows_of(plan, got.rows, got.ends);
  brim_plan_free(plan);
  if (got.count != slow.count)
    return false;
  shuffle(c, BRIM_PURPOSE_BATCHES, which, slow.count);
  for (uint64_t b = 0; b < slow.count; b++) {
    uint32_t from = start_of(&slow, which[b]), size = slow.ends[which[b]] - from;
    if (memcmp(got.rows + at, slow.rows + from, size * sizeof *got.rows) != 0 || got.ends[b] != (at += size))
      return false;
  }
  return true;
}

/* Each row into the fullest bin that still holds it, of several the one that was last put into. */
static uint64_t slow_best_fit(const plan_case *c, const uint32_t *order, uint64_t *bin_of) {
  int64_t left[MOST_ROWS];
  uint64_t touched[MOST_ROWS], bins = 0;
  for (uint64_t i = 0; i < c->rows; i++) {
    int64_t length = c->lengths[order[i]];
    uint64_t best = bins;
    for (uint64_t b = 0; b < bins; b++)
      if (left[b] >= length && (best == bins || left[b] < left[best] || (left[b] == left[best] && touched[b] > touched[best])))
        best = b;
    if (best == bins)
      left[bins++] = c->options.max_tokens;
    left[best] -= length;
    touched[best] = i;
    bin_of[i] = best;
  }
  return bins;
}

/* In random order or, where that takes more bins than it must and sorting saves one, longest first. */
static bool slow_pack(const plan_case *c, batch_list *list) {
  uint32_t order[MOST_ROWS], sorted[MOST_ROWS];
  uint64_t bin_of[MOST_ROWS], sorted_bin_of[MOST_ROWS], tokens = 0, budget = (uint64_t)c->options.max_tokens, used = 0;
  for (uint64_t i = 0; i < c->rows; i++)
    tokens += (uint64_t)c->lengths[i];
  shuffle(c, BRIM_PURPOSE_SHUFFLE, order, c->rows);
  memcpy(sorted, order, sizeof sorted);
  insertion_sort(c, sorted);
  uint64_t bins = slow_best_fit(c, order, bin_of), decreasing = slow_best_fit(c, sorted, sorted_bin_of);
  bool mixed = bins <= (tokens + budget - 1) / budget || bins <= decreasing;
  list->count = mixed ? bins : decreasing;
  for (uint64_t b = 0; b < list->count; b++) {
    for (uint64_t i = 0; i < c->rows; i++)
      if ((mixed ? bin_of : sorted_bin_of)[i] == b)
        list->rows[used++] = (mixed ? order : sorted)[i];
    list->ends[b] = (uint32_t)used;
  }
  return mixed;
}

/* The same bins, ranked by cost where rows are mixed and by tokens (fullest first) where not, and the ranks shuffled. */
static bool packed_as_slow(const plan_case *c, bool *mixed) {
  batch_list slow, got;
  uint32_t which[MOST_ROWS];
  uint64_t batch_of[MOST_ROWS];
  double rank[MOST_ROWS];
  *mixed = slow_pack(c, &slow);
  brim_plan *plan = plan_of(c, &c->options, 3);
  got.count = rows_of(plan, got.rows, got.ends);
  shuffle(c, BRIM_PURPOSE_BATCHES, which, got.count);
  for (uint64_t b = 0; b < got.count; b++) {
    brim_planned part;
    brim_plan_part(plan, 0, b, &part);
    batch_of[part.rows[0]] = b;
    rank[which[b]] = *mixed ? part.cost : -(double)part.tokens;
  }
  brim_plan_free(plan);
  bool same = got.count == slow.count;
  for (uint64_t b = 0; same && b < slow.count; b++) {
    uint64_t other = batch_of[slow.rows[start_of(&slow, b)]];
    uint32_t from = start_of(&slow, b), size = slow.ends[b] - from;
    same = other < got.count && got.ends[other] - start_of(&got, other) == size &&
           memcmp(slow.rows + from, got.rows + start_of(&got, other), size * sizeof *got.rows) == 0 &&
           (b == 0 || rank[b] >= rank[b - 1]);
  }
  return same;
}

static int32_t longest_of(const plan_case *c) {
  int32_t longest = 0;
  for (uint64_t i = 0; i < c->rows; i++)
    longest = c->lengths[i] > longest ? c->lengths[i] : longest;
  return longest;
}

static void test_batch_for_batch(void) {
  int by_rows = 0, by_tokens = 0, packed = 0, mixtures = 0, decreasing = 0;
  for (uint64_t number = 0; number < 600; number++) {
    plan_case c;
    bool mixed = false;
    if (!tap_takes("batch for batch", number))
      continue;
    make_case(&c, number);
    if (c.rows == 0)
      continue;
    c.options = (brim_plan_options){.batching = BRIM_SORTED, .batch_size = (int64_t)(1 + number % 20), .seed = number};
    by_rows += !sorted_as_slow(&c);
    c.options.batch_size = 0;
    c.options.max_tokens = 5000 + (int64_t)(number * 7);
    c.options.padding = number % 3 ? BRIM_PAD_LONGEST : BRIM_PAD_NONE;
    by_tokens += !sorted_as_slow(&c);
    c.options.batching = BRIM_PACKED;
    c.options.padding = BRIM_PAD_NONE;
    c.options.max_tokens = longest_of(&c) + (int64_t)(number % 300);
    packed += !packed_as_slow(&c, &mixed);
    mixtures += mixed;
    decreasing += !mixed;
  }
  ok(by_rows == 0, "sorted by rows is the sorted list cut and shuffled, batch for batch (%d differ)", by_rows);
  ok(by_tokens == 0, "and by tokens (%d differ)", by_tokens);
  ok(packed == 0, "packed over the whole set is best fit over a list of bins, batch for batch (%d differ)", packed);
  ok(mixtures > 50 / (2 * TAP_ONE_IN) && decreasing > 20 / (2 * TAP_ONE_IN), "in random order (%d) and longest first (%d)",
     mixtures, decreasing);
}

/* Sorted: no batch reaches into another's range of lengths, but for the neighbours that change places at a cut. */
static void test_sorted(void) {
  int bad = 0, more = 0;
  for (uint64_t number = 0; number < 400; number++) {
    plan_case c;
    if (!tap_takes("sorted", number))
      continue;
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
    if (!tap_takes("packed", number))
      continue;
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
    if (!tap_takes("equivalences", number))
      continue;
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
  test_batch_for_batch();
  test_sorted();
  test_packed();
  test_equal();
  test_equivalences();
  brim_runtime_free(runtime);
  return tap_done();
}
