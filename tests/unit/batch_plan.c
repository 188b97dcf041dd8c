/* Plans: worked examples and the rules of steps, parts and drops, one by one. */
#include "brim/batch.h"
#include "tap.h"

enum { A, B, C, D, E, F };

static brim_runtime *runtime;

static brim_plan *plan_of(const int32_t *lengths, uint64_t rows, brim_plan_options options, uint64_t epoch) {
  brim_plan *plan = NULL;
  brim_error err = {0};
  if (brim_plan_new(runtime, lengths, rows, &options, epoch, &plan, &err)) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return plan;
}

/* The parts of all ranks as text: "0 1 | 2 3 / 4 5" with "|" between parts and "/" between ranks. */
static const char *show(const brim_plan *plan, int32_t world) {
  static char text[4096];
  size_t used = 0;
  text[0] = 0;
  for (int32_t rank = 0; rank < world; rank++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s", rank ? " /" : "");
    for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
      brim_planned part;
      brim_plan_part(plan, rank, p, &part);
      used += (size_t)snprintf(text + used, sizeof text - used, "%s", p ? " |" : "");
      for (uint32_t i = 0; i < part.count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %llu", (unsigned long long)part.rows[i]);
    }
  }
  return text;
}

static void expect(const int32_t *lengths, uint64_t rows, brim_plan_options options, const char *want, const char *name) {
  brim_plan *plan = plan_of(lengths, rows, options, 0);
  ok_string(show(plan, options.world_size ? options.world_size : 1), want, name);
  brim_plan_free(plan);
}

/* Lengths 50, 30, 20, 20, 30, 20 and a budget of 60 give [a], [b, e], [c, d, f] before the shuffle: whatever the seed. */
static void worked_example(void) {
  const int32_t lengths[] = {[A] = 50, [B] = 30, [C] = 20, [D] = 20, [E] = 30, [F] = 20};
  for (int ahead = 0; ahead <= 6; ahead += 6) {
    int bad = 0;
    for (uint64_t seed = 0; seed < 50; seed++) {
      brim_plan_options o = {
          .batching = BRIM_BUCKETED, .padding = BRIM_PAD_LONGEST, .max_tokens = 60, .read_ahead = ahead, .seed = seed};
      brim_plan *plan = plan_of(lengths, 6, o, seed / 7);
      uint32_t batch_of[6] = {0}, sizes[6] = {0};
      for (uint64_t p = 0; p < brim_plan_parts(plan); p++) {
        brim_planned part;
        brim_plan_part(plan, 0, p, &part);
        for (uint32_t i = 0; i < part.count; i++)
          batch_of[part.rows[i]] = (uint32_t)p;
        sizes[p] = part.count;
        bad += part.slots != (part.count == 1 ? 50 : 60);
      }
      bad += brim_plan_parts(plan) != 3 || sizes[batch_of[A]] != 1 || batch_of[B] != batch_of[E] || batch_of[C] != batch_of[D] ||
             batch_of[C] != batch_of[F] || sizes[batch_of[B]] != 2 || sizes[batch_of[C]] != 3;
      brim_plan_free(plan);
    }
    ok(bad == 0, "the worked example, read-ahead %d", ahead);
  }
}

static void steps_and_parts(void) {
  const int32_t ten[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  expect(ten, 10, (brim_plan_options){.batch_size = 4}, " 0 1 2 3 | 4 5 6 7 | 8 9", "batch_size");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30}, " 0 1 2 | 3 4 5 | 6 7 8 | 9", "max_tokens");
  expect(ten, 10, (brim_plan_options){.max_tokens = 35, .max_rows = 2}, " 0 1 | 2 3 | 4 5 | 6 7 | 8 9", "max_rows");
  expect(ten, 10, (brim_plan_options){.batch_size = 8, .max_tokens = 50}, " 0 1 2 3 4 | 5 6 7 | 8 9", "max_tokens cuts a step");
  expect(ten, 10, (brim_plan_options){.batch_size = 8, .accumulate = 4}, " 0 1 | 2 3 | 4 5 | 6 7 | 8 9",
         "accumulate cuts a step");
  expect(ten, 10, (brim_plan_options){.batch_size = 8, .max_rows = 3}, " 0 1 2 | 3 4 5 | 6 7 | 8 9", "so does max_rows");
  expect(ten, 10, (brim_plan_options){.batch_size = 8, .world_size = 2}, " 0 1 2 3 | 8 / 4 5 6 7 | 9", "two ranks");
  expect(ten, 10, (brim_plan_options){.batch_size = 4, .world_size = 3}, " 0 | 4 | 8 / 1 2 | 5 6 | 9 / 3 | 7 |",
         "three ranks, an empty part");
  expect(ten, 10, (brim_plan_options){.batch_size = 4, .drop_last = true}, " 0 1 2 3 | 4 5 6 7", "drop_last");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30, .drop_last = true}, " 0 1 2 | 3 4 5 | 6 7 8", "drop_last with a budget");
  expect(ten, 10, (brim_plan_options){.max_tokens = 20, .accumulate = 2, .drop_last = true}, " 0 1 | 2 3 | 4 5 | 6 7",
         "drop_last: a step with too few batches");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30, .required_batch_size_multiple = 2}, " 0 1 | 2 3 | 4 5 | 6 7 | 8 9",
         "a required multiple");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30, .world_size = 2, .tail = BRIM_TAIL_FILL}, " 0 1 2 | 6 7 8 / 3 4 5 | 9",
         "whole batches to two ranks");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30, .world_size = 3, .tail = BRIM_TAIL_FILL},
         " 0 1 2 | 9 / 3 4 5 | / 6 7 8 |", "fill: ranks without work in the last step");
  expect(ten, 10, (brim_plan_options){.max_tokens = 40, .world_size = 2}, " 0 1 2 3 | 8 / 4 5 6 7 | 9",
         "resplit: the last batch is shared out");
  expect(ten, 10, (brim_plan_options){.max_tokens = 30, .world_size = 3, .tail = BRIM_TAIL_DROP}, " 0 1 2 / 3 4 5 / 6 7 8",
         "drop: the last step goes");
}

