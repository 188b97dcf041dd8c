/* What a run says and leaves behind: events, log, folders, predictions, comparison; and what it refuses. */
#include <ctype.h>
#include <fcntl.h>
#include <sys/file.h>

#include "base/process.h"
#include "file_faults.h"
#include "train/answers/evaluate.h"
#include "train/schedule.h"
#include "train_case.h"

static const char *model_folder;

/* ---- events and log ---------------------------------------------------------------------------------------- */

/* Kinds of events in order, a letter each; progress apart. */
typedef struct listener {
  char kinds[256];
  int count, progress, stop_at_step, stop_with;
  double epoch_of_step[32], loss_of_step[32], lr_of_step[32];
  double progress_loss, least_loss, most_accuracy; /* of the last step, and of all evaluations */
  int64_t least_step, most_step;
  int64_t memory_planned, memory_peak[32];
} listener;

static void note_eval(listener *l, const brim_event *event) {
  double loss = brim_event_field(event, "loss")->real, accuracy = brim_event_field(event, "accuracy")->real;
  int64_t step = brim_event_field(event, "step")->integer;
  if (!l->least_step || loss < l->least_loss)
    l->least_loss = loss, l->least_step = step;
  if (!l->most_step || accuracy > l->most_accuracy)
    l->most_accuracy = accuracy, l->most_step = step;
}

static int listen(void *context, const brim_event *event) {
  listener *l = context;
  if (strcmp(event->kind, "progress") == 0) {
    if (brim_event_field(event, "loss"))
      l->progress_loss = brim_event_field(event, "loss")->real;
    l->progress++;
    return 0;
  }
  l->kinds[l->count++] = (char)(strcmp(event->kind, "epoch") == 0
                                    ? 'E'
                                    : event->kind[0] - 'a' + (strcmp(event->kind, "start") ? 'a' : 'A'));
  if (strcmp(event->kind, "start") == 0)
    l->memory_planned = brim_event_field(event, "memory_planned")->integer;
  if (strcmp(event->kind, "eval") == 0)
    note_eval(l, event);
  if (strcmp(event->kind, "step") != 0)
    return 0;
  int64_t step = brim_event_field(event, "step")->integer;
  l->epoch_of_step[step] = brim_event_field(event, "epoch")->real;
  l->loss_of_step[step] = brim_event_field(event, "loss")->real;
  l->memory_peak[step] = brim_event_field(event, "memory_peak")->integer;
  l->lr_of_step[step] = brim_event_field(event, "lr")->real;
  return step == l->stop_at_step ? l->stop_with : 0;
}

static int count_lines(const char *text, const char *with) {
  int count = 0;
  for (const char *at = text; (at = strstr(at, with)); at++)
    count++;
  return count;
}

static void events(void) {
  const char *output = scratch_file("events");
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(output);
  brim_train_result result;
  brim_error err = {0};
  listener l = {.stop_at_step = -1};
  options.event = listen;
  options.event_context = &l;
  options.options_json = "{\"name\":\"a test\"}";
  ok_int(case_train(&job, &options, &result, &err), BRIM_OK, "a run with a listener");
  /* The second checkpoint of an epoch end comes only once: best and last may be the same. */
  ok_string(l.kinds, "SsssssseEcsssssseEce", "start, six steps, evaluation, epoch, checkpoint, twice; end");
  ok(l.progress >= 12, "progress after every step");
  ok(l.memory_planned > 3 * 4 * brim_model_flat_size(job.model), "the planned memory holds values, gradients and two moments");
  ok_near(l.epoch_of_step[3], 0.5, 1e-12, "epochs are counted in fractions");
  ok_near(l.epoch_of_step[12], 2.0, 1e-12, "up to the end");
  ok_near(l.progress_loss, l.loss_of_step[12], 1e-12, "progress and log agree on the loss of a step");
  for (int k = 1; k <= 12; k++)
    if (l.lr_of_step[k] != brim_linear_schedule(options.lr, (uint64_t)k, 2, 12))
      ok(false, "learning rate of step %d", k);
  bool rises = l.memory_peak[1] > 4 * brim_model_flat_size(job.model);
  for (int k = 2; k <= 12; k++)
    rises = rises && l.memory_peak[k] >= l.memory_peak[k - 1];
  ok(rises && l.memory_peak[12] <= (int64_t)brim_process_peak(), "a step tells the peak of memory, which holds the weights");
  char *log = case_log(output);
  ok(count_lines(log, "{\"event\":\"step\"") == 12 && count_lines(log, "{\"event\":\"eval\"") == 2 &&
         count_lines(log, "\n") == 20,
     "the log has them all, but for progress");
  ok(strstr(log, "\"given\":{\"name\":\"a test\"}") && strstr(log, "\"batching\":\"random\"") &&
         strstr(log, "\"total_steps\":12"),
     "the first line tells the options");
  ok(strstr(log, "\"name\":\"dev\",\"averaged\":false,\"rows\":30,") && strstr(log, "\"accuracy\":"),
     "evaluations name their set");
  free(log);
  case_close(&job);
}

