/* Figures of planning from lengths: batches, slots, padding, time and memory (the lengths themselves left aside) of every
 * strategy on real length lists and on millions of synthetic lengths.
 *
 *   bench_plan [--json] [--rows N] [--data DIR] [FILE...]
 *
 * FILE has one length a line; without any, the lists in DIR/data/lengths are used. --rows sets how many synthetic
 * lengths are planned (10,000,000; 0: none). --json prints one JSON object a line. */
#include "base/random.h"
#include "brim/batch.h"
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct length_list {
  const char *name;
  int32_t *values;
  uint64_t count;
  int64_t batch_size, max_tokens, read_ahead;
  int32_t max_length;
} length_list;

static brim_runtime *runtime;
static bool json;

/* ---- memory that a plan takes: an allocator that counts ---------------------------------------------------- */

enum { HEADER = 16 }; /* holds the size and keeps the alignment */
static atomic_size_t held, peak;

static void *take(void *context, void *pointer, size_t size) {
  (void)context;
  char *block = pointer ? (char *)pointer - HEADER : NULL;
  size_t before = block ? *(size_t *)(void *)block : 0;
  block = realloc(block, size + HEADER);
  if (!block)
    return NULL;
  *(size_t *)(void *)block = size;
  size_t now = atomic_fetch_add(&held, size - before) + size - before;
  if (now > atomic_load(&peak))
    atomic_store(&peak, now);
  return block + HEADER;
}

static void *take_new(void *context, size_t size) {
  return take(context, NULL, size);
}

static void give_back(void *context, void *pointer) {
  (void)context;
  if (!pointer)
    return;
  char *block = (char *)pointer - HEADER;
  atomic_fetch_sub(&held, *(size_t *)(void *)block);
  free(block);
}

/* ---- plans ------------------------------------------------------------------------------------------------- */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Mean over the steps of the costliest rank's cost, relative to the mean rank. */
static double imbalance(const brim_plan *plan, int32_t world) {
  uint64_t steps = brim_plan_steps(plan), parts = brim_plan_parts(plan);
  double *costs = calloc((size_t)world, sizeof *costs), sum = 0;
  for (uint64_t p = 0, step = 0; costs && p <= parts; p++) {
    brim_planned part = {.step = UINT64_MAX};
    if (p < parts)
      brim_plan_part(plan, 0, p, &part);
    if (part.step != step) {
      double most = 0, all = 0;
      for (int32_t rank = 0; rank < world; rank++) {
        most = costs[rank] > most ? costs[rank] : most;
        all += costs[rank];
        costs[rank] = 0;
      }
      sum += all > 0 ? most * world / all : 1;
      step = part.step;
    }
    for (int32_t rank = 0; p < parts && rank < world; rank++) {
      brim_plan_part(plan, rank, p, &part);
      costs[rank] += part.cost;
    }
  }
  free(costs);
  return steps ? sum / (double)steps : 1;
}

