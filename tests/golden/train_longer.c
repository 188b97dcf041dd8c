/* A run that is resumed may become longer: from the step reached on it has the longer run's learning rates, and where rates
 * do not depend on the length, its bits. It may continue with other kernels when that is asked for. */
#include "model/run/ask.h"
#include "train/schedule.h"
#include "train_case.h"

#include "base/runtime.h"

enum { EPOCH = 6 }; /* steps */

static const char *model_folder;

/* What a run said when it continued, and where it is to stop. */
typedef struct listener {
  int64_t stop_at;
  int64_t former_steps, total_steps;
  double rate, former_rate;
  bool longer, other_kernels;
  double rates[64]; /* by step */
} listener;

static int listen_to(void *context, const brim_event *event) {
  listener *l = context;
  const brim_field *step = brim_event_field(event, "step"), *rate = brim_event_field(event, "lr");
  if (strcmp(event->kind, "resume") == 0) {
    const brim_field *former = brim_event_field(event, "former_steps");
    l->longer = former->kind == BRIM_VALUE_INT;
    l->former_steps = former->integer;
    l->total_steps = brim_event_field(event, "total_steps")->integer;
    l->rate = rate->real;
    l->former_rate = brim_event_field(event, "former_lr")->real;
    l->other_kernels = brim_event_field(event, "former_kernels")->kind == BRIM_VALUE_TEXT;
  }
  if (strcmp(event->kind, "step") != 0)
    return 0;
  l->rates[step->integer] = rate->real;
  return step->integer == l->stop_at ? BRIM_E_CANCELLED : 0;
}

static brim_train_options longer_options(const char *output, double epochs, brim_schedule schedule) {
  brim_train_options options = case_options(output);
  options.epochs = epochs;
  options.schedule = schedule;
  return options;
}

/* One process: the status, and the weights if they are wanted. */
static int train(const brim_train_options *options, listener *l, brim_train_result *result, float **weights, brim_error *err) {
  case_job job = case_open(model_folder, 2);
  brim_train_options o = *options;
  listener ignored = {0};
  o.event = listen_to;
  o.event_context = l ? l : &ignored;
  int status = case_train(&job, &o, result, err);
  if (weights)
    *weights = case_weights(&job);
  case_close(&job);
  return status;
}

static void same(const char *what, brim_train_options *whole, const char *folder, double first, uint64_t stop) {
  brim_train_result result;
  brim_error err = {0};
  listener l = {.stop_at = (int64_t)stop};
  float *want, *got;
  case_job job = case_open(model_folder, 1);
  const size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  whole->output = NULL;
  if (train(whole, NULL, &result, &want, &err))
    printf("# %s\n", err.message);
  const double best = result.best_metric;
  brim_train_options part = *whole;
  part.output = scratch_file(folder);
  part.epochs = first;
  int status = train(&part, &l, &result, NULL, &err);
  ok(status == (stop ? BRIM_E_CANCELLED : BRIM_OK), "%s: the first part", what);
  part.resume = true;
  part.epochs = whole->epochs;
  l = (listener){.stop_at = 2 * EPOCH - 1};
  status = train(&part, &l, &result, NULL, &err); /* and is interrupted once more */
  ok(status == BRIM_E_CANCELLED && l.longer && l.total_steps == 2 * EPOCH && l.former_steps == (int64_t)(first * EPOCH),
     "%s: it becomes longer", what);
  l = (listener){0};
  status = train(&part, &l, &result, &got, &err);
  if (!ok(status == BRIM_OK && result.steps == 2 * EPOCH && result.resumed && !l.longer, "%s: and then is as long", what))
    printf("# %s\n", err.message);
  ok(memcmp(want, got, bytes) == 0, "%s: the weights of a run that was begun so long", what);
  ok(result.best_metric >= best, "%s: the best evaluation continues", what);
  char *log = case_log(part.output);
  const char *resumed = strstr(log, "{\"event\":\"resume\"");
  ok(resumed && !strstr(resumed + 1, "{\"event\":\"resume\"") && strstr(resumed, "\"event\":\"end\""), "%s: once in the log",
     what);
  free(log);
  free(want);
  free(got);
}

static void with_constant_rates(void) {
  brim_train_options options = longer_options(NULL, 2, BRIM_SCHEDULE_CONSTANT);
  same("finished", &options, "finished", 1, 0);
  same("interrupted", &options, "interrupted", 1, 3);
  same("in an epoch", &options, "half", 0.5, 0);
  options.swa_start = 0.75, options.swa_every = 1;
  same("averages", &options, "averages", 1, 0);
  options.swa_start = 0.5; /* the last step of the first part is the first that counts */
  same("averages from here on", &options, "here", 1, 0);
  options.swa_start = 0, options.swa_every = 0;
  options.plan.max_tokens = 70; /* steps in parts */
  same("in parts", &options, "parts", 1, 2);
}