/* A run takes the rates of the schedule that it was given. */
static void schedules(void) {
  for (int schedule = BRIM_SCHEDULE_LINEAR; schedule <= BRIM_SCHEDULE_CONSTANT; schedule++) {
    case_job job = case_open(model_folder, 1);
    brim_train_options options = case_options(NULL);
    brim_train_result result;
    listener l = {.stop_at_step = -1};
    int wrong = 0;
    options.schedule = (brim_schedule)schedule;
    options.event = listen;
    options.event_context = &l;
    int status = case_train(&job, &options, &result, NULL);
    for (int k = 1; k <= 12; k++)
      wrong += l.lr_of_step[k] != brim_learning_rate(options.schedule, options.lr, (uint64_t)k, 2, 12);
    ok(status == BRIM_OK && wrong == 0, "a %s run has a %s schedule's rates", brim_schedule_name(options.schedule),
       brim_schedule_name(options.schedule));
    case_close(&job);
  }
}

/* With --log-every 5 the loss is the mean over the rows since the last line. */
static void log_every(void) {
  listener each = {.stop_at_step = -1}, fifth = {.stop_at_step = -1};
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  options.event = listen;
  options.event_context = &each;
  case_job job = case_open(model_folder, 2);
  int status = case_train(&job, &options, &result, NULL);
  case_close(&job);
  job = case_open(model_folder, 2);
  options.log_every = 5;
  options.event_context = &fifth;
  status |= case_train(&job, &options, &result, NULL);
  case_close(&job);
  ok_int(status, BRIM_OK, "every step, and every fifth");
  /* Step 6 and step 12 have 4 rows, the others 8. */
  double want = 0;
  for (int k = 6; k <= 10; k++)
    want += each.loss_of_step[k] * (k == 6 ? 4 : 8);
  ok_near(fifth.loss_of_step[10], want / 36, 1e-12, "the loss is averaged over the rows since the last line");
  want = (each.loss_of_step[11] * 8 + each.loss_of_step[12] * 4) / 12;
  ok_near(fifth.loss_of_step[12], want, 1e-12, "the last step has a line in any case");
  double epoch = 0;
  for (int k = 7; k <= 12; k++)
    epoch += each.loss_of_step[k] * (k == 12 ? 4 : 8);
  ok_near(result.loss, epoch / 44, 1e-12, "the result is the mean over the last epoch");
}

static void best_of(const char *metric) {
  listener l = {.stop_at_step = -1};
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  bool loss = strcmp(metric, "loss") == 0;
  options.event = listen;
  options.event_context = &l;
  options.eval_every = 1;
  options.best_metric = metric;
  int status = case_train(&job, &options, &result, NULL);
  ok(status == BRIM_OK && result.best_step == (uint64_t)(loss ? l.least_step : l.most_step) &&
         result.best_metric == (loss ? l.least_loss : l.most_accuracy),
     "the best %s is %.4f after step %d", metric, result.best_metric, (int)result.best_step);
  case_close(&job);
}

static void stopped_by_callback(void) {
  listener l = {.stop_at_step = 3, .stop_with = 77};
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  options.event = listen;
  options.event_context = &l;
  int status = case_train(&job, &options, &result, &err);
  ok(status == 77 && result.steps == 3 && err.code == 77, "a callback that returns 77 stops the run with 77: %s", err.message);
  case_close(&job);
}

/* ---- another implementation ---------------------------------------------------------------------------------- */

/* Loss and norm of the gradient of each step as PyTorch 2.15 with transformers 5.23 computes them: BertForSequenceClassification
 * on the rows of bert-pair-3/batch.json in order, padded, three at once, four times over; AdamW (lr 1e-3, decay 0.01 but for
 * biases and norms), clip_grad_norm_ 1.0, get_linear_schedule_with_warmup (3 of 12). */
