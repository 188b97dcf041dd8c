/* A device that fails in the middle of a run, wherever that is: the run ends with the device's words, its log and checkpoints
 * hold nothing that was not done, and when it is resumed it ends with the bytes of a run that was not disturbed. */
#include "../train_case.h"
#include "strict_device.h"

enum { PLACES = 12 };

static const char *folder;

static brim_train_options options_of(const char *output) {
  brim_train_options options = case_options(output);
  options.save_every = 4;
  options.eval_every = 5;
  options.swa_start = 0.5;
  return options;
}

/* In a process of its own, as far as brim can tell; the n-th thing that the device does after the model is there fails. */
static int run(const char *output, long n, bool resume, float **weights, char **log, brim_error *err) {
  case_job job = case_open(folder, 2);
  brim_train_options options = options_of(output);
  options.resume = resume;
  strict_fail(n);
  const int status = case_train(&job, &options, NULL, err);
  strict_fail(-1);
  if (weights) {
    *weights = case_weights(&job);
    *log = case_log(output);
  }
  case_close(&job);
  return status;
}

/* Begin and end wait too, as often in both runs. */
static void check_waits(void) {
  long syncs[2], steps[2];
  for (int i = 0; i < 2; i++) {
    brim_error err = {0};
    case_job job = case_open(folder, 2);
    brim_train_options options = case_options(NULL);
    options.max_steps = steps[i] = i ? 11 : 4;
    options.plan.max_tokens = 60; /* parts */
    brim_dataset_free(job.eval);
    job.eval = NULL;
    const long before = strict_syncs();
    if (case_train(&job, &options, NULL, &err))
      printf("# %s\n", err.message);
    syncs[i] = strict_syncs() - before;
    case_close(&job);
  }
  ok(syncs[1] - syncs[0] == steps[1] - steps[0], "a step waits once for the device: %ld times in %ld steps, %ld in %ld", syncs[0],
     steps[0], syncs[1], steps[1]);
}

int main(void) {
  brim_error err = {0};
  float *want = NULL, *got = NULL;
  char *want_log = NULL, *got_log = NULL, name[32];
  folder = case_model_folder("bert-pair-3");
  case_job job = case_open(folder, 1);
  const size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof *want;
  case_close(&job);
  const long before = strict_done();
  ok_int(run(scratch_file("undisturbed"), -1, false, &want, &want_log, &err), BRIM_OK, "a run");
  const long all = strict_done() - before;
  int told = 0, resumed = 0, same = 0, same_logs = 0;
  for (int i = 0; i < PLACES; i++) {
    snprintf(name, sizeof name, "disturbed-%d", i);
    const int status = run(scratch_file(name), all * (2 * i + 1) / (2 * PLACES), false, NULL, NULL, &err);
    told += status == BRIM_E_UNSUPPORTED && strstr(err.message, "the device failed");
    resumed += run(scratch_file(name), -1, true, &got, &got_log, &err) == BRIM_OK;
    same += memcmp(got, want, bytes) == 0;
    same_logs += strcmp(got_log, want_log) == 0;
    free(got);
    free(got_log);
  }
  ok(all > 1000 && told == PLACES, "of %ld things one fails: told in %d of %d runs", all, told, PLACES);
  ok(resumed == PLACES && same == PLACES && same_logs == PLACES,
     "resumed (%d) they end with the same weights (%d) and the same log (%d)", resumed, same, same_logs);
  free(want);
  free(want_log);
  check_waits();
  return tap_done();
}
