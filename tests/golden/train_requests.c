/* train_requests.c: what a function that gets events may ask for, at every kind of event of everything that has some; and runs
 * that are resumed at their end, or without the checkpoint that they are to end with. */
#include "train_case.h"

static const char *model_folder;

enum { BOTH = BRIM_DO_EVALUATE | BRIM_DO_SAVE };

/* Answers events of one kind, "progress" with its phase. */
typedef struct listener {
  const char *kind;
  int answer, heard, evals, checkpoints;
  int64_t eval_step, checkpoint_step; /* of the last */
} listener;

static int listen(void *context, const brim_event *event) {
  listener *l = context;
  char kind[64];
  const brim_field *phase = brim_event_field(event, "phase"), *step = brim_event_field(event, "step");
  snprintf(kind, sizeof kind, "%s%s%s", event->kind, phase ? " " : "", phase ? phase->text : "");
  if (strcmp(kind, "eval") == 0)
    l->evals++, l->eval_step = step->integer;
  if (strcmp(kind, "checkpoint") == 0)
    l->checkpoints++, l->checkpoint_step = step->integer;
  if (strcmp(kind, l->kind) != 0)
    return BRIM_OK;
  l->heard++;
  return l->answer;
}

static brim_train_options heard_by(listener *l, const char *output) {
  brim_train_options options = case_options(output);
  options.overwrite = output != NULL;
  options.event = listen, options.event_context = l;
  return options;
}

/* ---- one run ------------------------------------------------------------------------------------------------ */

static int run(const brim_train_options *options, bool evaluates, brim_train_result *result, brim_error *err) {
  case_job job = case_open(model_folder, 1);
  const brim_named_dataset dev = {"dev", job.eval};
  *err = (brim_error){0};
  const int status = brim_train(job.runtime, job.model, NULL, job.train, &dev, evaluates, options, result, err);
  case_close(&job);
  return status;
}

static void every_kind(void) {
  static const char *const kinds[] = {"start", "step",  "progress train", "progress evaluate",
                                      "eval",  "epoch", "checkpoint",     "end"};
  static const int answers[] = {BRIM_DO_EVALUATE, BRIM_DO_SAVE, BOTH, BRIM_E_CANCELLED, 77};
  int wrong = 0;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t a = 0; a < sizeof answers / sizeof *answers; a++)
      for (int how = 0; how < 4; how++) {
        const bool evaluates = how & 1, writes = how & 2;
        listener l = {.kind = kinds[k], .answer = answers[a]};
        const brim_train_options options = heard_by(&l, writes ? scratch_file("every") : NULL);
        brim_train_result result;
        brim_error err;
        const int status = run(&options, evaluates, &result, &err);
        const bool asks = answers[a] & BOTH;
        const bool right = asks || !l.heard ? status == BRIM_OK && result.steps == 12
                           : answers[a] == 77
                               ? status == 77 && *err.message
                               : (status == BRIM_E_CANCELLED && *err.message) || (status == BRIM_OK && result.steps == 12);
        if (!right || l.evals > 12 + 1)
          printf("# %s: %d, with%s evaluation, with%s output: %d (%s), %d evaluations\n", kinds[k], answers[a],
                 evaluates ? "" : "out", writes ? "" : "out", status, err.message, l.evals),
              wrong++;
      }
  ok_int(wrong, 0, "every answer at every kind of event is what it says, with words where it ends the run");
}

