/* A run that is profiled: the same bits and the same log, and times that add up. */
#include "base/json.h"
#include "train_case.h"

static const char *folder;

static case_job run(const char *output, brim_profile *profile) {
  case_job job = case_open(folder, 2);
  brim_train_options options = case_options(output);
  brim_error err = {0};
  options.profile = profile;
  ok(case_train(&job, &options, NULL, &err) == BRIM_OK, "%s%s", profile ? "profiled" : "not profiled", err.message);
  return job;
}

static const brim_profile_row *row_of(const brim_profile *p, const char *name) {
  for (int i = 0; i < brim_profile_row_count(p); i++)
    if (strcmp(brim_profile_row_at(p, i)->name, name) == 0)
      return brim_profile_row_at(p, i);
  static const brim_profile_row none;
  return &none;
}

static void check_rows(const brim_profile *p) {
  static const brim_work always[] = {BRIM_WORK_PRODUCT, BRIM_WORK_ATTENTION, BRIM_WORK_EMBEDDING, BRIM_WORK_LOSS,
                                     BRIM_WORK_OPTIMIZER};
  bool timed[BRIM_WORK_COUNT] = {0}, each = true;
  double inside = 0, all = 0, steps = 0;
  for (int i = 0; i < brim_profile_row_count(p); i++) {
    const brim_profile_row *row = brim_profile_row_at(p, i);
    if (row->work == BRIM_WORK_FRAME) {
      steps += row->seconds;
      continue;
    }
    all += row->seconds;
    timed[row->work] = timed[row->work] || row->seconds > 0;
    const bool between = strcmp(row->name, "update, late rows") == 0; /* steps, before an evaluation or a checkpoint */
    if (row->work >= BRIM_WORK_PRODUCT && row->work <= BRIM_WORK_OPTIMIZER && !between)
      inside += row->seconds;
  }
  printf("# steps %.4f s, their parts %.4f s; run %.4f s, its parts %.4f s\n", steps, inside, brim_profile_seconds(p), all);
  for (size_t i = 0; i < sizeof always / sizeof *always; i++)
    each = each && timed[always[i]];
  ok(each && inside <= 1.0001 * steps, "each kind of work of a step takes some time, and all of them no more than the steps");
  ok(all < brim_profile_seconds(p) * 1.0001, "all parts are no longer than the run");
  ok_int((int)row_of(p, "batch")->calls, 12, "twelve batches");
  ok_int((int)row_of(p, "update")->calls, 12, "twelve updates");
  ok_int((int)row_of(p, "loss")->calls, 12, "twelve losses: those of evaluations are evaluation");
  ok_int((int)row_of(p, "evaluation")->calls, 2, "two evaluations");
  ok_int((int)row_of(p, "checkpoint")->calls + (int)row_of(p, "final model")->calls, 3, "two checkpoints and the model");
}

/* Once training is over nothing is timed any more. */
static void check_end(const case_job *job, const brim_profile *profile) {
  const int rows = brim_profile_row_count(profile);
  float logits[256];
  brim_error err;
  ok(brim_predict(job->runtime, job->model, job->eval, NULL, logits, &err) == BRIM_OK &&
         brim_profile_row_count(profile) == rows && row_of(profile, "loss")->calls == 12,
     "a prediction afterwards is not timed");
}

static void check_run(brim_runtime *runtime, brim_profile *profile) {
  const char *plain = scratch_file("plain"), *timed = scratch_file("timed");
  case_job without = run(plain, NULL), with = run(timed, profile);
  float *want = case_weights(&without);
  ok(case_same_weights(&with, want), "the same weights, bit for bit");
  char *log = case_log(plain), *timed_log = case_log(timed);
  case_same_text(timed_log, log, "the same log");
  check_rows(profile);
  check_end(&with, profile);
  const char *path = case_path(timed, "trace.json");
  brim_json_document *trace = NULL;
  brim_error err = {0};
  ok(brim_profile_write(profile, path, &err) == BRIM_OK && brim_json_load(runtime, path, 0, &trace, &err) == BRIM_OK,
     "the trace is JSON");
  brim_json_free(trace);
  free(want), free(log), free(timed_log);
  case_close(&without), case_close(&with);
}

int main(void) {
  folder = case_model_folder("bert-pair-3");
  if (!folder) {
    tap_skip("a profiled run", "no golden models");
    return tap_done();
  }
  brim_runtime *runtime;
  brim_profile *profile;
  if (brim_runtime_new(NULL, &runtime, NULL) || brim_profile_new(runtime, &profile, NULL))
    return 99;
  check_run(runtime, profile);
  brim_profile_free(profile);
  brim_runtime_free(runtime);
  return tap_done();
}
