/* A run that is interrupted after any step, or killed, and resumed in a new process gives the bits of one that was not. */
#include <signal.h>
#include <sys/wait.h>

#include "file_faults.h"
#include "train/folder/state.h"
#include "train_case.h"

enum { STEPS = 12 };

static const char *model_folder;
static bool with_methods; /* runs use every method at once */
static char kept[2048];   /* names of the checkpoints of an uninterrupted run */

/* ---- an event callback that cancels, one way or the other --------------------------------------------------- */

typedef struct canceller {
  brim_runtime *runtime;
  int64_t step; /* cancels when this step is reported */
  bool at_eval; /* or rather during the evaluation that follows it */
  int64_t last; /* step reported last */
} canceller;

static int cancel_at(void *context, const brim_event *event) {
  canceller *c = context;
  const brim_field *step = brim_event_field(event, "step"), *phase = brim_event_field(event, "phase");
  if (strcmp(event->kind, "step") == 0)
    c->last = step->integer;
  bool hit = c->at_eval ? phase && strcmp(phase->text, "evaluate") == 0 && c->last == c->step
                        : strcmp(event->kind, "step") == 0 && step->integer == c->step;
  if (hit && c->step % 2) /* the other way */
    return BRIM_E_CANCELLED;
  if (hit)
    brim_runtime_cancel(c->runtime);
  return 0;
}

static brim_train_options resume_options(const char *output) {
  brim_train_options options = case_options(output);
  options.eval_every = 4;
  options.save_every = 5;
  if (with_methods) {
    options.freeze = "embeddings";
    options.train_only = "*.weight,*[!y].bias"; /* all biases but those of queries and keys */
    options.checkpoint_activations = true;
    options.precision = BRIM_PRECISION_BF16;
    options.class_weights = "balanced";
    options.label_smoothing = 0.1;
    options.layer_lr_decay = 0.8;
    options.optimizer = "madgrad", options.lr = 1e-3;
    options.decay_towards = "pretrained", options.weight_decay = 0.1;
    options.mixout = 0.2;
    options.plan.max_tokens = 70;
    options.swa_start = 0.5, options.swa_every = 2;
    options.best_metric = "same/loss";
    options.patience = 3, options.min_delta = 1e9; /* the last of four evaluations is the third that did not count */
  }
  return options;
}

/* With all methods there are two sets. */
static int train(case_job *job, const brim_train_options *options, brim_train_result *result, brim_error *err) {
  const brim_named_dataset evals[] = {{"dev", job->eval}, {"same", job->train}};
  return brim_train(job->runtime, job->model, NULL, job->train, evals, with_methods ? 2 : 1, options, result, err);
}

/* The uninterrupted run: its weights, and its log without times. */
static float *straight(const char *output, char **log) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = resume_options(output);
  brim_train_result result;
  brim_error err = {0};
  int status = train(&job, &options, &result, &err);
  if (!ok(status == BRIM_OK && result.steps == STEPS && result.rows == 88, "an uninterrupted run of %d steps", STEPS))
    printf("# %s\n", err.message);
  ok(result.best_step > 0 && !result.resumed && !result.interrupted, "it noted its best step");
  float *weights = case_weights(&job);
  *log = case_log(output);
  snprintf(kept, sizeof kept, "%s", case_names(case_path(output, "checkpoints")));
  case_close(&job);
  return weights;
}

/* ---- interrupted ------------------------------------------------------------------------------------------- */

static void interrupted(int64_t step, bool at_eval, int threads, const float *weights, const char *log) {
  const char *output = scratch_file("interrupted");
  brim_train_options options = resume_options(output);
  brim_train_result result;
  brim_error err = {0};
  case_remove(output);
  case_job job = case_open(model_folder, threads);
  canceller c = {job.runtime, step, at_eval, 0};
  options.event = cancel_at;
  options.event_context = &c;
  int status = train(&job, &options, &result, &err);
  ok(status == BRIM_E_CANCELLED && result.interrupted && result.steps == (uint64_t)step, "interrupted %s step %d",
     at_eval ? "in the evaluation after" : "at", (int)step);
  case_close(&job);

  job = case_open(model_folder, 3 - threads);
  options.event = NULL;
  options.resume = true;
  status = train(&job, &options, &result, &err);
  if (!ok(status == BRIM_OK && result.resumed && result.steps == STEPS && result.rows == 88, "resumed from step %d", (int)step))
    printf("# %s\n", err.message);
  ok(case_same_weights(&job, weights), "the same bits with another number of threads");
  char *resumed = case_log(output);
  /* The first line tells the number of threads, which this test varies. */
  case_same_text(strchr(resumed, '\n'), strchr(log, '\n'), "the same log");
  free(resumed);
  case_close(&job);
}

