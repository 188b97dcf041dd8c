/* Permutations, stable sorting, best fit and balance: the tools under the strategies. */
#include "base/memory.h"
#include "batch/balance.h"
#include "batch/order.h"
#include "batch/pack.h"
#include "tap.h"

static brim_runtime *runtime;

static uint64_t draw(uint64_t index, uint64_t below) {
  brim_random random = brim_random_make(7, 0, BRIM_PURPOSE_SAMPLE);
  return brim_random_below(&random, index, below);
}

static bool is_permutation(const uint32_t *order, uint64_t count) {
  bool *seen = calloc(count + 1, sizeof *seen), good = true;
  for (uint64_t i = 0; i < count; i++) {
    good = good && order[i] < count && !seen[order[i]];
    if (order[i] < count)
      seen[order[i]] = true;
  }
  free(seen);
  return good;
}

static void shuffles(void) {
  static uint32_t order[100000], again[100000];
  brim_random random = brim_random_make(1, 2, BRIM_PURPOSE_SHUFFLE), other = brim_random_make(1, 3, BRIM_PURPOSE_SHUFFLE);
  const uint64_t sizes[] = {0, 1, 2, 3, 1000, 32768, 32769, 100000};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    ok_int(brim_order_shuffle(runtime, &random, 0, order, sizes[s], NULL), BRIM_OK, "shuffle");
    ok(is_permutation(order, sizes[s]), "%llu rows: a permutation", (unsigned long long)sizes[s]);
    if (sizes[s] < 10)
      continue;
    uint64_t fixed = 0, same = 0;
    (void)!brim_order_shuffle(runtime, &other, 0, again, sizes[s], NULL);
    for (uint64_t i = 0; i < sizes[s]; i++) {
      fixed += order[i] == i;
      same += order[i] == again[i];
    }
    ok(fixed < 10 && same < 10, "of which few rows stay (%llu), and another epoch differs", (unsigned long long)fixed);
  }
}

/* Every row comes to every place equally often: 24 permutations of 4 rows, and the tenths of a large one. */
static void fairness(void) {
  int counts[256] = {0}, found = 0;
  double chi = 0;
  for (uint64_t epoch = 0; epoch < 24000; epoch++) {
    uint32_t order[4];
    brim_random random = brim_random_make(5, epoch, BRIM_PURPOSE_SHUFFLE);
    (void)!brim_order_shuffle(runtime, &random, 0, order, 4, NULL);
    counts[order[0] | order[1] << 2 | order[2] << 4 | order[3] << 6]++;
  }
  for (int i = 0; i < 256; i++) {
    if (!counts[i])
      continue;
    found++;
    chi += (counts[i] - 1000.0) * (counts[i] - 1000.0) / 1000.0;
  }
  ok_int(found, 24, "all permutations of 4");
  ok(chi < 50, "equally often: chi^2 = %.1f with 23 degrees of freedom", chi); /* p = 0.001 at 49.7 */
  static uint32_t order[80000];
  double cells[10][10] = {{0}};
  for (uint64_t epoch = 0; epoch < 5; epoch++) {
    brim_random random = brim_random_make(6, epoch, BRIM_PURPOSE_SHUFFLE);
    (void)!brim_order_shuffle(runtime, &random, 100, order, 80000, NULL);
    for (uint64_t i = 0; i < 80000; i++)
      cells[i / 8000][order[i] / 8000]++;
  }
  chi = 0;
  for (int i = 0; i < 100; i++)
    chi += (cells[i / 10][i % 10] - 4000) * (cells[i / 10][i % 10] - 4000) / 4000;
  ok(chi < 127, "a large permutation mixes evenly: chi^2 = %.1f with 81 degrees of freedom", chi); /* p = 0.001 at 126 */
}

/* Each of the three ways to sort against the definition. */
static void sorting(void) {
  enum { ROWS = 5000 };
  static int32_t lengths[ROWS];
  static uint32_t order[ROWS], scratch[ROWS];
  const struct {
    uint64_t rows, range;
    int32_t limit;
  } cases[] = {{1, 9, 100},
               {2, 1, 100},
               {40, 10, 100},
               {300, 60, 40},
               {300, 1u << 31, INT32_MAX},
               {4999, 3, INT32_MAX},
               {5000, 900, 600},
               {5000, 1u << 30, INT32_MAX}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    for (uint64_t i = 0; i < cases[k].rows; i++)
      lengths[i] = (int32_t)(1 + draw(i, cases[k].range - (cases[k].range > 1)));
    brim_order_identity(order, cases[k].rows);
    ok_int(brim_order_sort(runtime, lengths, cases[k].limit, order, scratch, cases[k].rows, NULL), BRIM_OK, "sort");
    bool sorted = is_permutation(order, cases[k].rows);
    for (uint64_t i = 1; i < cases[k].rows; i++) {
      int32_t a = lengths[order[i - 1]], b = lengths[order[i]];
      if (a > cases[k].limit)
        a = cases[k].limit;
      if (b > cases[k].limit)
        b = cases[k].limit;
      sorted = sorted && (a > b || (a == b && order[i - 1] < order[i]));
    }
    ok(sorted, "%llu rows of lengths up to %llu: longest first, stable", (unsigned long long)cases[k].rows,
       (unsigned long long)cases[k].range);
  }
}

/* The bins that looking at every open bin gives. */
static uint64_t slow_best_fit(const int64_t *weights, uint64_t count, int64_t capacity, int64_t *left) {
  uint64_t bins = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t best = UINT64_MAX;
    for (uint64_t b = 0; b < bins; b++) {
      if (left[b] >= weights[i] && (best == UINT64_MAX || left[b] < left[best]))
        best = b;
    }
    if (best == UINT64_MAX) {
      best = bins++;
      left[best] = capacity;
    }
    left[best] -= weights[i];
  }
  return bins;
}

