/* analyze: the distribution of lengths, and every strategy's slots side by side. */
#include "brim/study.h"
#include "study/internal.h"
#include "tap.h"

static brim_runtime *runtime;

static brim_dataset *dataset_of(const int32_t *lengths, uint64_t rows) {
  static int32_t ids[1000];
  brim_sample samples[1000];
  brim_dataset *dataset;
  for (uint64_t i = 0; i < rows; i++)
    samples[i] = (brim_sample){.ids = ids, .length = lengths[i], .label = 0};
  if (brim_dataset_from_samples(runtime, samples, rows, NULL, &dataset, NULL))
    exit(99);
  return dataset;
}

static const brim_strategy_study *find(const brim_study *study, brim_batching batching, brim_padding padding) {
  for (int i = 0; i < study->strategy_count; i++)
    if (study->strategies[i].batching == batching && study->strategies[i].padding == padding)
      return &study->strategies[i];
  return NULL;
}

static void distribution(void) {
  brim_dataset *dataset = dataset_of((int32_t[]){4, 2, 9, 2, 3, 7, 2, 5, 30, 6}, 10);
  brim_plan_options options = {.batch_size = 2, .max_length = 10};
  brim_study study;
  ok_int(brim_study_dataset(runtime, dataset, &options, &study, NULL), BRIM_OK, "study");
  ok(study.rows == 10 && study.tokens == 50 && study.shortest == 2 && study.longest == 10, "rows, tokens, ends");
  ok(study.truncated == 1 && study.lost == 20, "truncation");
  ok_near(study.mean, 5, 0, "mean");
  ok_near(study.median, 4.5, 0, "median");
  ok(study.percentiles[0] == 2 && study.percentiles[30] == 2 && study.percentiles[31] == 3 && study.percentiles[50] == 4 &&
         study.percentiles[90] == 9 && study.percentiles[91] == 10 && study.percentiles[100] == 10,
     "percentiles");
  ok(study.histogram[2] == 3 && study.histogram[10] == 1 && study.histogram[8] == 0 && study.histogram[0] == 0, "histogram");
  brim_study_free(&study);
  brim_study_free(&study);
  brim_study_free(NULL);
  brim_dataset_free(dataset);
}

static void strategies(void) {
  int32_t lengths[200];
  uint64_t tokens = 0;
  for (int i = 0; i < 200; i++)
    tokens += (uint64_t)(lengths[i] = 5 + (i * 7919) % 200);
  brim_dataset *dataset = dataset_of(lengths, 200);
  brim_plan_options options = {.batch_size = 8, .max_length = 250};
  brim_study study;
  ok_int(brim_study_dataset(runtime, dataset, &options, &study, NULL), BRIM_OK, "study");
  for (int i = 0; i < study.strategy_count; i++) {
    const brim_strategy_study *s = &study.strategies[i];
    ok(s->ledger.tokens == tokens && s->ledger.rows_planned == 200 && s->ledger.drops == NULL &&
           fabs(s->padding_share - (1 - (double)tokens / (double)s->ledger.slots)) < 1e-12,
       "%s, %s: %llu slots", brim_batching_name(s->batching), brim_padding_name(s->padding), (unsigned long long)s->ledger.slots);
  }
  ok_int(find(&study, BRIM_RANDOM, BRIM_PAD_MAX_LENGTH)->ledger.slots, 200 * 250, "fixed");
  ok_int(find(&study, BRIM_RANDOM, BRIM_PAD_NONE)->ledger.slots, tokens, "ragged");
  uint64_t random = find(&study, BRIM_RANDOM, BRIM_PAD_LONGEST)->ledger.slots;
  uint64_t uniform = find(&study, BRIM_UNIFORM, BRIM_PAD_LONGEST)->ledger.slots;
  uint64_t sorted = find(&study, BRIM_SORTED, BRIM_PAD_LONGEST)->ledger.slots;
  ok(random > uniform && uniform > sorted && sorted > tokens, "random > uniform > sorted > tokens");
  ok(find(&study, BRIM_PACKED, BRIM_PAD_NONE)->ledger.batches == (tokens + 1999) / 2000, "packed into 8 * 250 tokens");
  brim_study_free(&study);

  options = (brim_plan_options){.max_tokens = 1000};
  ok_int(brim_study_dataset(runtime, dataset, &options, &study, NULL), BRIM_OK, "by tokens");
  ok_int(find(&study, BRIM_RANDOM, BRIM_PAD_MAX_LENGTH)->ledger.slots, 200 * 204, "fixed at the longest row");
  brim_study_free(&study);
  brim_dataset_free(dataset);
}