static const double torch_steps[12][2] = {{1.01926076, 4.00202894},  {1.24706566, 4.0635767},  {1.13774323, 3.52490449},
                                          {0.892045736, 3.34510231}, {1.24259114, 4.30289984}, {0.910060883, 2.7830615},
                                          {0.670594275, 2.38697481}, {1.19737148, 4.49687576}, {0.747636914, 2.34250998},
                                          {0.547254562, 2.00898457}, {1.14642346, 4.59237051}, {0.658058107, 2.07925677}};

static int compare_with_torch(void *context, const brim_event *event) {
  double *worst = context;
  if (strcmp(event->kind, "step") != 0)
    return 0;
  const double *want = torch_steps[brim_event_field(event, "step")->integer - 1];
  *worst = fmax(*worst, fabs(brim_event_field(event, "loss")->real / want[0] - 1));
  *worst = fmax(*worst, fabs(brim_event_field(event, "grad_norm")->real / want[1] - 1));
  return 0;
}

static void as_torch_trains(void) {
  char folder[1024], rows[1100];
  case_job job;
  brim_error err = {0};
  brim_train_result result;
  double worst = 0;
  snprintf(folder, sizeof folder, "%s/tests/golden/models/bert-pair-3", getenv("BRIM_SOURCE"));
  snprintf(rows, sizeof rows, "%s/batch.json", folder);
  int status = case_open_with(&job, folder, 2, NULL, NULL, &err);
  if (!status)
    status = brim_dataset_read_json(job.runtime, rows, &job.train, &err);
  brim_train_options options = case_options(NULL);
  options.plan.batching = BRIM_SEQUENTIAL;
  options.plan.batch_size = 3;
  options.epochs = 4;
  options.lr = 1e-3;
  options.weight_decay = 0.01;
  options.warmup_steps = 0;
  options.warmup_ratio = 0.2; /* 2.4 steps, rounded up */
  options.event = compare_with_torch;
  options.event_context = &worst;
  if (!status)
    status = case_train(&job, &options, &result, &err);
  if (!ok(status == BRIM_OK && result.steps == 12, "the job that PyTorch did"))
    printf("# %s\n", err.message);
  ok(worst < 1e-6, "losses and gradient norms of all steps are PyTorch's (%.1e apart)", worst);
  case_close(&job);
}

/* ---- lengths of runs ---------------------------------------------------------------------------------------- */

static void run_length(int64_t batch_size, double epochs, uint64_t max_steps, uint64_t steps, uint64_t rows, const char *what) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result = {0};
  options.plan.batch_size = batch_size;
  options.epochs = epochs;
  options.max_steps = max_steps;
  int status = case_train(&job, &options, &result, NULL);
  if (!ok(status == BRIM_OK && result.steps == steps && result.rows == rows, "%s", what))
    printf("# %d steps, %d rows\n", (int)result.steps, (int)result.rows);
  case_close(&job);
}

static void token_budget(void) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result = {0};
  listener l = {.stop_at_step = -1};
  brim_error err = {0};
  uint64_t steps = 0;
  options.plan.batch_size = 0;
  options.plan.max_tokens = 64;
  options.plan.accumulate = 2;
  options.epochs = 3;
  options.event = listen;
  options.event_context = &l;
  for (uint64_t epoch = 0; epoch < 3; epoch++) {
    brim_plan *plan;
    if (brim_plan_new(job.runtime, brim_dataset_lengths(job.train), 44, &options.plan, epoch, &plan, NULL))
      abort();
    steps += brim_plan_steps(plan);
    brim_plan_free(plan);
  }
  l.kinds[0] = 0;
  int status = case_train(&job, &options, &result, &err);
  if (!ok(status == BRIM_OK && result.steps == steps && result.rows == 132,
          "with a token budget the schedule counts %d planned steps", (int)steps))
    printf("# %s, %d steps\n", err.message, (int)result.steps);
  ok_near(l.epoch_of_step[steps], 3.0, 1e-12, "the last of them ends the third epoch");
  case_close(&job);
}

/* ---- folders ------------------------------------------------------------------------------------------------ */

static int train_into(const brim_train_options *options, brim_error *err) {
  case_job job = case_open(model_folder, 1);
  brim_train_result result;
  int status = case_train(&job, options, &result, err);
  case_close(&job);
  return status;
}

