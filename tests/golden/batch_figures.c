/* What each strategy must reach, for several seeds: figures that slow programs found for four shapes of length lists
 * (tools/make_text_golden.py); with --data DIR those published and measured for real lists. */
#include "base/json.h"
#include "brim/batch.h"
#include "gzip_file.h"
#include "tap.h"
#include <time.h>

enum { SEEDS = 5 };

static brim_runtime *runtime;

typedef struct length_list {
  int32_t *values;
  uint64_t count;
} length_list;

static const char *data; /* NULL: the lists of tests/golden/lengths */

/* gzread reads files that are not compressed too. */
static bool load(const char *name, length_list *list) {
  char path[4096];
  size_t length;
  *list = (length_list){0};
  if (data)
    snprintf(path, sizeof path, "%s/data/lengths/%s", data, name);
  else
    snprintf(path, sizeof path, "%s/tests/golden/lengths/%s.txt.gz", tap_source(), name);
  char *text = read_gz(path, &length), *at = text;
  if (!text || !*text)
    return ok(false, "%s is there", path);
  list->values = malloc(100000 * sizeof *list->values);
  for (char *end = text; list->count < 100000; at = end) {
    long value = strtol(at, &end, 10);
    if (end == at)
      break;
    list->values[list->count++] = (int32_t)value;
  }
  free(text);
  return list->count > 0;
}

