/* Published and measured figures of real length lists: what each strategy must reach, for several seeds. */
#include "brim/batch.h"
#include "tap.h"
#include <time.h>

enum { SEEDS = 5 };

static brim_runtime *runtime;

typedef struct length_list {
  int32_t *values;
  uint64_t count;
} length_list;

static bool load(const char *name, length_list *list) {
  char path[4096];
  *list = (length_list){0};
  if (!tap_shared())
    return false;
  snprintf(path, sizeof path, "%s/data/lengths/%s", tap_shared(), name);
  FILE *file = fopen(path, "r");
  if (!file)
    return false;
  list->values = malloc(100000 * sizeof *list->values);
  while (list->count < 100000 && fscanf(file, "%d", &list->values[list->count]) == 1)
    list->count++;
  fclose(file);
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
  if (!load("imdb-uncased-400.txt", &list)) {
    tap_skip("IMDB at 400 tokens", "no shared data");
    return;
  }
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
  if (!load("commonlit-roberta-350.txt", &list)) {
    tap_skip("CommonLit at 350 tokens", "no shared data");
    return;
  }
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
  if (!load("wikitext2-cased-512.txt", &list)) {
    tap_skip("WikiText-2 at 512 tokens", "no shared data");
    return;
  }
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
  if (!load("multipack.txt", &list)) {
    tap_skip("multipack's lengths", "no shared data");
    return;
  }
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
static void balance(void) {
  length_list list;
  if (!load("imdb-uncased-400.txt", &list)) {
    tap_skip("cost of 8 ranks", "no shared data");
    return;
  }
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
  ok(mean < 1.0095, "8 ranks and 32 rows: the costliest rank is %.4f of the mean", mean);
  brim_plan_free(plan);
  free(list.values);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  imdb();
  commonlit();
  wikitext();
  multipack();
  balance();
  brim_runtime_free(runtime);
  return tap_done();
}
