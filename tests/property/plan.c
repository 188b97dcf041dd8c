/* Plans: the design's promises 2, 3, 4, 5, 7 and 8 over thousands of random choices of lengths and options, against slow obvious
 * versions where there is one. A failure prints the case, which is a pure function of its number. */
#include "base/memory.h"
#include "batch/order.h"
#include "brim/batch.h"
#include "tap.h"

enum { CASES = 3000, MOST_ROWS = 400 };

static brim_runtime *runtime;

/* ---- random cases ----------------------------------------------------------------------------------------- */

typedef struct plan_case {
  uint64_t number, drawn;
  int32_t lengths[MOST_ROWS];
  uint64_t rows;
  brim_plan_options options;
} plan_case;

static uint64_t draw(plan_case *c, uint64_t below) {
  brim_random random = brim_random_make(c->number, 0, BRIM_PURPOSE_SAMPLE);
  return brim_random_below(&random, c->drawn++, below);
}

static void draw_lengths(plan_case *c) {
  uint64_t kind = draw(c, 7);
  c->rows = kind == 0 ? 0 : kind == 1 ? 1 : 2 + draw(c, MOST_ROWS - 2);
  for (uint64_t i = 0; i < c->rows; i++) {
    uint64_t u = 1 + draw(c, 1000);
    switch (kind) {
    case 2: /* all equal */
      c->lengths[i] = 37;
      break;
    case 3: /* one huge */
      c->lengths[i] = i == c->rows / 2 ? 5000 : (int32_t)(1 + u % 30);
      break;
    case 4: /* heavy tail */
      c->lengths[i] = (int32_t)(1 + 4000 / u);
      break;
    case 5: /* all different */
      c->lengths[i] = (int32_t)(1 + (i * 7919) % 1009);
      break;
    default:
      c->lengths[i] = (int32_t)(1 + u % 512);
    }
  }
}

static int64_t rows_for_longest(void *context, int32_t longest) {
  return *(int64_t *)context / longest;
}

static int64_t rows_budget = 900;

static void draw_options(plan_case *c) {
  static const int32_t cuts[] = {0, 0, 64, 300};
  static const int32_t roundings[] = {0, 0, 0, 8};
  static const int64_t sizes[] = {1, 2, 8, 16, 32};
  brim_plan_options *o = &c->options;
  *o = (brim_plan_options){.batching = (brim_batching)draw(c, 6), .padding = (brim_padding)draw(c, 3), .seed = draw(c, 5)};
  o->max_length = cuts[draw(c, 4)];
  if (o->padding == BRIM_PAD_MAX_LENGTH && !o->max_length)
    o->max_length = 128;
  o->pad_to_multiple_of = roundings[draw(c, 4)];
  uint64_t limits = draw(c, 4);
  if (limits != 0)
    o->batch_size = sizes[draw(c, 5)];
  if (limits != 1 || o->batching == BRIM_PACKED)
    o->max_tokens = (int64_t)(64 + draw(c, 4000));
  if (draw(c, 5) == 0)
    o->max_rows = (int64_t)(8 + draw(c, 20));
  if (draw(c, 4) == 0)
    o->accumulate = (int64_t)(1 + draw(c, 6));
  if (draw(c, 3) == 0)
    o->read_ahead = (int64_t)(10 + draw(c, 200));
  if (draw(c, 4) == 0 && o->batch_size % 8 == 0)
    o->required_batch_size_multiple = 8;
  if (draw(c, 4) == 0 && o->max_tokens) {
    o->rows_for = rows_for_longest;
    o->rows_context = &rows_budget;
  }
  o->drop_last = draw(c, 4) == 0;
  o->oversize = draw(c, 2) ? BRIM_OVERSIZE_TRUNCATE : BRIM_OVERSIZE_ALONE;
  o->tail = (brim_tail)draw(c, 3);
  o->world_size = (int32_t)(draw(c, 3) ? 1 + draw(c, 9) : 1);
}

static void make_case(plan_case *c, uint64_t number) {
  memset(c, 0, sizeof *c);
  c->number = number;
  draw_lengths(c);
  draw_options(c);
}

static void say(const plan_case *c, const char *what) {
  const brim_plan_options *o = &c->options;
  printf("# case %llu: %s: %s+%s rows %llu B %lld M %lld max_rows %lld N %lld cut %d multiple of %d ahead %lld required %lld "
         "drop %d oversize %s tail %s world %d\n",
         (unsigned long long)c->number, what, brim_batching_name(o->batching), brim_padding_name(o->padding),
         (unsigned long long)c->rows, (long long)o->batch_size, (long long)o->max_tokens, (long long)o->max_rows,
         (long long)o->accumulate, o->max_length, o->pad_to_multiple_of, (long long)o->read_ahead,
         (long long)o->required_batch_size_multiple, o->drop_last, brim_oversize_name(o->oversize), brim_tail_name(o->tail),
         o->world_size);
}

