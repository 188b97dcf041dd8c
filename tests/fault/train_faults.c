/* Training when memory or the disk is full: one clear error, nothing lost, nothing half-written. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "fault.h"
#include "file_faults.h"
#include "train/folder/foreign.h"
#include "train/folder/owned.h"
#include "train_case.h"

static const char *model_folder, *small_model; /* the second one where a run is made thousands of times */

/* ---- the n-th allocation fails ------------------------------------------------------------------------------ */

typedef int (*job_fn)(case_job *job, const char *output, brim_error *err);

/* Two steps with evaluation, checkpoint and resume. */
static int train_job(case_job *job, const char *output, brim_error *err) {
  brim_train_options options = case_options(output);
  brim_train_result result;
  options.max_steps = 2;
  options.save_every = 1;
  options.swa_start = 0.5;
  options.class_weights = "0=2,1=0.5";
  options.resume = true;
  return case_train(job, &options, &result, err);
}

/* The same in 16 bits, without a run folder. */
static int half_job(case_job *job, const char *output, brim_error *err) {
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  (void)output;
  options.max_steps = 2;
  options.swa_start = 0.5;
  options.precision = BRIM_PRECISION_BF16;
  return case_train(job, &options, &result, err);
}

static int compare_job(case_job *job, const char *output, brim_error *err) {
  static const brim_mode modes[] = {{"padded", BRIM_RANDOM, BRIM_PAD_LONGEST, NULL},
                                    {"ragged", BRIM_RANDOM, BRIM_PAD_NONE, NULL}};
  brim_train_options options = case_options(output);
  brim_mode_result results[2];
  options.max_steps = 1;
  return brim_compare(job->runtime, job->model, job->train, job->eval, &options, modes, 2, results, err);
}

/* Two stratified folds of a step each, their overlap, and the mean of what they predict. */
static int folds_job(case_job *job, const char *output, brim_error *err) {
  const brim_named_dataset eval = {"dev", job->eval};
  brim_train_options options = case_options(output);
  brim_folds folds = {0};
  brim_overlap overlap = {0};
  brim_folds_result result = {0};
  options.max_steps = 1;
  options.overwrite = true;
  int status = brim_folds_stratify(job->runtime, job->train, 2, 1, &folds, err);
  if (!status)
    status = brim_study_folds(job->runtime, job->train, &folds, &overlap, err);
  if (!status)
    status = brim_train_folds(job->runtime, job->model, NULL, job->train, &folds, &eval, 1, &options, &result, err);
  brim_folds_result_free(&result);
  brim_overlap_free(&overlap);
  brim_folds_free(&folds);
  return status;
}

static int pass_over(void *context, uint64_t row, const float *logits, brim_error *err) {
  (void)context, (void)row, (void)logits, (void)err;
  return BRIM_OK;
}

/* In windows of three rows. */
static int predict_job(case_job *job, const char *output, brim_error *err) {
  (void)output;
  return brim_predict_each(job->runtime, job->model, job->eval, NULL, 3, pass_over, NULL, err);
}

/* A job, its model and data, which are made before any allocation fails. */
typedef struct small_run {
  case_job job;
  job_fn run;
  const char *output;
} small_run;

static int begin_small(brim_runtime *runtime, void *context, brim_error *err) {
  small_run *r = context;
  const brim_model_options options = {.seed = 1};
  r->job = (case_job){.runtime = runtime};
  int status = brim_model_load(runtime, small_model, &options, &r->job.model, err);
  if (!status) {
    r->job.train = case_dataset(runtime, 12, 10, 150, 2, 1);
    r->job.eval = case_dataset(runtime, 4, 10, 150, 2, 2);
  }
  return status;
}

static int work_small(brim_runtime *runtime, void *context, brim_error *err) {
  small_run *r = context;
  (void)runtime;
  return r->run(&r->job, r->output, err);
}

static void end_small(void *context) {
  small_run *r = context;
  r->job.runtime = NULL; // is freed by whoever made it
  case_close(&r->job);
}