/* Rates from the step reached on are those of the longer run, and both are told. */
static void with_falling_rates(void) {
  static const brim_schedule schedules[] = {BRIM_SCHEDULE_LINEAR, BRIM_SCHEDULE_COSINE};
  for (int i = 0; i < 2; i++) {
    brim_train_options options = longer_options(scratch_file(i ? "cosine" : "linear"), 1, schedules[i]);
    brim_train_result result;
    listener l = {.stop_at = 4};
    ok_int(train(&options, &l, &result, NULL, NULL), BRIM_E_CANCELLED, "a run of 6 steps ends after 4");
    options.resume = true;
    options.epochs = 3;
    l = (listener){0};
    ok_int(train(&options, &l, &result, NULL, NULL), BRIM_OK, "it continues to 18");
    ok(l.rate == brim_learning_rate(schedules[i], 3e-3, 5, 2, 18) &&
           l.former_rate == brim_learning_rate(schedules[i], 3e-3, 5, 2, 6),
       "both rates are told: %g and %g", l.rate, l.former_rate);
    bool right = true;
    for (uint64_t step = 5; step <= 18; step++)
      right = right && l.rates[step] == brim_learning_rate(schedules[i], 3e-3, step, 2, 18);
    ok(right && l.rates[4] == 0, "and the rates of all steps after them");
  }
}

static void refused(const brim_train_options *options, const char *word, const char *what) {
  brim_train_result result;
  brim_error err = {0};
  char *before = case_log(options->output);
  ok(train(options, NULL, &result, NULL, &err) == BRIM_E_MISMATCH && strstr(err.message, word), "%s: %s", what, err.message);
  char *after = case_log(options->output);
  case_same_text(after, before, "what was refused changed nothing");
  free(before);
  free(after);
}

static void refusals(void) {
  brim_train_options options = longer_options(scratch_file("refused"), 2, BRIM_SCHEDULE_LINEAR);
  brim_train_result result;
  brim_error err = {0};
  ok_int(train(&options, NULL, &result, NULL, NULL), BRIM_OK, "a run of two epochs");
  options.resume = true;
  options.epochs = 1;
  refused(&options, "epochs 2, which is 12 steps, now it is 6", "a shorter run");
  options.max_steps = 11;
  refused(&options, "now it is 11", "fewer steps");
  options.max_steps = 12;
  ok_int(train(&options, NULL, &result, NULL, NULL), BRIM_OK, "as many steps by another name are as many");
  options.max_steps = 13;
  ok(train(&options, NULL, &result, NULL, &err) == BRIM_OK && result.steps == 13, "one more step");
  options.max_steps = 0, options.epochs = 3;
  refused(&options, "max_steps 13, which is missing now", "steps that are no longer given");

  options = longer_options(scratch_file("patient"), 2, BRIM_SCHEDULE_LINEAR);
  options.eval_every = 2, options.patience = 1, options.min_delta = 1e9;
  ok(train(&options, NULL, &result, NULL, NULL) == BRIM_OK && result.stopped_early && result.steps == 4,
     "a run that stops early");
  options.resume = true;
  ok_int(train(&options, NULL, &result, NULL, NULL), BRIM_OK, "it is finished as it is");
  options.epochs = 3;
  refused(&options, "early stopping (patience) ended this run", "a run that patience ended");
}

/* With max_steps only some epochs are planned ahead, and a memory limit caps the parts of the others. */
static void capped(void) {
  brim_train_options options = longer_options(NULL, 1, BRIM_SCHEDULE_LINEAR);
  brim_train_result result;
  brim_checkpoint_info info;
  float *want, *got;
  case_job job = case_open(model_folder, 1);
  const size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  options.memory_limit = (uint64_t)1 << 40;
  options.max_steps = 5 * EPOCH;
  ok_int(train(&options, NULL, &result, &want, NULL), BRIM_OK, "an uninterrupted run with a memory limit");
  options.output = scratch_file("capped");
  listener l = {.stop_at = 3};
  ok_int(train(&options, &l, &result, NULL, NULL), BRIM_E_CANCELLED, "one that is interrupted");
  ok(brim_checkpoint_find(job.runtime, options.output, &info, NULL) == BRIM_OK && info.max_tokens > 0, "its cap is %d",
     (int)info.max_tokens);
  brim_checkpoint_info_free(&info);
  options.resume = true;
  ok(train(&options, NULL, &result, &got, NULL) == BRIM_OK && memcmp(want, got, bytes) == 0,
     "continues with its cap, to the same bits");
  free(got);
  options.max_steps = 6 * EPOCH;
  ok(train(&options, NULL, &result, &got, NULL) == BRIM_OK && result.steps == 6 * EPOCH, "and becomes longer");
  free(got);
  free(want);
  case_close(&job);
}

