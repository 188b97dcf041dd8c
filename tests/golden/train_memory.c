/* memory_limit: whatever comes out of it fits, evaluation included, or is refused with what would; and a run resumes with its
 * parts. What is held before a run is said here (the program is linked so that brim asks this one): a process's own resident
 * memory differs from run to run, by what the C library keeps and by pages of 2 MiB, more than these limits do. */
#include "base/process.h"
#include "model/run/host.h"
#include "model/run/model.h"
#include "train_case.h"

static const char *model_folder;
static uint64_t held_now = 5000000;

uint64_t __wrap_brim_process_resident(void);

uint64_t __wrap_brim_process_resident(void) {
  return held_now;
}

typedef struct watcher {
  brim_runtime *runtime;
  uint64_t held;   /* before the run */
  uint64_t memory; /* planned, what is held already included */
  int64_t cancel_at;
} watcher;

static int watch(void *context, const brim_event *event) {
  watcher *w = context;
  if (strcmp(event->kind, "start") == 0)
    w->held = (uint64_t)brim_event_field(event, "memory_held")->integer,
    w->memory = (uint64_t)brim_event_field(event, "memory_planned")->integer;
  if (strcmp(event->kind, "step") == 0 && brim_event_field(event, "step")->integer == w->cancel_at)
    brim_runtime_cancel(w->runtime);
  return 0;
}

/* A job whose training rows have at most `train` tokens, and its evaluation rows `eval`. */
static case_job open_job(int train, int eval) {
  case_job job = case_open(model_folder, 1);
  brim_dataset_free(job.train), brim_dataset_free(job.eval);
  job.train = case_dataset(job.runtime, 176, train, 500, 3, 1);
  job.eval = case_dataset(job.runtime, 40, eval, 500, 3, 2);
  return job;
}

static int run(case_job *job, brim_train_options *options, watcher *w, brim_error *err) {
  brim_train_result result;
  w->runtime = job->runtime;
  options->event = watch, options->event_context = w;
  return case_train(job, options, &result, err);
}

/* Four steps an epoch. */
static brim_train_options run_options(const char *output) {
  brim_train_options options = case_options(output);
  options.plan.batch_size = 44;
  return options;
}

/* This share of what a run takes that nothing limits. */
static uint64_t limit_of(int train, int eval, double share) {
  case_job job = open_job(train, eval);
  brim_train_options options = run_options(NULL);
  watcher w = {0};
  options.max_steps = 1;
  int status = run(&job, &options, &w, NULL);
  ok(status == BRIM_OK && w.memory > w.held && w.held == held_now, "a run without a limit takes %.1f MB, %.1f of them held",
     (double)w.memory / 1e6, (double)w.held / 1e6);
  case_close(&job);
  return w.held + (uint64_t)(share * (double)(w.memory - w.held));
}

/* What is advised takes less than the run as it is. */
static bool advises_less(const char *message) {
  const char *fits = strstr(message, "fits into "), *at = fits ? strstr(fits, "would take") : NULL;
  bool less = true;
  for (at = at ? strchr(at, '(') : NULL; at; at = strchr(at + 1, '('))
    less = less && (atof(at + 1) == 0 || atof(at + 1) < atof(fits + strlen("fits into "))); /* 0: (freeze) */
  return less;
}

/* Under limits from far too little to enough: what runs fits, and what is refused says why. */
static void fits(int train, int eval, brim_padding padding, int64_t eval_rows) {
  const uint64_t most = limit_of(train, eval, 1), step = (most - limit_of(train, eval, 0)) / 40;
  int ran = 0, refused = 0, wrong = 0;
  for (int i = 0; i < 40; i++) {
    case_job job = open_job(train, eval);
    brim_train_options options = run_options(NULL);
    watcher w = {0};
    brim_error err = {0};
    options.max_steps = 1;
    options.eval.padding = padding;
    options.eval.batch_size = eval_rows;
    options.plan.pad_to_multiple_of = 16;
    options.memory_limit = most - (uint64_t)i * step;
    options.checkpoint_activations = i % 2; /* which is no advice then */
    int status = run(&job, &options, &w, &err);
    ran += status == BRIM_OK, refused += status == BRIM_E_USAGE;
    const bool says = strstr(err.message, "memory_limit: ") && advises_less(err.message);
    if (status == BRIM_OK ? w.memory > options.memory_limit : !says)
      printf("# of %.2f MB: %.2f MB; %s\n", (double)options.memory_limit / 1e6, (double)w.memory / 1e6, err.message), wrong++;
    case_close(&job);
  }
  ok(wrong == 0 && ran > 0 && refused > 0, "rows of %d, evaluated %d (%s): %d runs fit, %d are refused", train, eval,
     brim_padding_name(padding), ran, refused);
}

