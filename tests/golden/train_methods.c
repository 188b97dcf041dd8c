/* Early stopping, named evaluation sets, weighted losses and averaged weights: what they do, and that they can be resumed.
 */
#include "model/run/flat.h"
#include "train_case.h"

static const char *model_folder;

/* Notes evaluations, cancels when it is told to, and keeps the weights after each step. */
typedef struct watcher {
  case_job *job;
  int64_t cancel_at;
  double loss_of_step[32], norm_of_step[32], value[64];
  char name[64][16];
  bool averaged[64];
  int evals;
  float *weights[32];
  char end[512];
} watcher;

static int watch(void *context, const brim_event *event) {
  watcher *w = context;
  if (strcmp(event->kind, "eval") == 0) {
    snprintf(w->name[w->evals], sizeof w->name[0], "%s", brim_event_field(event, "name")->text);
    w->averaged[w->evals] = brim_event_field(event, "averaged")->integer != 0;
    w->value[w->evals++] = brim_event_field(event, "loss")->real;
  }
  if (strcmp(event->kind, "step") != 0)
    return 0;
  int64_t step = brim_event_field(event, "step")->integer;
  w->loss_of_step[step] = brim_event_field(event, "loss")->real;
  w->norm_of_step[step] = brim_event_field(event, "grad_norm")->real;
  free(w->weights[step]);
  w->weights[step] = case_weights(w->job);
  if (step == w->cancel_at)
    brim_runtime_cancel(w->job->runtime);
  return 0;
}

static void forget(watcher *w) {
  for (int i = 0; i < 32; i++)
    free(w->weights[i]);
  *w = (watcher){0};
}

/* Two sets: "near" are the rows that are trained on, "far" others. Returns the final weights. */
static float *run(brim_train_options *options, watcher *w, int threads, brim_train_result *result, int *status) {
  case_job job = case_open(model_folder, threads);
  brim_error err = {0};
  const brim_named_dataset sets[] = {{"near", job.train}, {"far", job.eval}};
  w->job = &job;
  options->event = watch, options->event_context = w;
  *status = brim_train(job.runtime, job.model, NULL, job.train, sets, 2, options, result, &err);
  if (*status && *status != BRIM_E_CANCELLED)
    printf("# %s\n", err.message);
  float *weights = case_weights(&job);
  case_close(&job);
  return weights;
}

/* Runs to the end twice: at once, and cancelled after every step; both must agree. */
static void same_in_pieces(brim_train_options *options, const char *what) {
  brim_train_result whole, part = {0};
  watcher w = {0};
  int status;
  char straight[512];
  snprintf(straight, sizeof straight, "%s", scratch_file("straight"));
  case_remove(straight);
  options->output = straight;
  float *weights = run(options, &w, 2, &whole, &status);
  ok(status == BRIM_OK, "%s: a run of %d steps", what, (int)whole.steps);
  size_t bytes = 0;
  case_job job = case_open(model_folder, 1);
  bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  forget(&w);
  options->output = scratch_file("pieces");
  options->resume = true;
  case_remove(options->output);
  status = BRIM_E_CANCELLED;
  for (int i = 0; status == BRIM_E_CANCELLED && i < 30; i++) {
    w.cancel_at = (int64_t)part.steps + 1;
    float *again = run(options, &w, 2, &part, &status);
    if (status == BRIM_OK)
      ok(memcmp(again, weights, bytes) == 0 && part.steps == whole.steps && part.best_step == whole.best_step &&
             part.stopped_early == whole.stopped_early,
         "%s: interrupted after every step: the same bits, the same best (%d, %d), the same end (%d, %d)", what,
         (int)part.best_step, (int)whole.best_step, (int)part.steps, (int)whole.steps);
    free(again);
    forget(&w);
  }
  char *log = case_log(straight), *resumed = case_log(options->output);
  case_same_text(resumed, log, "and the same log");
  free(log), free(resumed), free(weights);
  options->resume = false, options->output = NULL;
}

/* ---- stopping ---------------------------------------------------------------------------------------------- */

static void stopping(void) {
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  watcher w = {0};
  int status;
  options.eval_every = 1;
  options.patience = 3;
  options.min_delta = 1e9; /* nothing is ever that much better than the first */
  options.best_metric = "far/loss";
  free(run(&options, &w, 1, &result, &status));
  ok(status == BRIM_OK && result.steps == 4 && result.stopped_early,
     "the first counts, the next three do not: stopped at step %d", (int)result.steps);
  ok(w.evals == 8 && strcmp(w.name[0], "near") == 0 && strcmp(w.name[1], "far") == 0, "every set is evaluated every time");
  double best = HUGE_VAL;
  int at = 0;
  for (int i = 1; i < w.evals; i += 2)
    if (w.value[i] < best)
      best = w.value[i], at = i / 2 + 1;
  ok(result.best_metric == best && result.best_step == (uint64_t)at, "the best is the far set's lowest loss, at step %d", at);
  forget(&w);
  same_in_pieces(&options, "stopping");
  options.min_delta = 0;
  options.lr = 0; /* nothing changes at all */
  free(run(&options, &w, 1, &result, &status));
  ok(result.steps == 4 && result.best_step == 1, "equal is not better");
  forget(&w);
  options.patience = 0;
  free(run(&options, &w, 1, &result, &status));
  ok(result.steps == 12 && !result.stopped_early, "without patience the run goes to its end");
  forget(&w);
}