static int train_on(const char *cpu, const brim_train_options *options, listener *l, brim_error *err) {
  case_job job, data = case_open(model_folder, 1);
  brim_train_result result;
  brim_train_options o = *options;
  o.event = listen_to, o.event_context = l;
  int status = case_open_with(&job, model_folder, 1, NULL, cpu, err);
  if (!status)
    status = brim_train(job.runtime, job.model, NULL, data.train, NULL, 0, &o, &result, err);
  case_close(&job);
  case_close(&data);
  return status;
}

static void other_kernels(void) {
  case_job job = case_open(model_folder, 1);
  const bool others = strcmp(brim_model_kernels(job.model), "cpu-plain") != 0;
  brim_train_options options = longer_options(scratch_file("kernels"), 1, BRIM_SCHEDULE_LINEAR);
  brim_error err = {0};
  listener l = {.stop_at = 3};
  case_close(&job);
  if (!others) {
    tap_skip("other kernels", "this processor has the plain ones only");
    return;
  }
  ok_int(train_on("plain", &options, &l, &err), BRIM_E_CANCELLED, "a run that is begun with plain instructions");
  options.resume = true;
  l = (listener){0};
  ok(train_on(NULL, &options, &l, &err) == BRIM_E_MISMATCH && strstr(err.message, "resume_anyway"), "refused: %s", err.message);
  options.resume_anyway = true;
  ok(train_on(NULL, &options, &l, &err) == BRIM_OK && l.other_kernels && !l.longer, "it continues when that is asked for");
  char *log = case_log(options.output);
  ok(strstr(log, "\"former_kernels\":\"cpu-plain\"") != NULL, "its log says so");
  free(log);
  options.resume_anyway = false;
  l = (listener){0};
  ok(train_on(NULL, &options, &l, &err) == BRIM_OK && !l.other_kernels, "the kernels are its own from there on");
}

/* Trains in 16 bits with products made one way. */
static int train_by(brim_bf16_way products, const brim_train_options *options, uint64_t stop, float **weights, char *kernels,
                    brim_error *err) {
  case_job job = case_open(model_folder, 2);
  brim_train_result result;
  brim_train_options o = *options;
  listener l = {.stop_at = (int64_t)stop};
  o.event = listen_to;
  o.event_context = &l;
  job.runtime->bf16 = products;
  snprintf(kernels, 64, "%s", brim_model_kernels_for(job.model, o.precision));
  int status = case_train(&job, &o, &result, err);
  if (weights)
    *weights = case_weights(&job);
  case_close(&job);
  return status;
}

/* Whether the processor has the instruction changes no bit. AMX's order is another one: its runs say so, and no other continues.
 */
