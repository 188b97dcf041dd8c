/* Planning and collation when memory fails: every allocation of every strategy. */
#include "brim/study.h"
#include "fault.h"

enum { ROWS = 300 };

static int32_t lengths[ROWS];

static int plan_once(brim_runtime *runtime, void *context, brim_error *err) {
  brim_plan *plan;
  int status = brim_plan_new(runtime, lengths, ROWS, context, 0, &plan, err);
  brim_plan_free(plan);
  return status;
}

static int fill_once(brim_runtime *runtime, void *context, brim_error *err) {
  int32_t ids[] = {1, 2, 3};
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  brim_sample samples[] = {{.ids = ids, .length = 3, .blocks = {NULL, numbers, numbers}},
                           {.ids = ids, .length = 2, .blocks = {NULL, numbers, numbers}}};
  const brim_block_shape further[] = {{.name = "of rows", .width = 6}, {.name = "of tokens", .per = BRIM_PER_TOKEN, .width = 2}};
  brim_dataset *dataset = NULL;
  brim_plan *plan = NULL;
  brim_batch batch = {0}, copy = {0};
  brim_planned part;
  int status = brim_dataset_from_rows(runtime, samples, 2, NULL, further, 2, &dataset, err);
  if (status == BRIM_OK)
    status = brim_plan_new(runtime, brim_dataset_lengths(dataset), 2, context, 0, &plan, err);
  for (uint64_t p = 0; status == BRIM_OK && p < brim_plan_parts(plan); p++) {
    brim_plan_part(plan, 0, p, &part);
    status = brim_batch_fill(&batch, runtime, dataset, &part, err);
    if (status == BRIM_OK)
      status = brim_batch_copy(&copy, runtime, &batch, err);
  }
  brim_batch_free(&batch);
  brim_batch_free(&copy);
  brim_plan_free(plan);
  brim_dataset_free(dataset);
  return status;
}

static int study_once(brim_runtime *runtime, void *context, brim_error *err) {
  int32_t ids[] = {1, 2, 3};
  brim_sample samples[] = {{.ids = ids, .length = 3}, {.ids = ids, .length = 2}, {.ids = ids, .length = 1}};
  brim_dataset *dataset = NULL;
  brim_study study = {0};
  int status = brim_dataset_from_samples(runtime, samples, 3, NULL, &dataset, err);
  if (status == BRIM_OK)
    status = brim_study_dataset(runtime, dataset, context, &study, err);
  brim_study_free(&study);
  brim_dataset_free(dataset);
  return status;
}

int main(void) {
  for (int i = 0; i < ROWS; i++)
    lengths[i] = 10 + (i * 7919) % 500;
  for (int batching = BRIM_SEQUENTIAL; batching <= BRIM_PACKED; batching++) {
    const char *name = brim_batching_name((brim_batching)batching);
    brim_plan_options rows = {.batching = (brim_batching)batching, .batch_size = 16, .max_tokens = 2000, .world_size = 3};
    fault_check(name, 1, plan_once, NULL, &rows);
    brim_plan_options tokens = {.batching = (brim_batching)batching,
                                .padding = BRIM_PAD_LONGEST,
                                .max_tokens = 2000,
                                .read_ahead = 100,
                                .world_size = 2,
                                .drop_last = true,
                                .accumulate = 4};
    fault_check(name, 1, plan_once, NULL, &tokens);
    tokens.padding = BRIM_PAD_NONE;
    fault_check(name, 1, plan_once, NULL, &tokens);
  }
  brim_plan_options one = {.batch_size = 1};
  fault_check("fill", 1, fill_once, NULL, &one);
  fault_check("study", 1, study_once, NULL, &one);
  return tap_done();
}