static brim_plan *plan_of(const plan_case *c, const brim_plan_options *options, uint64_t epoch) {
  brim_plan *plan;
  brim_error error = {0};
  if (brim_plan_new(runtime, c->lengths, c->rows, options, epoch, &plan, &error)) {
    say(c, error.message);
    exit(1);
  }
  return plan;
}

static int32_t world_of(const brim_plan_options *o) {
  return o->world_size ? o->world_size : 1;
}

/* ---- what every plan keeps -------------------------------------------------------------------------------- */

/* Length after max_length and, with oversize truncate, what one row may take. */
static int32_t cut_length(const brim_plan_options *o, int32_t length) {
  int64_t limit = o->max_length ? o->max_length : INT32_MAX, rounding = o->pad_to_multiple_of > 1 ? o->pad_to_multiple_of : 1;
  if (o->oversize == BRIM_OVERSIZE_TRUNCATE && o->max_tokens) {
    int64_t fit = o->padding == BRIM_PAD_NONE ? o->max_tokens : o->max_tokens / rounding * rounding;
    if (fit < limit)
      limit = fit;
  }
  return length < limit ? length : (int32_t)limit;
}

/* One part against the promises: counts, width, budget, caps and multiples. */
static const char *check_part(const plan_case *c, const brim_planned *part) {
  const brim_plan_options *o = &c->options;
  int64_t tokens = 0, longest = 0, multiple = o->required_batch_size_multiple, rounding = o->pad_to_multiple_of;
  double cost = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    int32_t length = cut_length(o, c->lengths[part->rows[i]]);
    tokens += length;
    longest = length > longest ? length : longest;
    cost += o->padding == BRIM_PAD_NONE ? 4608.0 * length + (double)length * length
                                        : 4608.0 * part->width + (double)part->width * part->width;
    if (i && part->places[i] <= part->places[i - 1])
      return "places of a part ascend";
  }
  int64_t width = o->padding == BRIM_PAD_MAX_LENGTH ? cut_length(o, INT32_MAX) : longest;
  if (rounding > 1)
    width = (width + rounding - 1) / rounding * rounding;
  if (o->padding == BRIM_PAD_NONE || part->count == 0)
    width = 0;
  if (part->tokens != tokens)
    return "tokens";
  if (part->width != width)
    return "width";
  if (part->slots != (o->padding == BRIM_PAD_NONE ? tokens : part->count * width))
    return "slots";
  if (fabs(part->cost - cost) > 1e-6 * cost)
    return "cost";
  bool alone = part->count == 1 && o->oversize == BRIM_OVERSIZE_ALONE;
  if (o->max_tokens && part->slots > o->max_tokens && !alone)
    return "promise 3: slots <= max_tokens";
  if (o->max_rows && part->count > o->max_rows)
    return "max_rows";
  if (multiple > 1 && part->count > multiple && part->count % multiple)
    return "required multiple";
  if (o->rows_for && part->count > 1 && part->count > rows_for_longest(o->rows_context, (int32_t)longest))
    return "rows_for";
  if (o->batch_size && part->step_rows > o->batch_size)
    return "a step has at most batch_size rows";
  return NULL;
}

/* Walks all parts: seen[row] counts, places fill each step, equal parts on every rank. */
static const char *check_parts(const plan_case *c, const brim_plan *plan, uint32_t *seen) {
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  uint64_t parts = brim_plan_parts(plan), steps = brim_plan_steps(plan), batches = 0, rows = 0, tokens = 0, slots = 0;
  uint32_t taken[MOST_ROWS];
  for (uint64_t step = 0, begin = 0; step < steps; step++) {
    uint64_t end = begin;
    uint32_t step_rows = 0, counted = 0;
    memset(taken, 0, sizeof taken);
    for (; end < parts; end++) {
      brim_planned part;
      brim_plan_part(plan, 0, end, &part);
      if (part.step != step)
        break;
      for (int32_t rank = 0; rank < world_of(&c->options); rank++) {
        brim_plan_part(plan, rank, end, &part);
        const char *wrong = check_part(c, &part);
        if (wrong)
          return wrong;
        if (part.step != step || part.rank != rank)
          return "every rank is in the same step";
        step_rows = part.step_rows;
        counted += part.count;
        for (uint32_t i = 0; i < part.count; i++) {
          seen[part.rows[i]]++;
          if (part.places[i] >= part.step_rows || taken[part.places[i]]++)
            return "places are 0 .. step_rows - 1, once each";
        }
        batches += part.count > 0;
        tokens += (uint64_t)part.tokens;
        slots += (uint64_t)part.slots;
      }
    }
    if (begin == end || counted != step_rows || counted == 0)
      return "step_rows counts the rows of all ranks";
    rows += counted;
    begin = end;
    if (step + 1 == steps && end != parts)
      return "parts end with the last step";
  }
  bool same = ledger.batches == batches && ledger.rows_planned == rows && ledger.tokens == tokens && ledger.slots == slots &&
              ledger.steps == steps && ledger.rows_read == c->rows;
  return same ? NULL : "the ledger agrees with the parts";
}