static brim_plan *plan_of(const length_list *list, brim_plan_options options, brim_ledger *ledger) {
  brim_plan *plan;
  brim_error err = {0};
  if (brim_plan_new(runtime, list->values, list->count, &options, 0, &plan, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  brim_plan_ledger(plan, ledger);
  return plan;
}

/* For every seed: so many batches (at most) and slots between `least` and `most`. */
static void expect(const length_list *list, brim_plan_options options, uint64_t batches, uint64_t least, uint64_t most,
                   const char *name) {
  uint64_t low = UINT64_MAX, high = 0, worst = 0;
  for (options.seed = 0; options.seed < SEEDS; options.seed++) {
    brim_ledger ledger;
    brim_plan_free(plan_of(list, options, &ledger));
    low = ledger.slots < low ? ledger.slots : low;
    high = ledger.slots > high ? ledger.slots : high;
    worst = ledger.batches > worst ? ledger.batches : worst;
  }
  ok(worst <= batches && low >= least && high <= most, "%s: %llu .. %llu slots in %llu batches", name, (unsigned long long)low,
     (unsigned long long)high, (unsigned long long)worst);
}

static void imdb(void) {
  length_list list;
  if (!load("imdb-uncased-400.txt", &list))
    return;
  brim_plan_options o = {.batch_size = 16, .max_length = 400, .padding = BRIM_PAD_LONGEST};
  o.batching = BRIM_UNIFORM;
  expect(&list, o, 1563, 6370000, 6390000, "IMDB uniform (McCormick: 6,381,424)");
  o.batching = BRIM_SORTED;
  expect(&list, o, 1563, 6358424, 6362000, "IMDB sorted");
  o.batching = BRIM_RANDOM;
  expect(&list, o, 1563, 9980000, 9999999, "IMDB random, longest");
  o.padding = BRIM_PAD_MAX_LENGTH;
  expect(&list, o, 1563, 10000000, 10000000, "IMDB random, max_length");
  o.padding = BRIM_PAD_NONE;
  expect(&list, o, 1563, 6358424, 6358424, "IMDB random, ragged");
  free(list.values);
}

static void commonlit(void) {
  length_list list;
  if (!load("commonlit-roberta-350.txt", &list))
    return;
  brim_plan_options o = {.batching = BRIM_RANDOM, .batch_size = 24, .max_length = 350, .padding = BRIM_PAD_MAX_LENGTH};
  expect(&list, o, 119, 991900, 991900, "CommonLit fixed");
  o.padding = BRIM_PAD_LONGEST;
  o.batching = BRIM_SORTED;
  expect(&list, o, 119, 621595, 624200, "CommonLit sorted");
  o.batching = BRIM_UNIFORM;
  expect(&list, o, 119, 624200, 634000, "CommonLit uniform");
  free(list.values);
}

static void wikitext(void) {
  length_list list;
  if (!load("wikitext2-cased-512.txt", &list))
    return;
  brim_plan_options o = {.batch_size = 32, .padding = BRIM_PAD_LONGEST};
  expect(&list, o, 168, 1698000, 1699000, "WikiText-2 in file order (66.1 %)");
  o.batching = BRIM_BUCKETED;
  o.read_ahead = 320;
  expect(&list, o, 168, 575682, 575682 * 1000 / 789, "WikiText-2 bucketed by 32 rows (at most 21.1 %)");
  expect(&list, o, 168, 575682, 575682 * 1000 / 845, "the same: most uneven batches wait (at most 15.5 %)");
  o = (brim_plan_options){.batching = BRIM_BUCKETED, .max_tokens = 16384, .read_ahead = 10000, .padding = BRIM_PAD_LONGEST};
  expect(&list, o, 38, 575682, 607187, "WikiText-2 bucketed by 16,384 tokens (infinibatch: 38 batches, 607,187 slots)");
  o = (brim_plan_options){.batching = BRIM_PACKED, .max_tokens = 16384};
  expect(&list, o, 36, 575682, 575682, "WikiText-2 packed: the least possible number of batches");
  free(list.values);
}

/* Tokens of all but the last step, and the mean difference between the ranks' sums of squared lengths. */
static void measure(const length_list *list, const brim_plan *plan, int32_t world, int64_t *tokens, double *lag) {
  uint64_t steps = brim_plan_steps(plan);
  *tokens = 0;
  *lag = 0;
  for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
    double least = HUGE_VAL, most = 0;
    for (int32_t rank = 0; rank < world; rank++) {
      brim_planned part;
      double squares = 0;
      brim_plan_part(plan, rank, p, &part);
      for (uint32_t i = 0; i < part.count; i++)
        squares += (double)list->values[part.rows[i]] * list->values[part.rows[i]];
      least = squares < least ? squares : least;
      most = squares > most ? squares : most;
      if (part.step + 1 < steps)
        *tokens += part.tokens;
    }
    *lag += (most - least) / (double)brim_plan_parts(plan);
  }
}

static void multipack(void) {
  length_list list;
  if (!load("multipack.txt", &list))
    return;
  brim_plan_options o = {.batching = BRIM_PACKED, .max_tokens = 32768, .world_size = 8};
  bool good = true;
  double least = 1, fastest = 1e9;
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    brim_ledger ledger;
    struct timespec before, after;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    brim_plan *plan = plan_of(&list, o, &ledger);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    double ms = 1e3 * (double)(after.tv_sec - before.tv_sec) + 1e-6 * (double)(after.tv_nsec - before.tv_nsec), lag;
    int64_t tokens;
    measure(&list, plan, 8, &tokens, &lag);
    double used = (double)tokens / (double)((int64_t)(ledger.steps - 1) * 8 * 32768);
    good = good && ledger.steps == 37 && brim_plan_parts(plan) == 37 && ledger.dropped == 0 && ledger.tokens == 9521300;
    least = used < least ? used : least;
    fastest = ms < fastest ? ms : fastest;
    brim_plan_free(plan);
  }
  ok(good, "multipack: 37 steps on 8 ranks of 32,768 tokens, nothing dropped");
  ok(least > 0.997, "utilisation before the tail: %.2f %%", 100 * least);
  printf("# planned in %.1f ms\n", fastest);
  o.cost_square = 1; /* balance what multipack balances: squared lengths alone */
  double sum = 0;
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    brim_ledger ledger;
    int64_t tokens;
    double lag;
    brim_plan *plan = plan_of(&list, o, &ledger);
    measure(&list, plan, 8, &tokens, &lag);
    sum += sqrt(lag) / SEEDS;
    brim_plan_free(plan);
  }
  ok(sum < 438, "mean L^2 lag, square root: %.0f (multipack: 438)", sum);
  free(list.values);
}

/* LPT with swaps: the costliest of 8 ranks over the mean, 32 rows a step. */
static void balance(const char *name, double most_mean) {
  length_list list;
  if (!load(name, &list))
    return;
  brim_plan_options o = {.batching = BRIM_RANDOM, .batch_size = 32, .world_size = 8, .drop_last = true};
  brim_ledger ledger;
  brim_plan *plan = plan_of(&list, o, &ledger);
  double sum = 0;
  for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
    double all = 0, most = 0;
    for (int32_t rank = 0; rank < 8; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, p, &part);
      all += part.cost;
      most = part.cost > most ? part.cost : most;
    }
    sum += 8 * most / all;
  }
  double mean = sum / (double)brim_plan_parts(plan);
  ok(mean < most_mean, "8 ranks and 32 rows: the costliest rank is %.4f of the mean", mean);
  brim_plan_free(plan);
  free(list.values);
}

/* ---- made lists ------------------------------------------------------------------------------------------- */

static int64_t integer(const brim_json_value *row, const char *name) {
  const brim_json_value *value = brim_json_get(row, name);
  return value ? (int64_t)brim_json_number(value) : 0;
}