/* Two lengths, two rows a step: what is between steps, and what within them. */
static void spread(void) {
  brim_dataset *dataset = dataset_of((int32_t[]){2, 2, 6, 6, 2, 6}, 6);
  brim_plan_options options = {.batch_size = 2, .cost_linear = 1, .cost_square = 0.5};
  brim_study study;
  ok_int(brim_study_dataset(runtime, dataset, &options, &study, NULL), BRIM_OK, "study");
  const brim_strategy_study *file = find(&study, BRIM_SEQUENTIAL, BRIM_PAD_LONGEST);
  ok_near(file->length_bias, 2.0 / 3, 1e-12, "two of three steps are of one length");
  ok_near(file->step_rows, 2, 0, "rows of a step");
  ok_near(file->step_rows_deviation, 0, 0, "always");
  ok_near(file->cost, 2 * (2 + 2) + 4 * (6 + 18), 1e-9, "cost of the slots");
  ok_near(find(&study, BRIM_RANDOM, BRIM_PAD_NONE)->cost, 3 * (2 + 2) + 3 * (6 + 18), 1e-9, "cost of the tokens");
  for (int i = 0; i < study.strategy_count; i++)
    if (study.strategies[i].batching == BRIM_PACKED) {
      brim_plan_options again = brim_study_strategy_options(&study, &options, i);
      ok(again.batching == BRIM_PACKED && again.max_tokens == 12 && again.batch_size == 0, "packed into what two long rows take");
      ok(study.strategies[i].step_rows_deviation > 0, "steps of different numbers of rows");
    }
  brim_study_free(&study);
  brim_dataset_free(dataset);
  dataset = dataset_of((int32_t[]){4, 4, 4, 4}, 4);
  ok_int(brim_study_dataset(runtime, dataset, &options, &study, NULL), BRIM_OK, "one length");
  ok_near(study.strategies[0].length_bias, 0, 0, "no bias");
  brim_study_free(&study);
  brim_dataset_free(dataset);
}

static void edges(void) {
  brim_dataset *one = dataset_of((int32_t[]){7}, 1);
  brim_plan_options options = {.batch_size = 8};
  brim_study study;
  brim_error err = {0};
  ok_int(brim_study_dataset(runtime, one, &options, &study, NULL), BRIM_OK, "one row");
  ok(study.shortest == 7 && study.longest == 7 && study.median == 7 && study.percentiles[50] == 7, "its length");
  ok(study.strategies[0].ledger.slots == 7 && study.strategies[0].padding_share == 0, "no padding");
  brim_study_free(&study);
  options.batch_size = 0;
  ok_int(brim_study_dataset(runtime, one, &options, &study, &err), BRIM_E_USAGE, "neither batch_size nor max_tokens");
  ok(study.histogram == NULL && study.runtime == NULL, "nothing is left");
  options.max_tokens = 5;
  ok_int(brim_study_dataset(runtime, one, &options, &study, &err), BRIM_E_USAGE, "a row over the budget");
  ok(study.histogram == NULL && study.runtime == NULL, "nothing is left");
  brim_dataset_free(one);
}

int main(void) {
  if (brim_runtime_new(NULL, &runtime, NULL))
    return 1;
  distribution();
  strategies();
  spread();
  edges();
  brim_runtime_free(runtime);
  return tap_done();
}