/* Promise 2: every row is planned once or named once. */
static const char *check_conservation(const plan_case *c, const brim_plan *plan, uint32_t *seen) {
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  uint64_t truncated = 0, lost = 0, all = 0, dropped_tokens = 0;
  for (uint64_t i = 0; i < ledger.dropped; i++) {
    seen[ledger.drops[i].row]++;
    dropped_tokens += (uint64_t)cut_length(&c->options, c->lengths[ledger.drops[i].row]);
    if (!ledger.drops[i].reason)
      return "a drop has a reason";
  }
  for (uint64_t row = 0; row < c->rows; row++) {
    int32_t cut = cut_length(&c->options, c->lengths[row]);
    if (seen[row] != 1)
      return "promise 2: each row once";
    truncated += cut < c->lengths[row];
    lost += (uint64_t)(c->lengths[row] - cut);
    all += (uint64_t)c->lengths[row];
  }
  if (ledger.rows_read != ledger.rows_planned + ledger.dropped)
    return "promise 2: the sum";
  if (ledger.rows_truncated != truncated || ledger.tokens_lost != lost)
    return "truncation is counted";
  if (all != ledger.tokens + ledger.tokens_lost + dropped_tokens)
    return "tokens are conserved";
  bool may_drop = c->options.drop_last || c->options.tail == BRIM_TAIL_DROP;
  if (ledger.dropped && !may_drop)
    return "the default drops nothing";
  if (may_drop && c->options.batch_size && ledger.dropped != c->rows % (uint64_t)c->options.batch_size)
    return "drop_last drops the short step";
  return NULL;
}

static void test_invariants(void) {
  int bad = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    plan_case c;
    make_case(&c, number);
    uint32_t seen[MOST_ROWS] = {0};
    brim_plan *plan = plan_of(&c, &c.options, 0);
    const char *wrong = check_parts(&c, plan, seen);
    if (!wrong)
      wrong = check_conservation(&c, plan, seen);
    if (wrong) {
      bad++;
      say(&c, wrong);
    }
    brim_plan_free(plan);
  }
  ok(bad == 0, "conservation, budget, caps, multiples, places, equal parts and the ledger in %d random cases", CASES);
}

/* ---- the step does not depend on how it is computed ------------------------------------------------------- */

/* steps[row] and places[row] of a plan; UINT32_MAX for dropped rows. */
static void places_of(const plan_case *c, const brim_plan *plan, int32_t world, uint32_t *steps, uint32_t *places) {
  memset(steps, 0xff, MOST_ROWS * sizeof *steps);
  memset(places, 0xff, MOST_ROWS * sizeof *places);
  (void)c;
  for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
    for (int32_t rank = 0; rank < world; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, p, &part);
      for (uint32_t i = 0; i < part.count; i++) {
        steps[part.rows[i]] = (uint32_t)part.step;
        places[part.rows[i]] = part.places[i];
      }
    }
  }
}

static bool same_steps(const plan_case *c, const brim_plan_options *a, const brim_plan_options *b) {
  static uint32_t steps[2][MOST_ROWS], places[2][MOST_ROWS];
  const brim_plan_options *options[] = {a, b};
  for (int i = 0; i < 2; i++) {
    brim_plan *plan = plan_of(c, options[i], 3);
    places_of(c, plan, world_of(options[i]), steps[i], places[i]);
    brim_plan_free(plan);
  }
  return memcmp(steps[0], steps[1], sizeof steps[0]) == 0 && memcmp(places[0], places[1], sizeof places[0]) == 0;
}

/* Promise 8: with batch_size a step and its places depend on nothing that is about execution; with max_tokens alone not on the
 * number of ranks. */
static void test_execution(void) {
  int bad = 0, compared = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    plan_case c;
    make_case(&c, number);
    brim_plan_options other = c.options;
    other.world_size = (int32_t)(1 + draw(&c, 9));
    if (c.options.batch_size) {
      other.max_tokens = 5000 + (int64_t)draw(&c, 5000);
      other.padding = (brim_padding)draw(&c, c.options.max_length ? 3 : 2);
      other.pad_to_multiple_of = (int32_t)draw(&c, 9);
      other.max_rows = 0;
      other.accumulate = (int64_t)draw(&c, 4);
      other.rows_for = NULL;
      other.tail = c.options.tail == BRIM_TAIL_DROP ? BRIM_TAIL_DROP : BRIM_TAIL_FILL;
    } else {
      c.options.accumulate = other.accumulate = (int64_t)(1 + draw(&c, 9));
    }
    compared++;
    if (!same_steps(&c, &c.options, &other)) {
      bad++;
      say(&c, "the same steps and places");
      c.options = other;
      say(&c, "as these");
    }
  }
  ok(bad == 0 && compared == CASES, "steps and places do not depend on ranks, cuts and padding (%d pairs)", compared);
}