static void refused(brim_train_options options, int code, const char *word) {
  brim_train_result result;
  brim_error err = {0};
  case_job job = case_open(model_folder, 1);
  const brim_named_dataset sets[] = {{"near", job.train}, {"far", job.eval}};
  int status = brim_train(job.runtime, job.model, NULL, job.train, sets, 2, &options, &result, &err);
  ok(status == code && strstr(err.message, word), "refused: %s", err.message);
  case_close(&job);
}

static void refusals(void) {
  brim_train_options options = case_options(NULL);
  options.best_metric = "middle/loss";
  refused(options, BRIM_E_USAGE, "no evaluation set is named \"middle\"");
  options.best_metric = "far/rmse";
  refused(options, BRIM_E_USAGE, "this model's task does not have");
  options.best_metric = NULL;
  options.class_weights = "LABEL_9=2";
  refused(options, BRIM_E_USAGE, "no class \"LABEL_9\"");
  options.class_weights = "LABEL_0=-1";
  refused(options, BRIM_E_USAGE, "at least 0");
  options.class_weights = "0=0,1=0,2=0";
  refused(options, BRIM_E_USAGE, "all weights are 0");
  options.class_weights = NULL;
  options.memory_limit = 1000;
  refused(options, BRIM_E_USAGE, "memory_limit");
}

/* ---- weights of classes ------------------------------------------------------------------------------------ */

/* With a learning rate of 0 and no dropout difference the loss of a step depends on its divisor alone. */
static void weighted(void) {
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  watcher whole = {0}, cut = {0};
  int status;
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  case_close(&job);
  options.class_weights = "0=0.25,2=4";
  options.label_smoothing = 0.1;
  float *one = run(&options, &whole, 2, &result, &status);
  options.plan.max_rows = 1;
  float *other = run(&options, &cut, 2, &result, &status);
  double worst = 0;
  for (int k = 1; k <= 12; k++)
    worst = fmax(worst, fabs(whole.loss_of_step[k] - cut.loss_of_step[k]));
  ok(worst < 1e-4 && case_distance(other, one, size) < 1e-4, "weights and smoothing, row by row: the same (%.1e, %.1e apart)",
     worst, case_distance(other, one, size));
  options.plan.max_rows = 0;
  watcher scaled = {0};
  options.class_weights = "0=2,1=8,2=32";
  free(run(&options, &scaled, 2, &result, &status));
  for (int k = 1; k <= 12; k++)
    worst = fmax(k > 1 ? worst : 0, fabs(whole.loss_of_step[k] - scaled.loss_of_step[k]));
  ok(worst < 1e-6, "the divisor is the sum of the rows' weights: all of them times 8 change nothing (%.1e apart)", worst);
  options.class_weights = NULL;
  watcher plain = {0};
  float *unweighted = run(&options, &plain, 2, &result, &status);
  ok(fabs(plain.loss_of_step[1] - whole.loss_of_step[1]) > 1e-3, "weights matter (%.4f, %.4f)", plain.loss_of_step[1],
     whole.loss_of_step[1]);
  options.class_weights = "balanced";
  free(run(&options, &plain, 2, &result, &status));
  ok(status == BRIM_OK, "balanced weights");
  free(one), free(other), free(unweighted);
  forget(&whole), forget(&cut), forget(&scaled), forget(&plain);
}

/* ---- accumulation ------------------------------------------------------------------------------------------- */

/* A step of the first epoch by hand: sums over all of its rows, divided by their number once they are all there. */
static void step_by_hand(const brim_train_options *options, uint64_t step, double *loss, double *norm, uint32_t *rows) {
  case_job job = case_open(model_folder, 1);
  brim_plan *plan;
  brim_batch batch = {0};
  brim_error err = {0};
  const brim_model_limits limits = {.max_slots = 44 * 30, .max_sequences = 44, .max_length = 30, .training = true};
  const brim_pass pass = {.training = true, .dropout = true, .seed = options->seed, .optimizer_step = step};
  double sum = 0, square = 0, share;
  int64_t size = brim_model_flat_size(job.model);
  *rows = 0;
  int status = brim_plan_new(job.runtime, brim_dataset_lengths(job.train), 44, &options->plan, 0, &plan, &err);
  if (!status)
    status = brim_model_prepare(job.model, &limits, &err);
  for (uint64_t i = 0; !status && i < brim_plan_parts(plan); i++) {
    brim_planned part;
    brim_plan_part(plan, 0, i, &part);
    if (part.step + 1 != step)
      continue;
    status = brim_batch_fill(&batch, job.runtime, job.train, &part, &err);
    batch.divisor = 1;
    if (!status)
      status = brim_model_forward(job.model, &batch, &pass, &share, NULL, &err);
    if (!status)
      status = brim_model_backward(job.model, &batch, &pass, &err);
    sum += share, *rows += part.count;
  }
  if (status)
    printf("# %s\n", err.message);
  const float *gradients = brim_model_gradients(job.model);
  for (int64_t i = 0; i < size; i++)
    square += (double)gradients[i] * (double)gradients[i];
  *loss = sum / *rows, *norm = sqrt(square) / *rows;
  brim_plan_free(plan);
  brim_batch_free(&batch);
  case_close(&job);
}

