/* What every plan keeps: what include/brim/batch.h promises, over thousands of random choices of lengths and options. */
#include "batch/recipe.h"
#include "plan_case.h"

enum { CASES = 3000 };

/* ---- what every plan keeps -------------------------------------------------------------------------------- */

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
    return "slots <= max_tokens";
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

/* Every row is planned once or named once. */
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
      return "each row once";
    truncated += cut < c->lengths[row];
    lost += (uint64_t)(c->lengths[row] - cut);
    all += (uint64_t)c->lengths[row];
  }
  if (ledger.rows_read != ledger.rows_planned + ledger.dropped)
    return "the sum";
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
  int bad = 0, cases = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    plan_case c;
    if (!tap_takes("invariants", number))
      continue;
    cases++;
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
  ok(bad == 0, "conservation, budget, caps, multiples, places, equal parts and the ledger in %d random cases", cases);
}

/* ---- the step does not depend on how it is computed ------------------------------------------------------- */

/* With batch_size a step and its places depend on nothing that is about execution; with max_tokens alone not on the
 * number of ranks. */
static void test_execution(void) {
  int bad = 0, compared = 0;
  for (uint64_t number = 0; number < CASES && bad < 5; number++) {
    plan_case c;
    if (!tap_takes("execution", number))
      continue;
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
  ok(bad == 0 && compared >= CASES / TAP_ONE_IN, "steps and places do not depend on ranks, cuts and padding (%d pairs)",
     compared);
}

/* The hash and every part are the same for another runtime, whatever its threads. */
static void test_determinism(void) {
  brim_runtime *other;
  brim_runtime_options four = {.threads = 4};
  if (brim_runtime_new(&four, &other, NULL))
    exit(1);
  int bad = 0, same_hashes = 0;
  for (uint64_t number = 0; number < 300; number++) {
    plan_case c;
    if (!tap_takes("determinism", number))
      continue;
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

/* ---- steps that are shared out at once -------------------------------------------------------------------- */

enum { MANY_ROWS = 70 * 700, MOST_BATCHES = 64, MOST_RANKS = 9 };

/* A plan beside the same one for a single rank, which has the batches as they were composed. */
typedef struct at_once {
  const plan_case *c;
  const brim_plan *plan, *composed;
  const int32_t *lengths;
  uint64_t part, batch; /* of the step at hand, the first in either plan */
} at_once;

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

/* The costliest rank when the costliest batch that is left goes to the cheapest rank that has room for one more. */
static double deal_slowly(double *costs, uint64_t count, int32_t world, uint64_t most) {
  double sums[MOST_RANKS] = {0}, worst = 0;
  uint64_t held[MOST_RANKS] = {0};
  qsort(costs, count, sizeof *costs, costlier_first);
  for (uint64_t i = 0; i < count; i++) {
    int32_t to = -1;
    for (int32_t rank = 0; rank < world; rank++)
      if (held[rank] < most && (to < 0 || sums[rank] < sums[to]))
        to = rank;
    sums[to] += costs[i], held[to]++;
    worst = sums[to] > worst ? sums[to] : worst;
  }
  return worst;
}

static double cost_alone(const at_once *a, uint64_t row) {
  return 4608.0 * a->lengths[row] + (double)a->lengths[row] * a->lengths[row];
}

/* Each place of the step is on one rank, with the row that it has for a single rank, and no part is over the budget; writes the
 * costs of the ranks. */
static const char *check_places(at_once *a, uint64_t step, const uint32_t *rows, uint64_t count, double *costs, uint64_t *parts) {
  static uint8_t taken[MANY_ROWS];
  const int64_t limit = a->c->options.max_tokens;
  uint64_t found = 0;
  memset(taken, 0, count);
  for (*parts = 0; a->part < brim_plan_parts(a->plan); a->part++, (*parts)++) {
    for (int32_t rank = 0; rank < world_of(&a->c->options); rank++) {
      brim_planned part;
      brim_plan_part(a->plan, rank, a->part, &part);
      if (part.step != step)
        return rank ? "every rank is in the same step" : found == count ? NULL : "every row of a step is on a rank";
      if (limit && part.slots > limit)
        return "slots <= max_tokens";
      for (uint32_t i = 0; i < part.count; i++, found++)
        if (part.places[i] >= count || taken[part.places[i]]++ || part.rows[i] != rows[part.places[i]])
          return "each place once, with its row";
      costs[rank] += part.cost;
    }
  }
  return found == count ? NULL : "every row of a step is on a rank";
}

/* Rows of a batch_size may go anywhere if nothing is padded: 4/3 of the least possible, as longest first has it. Token budgets:
 * the costliest rank has no more than when the batches are dealt as they are. */
static const char *check_costs(const at_once *a, const uint32_t *rows, uint64_t count, double *batches, uint64_t batch_count,
                               const double *costs, uint64_t parts) {
  static double alone[MANY_ROWS];
  const brim_plan_options *o = &a->c->options;
  const int32_t world = world_of(o);
  double worst = 0;
  for (int32_t rank = 0; rank < world; rank++)
    worst = costs[rank] > worst ? costs[rank] : worst;
  if (!o->batch_size)
    return worst <= deal_slowly(batches, batch_count, world, parts) * 1.001 ? NULL : "no costlier than whole batches, dealt";
  if (o->padding != BRIM_PAD_NONE || o->batching == BRIM_SEQUENTIAL)
    return NULL;
  for (uint64_t i = 0; i < count; i++)
    alone[i] = cost_alone(a, rows[i]);
  return worst <= least_possible(alone, count, world) * 4 / 3 ? NULL : "no costlier than 4/3 of the least possible";
}

static const char *check_step(at_once *a, uint64_t step) {
  static uint32_t rows[MANY_ROWS];
  double batches[MOST_BATCHES], costs[MOST_RANKS] = {0};
  uint64_t count = 0, batch_count = 0, parts;
  for (; a->batch < brim_plan_parts(a->composed); a->batch++) {
    brim_planned part;
    brim_plan_part(a->composed, 0, a->batch, &part);
    if (part.step != step)
      break;
    if (batch_count == MOST_BATCHES)
      return "a step of so many batches";
    for (uint32_t i = 0; i < part.count; i++)
      rows[part.places[i]] = (uint32_t)part.rows[i];
    count += part.count;
    batches[batch_count++] = part.cost;
  }
  const char *wrong = check_places(a, step, rows, count, costs, &parts);
  return wrong ? wrong : check_costs(a, rows, count, batches, batch_count, costs, parts);
}

static brim_plan *plan_with(brim_runtime *with, const plan_case *c, const int32_t *lengths, const brim_plan_options *options) {
  brim_plan *plan;
  brim_error error = {0};
  if (brim_plan_new(with, lengths, c->rows, options, 1, &plan, &error)) {
    say(c, error.message);
    exit(1);
  }
  return plan;
}

static const char *check_at_once(brim_runtime *with, const plan_case *c, const int32_t *lengths, uint64_t *hash) {
  at_once a = {.c = c, .lengths = lengths};
  brim_recipe recipe;
  if (brim_recipe_make(&c->options, 1, &recipe, NULL))
    exit(1);
  brim_plan_options one_rank = c->options;
  one_rank.world_size = 1;
  one_rank.accumulate = (int64_t)recipe.accumulate;
  brim_plan *plan = plan_with(with, c, lengths, &c->options), *composed = plan_with(runtime, c, lengths, &one_rank);
  a.plan = plan, a.composed = composed;
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  *hash = ledger.hash;
  const char *wrong = NULL;
  if (ledger.rows_planned + ledger.dropped != c->rows)
    wrong = "every row is planned or dropped";
  else if (brim_plan_steps(plan) != brim_plan_steps(composed))
    wrong = "as many steps as for one rank";
  for (uint64_t step = 0; step < brim_plan_steps(plan) && !wrong; step++)
    wrong = check_step(&a, step);
  if (!wrong && a.part != brim_plan_parts(plan))
    wrong = "no parts but those of the steps";
  brim_plan_free(plan);
  brim_plan_free(composed);
  return wrong;
}

/* So many rows that steps are shared out by several threads at once, an incomplete last lot included. */
static void test_shared_at_once(void) {
  static int32_t lengths[MANY_ROWS];
  brim_runtime *four;
  brim_runtime_options threads = {.threads = 4};
  if (brim_runtime_new(&threads, &four, NULL))
    exit(1);
  for (uint64_t i = 0; i < MANY_ROWS; i++)
    lengths[i] = (int32_t)(1 + i * 7919 % 97);
  int bad = 0;
  uint64_t plans = 0;
  for (int by_tokens = 0; by_tokens < 2; by_tokens++)
    for (int world = 1; world <= 9; world += 4)
      for (brim_batching batching = BRIM_SEQUENTIAL; batching <= BRIM_PACKED; batching++)
        for (brim_tail tail = BRIM_TAIL_RESPLIT; tail <= BRIM_TAIL_DROP && bad < 5; tail++, plans++) {
          plan_case c = {.number = plans, .rows = MANY_ROWS};
          if (!tap_takes("shared at once", plans))
            continue;
          c.options = (brim_plan_options){.batching = batching,
                                          .tail = tail,
                                          .world_size = world,
                                          .padding = plans % 3 ? BRIM_PAD_NONE : BRIM_PAD_LONGEST,
                                          .batch_size = by_tokens ? 0 : MANY_ROWS / 70,
                                          .max_tokens = by_tokens || batching == BRIM_PACKED ? 4000 : 0};
          uint64_t hash, by_four;
          const char *wrong = check_at_once(runtime, &c, lengths, &hash);
          if (!wrong)
            wrong = check_at_once(four, &c, lengths, &by_four);
          if (!wrong && hash != by_four)
            wrong = "the same plan by 1 and 4 threads";
          if (wrong)
            bad++, say(&c, wrong);
        }
  brim_runtime_free(four);
  ok(bad == 0, "steps that are shared out at once, by 1 and 4 threads: rows, budgets and the costliest rank (%llu plans)",
     (unsigned long long)plans);
}

/* ---- ranks ------------------------------------------------------------------------------------------------ */

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

/* costs[step]: the costliest rank. */
static void worst_costs(const brim_plan *plan, int32_t world, double *costs) {
  memset(costs, 0, MOST_ROWS * sizeof *costs);
  for (int32_t rank = 0; rank < world; rank++) {
    double mine[MOST_ROWS] = {0};
    for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
      brim_planned part;
      brim_plan_part(plan, rank, p, &part);
      mine[part.step] += part.cost;
    }
    for (uint64_t step = 0; step < brim_plan_steps(plan); step++)
      costs[step] = mine[step] > costs[step] ? mine[step] : costs[step];
  }
}

/* Sharing out the rows of budget batches among the ranks never costs more than whole batches do, and somewhere it costs less. */
static void test_resplit(void) {
  int worse = 0, better = 0;
  for (uint64_t number = 0; number < 600; number++) {
    plan_case c;
    if (!tap_takes("resplit", number))
      continue;
    make_case(&c, number);
    c.options.batch_size = 0;
    c.options.max_tokens = 300 + (int64_t)draw(&c, 3000);
    c.options.world_size = 2 + (int32_t)draw(&c, 8);
    c.options.drop_last = false;
    double shared[MOST_ROWS], whole[MOST_ROWS];
    c.options.tail = BRIM_TAIL_RESPLIT;
    brim_plan *plan = plan_of(&c, &c.options, 0);
    worst_costs(plan, c.options.world_size, shared);
    uint64_t steps = brim_plan_steps(plan);
    brim_plan_free(plan);
    c.options.tail = BRIM_TAIL_FILL;
    plan = plan_of(&c, &c.options, 0);
    worst_costs(plan, c.options.world_size, whole);
    brim_plan_free(plan);
    for (uint64_t step = 0; step < steps; step++) {
      worse += shared[step] > whole[step] * 1.001;
      better += shared[step] < whole[step] * 0.9;
    }
  }
  ok(worse == 0, "resplit never costs the costliest rank more than whole batches");
  ok(better > 100 / (2 * TAP_ONE_IN), "and often a tenth less (%d steps)", better);
}

int main(void) {
  brim_runtime_options one = {.threads = 1};
  if (brim_runtime_new(&one, &runtime, NULL))
    return 1;
  test_invariants();
  test_execution();
  test_determinism();
  test_shared_at_once();
  test_balance();
  test_resplit();
  brim_runtime_free(runtime);
  return tap_done();
}