static void run_folder(void) {
  const char *output = scratch_file("folder");
  brim_train_options options = case_options(output);
  brim_error err = {0};
  options.eval_every = 1;
  ok_int(train_into(&options, &err), BRIM_OK, "a run that evaluates after every step");
  ok_string(case_names(output), "checkpoints config.json log.jsonl model.safetensors", "the run folder holds a model");
  const char *checkpoints = case_path(output, "checkpoints");
  const char *names = case_names(checkpoints);
  ok(strncmp(names, "best step-", 10) == 0 && strstr(names, "step-12") && count_lines(names, "step-") <= 2,
     "the newest and the best: %s", names);
  char target[64] = "";
  ok(readlink(case_path(checkpoints, "best"), target, sizeof target - 1) > 0 && case_exists(case_path(checkpoints, target)),
     "the link leads to %s", target);
  /* The final model is the last checkpoint's, and loads. */
  size_t a_length, b_length;
  char *a = case_read(case_path(output, "model.safetensors"), &a_length);
  char *b = case_read(case_path(checkpoints, "step-12/model.safetensors"), &b_length);
  ok(a && b && a_length == b_length && memcmp(a, b, a_length) == 0, "the model of the run is that of its last checkpoint");
  free(a), free(b);
  brim_runtime *runtime;
  brim_checkpoint_info info;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 1}, &runtime, &err))
    abort();
  int status = brim_checkpoint_find(runtime, output, &info, &err);
  ok(status == BRIM_OK && info.step == 12 && info.kernels && *info.kernels,
     "the newest checkpoint is found, with its kernels (%s)", info.kernels);
  brim_model *model;
  ok(brim_model_load(runtime, info.folder, NULL, &model, &err) == BRIM_OK && brim_model_initialized_count(model) == 0,
     "a checkpoint is a model");
  brim_model_free(model);
  brim_checkpoint_info_free(&info);
  ok(brim_checkpoint_find(runtime, scratch_file("nowhere"), &info, &err) == BRIM_OK && !info.folder, "no folder: no checkpoint");
  brim_runtime_free(runtime);

  ok(train_into(&options, &err) == BRIM_E_USAGE && strstr(err.message, "resume") && strstr(err.message, "overwrite"),
     "a second run there is refused: %s", err.message);
  options.overwrite = true;
  options.keep_checkpoints = 0;
  options.save_every = 2;
  options.eval_every = 0;
  case_write(case_path(output, "notes.txt"), "mine", 4);
  ok_int(train_into(&options, &err), BRIM_OK, "or replaces the first");
  ok(case_exists(case_path(output, "notes.txt")), "what is no part of a run stays");
  ok_string(case_names(checkpoints), "best step-10 step-12 step-2 step-4 step-6 step-8",
            "all checkpoints of the new run, none of the old");
  char *log = case_log(output);
  ok_int(count_lines(log, "{\"event\":\"start\""), 1, "and a log of its own");
  free(log);
}

static void refused_folders(void) {
  char foreign[512], file[512];
  brim_error err = {0};
  snprintf(foreign, sizeof foreign, "%s", scratch_make_folder("foreign"));
  case_write(case_path(foreign, "thesis.tex"), "x", 1);
  brim_train_options options = case_options(foreign);
  ok(train_into(&options, &err) == BRIM_E_USAGE && strstr(err.message, "thesis.tex"), "a foreign folder is refused: %s",
     err.message);
  options.resume = true;
  ok_int(train_into(&options, &err), BRIM_E_USAGE, "also to resume in");
  ok_string(case_names(foreign), "thesis.tex", "and stays as it was");
  options.resume = false;
  options.overwrite = true;
  ok_int(train_into(&options, &err), BRIM_OK, "unless it is allowed");
  snprintf(file, sizeof file, "%s", scratch_write("file", "x"));
  options = case_options(file);
  ok(train_into(&options, &err) == BRIM_E_USAGE && strstr(err.message, "name a folder"), "a file is refused: %s", err.message);
  options = case_options("/proc/brim/run");
  ok(train_into(&options, &err) == BRIM_E_IO, "a folder that cannot be made: %s", err.message);
}