static void allocations(const char *name, job_fn run) {
  small_run r = {.run = run, .output = fault_file("run")};
  fault_check_case(&(fault_case){
      .name = name, .threads = 1, .cpu = "plain", .work = work_small, .context = &r, .begin = begin_small, .end = end_small});
}

/* What a run that replaces another finds in its folder: modules that are listed, and what is somebody else's. */
static int look_around(brim_runtime *runtime, void *context, brim_error *err) {
  brim_owned_modules modules = {.runtime = runtime};
  brim_text names;
  size_t count;
  bool ours = false;
  brim_text_init(&names, runtime);
  int status = brim_foreign_others(runtime, context, 1, &names, &count, err);
  if (!status && (count != 2 || strcmp(names.data, "mine and 1 more") != 0))
    status = brim_error_set(err, BRIM_E_INTERNAL, "%zu others: %s", count, names.data);
  if (!status)
    status = brim_owned_modules_open(runtime, context, &modules, err);
  if (!status)
    status = brim_owned_module(&modules, "projection", &ours, err);
  if (!status && !ours)
    status = brim_error_set(err, BRIM_E_INTERNAL, "the module is not the run's");
  brim_owned_modules_close(&modules);
  brim_text_free(&names);
  return status;
}

static void found(void) {
  static const char listed[] = "[{\"path\":\"\"},{\"path\":\"projection\"},{\"path\":\"mine\"}]";
  const char *folder = fault_file("found");
  char inside[600];
  if (mkdir(folder, 0777))
    abort();
  case_write(case_path(folder, "modules.json"), listed, strlen(listed));
  for (int i = 0; i < 3; i++) {
    snprintf(inside, sizeof inside, "%s/%s", folder, i == 0 ? "projection" : i == 1 ? "mine" : "theirs");
    if (mkdir(inside, 0777))
      abort();
    case_write(case_path(inside, i ? "notes.txt" : "config.json"), "{}", 2);
  }
  fault_check_case(&(fault_case){.name = "what is found in a folder", .work = look_around, .context = (void *)folder});
}

/* Steps allocate nothing once the first epoch has been seen. */
typedef struct watcher {
  int64_t at_step[32];
} watcher;

static int64_t allocations_made;

static void *counting_allocate(void *context, size_t size) {
  allocations_made++;
  return fault_allocate(context, size);
}

static void *counting_resize(void *context, void *pointer, size_t size) {
  allocations_made++;
  return fault_resize(context, pointer, size);
}

static int watch(void *context, const brim_event *event) {
  watcher *w = context;
  if (strcmp(event->kind, "step") == 0)
    w->at_step[brim_event_field(event, "step")->integer] = allocations_made;
  return 0;
}

static void steady_state(void) {
  fault_memory memory = {.left = -1};
  const brim_allocator allocator = {counting_allocate, counting_resize, fault_release, &memory};
  case_job job;
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  watcher w = {{0}};
  if (case_open_with(&job, model_folder, 2, &allocator, NULL, &err))
    abort();
  job.train = case_dataset(job.runtime, 120, 30, 500, 3, 1);
  options.event = watch;
  options.event_context = &w;
  options.epochs = 1;
  ok_int(case_train(&job, &options, &result, &err), BRIM_OK, "a run of 15 steps");
  ok_int(w.at_step[15] - w.at_step[1], 0, "no step after the first allocates anything");
  case_close(&job);
}

/* ---- the disk is full --------------------------------------------------------------------------------------- */

/* From step `step` on no file may become longer than `bytes`: what a full disk looks like to a process that ignores SIGXFSZ. */
typedef struct limiter {
  int64_t step;
  rlim_t bytes;
} limiter;

static int limit_at(void *context, const brim_event *event) {
  const limiter *l = context;
  if (strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == l->step)
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){l->bytes, RLIM_INFINITY});
  return 0;
}

