/* Training in folds: each fold is the run that its training part alone would give, predictions come from who has not seen the
 * row, and an interrupted run continues to the same bits. */
#include "rank_case.h"
#include "study/internal.h"
#include "task/task.h"
#include "train_case.h"

enum { ROWS = 44, FOLDS = 3 };

static const char *model_folder;

typedef struct fold_run {
  case_job job;
  brim_folds folds;
  brim_folds_result result;
  brim_error err;
  int status;
} fold_run;

static brim_train_options fold_options(const char *output) {
  brim_train_options options = case_options(output);
  options.save_every = 2;
  return options;
}

static void run_in_folds(fold_run *run, const brim_train_options *options, uint64_t seed, int threads, brim_event_fn event,
                         int64_t *context) {
  brim_train_options o = *options;
  *run = (fold_run){.job = case_open(model_folder, threads)};
  if (brim_folds_shuffle(run->job.runtime, ROWS, FOLDS, seed, &run->folds, NULL))
    exit(99);
  const brim_named_dataset eval = {"dev", run->job.eval};
  struct {
    brim_runtime *runtime;
    int64_t *left;
  } stop = {run->job.runtime, context};
  o.event = event, o.event_context = &stop;
  run->status = brim_train_folds(run->job.runtime, run->job.model, NULL, run->job.train, &run->folds, &eval, 1, &o, &run->result,
                                 &run->err);
}

static void close_run(fold_run *run) {
  brim_folds_result_free(&run->result);
  brim_folds_free(&run->folds);
  case_close(&run->job);
}

/* Cancels when as many steps of the whole run have been reported. */
static int cancel_after(void *context, const brim_event *event) {
  struct {
    brim_runtime *runtime;
    int64_t *left;
  } const *stop = context;
  if (strcmp(event->kind, "step") == 0 && --*stop->left == 0)
    brim_runtime_cancel(stop->runtime);
  return 0;
}

/* Before a fold has a step. */
static int cancel_fold(void *context, const brim_event *event) {
  if (strcmp(event->kind, "fold") == 0)
    brim_runtime_cancel(*(brim_runtime **)context);
  return 0;
}

/* ---- one fold is a run of its own ------------------------------------------------------------------------- */

static void alone(const fold_run *run, int32_t fold, float *mean) {
  case_job job = case_open(model_folder, 1);
  brim_train_options options = fold_options(NULL);
  brim_dataset *train, *valid;
  brim_train_result result;
  brim_metrics metrics;
  int outputs = brim_model_outputs(job.model), next = 0;
  float logits[ROWS * 8], eval[30 * 8];
  if (brim_folds_part(job.runtime, job.train, &run->folds, fold, false, &train, NULL) ||
      brim_folds_part(job.runtime, job.train, &run->folds, fold, true, &valid, NULL) ||
      brim_train(job.runtime, job.model, NULL, train, NULL, 0, &options, &result, NULL) ||
      brim_predict(job.runtime, job.model, valid, NULL, logits, NULL) ||
      brim_predict(job.runtime, job.model, job.eval, NULL, eval, NULL) ||
      brim_evaluate(job.runtime, job.model, valid, NULL, &metrics, NULL))
    exit(99);
  bool same = true;
  for (int row = 0; row < ROWS; row++)
    if (run->folds.fold[row] == fold)
      same &= memcmp(run->result.logits + row * outputs, logits + next++ * outputs, (size_t)outputs * sizeof *logits) == 0;
  ok(same, "fold %d: its rows have the logits of a model that was trained on the others", (int)fold);
  const brim_fold_result *got = &run->result.folds[fold];
  ok(got->metrics.loss == metrics.loss && got->valid_rows == metrics.rows && got->run.steps == result.steps &&
         got->run.loss == result.loss,
     "fold %d: metrics and loss too", (int)fold);
  for (int i = 0; i < 30; i++) {
    double p[8];
    brim_softmax(eval + i * outputs, outputs, p);
    for (int c = 0; c < outputs; c++)
      mean[i * outputs + c] += (float)p[c] / FOLDS;
  }
  brim_dataset_free(train), brim_dataset_free(valid);
  case_close(&job);
}