static void locked_folder(void) {
  char output[512];
  brim_error err = {0};
  snprintf(output, sizeof output, "%s", scratch_make_folder("locked"));
  int other = open(case_path(output, "log.jsonl"), O_RDWR | O_CREAT, 0666);
  flock(other, LOCK_EX);
  brim_train_options options = case_options(output);
  ok(train_into(&options, &err) == BRIM_E_USAGE && strstr(err.message, "another run"), "two runs at once: %s", err.message);
  close(other);
  ok_int(train_into(&options, &err), BRIM_OK, "fine when the other has gone");
}

/* ---- divergence ---------------------------------------------------------------------------------------------- */

/* The different rows of the data that a message names: "rows 3, 17, 5 and 8 more of". */
static int rows_named(const char *message, long rows) {
  const char *at = strstr(message, "rows ");
  long named[8];
  int count = 0;
  for (at = at ? at + 5 : ""; isdigit((unsigned char)*at) && count < 8; at += strspn(at, ", ")) {
    char *end;
    named[count] = strtol(at, &end, 10);
    for (int i = 0; i < count; i++)
      if (named[i] == named[count])
        return 0;
    if (named[count++] >= rows)
      return 0;
    at = end;
  }
  return count;
}

static void divergence(void) {
  const char *output = scratch_file("diverged");
  brim_train_options options = case_options(output);
  brim_train_result result;
  brim_error err = {0};
  case_job job = case_open(model_folder, 2);
  options.save_every = 2;
  options.lr = 1e6;
  options.warmup_steps = 3;
  options.clip = 0;
  options.weight_decay = 1e6; /* 1 - lr * decay: weights explode within steps */
  int status = case_train(&job, &options, &result, &err);
  /* the loss or the gradient: which of them is too large first depends on the kernels */
  ok(status == BRIM_E_DIVERGED && strstr(err.message, " is not a finite number") && rows_named(err.message, 44) > 0,
     "divergence: %s", err.message);
  bool finite = true;
  const float *weights = brim_model_values(job.model);
  for (int64_t i = 0; i < brim_model_flat_size(job.model); i++)
    finite = finite && !isnan(weights[i]);
  ok(finite, "the weights are those before the step");
  ok(!case_exists(case_path(output, "model.safetensors")), "no final model is written");
  ok(strstr(err.message, "step-2 is kept") && case_exists(case_path(output, "checkpoints/step-2/model.safetensors")),
     "the last good checkpoint is kept");
  char *log = case_log(output);
  ok(strstr(log, "\"failure\":\"step "), "the log's last line says why");
  free(log);
  case_close(&job);
}

/* ---- evaluation, prediction, comparison ------------------------------------------------------------------------ */

static void predictions(void) {
  case_job job = case_open(model_folder, 2);
  brim_eval_options options;
  brim_error err = {0};
  float *one = calloc(44 * 3, sizeof *one), *other = calloc(44 * 3, sizeof *other);
  brim_eval_options_init(&options);
  options.batching = BRIM_SEQUENTIAL;
  options.batch_size = 1;
  ok_int(brim_predict(job.runtime, job.model, job.train, &options, one, &err), BRIM_OK, "row by row");
  ok_int(brim_predict(job.runtime, job.model, job.train, NULL, other, &err), BRIM_OK, "sorted, 32 at once");
  ok(case_distance(one, other, 44 * 3) < 1e-6, "the order of the input is restored");
  for (int batching = BRIM_RANDOM; batching <= BRIM_PACKED; batching++) {
    brim_eval_options any = {.batching = (brim_batching)batching, .batch_size = 5, .max_tokens = 90};
    ok_int(brim_predict(job.runtime, job.model, job.train, &any, other, &err), BRIM_OK, brim_batching_name(any.batching));
    ok(case_distance(one, other, 44 * 3) < 1e-6, "and its order is the input's");
  }
  options.padding = BRIM_PAD_MAX_LENGTH;
  options.batch_size = 7;
  options.max_tokens = 90;
  ok_int(brim_predict(job.runtime, job.model, job.train, &options, other, &err), BRIM_OK, "padded, 7 at once, within 90 slots");
  ok(case_distance(one, other, 44 * 3) < 1e-6, "the same outputs");
  brim_metrics direct, computed;
  ok_int(brim_evaluate(job.runtime, job.model, job.train, &options, &direct, &err), BRIM_OK, "evaluated");
  ok_int(brim_metrics_compute(job.runtime, BRIM_TASK_CLASSIFICATION, 3, (brim_meaning){0}, one, job.train, &computed, &err),
         BRIM_OK, "measured");
  ok(fabs(direct.loss - computed.loss) < 1e-6 && direct.accuracy == computed.accuracy && direct.slots > direct.tokens,
     "the same loss (%.5f) and accuracy (%.3f)", direct.loss, direct.accuracy);
  free(one), free(other);
  case_close(&job);
}