static int by_value(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void packing(void) {
  enum { ITEMS = 500 };
  static int64_t weights[ITEMS], left[ITEMS], got[ITEMS];
  static uint32_t bin_of[ITEMS];
  brim_packer packer;
  brim_packer_init(&packer, runtime);
  int bad = 0;
  for (uint64_t k = 0; k < 200; k++) {
    uint64_t count = draw(10 * k, ITEMS), capacity = 1 + draw(10 * k + 1, 3000);
    for (uint64_t i = 0; i < count; i++)
      weights[i] = (int64_t)(1 + draw(1000 * k + i, k % 2 ? capacity : capacity / 4 + 1));
    if (brim_pack(&packer, weights, NULL, count, (int64_t)capacity, INT64_MAX, bin_of, NULL))
      exit(1);
    uint64_t bins = slow_best_fit(weights, count, (int64_t)capacity, left);
    bad += bins != packer.bin_count;
    for (uint64_t b = 0; b < packer.bin_count; b++)
      got[b] = (int64_t)capacity;
    for (uint64_t i = 0; i < count; i++)
      got[bin_of[i]] -= weights[i];
    qsort(got, packer.bin_count, sizeof *got, by_value);
    qsort(left, bins, sizeof *left, by_value);
    bad += bins == packer.bin_count && memcmp(got, left, bins * sizeof *got) != 0;
  }
  ok(bad == 0, "best fit fills bins as a search through all of them does (200 packings)");

  int over = 0, more = 0;
  for (uint64_t k = 0; k < 50; k++) { /* beyond 2^20 capacities are compared in units */
    int64_t capacity = (int64_t)((5 + draw(k, 60)) << 20) + 7;
    for (uint64_t i = 0; i < ITEMS; i++)
      weights[i] = (int64_t)(1 + draw(1000 * k + i, i % 2 ? 3000000 : 50));
    if (brim_pack(&packer, weights, NULL, ITEMS, capacity, INT64_MAX, bin_of, NULL))
      exit(1);
    memset(got, 0, sizeof got);
    for (int i = 0; i < ITEMS; i++)
      got[bin_of[i]] += weights[i];
    for (uint64_t b = 0; b < packer.bin_count; b++)
      over += got[b] > capacity;
    more += packer.bin_count > slow_best_fit(weights, ITEMS, capacity, left) + 1;
  }
  ok(over == 0 && more == 0, "capacities above 2^20 are kept, with at most one bin more");
  ok_int(brim_pack(&packer, (int64_t[]){50, 9, 70}, NULL, 3, 60, 9, bin_of, NULL), BRIM_OK, "an item over the capacity");
  ok(bin_of[0] == bin_of[1] && bin_of[2] != bin_of[0] && packer.bin_count == 2, "stands alone");
  uint32_t sizes[] = {4, 4, 4, 2};
  ok_int(brim_pack(&packer, (int64_t[]){1, 1, 1, 1}, sizes, 4, 100, 10, bin_of, NULL), BRIM_OK, "items of several rows");
  ok(bin_of[0] == bin_of[1] && bin_of[2] != bin_of[0] && bin_of[3] == bin_of[2], "stay inside the cap on rows");
  brim_packer_free(&packer);
}

static void set_items(brim_balance *b, const double *costs, uint32_t count, uint32_t ranks, uint32_t bins, int64_t capacity) {
  if (brim_balance_shape(b, ranks, bins, count, NULL))
    exit(1);
  b->capacity = capacity;
  b->text_capacity = INT64_MAX;
  for (uint32_t i = 0; i < count; i++)
    b->items[i] = (brim_balance_item){.cost = costs[i], .weight = (int64_t)costs[i], .texts = 1, .id = i};
  brim_balance_sort(b);
}

static void balancing(void) {
  brim_balance b;
  brim_balance_init(&b, runtime);
  /* Graham's worst case for LPT on 2 ranks: 7 against the optimum of 6. */
  set_items(&b, (double[]){2, 3, 2, 3, 2}, 5, 2, 1, INT64_MAX);
  ok(b.items[0].cost == 3 && b.items[4].cost == 2 && b.items[0].id == 1 && b.items[1].id == 3, "costliest first, then by id");
  ok(brim_balance_assign(&b), "assign");
  ok_near(brim_balance_worst(&b), 7, 0, "LPT: 3 + 2 + 2");
  brim_balance_improve(&b);
  ok_near(brim_balance_worst(&b), 6, 0, "swaps: 3 + 3 and 2 + 2 + 2");
  set_items(&b, (double[]){5, 5, 5, 1, 1, 1}, 6, 3, 1, 6);
  ok(brim_balance_assign(&b) && brim_balance_worst(&b) == 6, "within a capacity");
  set_items(&b, (double[]){5, 5, 5, 5}, 4, 3, 1, 6);
  ok(!brim_balance_assign(&b), "what does not fit is said");
  set_items(&b, (double[]){5, 5, 5, 5}, 4, 2, 2, 6);
  ok(brim_balance_assign(&b) && brim_balance_worst(&b) == 10, "two bins a rank");
  double one[] = {9};
  set_items(&b, one, 1, 4, 1, 3);
  ok(brim_balance_assign(&b) && brim_balance_worst(&b) == 9, "an item over the capacity, alone");
  brim_balance_improve(&b);
  set_items(&b, NULL, 0, 4, 1, 3);
  ok(brim_balance_assign(&b), "nothing");
  brim_balance_improve(&b);
  brim_balance_free(&b);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  shuffles();
  fairness();
  sorting();
  packing();
  balancing();
  brim_runtime_free(runtime);
  return tap_done();
}