/* Cancelled again and again, after every single step. */
static void interrupted_always(const float *weights, const char *log) {
  const char *output = scratch_file("always");
  brim_train_options options = resume_options(output);
  brim_train_result result = {0};
  brim_error err = {0};
  options.event = cancel_at;
  options.resume = true;
  case_remove(output);
  int runs = 0, status = BRIM_E_CANCELLED;
  for (; status == BRIM_E_CANCELLED && runs < 2 * STEPS; runs++) {
    case_job job = case_open(model_folder, 2);
    canceller c = {job.runtime, (int64_t)result.steps + 1, false, 0};
    options.event_context = &c;
    status = train(&job, &options, &result, &err);
    if (status == BRIM_OK)
      ok(case_same_weights(&job, weights), "interrupted after every step: the same bits");
    case_close(&job);
  }
  ok_int(runs, STEPS + 1, "one process a step, and one to finish");
  char *resumed = case_log(output);
  case_same_text(resumed, log, "interrupted after every step: the same log");
  free(resumed);
}

/* ---- killed ------------------------------------------------------------------------------------------------ */

/* Trains in a process of its own that dies at change `fatal` of a file (negative: at none). */
static pid_t train_in_child(const char *output, long fatal) {
  fflush(NULL);
  pid_t child = fork();
  if (child != 0)
    return child;
  file_faults = (file_fault){.left = fatal, .kill = true};
  case_job job = case_open(model_folder, 1);
  brim_train_options options = resume_options(output);
  brim_train_result result;
  options.resume = true;
  _exit(train(&job, &options, &result, NULL) == BRIM_OK ? 0 : 1);
}

static void note_evaluated(void *context, const brim_evaluation *evaluation) {
  *(uint64_t *)context = evaluation->step;
}

/* Continues to the end and compares. */
static void finished_as(const char *output, const float *weights, const char *log, const char *what) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = resume_options(output);
  brim_train_result result;
  brim_error err = {0};
  uint64_t evaluated = 0;
  options.resume = true;
  options.evaluated = note_evaluated;
  options.event_context = &evaluated;
  int status = train(&job, &options, &result, &err);
  if (!ok(status == BRIM_OK, "%s: resumed", what))
    printf("# %s\n", err.message);
  ok(case_same_weights(&job, weights), "%s: the same bits", what);
  char *resumed = case_log(output);
  case_same_text(strchr(resumed, '\n'), strchr(log, '\n'), what);
  case_same_text(case_names(case_path(output, "checkpoints")), kept, what); /* nothing half-written, and none too many */
  ok(evaluated == STEPS, "%s: the last evaluation is told", what);
  free(resumed);
  case_close(&job);
}

/* Every folder that has the name of a checkpoint is one. */
static bool checkpoints_are_whole(const char *output) {
  static const char *const files[] = {"config.json", "model.safetensors", "optimizer.safetensors", "state.json"};
  char names[2048], path[4096];
  snprintf(names, sizeof names, "%s", case_names(case_path(output, "checkpoints")));
  for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
    if (strncmp(name, "step-", 5) != 0 || strstr(name, ".tmp"))
      continue;
    for (int i = 0; i < 4; i++) {
      snprintf(path, sizeof path, "%s/checkpoints/%s/%s", output, name, files[i]);
      if (!case_exists(path))
        return false;
    }
  }
  return true;
}

/* Files change in a known order, so a process can be killed at a known place: between two checkpoints, inside of one, while an
 * old one is removed. `changes`: as many as a whole run makes. */
static void killed_at_changes(const char *how, long places, long changes, const float *weights, const char *log) {
  const char *output = scratch_file("killed");
  for (long i = 0; i < places; i++) {
    char what[80];
    int state;
    long fatal = changes * i / places + i % 4;
    case_remove(output);
    waitpid(train_in_child(output, fatal), &state, 0);
    snprintf(what, sizeof what, "%s, killed at change %ld of %ld", how, fatal, changes);
    ok(WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL, "%s", what);
    ok(checkpoints_are_whole(output), "%s: checkpoints are complete or absent", what);
    finished_as(output, weights, log, what);
  }
}

