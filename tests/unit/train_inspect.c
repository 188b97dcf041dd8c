/* brim inspect: what a recipe may say, and what is refused. The numbers are checked against golden files elsewhere. */
#include "base/runtime.h"
#include "brim/train.h"
#include "model/run/flat.h"
#include "model_case.h"

static int steps_seen;
static double last_rate;

static int on_step(void *context, const brim_event *event) {
  steps_seen++;
  last_rate = brim_event_field(event, "lr")->real;
  return steps_seen == *(const int *)context ? BRIM_E_CANCELLED : BRIM_OK;
}

static int run(const char *recipe, brim_padding padding, int stop_after, const char *output, brim_error *err) {
  brim_model *model = case_load(case_golden("bert-odd-regression"), "cpu-plain");
  brim_dataset *rows = case_rows("bert-odd-regression");
  *err = (brim_error){0};
  steps_seen = 0;
  const int status = brim_inspect_trajectory(case_runtime, model, rows, scratch_write("recipe.json", recipe), padding, output,
                                             on_step, &stop_after, err);
  brim_dataset_free(rows);
  brim_model_free(model);
  return status;
}

static void check_refused(const char *recipe, int code, const char *words) {
  brim_error err;
  const char *output = scratch_file("refused.safetensors");
  const int status = run(recipe, BRIM_PAD_NONE, 0, output, &err);
  if (!ok(status == code && strstr(err.message, words) && access(output, F_OK) != 0, "refused: %s", recipe))
    printf("# %d: %s\n", status, err.message);
}

static void check_recipes(void) {
  brim_error err;
  const char *output = scratch_file("weights.safetensors");
  ok(run("{\"step_rows\":[[0,1],[4,4,4],[2]]}", BRIM_PAD_LONGEST, 0, output, &err) == BRIM_OK && steps_seen == 3 &&
         access(output, F_OK) == 0,
     "only rows are needed; a row may come again");
  ok(run("{\"hyperparameters\":{\"step_rows\":[[0],[1],[2]],\"total_steps\":2,\"lr\":0.5,\"max_grad_norm\":0.0}}", BRIM_PAD_NONE,
         0, output, &err) == BRIM_OK &&
         steps_seen == 2 && last_rate == 0.25,
     "fewer steps than rows are listed for");
  ok(run("{\"step_rows\":[[0],[1]]}", BRIM_PAD_NONE, 1, output, &err) == BRIM_E_CANCELLED && steps_seen == 1, "a callback stops");
  check_refused("{}", BRIM_E_FORMAT, "step_rows");
  check_refused("[1]", BRIM_E_FORMAT, "step_rows");
  check_refused("{\"step_rows\":[[0],[]]}", BRIM_E_FORMAT, "at least one row");
  check_refused("{\"step_rows\":[[0],[5]]}", BRIM_E_FORMAT, "rows 0 to 4");
  check_refused("{\"step_rows\":[[0],[0.5]]}", BRIM_E_FORMAT, "rows 0 to 4");
  check_refused("{\"step_rows\":[[0]],\"total_steps\":2}", BRIM_E_FORMAT, "total_steps is 2");
  check_refused("{\"step_rows\":[[0]],\"schedule\":\"cosine\"}", BRIM_E_UNSUPPORTED, "linear");
  check_refused("{\"step_rows\":[[0]],\"lr\":\"fast\"}", BRIM_E_FORMAT, "lr");
  check_refused("{\"step_rows\":[[0]],\"lr\":1e38,\"weight_decay\":0.0,\"step_rows\":[[0],[1],[2],[3],[4]]}", BRIM_E_DIVERGED,
                "not finite");
}

static void check_gradients(void) {
  brim_error err;
  brim_model *model = case_load(case_golden("bert-odd-regression"), "cpu-plain");
  brim_dataset *rows = case_rows("bert-odd-regression"), *long_rows = case_rows("bert-pair-3");
  const char *output = scratch_file("gradients.safetensors");
  ok(brim_inspect_gradients(case_runtime, model, rows, BRIM_PAD_MAX_LENGTH, output, &err) == BRIM_OK, "gradients are written");
  ok(brim_inspect_gradients(case_runtime, model, long_rows, BRIM_PAD_NONE, output, &err) == BRIM_E_MISMATCH &&
         strstr(err.message, "token id"),
     "rows of another vocabulary are refused");
  ok(brim_inspect_gradients(case_runtime, model, rows, BRIM_PAD_NONE, scratch_file("no/such/folder"), &err) == BRIM_E_IO,
     "a folder that is missing");
  bool zero = true;
  const float *gradients = brim_model_gradients(model);
  for (int64_t i = 0; i < brim_model_flat_size(model); i++)
    zero = zero && gradients[i] == 0;
  ok(zero, "the model is left without a gradient");
  brim_dataset_free(long_rows);
  brim_dataset_free(rows);
  brim_model_free(model);
}

int main(void) {
  case_start(1);
  check_recipes();
  check_gradients();
  brim_runtime_free(case_runtime);
  return tap_done();
}