static void whole(const char *output, fold_run *run) {
  brim_train_options options = fold_options(output);
  float mean[30 * 8] = {0};
  run_in_folds(run, &options, 5, 2, NULL, NULL);
  if (!ok(run->status == BRIM_OK && run->result.done == FOLDS, "three folds"))
    printf("# %s\n", run->err.message);
  for (int32_t fold = 0; fold < FOLDS; fold++)
    alone(run, fold, mean);
  const brim_fold_average *average = &run->result.averages[0];
  double worst = 0, p[8];
  int outputs = brim_model_outputs(run->job.model);
  for (int i = 0; i < 30; i++) {
    brim_softmax(average->logits + i * outputs, outputs, p);
    for (int c = 0; c < outputs; c++)
      worst = fmax(worst, fabs(p[c] - (double)mean[i * outputs + c]));
  }
  ok(worst < 1e-6, "the averaged probabilities are the mean of the folds' (%g)", worst);
  ok(average->evaluated && average->metrics.rows == 30 && strcmp(average->name, "dev") == 0, "and they are scored");
  ok(run->result.metrics.rows == ROWS, "out of fold: every row once");
  ok_string(case_names(output), "fold-0 fold-1 fold-2 folds.csv log.jsonl", "the run folder");
  case_job fresh = case_open(model_folder, 1);
  float *before = case_weights(&fresh);
  ok(case_same_weights(&run->job, before) && brim_model_pairs(run->job.model) == brim_model_pairs(fresh.model),
     "the model is as it was");
  free(before);
  case_close(&fresh);
}

/* ---- interrupted ------------------------------------------------------------------------------------------ */

static void interrupted(int64_t steps, int folds_done, const fold_run *want) {
  const char *output = scratch_file("cut");
  brim_train_options options = fold_options(output);
  fold_run run;
  int64_t left = steps;
  case_remove(output);
  run_in_folds(&run, &options, 5, 1, cancel_after, &left);
  ok(run.status == BRIM_E_CANCELLED && run.result.done == folds_done, "interrupted at step %d: %d folds are done", (int)steps,
     (int)run.result.done);
  close_run(&run);
  options.resume = true;
  run_in_folds(&run, &options, 6, 2, NULL, NULL);
  ok(run.status == BRIM_E_MISMATCH && strstr(run.err.message, "other folds"), "other folds are refused");
  close_run(&run);
  run_in_folds(&run, &options, 5, 2, NULL, NULL);
  size_t bytes = ROWS * (size_t)brim_model_outputs(run.job.model) * sizeof(float);
  if (!ok(run.status == BRIM_OK && memcmp(run.result.logits, want->result.logits, bytes) == 0,
          "resumed: the same logits for every row"))
    printf("# %s\n", run.err.message);
  ok(run.result.metrics.loss == want->result.metrics.loss &&
         run.result.folds[1].metrics.loss == want->result.folds[1].metrics.loss,
     "the same metrics");
  close_run(&run);
}

/* Nothing was saved: what was to be replaced is as it was, and where there was no folder there is none. */
static void interrupted_first(const char *output) {
  const char *none = scratch_file("none");
  brim_train_options options = fold_options(none);
  fold_run run;
  run_in_folds(&run, &options, 5, 1, cancel_fold, NULL);
  ok(run.status == BRIM_E_CANCELLED && run.result.done == 0 && !case_exists(none),
     "interrupted before the first step: no folder");
  close_run(&run);
  char *names = strdup(case_names(output)), *log = case_log(output);
  options = fold_options(output);
  options.overwrite = true;
  run_in_folds(&run, &options, 9, 1, cancel_fold, NULL);
  ok(run.status == BRIM_E_CANCELLED, "a run that was to replace another one is interrupted before its first step");
  close_run(&run);
  ok_string(case_names(output), names, "what was there is there");
  char *after = case_log(output);
  case_same_text(after, log, "with its log");
  ok(case_exists(case_path(output, "fold-2/model.safetensors")), "and its folds");
  free(names), free(log), free(after);
}