/* With slices a limit cuts steps between them: to the same bits, or it is refused. */
static void with_slices(void) {
  uint64_t most = 0, least = 0;
  float *want = NULL;
  int ran = 0, refused = 0, wrong = 0, absent = 0;
  for (int i = -1; i < 30 && !absent; i++) {
    case_job job = open_job(30, 20);
    brim_train_options options = run_options(NULL);
    watcher w = {0};
    brim_error err = {0};
    options.max_steps = 3;
    options.plan.slices = 24;
    options.memory_limit = i < 0 ? 0 : most - (uint64_t)i * (most - least) / 30;
    const int status = run(&job, &options, &w, &err);
    float *weights = case_weights(&job);
    if (!brim_model_is_host(job.model))
      want = weights, absent += status == BRIM_E_UNSUPPORTED && strstr(err.message, "has no slices: train without them") ? 1 : -1;
    else if (i < 0)
      most = w.memory, least = w.held, want = weights;
    else if (status == BRIM_OK && w.memory <= options.memory_limit)
      ran++, wrong += memcmp(weights, want, (size_t)brim_model_flat_size(job.model) * sizeof *want) != 0;
    else
      refused++, wrong += status != BRIM_E_USAGE || !strstr(err.message, "slices, which are computed whole: take more slices");
    if (weights != want)
      free(weights);
    case_close(&job);
  }
  free(want);
  if (absent)
    ok(absent > 0, "where memory is a device's, slices are refused");
  else
    ok(wrong == 0 && ran > 3 && refused > 3, "with slices %d limits give the same bits, %d are refused", ran, refused);
}

static int run_short(brim_train_options *options, watcher *w, brim_error *err) {
  case_job job = open_job(4, 64);
  options->plan.batch_size = 4;
  options->max_steps = 1;
  int status = run(&job, options, w, err);
  case_close(&job);
  return status;
}

static int run_lean(brim_train_options *options, brim_error *err) {
  case_job job = open_job(30, 20);
  watcher w = {0};
  options->max_steps = 1;
  int status = run(&job, options, &w, err);
  case_close(&job);
  return status;
}

/* The limit that a refusal says does, also when a little more is held by then. */
static void advised(void) {
  const uint64_t held = held_now;
  brim_train_options options = run_options(NULL);
  brim_error err = {0};
  options.memory_limit = 1000000;
  int status = run_lean(&options, &err);
  const char *said = strstr(err.message, "fits into ");
  ok(status == BRIM_E_USAGE && said, "refused: %s", err.message);
  options.memory_limit = said ? (uint64_t)(strtod(said + strlen("fits into "), NULL) * 1e6) : 0;
  held_now += held / 25;
  status = run_lean(&options, &err);
  held_now = held;
  ok(status == BRIM_OK && said, "what it says does, with a little more held: %s", status ? err.message : "it runs");
}

/* An evaluation row that is too long is refused with a length that then runs. */
static void long_row(void) {
  brim_train_options options = run_options(NULL);
  watcher w = {0};
  brim_error err = {0};
  int status = run_short(&options, &w, &err);
  ok(status == BRIM_OK && w.memory > w.held, "short rows in training, long ones to evaluate");
  options.memory_limit = w.memory - 50000;
  status = run_short(&options, &w, &err);
  ok(status == BRIM_E_USAGE && strstr(err.message, "too few to evaluate on \"dev\": its longest row"), "refused: %s",
     err.message);
  const char *advice = strstr(err.message, "max_length ");
  options.plan.max_length = advice ? atoi(advice + strlen("max_length ")) : 0;
  status = run_short(&options, &w, &err);
  ok(status == BRIM_OK && options.plan.max_length > 4 && w.memory <= options.memory_limit, "max_length %d fits, as it said%s%s",
     (int)options.plan.max_length, status ? ": " : "", status ? err.message : "");
}

/* A run that was cut into parts and interrupted keeps them under any limit, to the same bits. */
static void gone_on_with(uint64_t again, const char *what) {
  char whole[512];
  snprintf(whole, sizeof whole, "%s", scratch_file("whole"));
  const uint64_t limit = limit_of(30, 20, 0.7);
  brim_train_options options = run_options(whole);
  watcher w = {0};
  brim_error err = {0};
  case_remove(whole);
  options.memory_limit = limit;
  case_job job = open_job(30, 20);
  int status = run(&job, &options, &w, &err);
  brim_checkpoint_info info;
  int found = brim_checkpoint_find(job.runtime, whole, &info, &err);
  ok(status == BRIM_OK && !found && info.max_tokens > 0, "a run of parts of %d tokens", (int)info.max_tokens);
  const int64_t tokens = info.max_tokens;
  brim_checkpoint_info_free(&info);
  float *weights = case_weights(&job);
  case_close(&job);

  options.output = scratch_file("cut");
  case_remove(options.output);
  options.plan.max_tokens = tokens, options.memory_limit = 0; /* what is held now is not what was held then */
  job = open_job(30, 20);
  w.cancel_at = 5;
  ok(run(&job, &options, &w, &err) == BRIM_E_CANCELLED, "interrupted");
  case_close(&job);
  options.plan.max_tokens = 0;
  options.resume = true;
  job = open_job(30, 20);
  w.cancel_at = 0;
  status = run(&job, &options, &w, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, "max_tokens"), "without a limit its parts are others: %s", err.message);
  case_close(&job);
  options.memory_limit = again;
  held_now += 60000000;
  job = open_job(30, 20);
  status = run(&job, &options, &w, &err);
  held_now -= 60000000;
  if (!ok(status == BRIM_OK && case_same_weights(&job, weights), "under %s the same parts and bits", what))
    printf("# %s\n", err.message);
  case_close(&job);
  free(weights);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("memory", "there are no golden models");
    return tap_done();
  }
  fits(30, 20, BRIM_PAD_NONE, 0);
  fits(12, 64, BRIM_PAD_NONE, 0);
  fits(12, 50, BRIM_PAD_LONGEST, 0);
  fits(30, 20, BRIM_PAD_NONE, 1000);
  with_slices();
  advised();
  long_row();
  gone_on_with(1, "a limit that nothing fits into");
  gone_on_with((uint64_t)1 << 40, "a limit that everything fits into");
  return tap_done();
}