static void step_numbers(void) {
  const int32_t ten[] = {10, 10, 10, 10, 10, 10, 10, 10, 10, 10};
  brim_plan_options options = {.max_tokens = 30, .accumulate = 3};
  brim_plan *plan = plan_of(ten, 10, options, 0);
  ok_int(brim_plan_steps(plan), 2, "two steps of three batches");
  ok_int(brim_plan_parts(plan), 4, "four batches");
  brim_planned part;
  brim_plan_part(plan, 0, 2, &part);
  ok(part.step == 0 && part.step_rows == 9 && part.places[0] == 6 && part.places[2] == 8, "the third batch of the first step");
  brim_plan_part(plan, 0, 3, &part);
  ok(part.step == 1 && part.step_rows == 1 && part.places[0] == 0 && part.count == 1, "the short last step");
  brim_plan_free(plan);
}

static void ledgers(void) {
  const int32_t lengths[] = {5, 9, 3, 7, 8};
  brim_plan_options options = {.batch_size = 2, .max_length = 6, .padding = BRIM_PAD_LONGEST, .drop_last = true};
  brim_plan *plan = plan_of(lengths, 5, options, 0);
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  ok(ledger.rows_read == 5 && ledger.rows_planned == 4 && ledger.dropped == 1 && ledger.drops[0].row == 4, "rows");
  ok_string(ledger.drops[0].reason, "drop_last: the batch is not full", "the reason");
  ok(ledger.rows_truncated == 3 && ledger.tokens_lost == 3 + 1 + 2, "truncation");
  ok(ledger.tokens == 5 + 6 + 3 + 6 && ledger.slots == 24 && ledger.batches == 2 && ledger.steps == 2, "tokens and slots");
  brim_planned part;
  brim_plan_part(plan, 0, 0, &part);
  ok(part.cut == 6 && part.width == 6 && part.tokens == 11 && part.slots == 12, "a part");
  brim_plan_free(plan);

  options = (brim_plan_options){.batch_size = 2};
  plan = plan_of(NULL, 0, options, 0);
  brim_plan_ledger(plan, &ledger);
  ok(brim_plan_steps(plan) == 0 && brim_plan_parts(plan) == 0 && ledger.rows_read == 0 && ledger.dropped == 0,
     "no rows, no steps");
  brim_plan_free(plan);
}

static uint64_t hash_of(const int32_t *lengths, uint64_t rows, brim_plan_options options, uint64_t epoch) {
  brim_plan *plan = plan_of(lengths, rows, options, epoch);
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  brim_plan_free(plan);
  return ledger.hash;
}

static void hashes(void) {
  int32_t lengths[100];
  for (int i = 0; i < 100; i++)
    lengths[i] = 10 + i % 13;
  brim_plan_options o = {.batching = BRIM_RANDOM, .batch_size = 8}, cut = o, seed = o, size = o;
  uint64_t hash = hash_of(lengths, 100, o, 0);
  ok(hash == hash_of(lengths, 100, o, 0), "the same plan, the same hash");
  ok(hash != hash_of(lengths, 100, o, 1), "another epoch");
  seed.seed = 1;
  ok(hash != hash_of(lengths, 100, seed, 0), "another seed");
  cut.max_tokens = 100;
  ok(hash != hash_of(lengths, 100, cut, 0), "other cuts");
  brim_plan_options whole = {.batch_size = 8}, parts = {.batch_size = 8, .max_rows = 4};
  ok(hash_of(lengths, 100, whole, 0) != hash_of(lengths, 100, parts, 0), "the same rows in the same order, cut elsewhere");
  int32_t equal[8] = {10, 10, 10, 10, 10, 10, 10, 10};
  brim_plan_options five = {.batch_size = 8, .max_tokens = 50}, four = {.batch_size = 8, .max_rows = 4};
  ok(hash_of(equal, 8, five, 0) != hash_of(equal, 8, four, 0), "5 and 3 rows are not 4 and 4");
  size.batch_size = 9;
  ok(hash != hash_of(lengths, 100, size, 0), "another size");
  ok(hash != hash_of(lengths, 99, o, 0), "other rows");
}

static int64_t rows_for(void *context, int32_t longest) {
  (*(int *)context)++;
  return longest >= 20 ? 1 : 3;
}

/* A caller's longest-length -> rows function alone makes batches too. */
static void row_function(void) {
  const int32_t lengths[] = {20, 10, 10, 10, 10, 30};
  int calls = 0;
  brim_plan_options o = {.rows_for = rows_for, .rows_context = &calls, .padding = BRIM_PAD_LONGEST};
  expect(lengths, 6, o, " 0 | 1 2 3 | 4 | 5", "rows for the longest length");
  ok(calls > 0, "was asked");
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  worked_example();
  steps_and_parts();
  step_numbers();
  ledgers();
  hashes();
  row_function();
  brim_runtime_free(runtime);
  return tap_done();
}