static int limited_run(const char *output, limiter *limit, brim_error *err, float **weights) {
  case_job job;
  brim_train_options options = case_options(output);
  brim_train_result result;
  options.save_every = 2;
  options.resume = true;
  if (limit)
    options.event = limit_at, options.event_context = limit;
  job = case_open(model_folder, 2);
  int status = case_train(&job, &options, &result, err);
  setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
  if (weights)
    *weights = case_weights(&job);
  case_close(&job);
  return status;
}

static void full_disk(void) {
  static const limiter limits[] = {{4, 200000}, {4, 500000}, {4, 2000}, {6, 100}, {12, 300000}};
  brim_error err = {0};
  float *want, *got;
  case_job job = case_open(model_folder, 1);
  size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  ok_int(limited_run(scratch_file("roomy"), NULL, &err, &want), BRIM_OK, "a run with room enough");
  char *log = case_log(scratch_file("roomy"));
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    const char *output = scratch_file("full");
    limiter limit = limits[i];
    err = (brim_error){0};
    case_remove(output);
    int status = limited_run(output, &limit, &err, NULL);
    char text[1200];
    brim_error_text(&err, text, sizeof text);
    ok(status == BRIM_E_IO && !strchr(text, '\n'), "full at step %d: %s", (int)limit.step, text);
    const char *names = case_names(case_path(output, "checkpoints"));
    ok(strstr(names, "step-2") || strstr(names, "step-4") || strstr(names, "step-10"), "the checkpoint before is there: %s",
       names);
    ok(!strstr(names, ".tmp"), "nothing half-written is left");
    status = limited_run(output, NULL, &err, &got);
    ok(status == BRIM_OK && memcmp(got, want, bytes) == 0, "with room again it continues to the same bits");
    char *after = case_log(output);
    case_same_text(after, log, "and the same log");
    free(after), free(got);
  }
  free(log), free(want);
}

/* Any change of a file may fail: once, for some reason, or from then on for want of room. */
static void failing_changes(bool full) {
  enum { PLACES = 16 };
  const char *output = scratch_file("failing"), *kind = full ? "full" : "failing once";
  brim_error err = {0};
  float *want, *got;
  case_job job = case_open(model_folder, 1);
  size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  case_remove(output);
  file_faults = (file_fault){.left = -1};
  ok_int(limited_run(output, NULL, &err, &want), BRIM_OK, "a run without failures");
  long changes = file_faults.counted;
  char *log = case_log(output);
  for (long i = 0; i < PLACES; i++) {
    if (!tap_takes(kind, (uint64_t)i))
      continue;
    long place = changes * i / PLACES + i % 5;
    err = (brim_error){0};
    case_remove(output);
    file_faults = (file_fault){.left = place, .full = full, .number = full ? ENOSPC : EIO};
    int status = limited_run(output, NULL, &err, NULL);
    file_faults = (file_fault){.left = -1};
    char text[1200] = "nothing was lost";
    if (status)
      brim_error_text(&err, text, sizeof text);
    ok((status == BRIM_E_IO || status == BRIM_OK) && !strchr(text, '\n'), "%s at change %ld: %s", kind, place, text);
    status = limited_run(output, NULL, &err, &got);
    ok(status == BRIM_OK && memcmp(got, want, bytes) == 0, "then it continues to the same bits");
    char *after = case_log(output);
    case_same_text(after, log, "and the same log");
    free(after), free(got);
  }
  free(log), free(want);
}

int main(void) {
  signal(SIGXFSZ, SIG_IGN);
  model_folder = case_model_folder("bert-pair-3");
  small_model = case_model_folder("electra-cls");
  if (!model_folder || !small_model) {
    tap_skip("faults", "there are no golden models");
    return tap_done();
  }
  allocations("a run", train_job);
  allocations("a resumed run", train_job); // the one before
  allocations("training in bf16", half_job);
  allocations("predictions", predict_job);
  case_remove(fault_file("run"));
  allocations("a comparison", compare_job);
  case_remove(fault_file("run"));
  allocations("training in folds", folds_job);
  found();
  steady_state();
  full_disk();
  failing_changes(false);
  failing_changes(true);
  return tap_done();
}
