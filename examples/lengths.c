/* lengths.c: which rows go together, planned from numbers alone: no text, no tokenizer. Any measure of a row will do.
 *
 *   cc lengths.c $(pkg-config --cflags --libs brim) -o lengths
 *   seq 5 300 | shuf | ./lengths 4096
 *
 * Reads one length a line and prints the batches of two epochs. A batch holds at most so many slots of padding, and never more
 * rows than a function of its longest row allows. */
#include <brim/brim.h>

#include <stdio.h>
#include <stdlib.h>

/* Rows that may be computed at once with this longest: here so that rows * longest^2, what attention takes, stays in bounds. It
 * must be a pure function; less than 1 counts as 1. */
static int64_t rows_for(void *context, int32_t longest) {
  const int64_t *attention = context;
  return *attention / ((int64_t)longest * longest);
}

/* A plan is a pure function of lengths, options and epoch: print it anywhere, any time, and it is the same. */
static int print_epoch(brim_runtime *runtime, const int32_t *lengths, uint64_t rows, const brim_plan_options *options,
                       uint64_t epoch, brim_error *error) {
  brim_plan *plan;
  brim_ledger ledger;
  int status = brim_plan_new(runtime, lengths, rows, options, epoch, &plan, error);
  if (status)
    return status;
  for (uint64_t i = 0; i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    printf("epoch %llu batch %llu: %u rows of up to %d, the first is row %llu\n", (unsigned long long)epoch,
           (unsigned long long)i, (unsigned)part.count, (int)part.width, (unsigned long long)part.rows[0]);
  }
  /* The ledger accounts for every row, and its hash says whether two plans are the same. */
  brim_plan_ledger(plan, &ledger);
  printf("%llu of %llu rows, %.1f %% padding, hash %016llx\n", (unsigned long long)ledger.rows_planned,
         (unsigned long long)ledger.rows_read, 100.0 * (1.0 - (double)ledger.tokens / (double)ledger.slots),
         (unsigned long long)ledger.hash);
  brim_plan_free(plan);
  return BRIM_OK;
}

int main(int argc, char **argv) {
  enum { MOST = 100000 };
  static int32_t lengths[MOST];
  uint64_t rows = 0;
  int64_t attention = 500000;
  brim_runtime *runtime = NULL;
  brim_error error = {0};
  if (argc != 2) {
    fprintf(stderr, "usage: lengths MAX_TOKENS <numbers\n");
    return 2;
  }
  while (rows < MOST && scanf("%d", &lengths[rows]) == 1)
    rows++;
  const brim_plan_options options = {.batching = BRIM_BUCKETED, /* like lengths together, in windows of a random order */
                                     .padding = BRIM_PAD_LONGEST,
                                     .max_tokens = strtoll(argv[1], NULL, 10),
                                     .read_ahead = 10000,
                                     .rows_for = rows_for,
                                     .rows_context = &attention,
                                     .seed = 42};
  int status = brim_runtime_new(&(brim_runtime_options){0}, &runtime, &error);
  for (uint64_t epoch = 0; !status && epoch < 2; epoch++)
    status = print_epoch(runtime, lengths, rows, &options, epoch, &error);
  if (status)
    fprintf(stderr, "lengths: %s\n", error.message);
  brim_runtime_free(runtime);
  return status ? 1 : 0;
}