/* At whatever moment it happens to be, again and again. */
static void killed_anywhere(const float *weights, const char *log) {
  const char *output = scratch_file("anywhere");
  int state, deaths = 0;
  case_remove(output);
  for (int i = 1; i <= 6; i++) {
    pid_t child = train_in_child(output, -1);
    usleep((useconds_t)(i * 7919 % 28) * 1000 + 3000);
    kill(child, SIGKILL);
    waitpid(child, &state, 0);
    deaths += WIFSIGNALED(state);
  }
  printf("# %d of 6 processes were killed in time\n", deaths);
  finished_as(output, weights, log, "killed anywhere");
}

static void refuse(const brim_train_options *options, const char *folder, uint64_t data_seed, int code, const char *word,
                   const char *what) {
  case_job job = case_open(folder, 1);
  brim_train_result result;
  brim_error err = {0};
  if (data_seed) {
    brim_dataset_free(job.train);
    job.train = case_dataset(job.runtime, 44, 30, 500, 3, data_seed);
  }
  int status = train(&job, options, &result, &err);
  ok(status == code && strstr(err.message, word), "%s is refused: %s", what, err.message);
  case_close(&job);
}

/* ---- states of before there were other optimizers, or tensors by name ------------------------------------ */

static void leave_out(char *text, const char *member) {
  char *at = strstr(text, member);
  ok(at != NULL, "the state has a member that came later");
  if (at)
    memmove(at, at + strlen(member), strlen(at + strlen(member)) + 1);
}

/* What older programs wrote says nothing of the optimizer, which was AdamW, and is resumed to the same bits. */
static void older(const float *weights, const char *log) {
  const char *output = scratch_file("older");
  brim_train_options options = resume_options(output);
  brim_train_result result;
  brim_error err = {0};
  char path[1024];
  size_t length;
  case_job job = case_open(model_folder, 1);
  canceller c = {job.runtime, 6, false, 0};
  options.event = cancel_at, options.event_context = &c;
  ok(train(&job, &options, &result, &err) == BRIM_E_CANCELLED, "a run that is stopped");
  case_close(&job);
  snprintf(path, sizeof path, "%s/checkpoints/step-6/state.json", output);
  char *state = case_read(path, &length);
  state = realloc(state, length + 1);
  state[length] = 0;
  *strstr(state, ",\"digest\"") = 0;
  static const char *const members[] = {"\"optimizer\":null,", "\"momentum\":null,",   "\"decay_towards\":null,",
                                        "\"mixout\":null,",    "\"train_only\":null,", "\"mask_rate\":null,"};
  for (int i = 0; i < 6; i++)
    leave_out(state, members[i]);
  job = case_open(model_folder, 1);
  brim_text text;
  brim_text_init(&text, job.runtime);
  brim_text_string(&text, state);
  brim_train_state_seal(&text);
  case_write(path, text.data, text.length);
  brim_text_free(&text);
  free(state);
  options.event = NULL, options.resume = true, options.optimizer = "sgd";
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "begun without optimizer, now it is sgd",
         "an optimizer that it did not have");
  options.optimizer = NULL;
  const int status = train(&job, &options, &result, &err);
  ok(status == BRIM_OK && case_same_weights(&job, weights), "an older state is resumed to the same bits %s", err.message);
  char *resumed = case_log(output);
  case_same_text(strchr(resumed, '\n'), strchr(log, '\n'), "the same log");
  free(resumed);
  case_close(&job);
}

/* ---- what does not belong together -------------------------------------------------------------------------- */

static void mismatches(const char *output, const char *log) {
  brim_train_options options = resume_options(output);
  options.resume = true;
  options.lr = 1e-3;
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "lr", "another learning rate");
  options = resume_options(output);
  options.resume = true;
  options.schedule = BRIM_SCHEDULE_COSINE;
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "schedule linear", "another schedule");
  options = resume_options(output);
  options.resume = true;
  options.plan.batching = BRIM_SORTED;
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "batching random", "another batching");
  options = resume_options(output);
  options.resume = true;
  options.freeze = "embeddings";
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "freeze not given, now it is embeddings", "another freeze");
  options = resume_options(output);
  options.resume = true;
  options.train_only = "classifier.*,*query*";
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "train_only not given, now it is *query*,classifier.*", "other tensors");
  options = resume_options(output);
  options.resume = true;
  options.optimizer = "sgd";
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "optimizer not given, now it is sgd", "another optimizer");
  options = resume_options(output);
  options.resume = true;
  options.precision = BRIM_PRECISION_BF16;
  refuse(&options, model_folder, 0, BRIM_E_MISMATCH, "precision fp32, now it is bf16", "another precision");
  options = resume_options(output);
  options.resume = true;
  refuse(&options, model_folder, 77, BRIM_E_MISMATCH, "other training data", "other data");
  options.resume = false;
  refuse(&options, model_folder, 0, BRIM_E_USAGE, "holds a run", "a fresh run into an old one's folder");
  char *after = case_log(output);
  case_same_text(after, log, "what was refused changed nothing");
  free(after);
}