/* What is asked for comes after the step of the event, and once. */
static void after_the_step(void) {
  const struct {
    const char *kind;
    int answer;
    bool evaluates, saves; /* of itself, after each epoch */
    int evals, checkpoints;
  } cases[] = {
      {"step", BRIM_DO_EVALUATE, false, false, 12, 0},
      {"step", BRIM_DO_SAVE, false, false, 0, 12},
      {"progress train", BOTH, false, false, 12, 12},
      {"progress evaluate", BRIM_DO_EVALUATE, true, false, 2, 0},
      {"progress evaluate", BRIM_DO_SAVE, true, false, 2, 2},
      {"progress evaluate", BOTH, true, false, 2, 2},
      {"eval", BOTH, true, false, 2, 2},
      {"epoch", BRIM_DO_EVALUATE, false, false, 2, 0},
      {"epoch", BRIM_DO_SAVE, false, false, 0, 2},
      {"epoch", BOTH, false, false, 2, 2},
      {"checkpoint", BRIM_DO_SAVE, false, true, 0, 2},
      {"end", BOTH, false, false, 0, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    listener l = {.kind = cases[i].kind, .answer = cases[i].answer};
    brim_train_options options = heard_by(&l, scratch_file("after"));
    brim_train_result result;
    brim_error err;
    options.eval_when = cases[i].evaluates ? BRIM_EACH_EPOCH : BRIM_NEVER;
    options.save_when = cases[i].saves ? BRIM_EACH_EPOCH : BRIM_NEVER;
    const int status = run(&options, true, &result, &err);
    if (!ok(status == BRIM_OK && l.evals == cases[i].evals && l.checkpoints == cases[i].checkpoints,
            "%s: %d is answered by %d evaluations, %d checkpoints", cases[i].kind, cases[i].answer, l.evals, l.checkpoints))
      printf("# %d and %d were to be: %s\n", cases[i].evals, cases[i].checkpoints, err.message);
    ok((!l.evals || l.eval_step == 12) && (!l.checkpoints || l.checkpoint_step == 12), "also of the last step");
  }
}

/* ---- all else that has events --------------------------------------------------------------------------------- */

static int evaluate(listener *l, brim_error *err) {
  case_job job = case_open(model_folder, 1);
  brim_eval_options options;
  brim_metrics metrics;
  brim_eval_options_init(&options);
  options.event = listen, options.event_context = l;
  const int status = brim_evaluate(job.runtime, job.model, job.eval, &options, &metrics, err);
  case_close(&job);
  return status;
}

static int take(void *context, uint64_t row, const float *logits, brim_error *err) {
  (void)context, (void)row, (void)logits, (void)err;
  return BRIM_OK;
}

static int predict(listener *l, brim_error *err) {
  case_job job = case_open(model_folder, 1);
  brim_eval_options options;
  brim_eval_options_init(&options);
  options.event = listen, options.event_context = l;
  const int status = brim_predict_each(job.runtime, job.model, job.eval, &options, 7, take, NULL, err);
  case_close(&job);
  return status;
}

static int compare(listener *l, brim_error *err) {
  static const brim_mode modes[] = {{"one", BRIM_RANDOM, BRIM_PAD_LONGEST, NULL}, {"other", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};
  case_job job = case_open(model_folder, 1);
  const brim_train_options options = heard_by(l, NULL);
  brim_mode_result results[2];
  const int status = brim_compare(job.runtime, job.model, job.train, job.eval, &options, modes, 2, results, err);
  case_close(&job);
  return status;
}

static int in_folds(listener *l, brim_error *err) {
  case_job job = case_open(model_folder, 1);
  const brim_train_options options = heard_by(l, scratch_file("folds"));
  const brim_named_dataset dev = {"dev", job.eval};
  brim_folds folds = {0};
  brim_folds_result result = {0};
  int status = brim_folds_deal(job.runtime, job.train, 2, 1, &folds, err);
  if (!status)
    status = brim_train_folds(job.runtime, job.model, NULL, job.train, &folds, &dev, 1, &options, &result, err);
  brim_folds_result_free(&result);
  brim_folds_free(&folds);
  case_close(&job);
  return status;
}

static void elsewhere(void) {
  static const struct {
    const char *what, *kind;
    int (*work)(listener *, brim_error *);
  } cases[] = {
      {"evaluation", "progress evaluate", evaluate},
      {"prediction", "progress evaluate", predict},
      {"comparison", "rounds", compare},
      {"comparison", "mode", compare},
      {"comparison", "step", compare},
      {"comparison", "progress evaluate", compare},
      {"folds", "fold", in_folds},
      {"folds", "progress evaluate", in_folds},
      {"folds", "epoch", in_folds},
      {"folds", "end", in_folds},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int answer = 0; answer < 3; answer++) {
      static const int answers[] = {BOTH, BRIM_E_CANCELLED, 77};
      listener l = {.kind = cases[i].kind, .answer = answers[answer]};
      brim_error err = {0};
      const int status = cases[i].work(&l, &err), want = answer == 0 ? BRIM_OK : answers[answer];
      ok(l.heard > 0 && status == want && !*err.message == !want, "%s, %s: %d gives %d: %s", cases[i].what, cases[i].kind,
         answers[answer], status, err.message);
    }
}

/* ---- resumed ------------------------------------------------------------------------------------------------ */

static int count_lines(const char *text, const char *with) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, with)); at++)
    count++;
  return count;
}

