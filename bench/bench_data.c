/* The brim side of `make bench-data`: files to ragged batches through brim_feed, one JSON line an epoch.
 *
 *   bench_data TOKENIZER [--threads N] [--max-length N] [--batching NAME] [--padding NAME] [--batch-size N] [--max-tokens N]
 *              [--read-ahead N] [--window N] [--prefetch N] [--epochs N] [--seed N] FILE...
 *
 * {"epoch":0,"rows":..,"batches":..,"tokens":..,"slots":..,"truncated":..,"hash":"..","seconds":..,"cpu":..,"resident_mb":..,
 * "peak_mb":..,"in_use_mb":..,"bound_mb":..}: wall-clock and processor seconds of the epoch, memory of the process after it, what
 * of it was not given back to malloc (0 where the C library does not tell), and what brim_feed_memory says that windows take at
 * most. Every id is touched, as whoever takes the batches would. */
#include "brim/feed.h"
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct arguments {
  const char *tokenizer;
  const char **files;
  int file_count, threads;
  brim_feed_options feed;
} arguments;

static void die(const char *what) {
  fprintf(stderr, "bench_data: %s\n", what);
  exit(1);
}

static double seconds_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double in_use_mb(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 now = mallinfo2();
  return (double)(now.uordblks + now.hblkhd) / 1e6;
#else
  return 0;
#endif
}

static double resident_mb(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2)
    resident = 0;
  if (file)
    fclose(file);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Not getrusage, whose peak begins with that of the program that started this one. */
static double peak_mb(void) {
  double kilobytes = 0;
  char line[256];
  FILE *file = fopen("/proc/self/status", "r");
  while (file && kilobytes == 0 && fgets(line, sizeof line, file))
    sscanf(line, "VmHWM: %lf", &kilobytes);
  if (file)
    fclose(file);
  return kilobytes / 1e3;
}

/* The numbers that options set, by name. */
static bool set_number(arguments *a, const char *name, long long value) {
  brim_plan_options *plan = &a->feed.plan;
  if (strcmp(name, "--threads") == 0)
    a->threads = (int)value;
  else if (strcmp(name, "--max-length") == 0)
    a->feed.encode.max_length = (int32_t)value;
  else if (strcmp(name, "--batch-size") == 0)
    plan->batch_size = value;
  else if (strcmp(name, "--max-tokens") == 0)
    plan->max_tokens = value;
  else if (strcmp(name, "--read-ahead") == 0)
    plan->read_ahead = value;
  else if (strcmp(name, "--seed") == 0)
    plan->seed = (uint64_t)value;
  else if (strcmp(name, "--window") == 0)
    a->feed.window = (uint64_t)value;
  else if (strcmp(name, "--prefetch") == 0)
    a->feed.prefetch = (int32_t)value;
  else if (strcmp(name, "--epochs") == 0)
    a->feed.epochs = (uint64_t)value;
  else
    return false;
  return true;
}

static void parse(int argc, char **argv, arguments *a) {
  if (argc < 3)
    die("usage: bench_data TOKENIZER [--OPTION VALUE]... FILE...");
  a->tokenizer = argv[1];
  a->feed.epochs = 1;
  int at = 2;
  for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
    bool known = strcmp(argv[at], "--batching") == 0  ? brim_batching_parse(argv[at + 1], &a->feed.plan.batching)
                 : strcmp(argv[at], "--padding") == 0 ? brim_padding_parse(argv[at + 1], &a->feed.plan.padding)
                                                      : set_number(a, argv[at], strtoll(argv[at + 1], NULL, 10));
    if (!known)
      die(argv[at]);
  }
  a->files = (const char **)argv + at;
  a->file_count = argc - at;
}

static void show(const brim_feed *feed, double seconds, double cpu) {
  brim_feed_ledger l;
  if (!brim_feed_finished(feed, &l))
    return;
  printf("{\"epoch\":%llu,\"rows\":%llu,\"batches\":%llu,\"tokens\":%llu,\"slots\":%llu,\"truncated\":%llu,\"hash\":\"%016llx\","
         "\"seconds\":%.4f,\"cpu\":%.4f,\"resident_mb\":%.1f,\"peak_mb\":%.1f,\"in_use_mb\":%.1f,\"bound_mb\":%.1f}\n",
         (unsigned long long)l.epoch, (unsigned long long)l.rows_yielded, (unsigned long long)l.batches,
         (unsigned long long)l.tokens, (unsigned long long)l.slots, (unsigned long long)l.rows_truncated,
         (unsigned long long)l.hash, seconds, cpu, resident_mb(), peak_mb(), in_use_mb(), (double)brim_feed_memory(feed) / 1e6);
  fflush(stdout);
}

/* Takes all batches; a new epoch shows in its first batch, so its clock begins there. */
static uint64_t run(brim_feed *feed, brim_error *err, int *status) {
  const brim_batch *batch;
  brim_feed_ledger ledger = {0};
  uint64_t sum = 0, epoch = 0;
  double began = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  while ((*status = brim_feed_next(feed, &batch, err)) == BRIM_OK) {
    brim_feed_tell(feed, &ledger);
    if (ledger.epoch != epoch) {
      double now = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      show(feed, now - began, used - cpu);
      began = now, cpu = used, epoch = ledger.epoch;
    }
    for (int64_t i = 0; i < batch->tokens; i++)
      sum += (uint64_t)batch->ids[i];
  }
  show(feed, seconds_of(CLOCK_MONOTONIC) - began, seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu);
  return sum;
}

int main(int argc, char **argv) {
  arguments a = {0};
  brim_runtime *runtime = NULL;
  brim_tokenizer *tokenizer = NULL;
  brim_feed *feed = NULL;
  brim_error err;
  parse(argc, argv, &a);
  int status = brim_runtime_new(&(brim_runtime_options){.threads = a.threads}, &runtime, &err);
  if (!status)
    status = brim_tokenizer_load(runtime, a.tokenizer, &tokenizer, &err);
  if (!status)
    status = brim_feed_open(runtime, a.files, a.file_count, tokenizer, &a.feed, &feed, &err);
  if (!status && run(feed, &err, &status) == 0)
    fprintf(stderr, "bench_data: all ids are 0\n");
  if (status != BRIM_END) {
    char text[1200];
    brim_error_text(&err, text, sizeof text);
    die(text);
  }
  brim_feed_close(feed);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(runtime);
  return 0;
}