static void unfit_data(void) {
  case_job job = case_open(model_folder, 1);
  brim_error err = {0};
  brim_train_result result;
  brim_train_options options = case_options(scratch_file("unfit"));
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 20, 120, 500, 3, 5);
  ok(case_train(&job, &options, &result, &err) == BRIM_E_MISMATCH && strstr(err.message, "positions"), "rows too long: %s",
     err.message);
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 20, 12, 900, 3, 5);
  ok(case_train(&job, &options, &result, &err) == BRIM_E_MISMATCH && strstr(err.message, "token id"), "foreign ids: %s",
     err.message);
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 20, 12, 500, 5, 5);
  ok(case_train(&job, &options, &result, &err) == BRIM_E_MISMATCH && strstr(err.message, "classes"), "too many classes: %s",
     err.message);
  options.best_metric = "rmse";
  ok(case_train(&job, &options, &result, &err) == BRIM_E_USAGE && strstr(err.message, "best_metric"), "another task's metric: %s",
     err.message);
  ok(!case_exists(options.output), "and nothing was written");
  case_close(&job);
}

static void comparison(void) {
  static const brim_mode modes[] = {{"fixed", BRIM_RANDOM, BRIM_PAD_MAX_LENGTH, NULL},
                                    {"dynamic", BRIM_RANDOM, BRIM_PAD_LONGEST, NULL},
                                    {"uniform", BRIM_UNIFORM, BRIM_PAD_LONGEST, NULL},
                                    {"brim", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(scratch_file("not-written"));
  brim_mode_result results[4];
  brim_error err = {0};
  float *before = case_weights(&job);
  options.plan.max_length = 40;
  int status = brim_compare(job.runtime, job.model, job.train, job.eval, &options, modes, 4, results, &err);
  if (!ok(status == BRIM_OK, "four modes"))
    printf("# %s\n", err.message);
  ok(case_same_weights(&job, before), "the model is as it was");
  ok(!case_exists(options.output), "nothing is written");
  bool fine = true;
  for (int i = 0; i < 4; i++)
    fine = fine && results[i].rows == 88 && results[i].steps == 12 && results[i].tokens == results[3].tokens &&
           results[i].evaluated;
  ok(fine, "every mode sees the same rows");
  ok(results[0].slots == 88 * 40 && results[1].slots < results[0].slots && results[2].slots < results[1].slots &&
         results[3].slots == results[3].tokens && results[3].padding_share == 0.0,
     "slots: fixed > dynamic > uniform > ragged");
  ok(fabs(results[0].loss - results[3].loss) < 1e-4 && fabs(results[1].loss - results[3].loss) < 1e-4,
     "the same steps give the same loss: %.6f, %.6f, %.6f", results[0].loss, results[1].loss, results[3].loss);
  brim_mode_result again[4];
  status = brim_compare(job.runtime, job.model, job.train, job.eval, &options, modes, 4, again, &err);
  fine = status == BRIM_OK;
  for (int i = 0; i < 4; i++)
    fine = fine && again[i].loss == results[i].loss && again[i].metrics.loss == results[i].metrics.loss;
  ok(fine, "a second comparison on the same model gives the same bits");
  free(before);
  case_close(&job);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("events", "there are no golden models");
    return tap_done();
  }
  events();
  schedules();
  log_every();
  best_of("loss");
  best_of("accuracy");
  stopped_by_callback();
  as_torch_trains();
  run_length(8, 1.5, 0, 9, 44 + 24, "one and a half epochs are nine steps");
  run_length(8, 0.1, 0, 1, 8, "a tenth of an epoch is one step");
  run_length(8, 1, 8, 8, 44 + 16, "max_steps continues into the next epoch");
  run_length(9, 2.2, 0, 11, 97, "2.2 epochs of five steps are eleven steps, however 2.2 is rounded");
  run_length(8, 5, 2, 2, 16, "and comes before epochs");
  token_budget();
  run_folder();
  refused_folders();
  locked_folder();
  divergence();
  predictions();
  unfit_data();
  comparison();
  return tap_done();
}
