/* train_late.c: rows of embeddings that wait for their updates are seen by nobody: a run's evaluations, checkpoints, averages,
 * resumes and weights are those of a run that brings all rows up to date after every step. */
#include "model/run/host.h"
#include "model/run/model.h"
#include "train_case.h"

static const char *model_folder;

typedef struct listener {
  case_job *job;
  const float *held; /* address of the weights from before the run; NULL: the device's memory has none */
  bool prompt;
  int64_t cancel_at;
  int stale; /* evaluations at which it did not show the weights */
} listener;

/* What the old address holds is what asking again gives. */
static bool shows_weights(const listener *l) {
  const size_t bytes = (size_t)brim_model_flat_size(l->job->model) * sizeof(float);
  float *copy = malloc(bytes);
  if (!l->held)
    return free(copy), true;
  memcpy(copy, l->held, bytes);
  const bool shows = memcmp(copy, brim_model_values(l->job->model), bytes) == 0;
  free(copy);
  return shows;
}

static int listen(void *context, const brim_event *event) {
  listener *l = context;
  if (strcmp(event->kind, "eval") == 0)
    l->stale += !shows_weights(l);
  if (strcmp(event->kind, "step") != 0)
    return 0;
  if (l->prompt)
    brim_model_catch_up(l->job->model);
  if (brim_event_field(event, "step")->integer == l->cancel_at)
    brim_runtime_cancel(l->job->runtime);
  return 0;
}

static brim_train_options late_options(const char *output) {
  brim_train_options options = case_options(output);
  options.epochs = 15; /* 90 steps */
  options.weight_decay = 0.1;
  options.layer_lr_decay = 0.9;
  options.eval_every = 7;
  options.save_every = 9;
  options.swa_start = 0.3;
  options.swa_every = 5;
  options.keep_checkpoints = 100;
  return options;
}

/* Rows of few words, so that most of the vocabulary never occurs. The weights at the end. */
static float *run(const char *output, listener *l, bool resume, int *status) {
  case_job job = case_open(model_folder, 2);
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 44, 12, brim_model_vocab_size(job.model) / 4, brim_model_outputs(job.model), 3);
  brim_train_options options = late_options(output);
  brim_error err = {0};
  l->job = &job;
  l->held = brim_model_is_host(job.model) ? brim_model_values(job.model) : NULL;
  options.event = listen, options.event_context = l;
  options.resume = resume;
  *status = case_train(&job, &options, NULL, &err);
  ok(shows_weights(l) && l->stale == 0, "evaluations and the end find no row late (%d did)", l->stale);
  float *weights = case_weights(&job);
  case_close(&job);
  return weights;
}

static int files_differ(const char *a, const char *b, const char *name) {
  size_t lengths[2] = {0, 0};
  char *one = case_read(case_path(a, name), &lengths[0]), *two = case_read(case_path(b, name), &lengths[1]);
  const bool same = (!one && !two) || (one && two && lengths[0] == lengths[1] && memcmp(one, two, lengths[0]) == 0);
  free(one), free(two);
  return !same;
}

static void same_checkpoints(const char *late, const char *prompt) {
  static const char *const files[] = {"model.safetensors", "optimizer.safetensors", "average.safetensors"};
  char names[2048], path[256];
  int count = 0, differ = 0, averages = 0;
  snprintf(names, sizeof names, "%s", case_names(case_path(late, "checkpoints")));
  ok(strcmp(names, case_names(case_path(prompt, "checkpoints"))) == 0, "the same checkpoints");
  for (char *name = strtok(names, " "); name; name = strtok(NULL, " "), count++)
    for (int i = 0; i < 3; i++) {
      snprintf(path, sizeof path, "checkpoints/%s/%s", name, files[i]);
      differ += files_differ(late, prompt, path);
      averages += i == 2 && case_exists(case_path(late, path));
    }
  ok(count > 10 && averages > 5 && differ == 0, "%d checkpoints, %d averages, the same bytes", count, averages);
  ok(!files_differ(late, prompt, "model.safetensors"), "and the model");
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  if (!model_folder) {
    tap_skip("late rows", "there are no golden models");
    return tap_done();
  }
  char late[512], prompt[512], pieces[512];
  int status;
  snprintf(late, sizeof late, "%s", scratch_file("late"));
  snprintf(prompt, sizeof prompt, "%s", scratch_file("prompt"));
  snprintf(pieces, sizeof pieces, "%s", scratch_file("pieces"));
  float *weights = run(late, &(listener){0}, false, &status);
  ok(status == BRIM_OK, "a run of 90 steps");
  free(run(prompt, &(listener){.prompt = true}, false, &status));
  ok(status == BRIM_OK, "one that brings all rows up to date after each");
  char *log = case_log(late), *other = case_log(prompt);
  case_same_text(log, other, "the same evaluations");
  same_checkpoints(late, prompt);
  free(other);
  free(run(NULL, &(listener){.cancel_at = 33}, false, &status));
  ok(status == BRIM_E_CANCELLED, "a run without a folder, interrupted");
  for (int64_t at = 31; status == BRIM_E_CANCELLED; at += 31) {
    float *again = run(pieces, &(listener){.cancel_at = at}, at > 31, &status);
    case_job job = case_open(model_folder, 1);
    if (status == BRIM_OK)
      ok(memcmp(again, weights, (size_t)brim_model_flat_size(job.model) * sizeof(float)) == 0, "in pieces: the same bits");
    case_close(&job);
    free(again);
  }
  ok(status == BRIM_OK, "in pieces, to the end");
  free(weights), free(log);
  return tap_done();
}