/* Promise 4: the hash and every part are the same for another runtime, whatever its threads. */
static void test_determinism(void) {
  brim_runtime *other;
  brim_runtime_options four = {.threads = 4};
  if (brim_runtime_new(&four, &other, NULL))
    exit(1);
  int bad = 0, same_hashes = 0;
  for (uint64_t number = 0; number < 300; number++) {
    plan_case c;
    make_case(&c, number);
    brim_plan *a = plan_of(&c, &c.options, 1), *b = NULL;
    if (brim_plan_new(other, c.lengths, c.rows, &c.options, 1, &b, NULL))
      exit(1);
    brim_ledger la, lb, lc;
    brim_plan_ledger(a, &la);
    brim_plan_ledger(b, &lb);
    bad += la.hash != lb.hash || la.slots != lb.slots || brim_plan_parts(a) != brim_plan_parts(b);
    brim_plan_free(b);
    b = plan_of(&c, &c.options, 2);
    brim_plan_ledger(b, &lc);
    same_hashes += la.rows_planned > 40 && c.options.batching != BRIM_SEQUENTIAL && la.hash == lc.hash;
    brim_plan_free(a);
    brim_plan_free(b);
  }
  brim_runtime_free(other);
  ok(bad == 0, "the same plan from runtimes with 1 and 4 threads");
  ok(same_hashes == 0, "another epoch has another hash");
}

/* ---- promise 5: fresh composition ------------------------------------------------------------------------- */

/* How many pairs of rows that share a step in the one plan also do in the other, as a share. */
static double kept_pairs(const plan_case *c, uint64_t epoch) {
  static uint32_t steps[2][MOST_ROWS], places[2][MOST_ROWS];
  for (int i = 0; i < 2; i++) {
    brim_plan *plan = plan_of(c, &c->options, epoch + (uint64_t)i);
    places_of(c, plan, world_of(&c->options), steps[i], places[i]);
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

/* ---- ranks ------------------------------------------------------------------------------------------------ */

static int costlier_first(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

/* No way of sharing out leaves less to the costliest rank: the mean, the costliest row, and two rows on one rank when there are
 * more rows than ranks. */
static double least_possible(double *costs, uint64_t rows, int32_t world) {
  qsort(costs, rows, sizeof *costs, costlier_first);
  double all = 0, least = costs[0];
  for (uint64_t i = 0; i < rows; i++)
    all += costs[i];
  if (all / world > least)
    least = all / world;
  if (rows > (uint64_t)world && costs[world - 1] + costs[world] > least)
    least = costs[world - 1] + costs[world];
  return least;
}

static void test_balance(void) {
  double sum = 0, worst = 0;
  uint64_t steps = 0;
  for (uint64_t number = 0; number < 200; number++) {
    plan_case c;
    make_case(&c, number);
    c.options = (brim_plan_options){.batching = BRIM_RANDOM, .batch_size = 64, .seed = number};
    c.options.world_size = 2 + (int32_t)(number % 8);
    brim_plan *plan = plan_of(&c, &c.options, 0);
    for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
      double most = 0, costs[MOST_ROWS];
      uint64_t rows = 0;
      for (int32_t rank = 0; rank < c.options.world_size; rank++) {
        brim_planned part;
        brim_plan_part(plan, rank, p, &part);
        most = part.cost > most ? part.cost : most;
        for (uint32_t i = 0; i < part.count; i++) {
          double length = c.lengths[part.rows[i]];
          costs[rows++] = 4608 * length + length * length;
        }
      }
      double ratio = most / least_possible(costs, rows, c.options.world_size);
      worst = ratio > worst ? ratio : worst;
      sum += ratio;
      steps++;
    }
    brim_plan_free(plan);
  }
  ok(worst < 4.0 / 3 + 1e-9, "no rank costs more than 4/3 of the least possible (%llu steps): %.3f", (unsigned long long)steps,
     worst);
  ok(sum / (double)steps < 1.015, "on average within 1.5 %% of it: %.4f", sum / (double)steps);
}

int main(void) {
  brim_runtime_options one = {.threads = 1};
  if (brim_runtime_new(&one, &runtime, NULL))
    return 1;
  test_invariants();
  test_execution();
  test_determinism();
  test_fresh();
  test_obvious();
  test_sorted();
  test_packed();
  test_equivalences();
  test_balance();
  brim_runtime_free(runtime);
  return tap_done();
}