/* ---- folders ---------------------------------------------------------------------------------------------- */

static void folders(const char *output) {
  brim_train_options options = fold_options(output);
  fold_run run;
  run_in_folds(&run, &options, 5, 1, NULL, NULL);
  ok(run.status == BRIM_E_USAGE && strstr(run.err.message, "holds a run already"), "a run is not written over");
  close_run(&run);
  options.overwrite = true, options.max_steps = 1;
  int64_t left = 1;
  run_in_folds(&run, &options, 9, 1, cancel_after, &left);
  ok(run.status == BRIM_E_CANCELLED, "unless it is allowed");
  ok(!case_exists(case_path(output, "fold-2/model.safetensors")) && !case_exists(case_path(output, "fold-2/checkpoints/step-2")),
     "the old folds are out of the way before the first new one is done");
  ok(case_exists(case_path(output, "replaced-run/fold-2/model.safetensors")) &&
         case_exists(case_path(output, "replaced-run/folds.csv")) && case_exists(case_path(output, "replaced-run/log.jsonl")),
     "and still there");
  close_run(&run);
  options.overwrite = false, options.resume = true;
  run_in_folds(&run, &options, 9, 1, NULL, NULL);
  ok(run.status == BRIM_OK && case_exists(case_path(output, "fold-2/model.safetensors")) &&
         !case_exists(case_path(output, "replaced-run")),
     "until all new ones are");
  close_run(&run);
  brim_folds other = {.count = 2, .rows = 7};
  case_job job = case_open(model_folder, 1);
  brim_folds_result result;
  brim_error err = {0};
  ok_int(brim_train_folds(job.runtime, job.model, NULL, job.train, &other, NULL, 0, &options, &result, &err), BRIM_E_USAGE,
         "folds of other data");
  brim_folds_result_free(&result);
  case_close(&job);
}

/* ---- ranks ------------------------------------------------------------------------------------------------ */

typedef struct rank_folds {
  member member;
  brim_train_options options;
  fold_run run;
} rank_folds;

static void *run_rank(void *context) {
  rank_folds *r = context;
  r->options.group = meeting_group(&r->member);
  run_in_folds(&r->run, &r->options, 5, 1, NULL, NULL);
  return NULL;
}

/* Two ranks, which end together: with the same models, or where the first is refused the folder. */
static void ranks(const char *output, bool refused) {
  meeting all = {.world = 2};
  rank_folds two[2];
  pthread_t threads[2];
  pthread_barrier_init(&all.barrier, NULL, 2);
  for (int32_t r = 0; r < 2; r++) {
    two[r] = (rank_folds){.member = {&all, r}, .options = fold_options(output)};
    if (pthread_create(&threads[r], NULL, run_rank, &two[r]))
      exit(99);
  }
  for (int r = 0; r < 2; r++)
    pthread_join(threads[r], NULL);
  pthread_barrier_destroy(&all.barrier);
  const brim_folds_result *one = &two[0].run.result, *other = &two[1].run.result;
  if (refused)
    ok(two[0].run.status == BRIM_E_USAGE && two[1].run.status == BRIM_E_IO, "both ranks end where the folder is refused");
  else
    ok(!two[0].run.status && !two[1].run.status && one->done == FOLDS && other->done == FOLDS &&
           memcmp(one->logits, other->logits, (size_t)ROWS * (size_t)brim_model_outputs(two[0].run.job.model) * sizeof(float)) ==
               0,
       "two ranks say the same of every row");
  close_run(&two[0].run), close_run(&two[1].run);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("training in folds", "no golden models");
    return tap_done();
  }
  const char *output = scratch_file("whole");
  fold_run run;
  whole(output, &run);
  interrupted(3, 0, &run);
  interrupted(8 + 5, 1, &run);
  interrupted_first(output);
  folders(output);
  ranks(scratch_file("ranks"), false);
  ranks(scratch_file("ranks"), true);
  close_run(&run);
  return tap_done();
}