static void show(const length_list *list, const brim_plan_options *o, const brim_plan *plan, double seconds, double megabytes) {
  brim_ledger l;
  brim_plan_ledger(plan, &l);
  int32_t world = o->world_size ? o->world_size : 1;
  double padding = l.slots ? 1 - (double)l.tokens / (double)l.slots : 0, balance = imbalance(plan, world);
  double filled = o->max_tokens ? (double)l.tokens / ((double)l.batches * (double)o->max_tokens) : NAN;
  char limit[32], fill[32];
  snprintf(limit, sizeof limit, o->batch_size ? "%lld rows" : "%lld tokens",
           (long long)(o->batch_size ? o->batch_size : o->max_tokens));
  snprintf(fill, sizeof fill, isnan(filled) ? (json ? "null" : "-") : json ? "%.5f" : "%.2f %%", json ? filled : 100 * filled);
  if (json) {
    printf("{\"lengths\":\"%s\",\"rows\":%llu,\"batching\":\"%s\",\"padding\":\"%s\",\"batch_size\":%lld,\"max_tokens\":%lld,"
           "\"read_ahead\":%lld,\"ranks\":%d,\"steps\":%llu,\"batches\":%llu,\"tokens\":%llu,\"slots\":%llu,\"share\":%.6f,"
           "\"filled\":%s,\"imbalance\":%.5f,\"seconds\":%.6f,\"megabytes\":%.1f}\n",
           list->name, (unsigned long long)l.rows_read, brim_batching_name(o->batching), brim_padding_name(o->padding),
           (long long)o->batch_size, (long long)o->max_tokens, (long long)o->read_ahead, (int)world, (unsigned long long)l.steps,
           (unsigned long long)l.batches, (unsigned long long)l.tokens, (unsigned long long)l.slots, padding, fill, balance,
           seconds, megabytes);
  } else {
    printf("  %-10s  %-10s  %14s  %5d  %8llu  %8llu  %14llu  %7.3f %%  %9s  %8.4f  %9.1f  %7.1f\n",
           brim_batching_name(o->batching), brim_padding_name(o->padding), limit, (int)world, (unsigned long long)l.steps,
           (unsigned long long)l.batches, (unsigned long long)l.slots, 100 * padding, fill, balance, 1e3 * seconds, megabytes);
  }
  fflush(stdout);
}

static int measure(const length_list *list, brim_plan_options o) {
  brim_plan *plan;
  brim_error err;
  double start = now();
  size_t before = atomic_load(&held);
  atomic_store(&peak, before);
  if (brim_plan_new(runtime, list->values, list->count, &o, 0, &plan, &err) != BRIM_OK) {
    fprintf(stderr, "bench_plan: %s: %s\n", list->name, err.message);
    return 1;
  }
  double seconds = now() - start;
  show(list, &o, plan, seconds, (double)(atomic_load(&peak) - before) / 1e6);
  brim_plan_free(plan);
  return 0;
}

static int measure_all(const length_list *list) {
  if (!json)
    printf("%s: %llu rows\n  %-10s  %-10s  %14s  %5s  %8s  %8s  %14s  %9s  %9s  %8s  %9s  %7s\n", list->name,
           (unsigned long long)list->count, "batching", "padding", "limit", "ranks", "steps", "batches", "slots", "padding",
           "filled", "balance", "ms", "MB");
  int failed = 0;
  brim_plan_options o = {.batch_size = list->batch_size, .max_length = list->max_length, .batching = BRIM_RANDOM};
  o.padding = BRIM_PAD_MAX_LENGTH;
  failed += measure(list, o);
  o.padding = BRIM_PAD_LONGEST;
  for (int batching = BRIM_SEQUENTIAL; batching <= BRIM_BUCKETED; batching++) {
    o.batching = (brim_batching)batching;
    o.read_ahead = batching == BRIM_BUCKETED ? list->read_ahead : 0;
    failed += measure(list, o);
  }
  o = (brim_plan_options){.max_tokens = list->max_tokens, .max_length = list->max_length, .padding = BRIM_PAD_LONGEST};
  o.batching = BRIM_BUCKETED;
  o.read_ahead = 10000;
  failed += measure(list, o);
  o.padding = BRIM_PAD_NONE;
  o.read_ahead = 0;
  for (int batching = BRIM_RANDOM; batching <= BRIM_PACKED; batching += BRIM_PACKED - BRIM_RANDOM) {
    for (o.world_size = 1; o.world_size <= 8; o.world_size *= 8) {
      o.batching = (brim_batching)batching;
      failed += measure(list, o);
    }
  }
  o = (brim_plan_options){.batch_size = 32, .max_length = list->max_length, .batching = BRIM_RANDOM, .world_size = 8};
  failed += measure(list, o);
  return failed;
}