/* Another model of the same shape: one weight differs. */
static void other_model(const char *output) {
  char other[512];
  size_t length;
  snprintf(other, sizeof other, "%s-other", model_folder);
  mkdir(other, 0777);
  char *bytes = case_read(case_path(model_folder, "config.json"), &length);
  case_write(case_path(other, "config.json"), bytes, length);
  free(bytes);
  bytes = case_read(case_path(model_folder, "model.safetensors"), &length);
  bytes[length - 400] ^= 1;
  case_write(case_path(other, "model.safetensors"), bytes, length);
  free(bytes);
  brim_train_options options = resume_options(output);
  options.resume = true;
  refuse(&options, other, 0, BRIM_E_MISMATCH, "other weights", "another model");
}

static void damaged(const char *output) {
  char path[1024];
  size_t length;
  const char *names[] = {"model.safetensors", "optimizer.safetensors", "state.json"}, *older = "remove its folder to resume";
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/checkpoints/step-%d/%s", output, STEPS, names[i]);
    char *bytes = case_read(path, &length);
    brim_train_options options = resume_options(output);
    options.resume = true;
    bytes[length - 20] ^= 4;
    case_write(path, bytes, length);
    refuse(&options, model_folder, 0, BRIM_E_FORMAT, older, i < 2 ? "a flipped bit" : "a flipped bit in the state");
    bytes[length - 20] ^= 4;
    case_write(path, bytes, length / 2);
    refuse(&options, model_folder, 0, BRIM_E_FORMAT, older, "a file cut in half");
    case_write(path, bytes, 0);
    refuse(&options, model_folder, 0, BRIM_E_FORMAT, older, "an empty file");
    if (i < 2 && !unlink(path)) /* without its state it is no checkpoint */
      refuse(&options, model_folder, 0, BRIM_E_FORMAT, older, "a file that is missing");
    case_write(path, bytes, length);
    free(bytes);
  }
}

/* Everything that a checkpoint holds beyond a plain run's: the average, what is waited for, narrow and frozen parts. */
static void methods(const float *everything) {
  char output[512], *log;
  with_methods = true;
  snprintf(output, sizeof output, "%s", scratch_file("methods"));
  long before = file_faults.counted;
  float *weights = straight(output, &log);
  long changes = file_faults.counted - before;
  case_job job = case_open(model_folder, 1);
  int64_t frozen = 0, size = brim_model_flat_size(job.model);
  for (int32_t i = 0; i < brim_model_parameter_count(job.model); i++) {
    const brim_parameter *p = brim_model_parameter(job.model, i);
    frozen += memcmp(brim_model_values(job.model) + p->offset, weights + p->offset, (size_t)p->count * sizeof(float)) == 0;
  }
  ok_int(frozen, 5 + 3 * 2, "the embeddings, and biases of queries and keys, are as they were");
  ok(memcmp(everything, weights, (size_t)size * sizeof(float)) != 0, "another run than that of all parameters");
  ok(strstr(log, "\"averaged\":true") && strstr(log, "\"name\":\"same\"") && strstr(log, "\"name\":\"dev\""),
     "both sets are evaluated, and the average is");
  case_close(&job);
  for (int step = 1; step <= STEPS; step += 2)
    interrupted(step, false, 1 + step % 2, weights, log);
  interrupted(8, true, 2, weights, log);
  interrupted_always(weights, log);
  killed_at_changes("all methods", 36, changes, weights, log);
  killed_anywhere(weights, log);
  with_methods = false;
  free(weights);
  free(log);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("resume", "there are no golden models");
    return tap_done();
  }
  char output[512], *log;
  snprintf(output, sizeof output, "%s", scratch_file("straight"));
  float *weights = straight(output, &log);
  long changes = file_faults.counted;
  for (int step = 1; step <= STEPS; step++)
    interrupted(step, false, 1 + step % 2, weights, log);
  interrupted(4, true, 1, weights, log);
  interrupted(6, true, 2, weights, log);
  interrupted(12, true, 1, weights, log);
  interrupted_always(weights, log);
  killed_at_changes("plain", 18, changes, weights, log);
  killed_anywhere(weights, log);
  older(weights, log);
  mismatches(output, log);
  other_model(output);
  damaged(output);
  methods(weights);
  free(weights);
  free(log);
  return tap_done();
}