/* Sets that a finished run did not have are evaluated as at its last step. */
static void made_up(double swa_start) {
  const char *output = scratch_file(swa_start > 0 ? "made-up-average" : "made-up");
  brim_train_result result;
  brim_error err;
  brim_train_options options = case_options(output);
  options.swa_start = swa_start;
  ok_int(run(&options, false, &result, &err), BRIM_OK, "a run without evaluation");
  options.resume = true;
  for (int time = 1; time <= 3; time++) {
    const int status = run(&options, time != 3, &result, &err);
    char *log = case_log(output);
    ok(status == BRIM_OK && result.best_step == 12 && isfinite(result.best_metric) && result.metric,
       "resumed at its end, %s evaluation: the best is %.4f of step %d", time == 3 ? "without" : "with", result.best_metric,
       (int)result.best_step);
    ok_int(count_lines(log, "\"name\":\"dev\",\"averaged\":false"), 1, "the log has it once");
    free(log);
  }
  char target[64] = "";
  ok(readlink(case_path(output, "checkpoints/best"), target, sizeof target - 1) > 0 && strcmp(target, "step-12") == 0,
     "the best checkpoint is %s", target);
}

static void best_is_gone(void) {
  char output[512], best[600];
  brim_train_result result;
  brim_error err;
  snprintf(output, sizeof output, "%s", scratch_file("gone"));
  listener l = {.kind = "none"};
  brim_train_options options = heard_by(&l, output);
  options.best_metric = "accuracy";
  options.eval_every = 1;
  options.lr = 0; /* the first is the best */
  ok(run(&options, true, &result, &err) == BRIM_OK && result.best_step == 1, "the best is step %d", (int)result.best_step);
  options.overwrite = false, options.resume = true, options.epochs = 3;
  snprintf(best, sizeof best, "%s/checkpoints/step-1", output);
  size_t length;
  char *state = case_read(case_path(best, "state.json"), &length);
  case_write(case_path(best, "state.json"), state, length / 2);
  l = (listener){.kind = "step"};
  ok(run(&options, true, &result, &err) == BRIM_E_FORMAT && l.heard == 0 && strstr(err.message, "end with the last step's"),
     "it is damaged, which is said before the first step: %s", err.message);
  free(state);
  case_remove(best);
  ok(run(&options, true, &result, &err) == BRIM_E_MISMATCH && l.heard == 0 && strstr(err.message, "is gone") &&
         strstr(err.message, "end with the last step's"),
     "it is gone: %s", err.message);
  options.final = BRIM_FINAL_LAST;
  ok(run(&options, true, &result, &err) == BRIM_OK && result.steps == 18 && result.model_step == 18,
     "the run can end without it: %s", err.message);
  ok(!case_exists(case_path(output, "checkpoints/best")), "and no link leads nowhere");
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("requests", "there are no golden models");
    return tap_done();
  }
  every_kind();
  after_the_step();
  elsewhere();
  made_up(0);
  made_up(0.5);
  best_is_gone();
  return tap_done();
}