static bool read_list(const char *path, length_list *list) {
  char *bytes, *at, *end;
  size_t size, room = 0;
  brim_error err;
  if (brim_file_read_all(runtime, path, 0, &bytes, &size, &err) != BRIM_OK) {
    char text[1200];
    brim_error_text(&err, text, sizeof text);
    fprintf(stderr, "bench_plan: %s\n", text);
    return false;
  }
  for (size_t i = 0; i < size; i++)
    room += bytes[i] == '\n';
  list->values = malloc((room + 1) * sizeof *list->values);
  for (at = bytes; list->values && list->count <= room; at = end) {
    long value = strtol(at, &end, 10);
    if (end == at)
      break;
    list->values[list->count++] = (int32_t)value;
  }
  brim_runtime_release(runtime, bytes);
  return list->values != NULL;
}

static int run_file(const char *path, length_list settings) {
  const char *slash = strrchr(path, '/');
  settings.name = slash ? slash + 1 : path;
  if (!read_list(path, &settings))
    return 1;
  int failed = measure_all(&settings);
  free(settings.values);
  return failed;
}

/* A heavy tail like that of text: log-normal, median 90 tokens, cut at 512. */
static int run_synthetic(uint64_t rows) {
  length_list list = {
      .name = "synthetic", .count = rows, .batch_size = 32, .max_tokens = 16384, .read_ahead = 10000, .max_length = 512};
  list.values = malloc(rows * sizeof *list.values);
  if (!list.values)
    return 1;
  brim_random random = brim_random_make(1, 0, BRIM_PURPOSE_SAMPLE);
  for (uint64_t i = 0; i < rows; i++) {
    double length = 90 * exp(0.8 * brim_random_normal(&random, i));
    list.values[i] = length < 3 ? 3 : length > 512 ? 512 : (int32_t)length;
  }
  int failed = measure_all(&list);
  brim_plan_options o = {.batching = BRIM_RANDOM, .batch_size = 1}; /* as many steps as rows, and eight times as many parts */
  for (o.world_size = 1; o.world_size <= 8; o.world_size *= 8)
    failed += measure(&list, o);
  free(list.values);
  return failed;
}

static int run_data(const char *folder) {
  static const struct {
    const char *name;
    length_list settings;
  } lists[] = {
      {"imdb-uncased-400.txt", {.batch_size = 16, .max_tokens = 6400, .read_ahead = 1600, .max_length = 400}},
      {"commonlit-roberta-350.txt", {.batch_size = 24, .max_tokens = 8400, .read_ahead = 240, .max_length = 350}},
      {"wikitext2-cased-512.txt", {.batch_size = 32, .max_tokens = 16384, .read_ahead = 320, .max_length = 512}},
      {"multipack.txt", {.batch_size = 16, .max_tokens = 32768, .read_ahead = 1600, .max_length = 2048}},
  };
  int failed = 0;
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/data/lengths/%s", folder, lists[i].name);
    failed += run_file(path, lists[i].settings);
  }
  return failed;
}

int main(int argc, char **argv) {
  uint64_t rows = 10000000;
  int files = 0, failed = 0;
  const char *data = NULL;
  const brim_allocator counting = {.allocate = take_new, .resize = take, .release = give_back};
  if (brim_runtime_new(&(brim_runtime_options){.allocator = &counting}, &runtime, NULL) != BRIM_OK)
    return 1;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--json") == 0)
      json = true;
    else if (strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
      rows = strtoull(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--data") == 0 && i + 1 < argc)
      data = argv[++i];
    else
      argv[1 + files++] = argv[i];
  }
  length_list settings = {.batch_size = 32, .max_tokens = 16384, .read_ahead = 10000, .max_length = 512};
  for (int i = 0; i < files; i++)
    failed += run_file(argv[1 + i], settings);
  if (files == 0)
    failed += data ? run_data(data) : 0;
  if (rows)
    failed += run_synthetic(rows);
  brim_runtime_free(runtime);
  return failed ? 1 : 0;
}