/* A text of the row; good until the third call after. */
static const char *word(const brim_json_value *row, const char *name) {
  static char words[4][32];
  static int next;
  const brim_json_value *value = brim_json_get(row, name);
  char *copy = words[next++ % 4];
  snprintf(copy, sizeof words[0], "%.*s", value ? (int)value->length : 0, value ? value->as.text : "");
  return copy;
}

static void made_plan(const brim_json_value *row) {
  static const char *const paddings[] = {"none", "longest", "max_length"};
  brim_plan_options o = {.batch_size = integer(row, "batch_size"),
                         .max_tokens = integer(row, "max_tokens"),
                         .max_length = (int32_t)integer(row, "max_length"),
                         .read_ahead = integer(row, "read_ahead")};
  length_list list;
  char name[128];
  for (int p = 0; p < 3; p++)
    if (strcmp(paddings[p], word(row, "padding")) == 0)
      o.padding = (brim_padding)p;
  for (int b = BRIM_SEQUENTIAL; b <= BRIM_PACKED; b++)
    if (strcmp(brim_batching_name((brim_batching)b), word(row, "batching")) == 0)
      o.batching = (brim_batching)b;
  if (!load(word(row, "list"), &list))
    return;
  snprintf(name, sizeof name, "%s, %s, %s", word(row, "list"), word(row, "batching"), word(row, "padding"));
  expect(&list, o, (uint64_t)integer(row, "batches"), (uint64_t)integer(row, "least"), (uint64_t)integer(row, "most"), name);
  free(list.values);
}

static void made_packed(const brim_json_value *row) {
  const int32_t ranks = (int32_t)integer(row, "ranks");
  const int64_t budget = integer(row, "max_tokens"), steps = integer(row, "steps"), all = integer(row, "tokens");
  brim_plan_options o = {.batching = BRIM_PACKED, .max_tokens = budget, .world_size = ranks};
  length_list list;
  bool good = true;
  double least = 1, sum = 0, used = brim_json_number(brim_json_get(row, "used")),
         most = brim_json_number(brim_json_get(row, "lag"));
  if (!load(word(row, "list"), &list))
    return;
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    brim_ledger ledger;
    int64_t tokens;
    double lag;
    brim_plan *plan = plan_of(&list, o, &ledger);
    measure(&list, plan, ranks, &tokens, &lag);
    const double share = (double)tokens / (double)((int64_t)(ledger.steps - 1) * ranks * budget);
    good = good && (int64_t)ledger.steps == steps && ledger.dropped == 0 && (int64_t)ledger.tokens == all;
    least = share < least ? share : least;
    brim_plan_free(plan);
  }
  ok(good, "%s: %lld steps on %d ranks, the least possible, and nothing dropped", word(row, "list"), (long long)steps, ranks);
  ok(least > used - 0.003, "utilisation before the tail: %.2f %% (first fit: %.2f %%)", 100 * least, 100 * used);
  o.cost_square = 1;
  for (o.seed = 0; o.seed < SEEDS; o.seed++) {
    brim_ledger ledger;
    int64_t tokens;
    double lag;
    brim_plan *plan = plan_of(&list, o, &ledger);
    measure(&list, plan, ranks, &tokens, &lag);
    sum += sqrt(lag) / SEEDS;
    brim_plan_free(plan);
  }
  ok(sum < most, "mean L^2 lag, square root: %.0f (first fit: %.0f)", sum, most);
  free(list.values);
}

static void check_made(void) {
  char path[4096];
  brim_json_document *document;
  brim_error err = {0};
  snprintf(path, sizeof path, "%s/tests/golden/lengths/figures.json", tap_source());
  if (!ok(brim_json_load(runtime, path, 0, &document, &err) == BRIM_OK, "figures of made lists"))
    return;
  const brim_json_value *root = brim_json_root(document), *plans = brim_json_get(root, "plans");
  const brim_json_value *ranks = brim_json_get(root, "balance");
  for (const brim_json_value *row = brim_json_first(plans); row; row = brim_json_after(plans, row))
    made_plan(row);
  made_packed(brim_json_get(root, "packed"));
  balance(word(ranks, "list"), brim_json_number(brim_json_get(ranks, "costliest")));
  brim_json_free(document);
}

int main(int argc, char **argv) {
  data = tap_data(argc, argv);
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  if (data) {
    imdb();
    commonlit();
    wikitext();
    multipack();
    balance("imdb-uncased-400.txt", 1.0095);
  } else {
    check_made();
  }
  brim_runtime_free(runtime);
  return tap_done();
}