static void ways_of_16_bits(const char *folder) {
  setenv("BRIM_CPU", "avx512", 1);
  case_job job = case_open(model_folder, 2);
  const bool wide = strcmp(brim_model_kernels(job.model), "cpu-avx512") == 0;
  const size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  if (!wide) {
    tap_skip("ways of 16 bits", "this processor has no AVX-512");
    return;
  }
  brim_error err = {0};
  char kernels[64];
  float *widened, *paired;
  brim_train_options options = longer_options(NULL, 1, BRIM_SCHEDULE_LINEAR);
  options.precision = BRIM_PRECISION_BF16;
  int status = train_by(BRIM_BF16_WIDENED, &options, 0, &widened, kernels, &err);
  ok(status == BRIM_OK && strcmp(kernels, "cpu-avx512") == 0, "widened values: kernels %s", kernels);
  if (brim_cpu_describe().avx512_bf16) { /* also where it is slow */
    status = train_by(BRIM_BF16_PAIRS, &options, 0, &paired, kernels, &err);
    ok(status == BRIM_OK && strcmp(kernels, "cpu-avx512") == 0 && memcmp(widened, paired, bytes) == 0,
       "the same weights with vdpbf16ps and without");
    free(paired);
  } else {
    tap_skip("vdpbf16ps", "this processor has none");
  }
  free(widened);
  if (brim_cpu_detect() == BRIM_CPU_AMX) {
    float *tiles, *emulated;
    status = train_by(BRIM_BF16_TILES, &options, 0, &tiles, kernels, &err);
    ok(status == BRIM_OK && strcmp(kernels, "cpu-avx512-amx") == 0, "AMX: kernels %s", kernels);
    status = train_by(BRIM_BF16_TILES_EMULATED, &options, 0, &emulated, kernels, &err);
    ok(status == BRIM_OK && memcmp(tiles, emulated, bytes) == 0, "the same weights with AMX and with its emulation");
    free(tiles), free(emulated);
  }
  options = longer_options(scratch_file(folder), 1, BRIM_SCHEDULE_LINEAR);
  options.precision = BRIM_PRECISION_BF16;
  status = train_by(BRIM_BF16_TILES_EMULATED, &options, 3, NULL, kernels, &err);
  ok(status == BRIM_E_CANCELLED && strcmp(kernels, "cpu-avx512-amx-emulated") == 0, "a run with tiles: kernels %s", kernels);
  options.resume = true;
  status = train_by(BRIM_BF16_WIDENED, &options, 0, NULL, kernels, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, "cpu-avx512-amx-emulated"), "no other continues: %s", err.message);
  status = train_by(BRIM_BF16_TILES_EMULATED, &options, 0, NULL, kernels, &err);
  ok_int(status, BRIM_OK, "its own do");
  job = case_open(model_folder, 2);
  brim_model *model = NULL;
  job.runtime->bf16 = BRIM_BF16_WIDENED;
  const brim_model_options with_tiles = {.kernels = "cpu-avx512-amx-emulated"};
  status = brim_model_load(job.runtime, model_folder, &with_tiles, &model, &err);
  ok(status == BRIM_E_UNSUPPORTED, "a model is not loaded with kernels that are not there: %s", err.message);
  brim_model_free(model);
  case_close(&job);
  unsetenv("BRIM_CPU");
}

/* Products of fp32 on AMX are a class of their own. A run that was begun with others keeps them. */
static void products_on_tiles(const char *folder) {
  case_job job = case_open(model_folder, 2);
  const bool tiled = strcmp(brim_model_kernels(job.model), "cpu-amx") == 0;
  case_close(&job);
  if (!tiled) {
    tap_skip("products of fp32 on tiles", "this processor has no AMX");
    return;
  }
  brim_error err = {0};
  char kernels[64];
  static const char *const others[] = {"cpu-avx512", "cpu-avx512-amx"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const brim_model_options options = {.kernels = others[i]};
    const brim_precision precision = i == 0 ? BRIM_PRECISION_FP32 : BRIM_PRECISION_BF16;
    brim_model *model = NULL;
    job = case_open(model_folder, 2);
    int status = brim_model_load(job.runtime, model_folder, &options, &model, &err);
    ok(status == BRIM_OK && strcmp(brim_model_kernels_for(model, precision), others[i]) == 0,
       "%s is there: what was begun continues", others[i]);
    brim_model_free(model);
    case_close(&job);
  }
  brim_train_options options = longer_options(scratch_file(folder), 1, BRIM_SCHEDULE_LINEAR);
  int status = train_by(BRIM_BF16_TILES_EMULATED, &options, 3, NULL, kernels, &err);
  ok(status == BRIM_E_CANCELLED && strcmp(kernels, "cpu-amx-emulated") == 0, "a run in fp32: kernels %s", kernels);
  options.resume = true;
  setenv("BRIM_CPU", "avx512", 1);
  status = train_by(BRIM_BF16_WIDENED, &options, 0, NULL, kernels, &err);
  ok(status == BRIM_E_MISMATCH && strstr(err.message, "cpu-amx-emulated"), "AVX-512 does not continue it: %s", err.message);
  unsetenv("BRIM_CPU");
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("longer", "there are no golden models");
    return tap_done();
  }
  with_constant_rates();
  with_falling_rates();
  refusals();
  capped();
  other_kernels();
  ways_of_16_bits("tiles");
  products_on_tiles("split");
  const char *stream = case_model_folder("modernbert-cls"); /* norms alone, gates, rotary positions */
  if (stream) {
    model_folder = stream;
    ways_of_16_bits("tiles of a stream");
    brim_train_options options = longer_options(NULL, 2, BRIM_SCHEDULE_CONSTANT);
    options.precision = BRIM_PRECISION_BF16;
    same("in 16 bits", &options, "narrow", 1, 3);
  }
  return tap_done();
}