/* The last step of an epoch has fewer rows than the others and is divided by its own. */
static void last_step(int64_t batch_size, int64_t max_tokens, int64_t accumulate, const char *what) {
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  watcher w = {0};
  int status;
  double loss, norm;
  uint32_t rows, first;
  options.plan.batch_size = batch_size, options.plan.max_tokens = max_tokens, options.plan.accumulate = accumulate;
  options.epochs = 1;
  options.lr = 0; /* so that the weights are those of the beginning */
  free(run(&options, &w, 2, &result, &status));
  step_by_hand(&options, 1, &loss, &norm, &first);
  bool same = fabs(w.loss_of_step[1] - loss) < 1e-6 && fabs(w.norm_of_step[1] - norm) < 1e-5 * norm;
  step_by_hand(&options, result.steps, &loss, &norm, &rows);
  same = same && fabs(w.loss_of_step[result.steps] - loss) < 1e-6 && fabs(w.norm_of_step[result.steps] - norm) < 1e-5 * norm;
  ok(status == BRIM_OK && same && rows < first, "%s: %u rows a step, the last %u, each divided by its own (%.6f, %.6f)", what,
     first, rows, w.loss_of_step[result.steps], loss);
  forget(&w);
}

/* Eight rows at once, or as four times two: the loss of a step is one and the same, not the sum of four. */
static void four_times_two(void) {
  brim_train_options options = case_options(NULL);
  brim_train_result whole, parts;
  watcher w = {0}, v = {0};
  int status;
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  case_close(&job);
  float *one = run(&options, &w, 1, &whole, &status);
  options.plan.accumulate = 4;
  float *other = run(&options, &v, 1, &parts, &status);
  double worst = 0;
  for (int k = 1; k <= 12; k++)
    worst = fmax(worst, fabs(w.loss_of_step[k] - v.loss_of_step[k]) + fabs(w.norm_of_step[k] - v.norm_of_step[k]));
  ok(worst < 1e-4 && fabs(w.loss_of_step[1] - v.loss_of_step[1]) < 1e-6, "8 rows at once %.4f, as 4 x 2 %.4f (%.1e apart)",
     w.loss_of_step[1], v.loss_of_step[1], worst);
  ok(parts.steps == 12 && parts.steps == whole.steps && parts.rows == whole.rows && case_distance(other, one, size) < 1e-4,
     "the batch is not multiplied: the same steps, rows and weights (%.1e apart)", case_distance(other, one, size));
  free(one), free(other);
  forget(&w), forget(&v);
}

/* ---- averages ---------------------------------------------------------------------------------------------- */

static void averaged(void) {
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  watcher w = {0};
  int status;
  case_job job = case_open(model_folder, 1);
  int64_t size = brim_model_flat_size(job.model);
  case_close(&job);
  options.swa_start = 0.5;
  options.swa_every = 3;
  float *final = run(&options, &w, 2, &result, &status), *want = calloc((size_t)size, sizeof *want);
  for (int k = 6; k <= 12; k += 3)
    for (int64_t i = 0; i < size; i++)
      want[i] += w.weights[k][i] / 3;
  ok(status == BRIM_OK && case_distance(final, want, size) < 1e-6, "the mean of the weights after steps 6, 9 and 12 (%.1e apart)",
     case_distance(final, want, size));
  ok(case_distance(final, w.weights[12], size) > 1e-4, "which the last weights are not");
  ok(w.averaged[w.evals - 1] && w.averaged[w.evals - 2] && !w.averaged[0], "it is evaluated at the end, and called what it is");
  free(final), free(want);
  forget(&w);
  same_in_pieces(&options, "averaging");
  options.swa_start = 0.25;
  options.swa_every = 0;
  free(run(&options, &w, 1, &result, &status));
  ok(status == BRIM_OK, "averaging as often as it sees fit");
  forget(&w);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("methods", "there are no golden models");
    return tap_done();
  }
  stopping();
  refusals();
  weighted();
  four_times_two();
  last_step(8, 0, 1, "a batch");
  last_step(8, 0, 4, "a batch in four parts");
  last_step(8, 31, 0, "a batch in parts of 31 tokens");
  last_step(0, 60, 3, "three batches of 60 tokens");
  averaged();
  return tap_done();
}
