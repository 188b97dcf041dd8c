/* Opening the way from gradients to weights: each allocation may fail. */
#include "reduce/reduce.h"
#include "base/runtime.h"
#include "fault.h"
#include "model_case.h"

typedef struct wanted {
  const char *folder;
  int32_t slices;
} wanted;

static int open_reduce(brim_runtime *runtime, void *context, brim_error *err) {
  const wanted *w = context;
  const brim_model_options options = {.kernels = "cpu-plain"};
  const brim_model_limits training = {.max_slots = 64, .max_sequences = 4, .max_length = 32, .training = true};
  const brim_plan_options plan = {.batch_size = 4, .slices = w->slices};
  const brim_group group = brim_group_single();
  brim_reduce_how how = {.runtime = runtime, .group = &group, .plan = &plan};
  brim_model *model;
  brim_reduce *reduce = NULL;
  int status = brim_model_load(runtime, w->folder, &options, &model, err);
  if (!status)
    status = brim_model_prepare(model, &training, err);
  if (!status)
    how.model = model, status = brim_reduce_open(&how, &reduce, err);
  if (status == BRIM_E_UNSUPPORTED && w->slices > 0 && !brim_model_is_host(model))
    status = BRIM_OK; /* there are none where memory is a device's */
  brim_reduce_close(reduce);
  brim_model_free(model);
  return status;
}

int main(void) {
  case_start(1);
  fault_check("alone", 1, open_reduce, NULL, &(wanted){case_golden("bert-odd-regression"), 0});
  fault_check("alone, with slices", 1, open_reduce, NULL, &(wanted){case_golden("bert-odd-regression"), 8});
  brim_runtime_free(case_runtime);
  return tap_done();
}
