/* train_half.c: runs in bf16. The copy of the weights in 16 bits is that of the weights at every step, also after one that
 * failed, and runs have the same bits for any number of threads and, with slices, for any cuts of a step: with averages of
 * weights, frozen parts, late rows, clipping, checkpoints of activations, and folds. */
#include "base/status.h"
#include "model/run/flat.h"
#include "model/run/model.h"
#include "train_case.h"

static const char *model_folder;

/* ---- the copy ------------------------------------------------------------------------------------------------ */

/* To nearest, to even between two: weights are finite. */
static brim_bfloat rounded(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return (brim_bfloat)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Values whose copy is another number; -1: there is no copy. */
static int64_t wrong_copies(brim_model *m) {
  int64_t wrong = 0, seen = 0;
  for (size_t i = 0; i < m->program.weight_count; i++) {
    const brim_weight *w = &m->program.weights[i];
    const brim_bfloat *copy = brim_model_half_copy(m, w);
    for (int64_t k = 0; copy && k < w->is.count; k++, seen++)
      wrong += copy[k] != rounded(m->values[w->is.offset + k]);
  }
  return seen ? wrong : -1;
}

typedef struct watcher {
  brim_model *model;
  int64_t wrong;
  int steps, made; /* after so many the copy counted as made */
} watcher;

/* A copy that counts as made is right. */
static int watch(void *context, const brim_event *event) {
  watcher *w = context;
  if (strcmp(event->kind, "step") != 0)
    return 0;
  w->steps++;
  w->made += w->model->half_made;
  w->wrong += w->model->half_made ? wrong_copies(w->model) : 0;
  return 0;
}

/* ---- ways to train ------------------------------------------------------------------------------------------- */

static void average(brim_train_options *o) {
  o->swa_start = 0.3;
  o->swa_every = 2;
}

static void freeze(brim_train_options *o) {
  o->freeze = "1";
  o->layer_lr_decay = 0.8;
}

static void clip(brim_train_options *o) {
  o->clip = 0.05;
  o->weight_decay = 0.1;
}

static void recompute(brim_train_options *o) {
  o->checkpoint_activations = true;
  o->plan.accumulate = 2;
}

static void go_long(brim_train_options *o) {
  o->epochs = 13; /* more steps than a row may be late */
  o->eval_every = 20;
}

static const struct {
  const char *name;
  void (*change)(brim_train_options *options);
  int words; /* one of so many of the vocabulary occurs */
} ways[] = {{"averages", average, 1},
            {"frozen", freeze, 1},
            {"clipped", clip, 1},
            {"recomputed, in parts", recompute, 1},
            {"late rows", go_long, 4}};
enum { WAYS = sizeof ways / sizeof *ways };

/* The weights of a run; NULL: it failed. */
static float *run(int way, int threads, int32_t slices, int64_t max_rows, watcher *w) {
  case_job job = case_open(model_folder, threads);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  brim_dataset_free(job.train);
  job.train = case_dataset(job.runtime, 44, 30, brim_model_vocab_size(job.model) / ways[way].words, brim_model_outputs(job.model),
                           1);
  options.precision = BRIM_PRECISION_BF16;
  ways[way].change(&options);
  options.plan.slices = slices;
  options.plan.max_rows = max_rows;
  options.plan.accumulate = slices ? 0 : options.plan.accumulate;
  *w = (watcher){.model = job.model};
  options.event = watch, options.event_context = w;
  float *weights = NULL;
  if (case_train(&job, &options, &result, &err))
    printf("# %s\n", err.message);
  else
    weights = case_weights(&job);
  case_close(&job);
  return weights;
}

static size_t weight_bytes(void) {
  case_job job = case_open(model_folder, 1);
  const size_t bytes = (size_t)brim_model_flat_size(job.model) * sizeof(float);
  case_close(&job);
  return bytes;
}

/* Threads with the step at once; and with slices threads and cuts. */
static void same_bits(void) {
  const size_t bytes = weight_bytes();
  for (int i = 0; i < WAYS; i++) {
    watcher w;
    float *one = run(i, 1, 0, 0, &w);
    ok(one && w.steps > 0 && w.made > 0 && w.wrong == 0, "%s: the copy is that of the weights after each of %d steps",
       ways[i].name, w.made);
    float *three = run(i, 3, 0, 0, &w), *sliced = run(i, 1, 4, 0, &w), *cut = run(i, 3, 4, 4, &w);
    ok(one && three && memcmp(one, three, bytes) == 0, "%s: the same weights with three threads", ways[i].name);
    ok(sliced && cut && memcmp(sliced, cut, bytes) == 0 && w.wrong == 0,
       "%s: in slices, the same weights for other cuts and threads", ways[i].name);
    ok(one && sliced && memcmp(one, sliced, bytes) != 0, "%s: which are sums of another shape", ways[i].name);
    free(one), free(three), free(sliced), free(cut);
  }
}

/* ---- folds --------------------------------------------------------------------------------------------------- */

static float *fold_logits(int threads, size_t *bytes) {
  case_job job = case_open(model_folder, threads);
  brim_train_options options = case_options(NULL);
  brim_folds folds = {0};
  brim_folds_result result = {0};
  brim_error err = {0};
  float *logits = NULL;
  options.precision = BRIM_PRECISION_BF16;
  options.epochs = 1;
  int status = brim_folds_stratify(job.runtime, job.train, 2, 1, &folds, &err);
  if (!status)
    status = brim_train_folds(job.runtime, job.model, NULL, job.train, &folds, NULL, 0, &options, &result, &err);
  *bytes = (size_t)brim_dataset_rows(job.train) * (size_t)brim_model_outputs(job.model) * sizeof *logits;
  if (status)
    printf("# %s\n", err.message);
  else
    memcpy(logits = malloc(*bytes), result.logits, *bytes);
  brim_folds_result_free(&result);
  brim_folds_free(&folds);
  case_close(&job);
  return logits;
}

static void same_folds(void) {
  size_t bytes;
  float *one = fold_logits(1, &bytes), *three = fold_logits(3, &bytes);
  ok(one && three && memcmp(one, three, bytes) == 0, "folds: the same predictions with three threads");
  free(one), free(three);
}

/* ---- a step that fails --------------------------------------------------------------------------------------- */

static int pass_of(case_job *job, brim_batch *batch, uint64_t step, brim_error *err) {
  const brim_pass pass = {.training = true, .dropout = true, .seed = 5, .optimizer_step = step};
  double loss;
  int status = brim_model_forward(job->model, batch, &pass, &loss, NULL, err);
  return status ? status : brim_model_backward(job->model, batch, &pass, err);
}

/* Two steps, with one between them whose gradient is not finite, or none. */
static float *three_steps(bool fails, int64_t *wrong, int *failed) {
  case_job job = case_open(model_folder, 2);
  const brim_model_limits limits = {
      .max_slots = 44 * 30, .max_sequences = 44, .max_length = 30, .training = true, .precision = BRIM_PRECISION_BF16};
  const brim_plan_options plan_options = {.batching = BRIM_SEQUENTIAL, .batch_size = 44};
  brim_plan *plan = NULL;
  brim_planned part;
  brim_batch batch = {0};
  brim_error err = {0};
  double norm;
  int status = brim_plan_new(job.runtime, brim_dataset_lengths(job.train), 44, &plan_options, 0, &plan, &err);
  if (!status)
    status = brim_model_prepare(job.model, &limits, &err);
  if (!status) {
    brim_plan_part(plan, 0, 0, &part);
    status = brim_batch_fill(&batch, job.runtime, job.train, &part, &err);
  }
  *wrong = 0;
  for (uint64_t step = 1; !status && step <= 3; step++) {
    const brim_adamw adamw = {.lr = 1e-2, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .step = step > 1 ? step - 1 : step};
    if (step == 2 && !fails)
      continue;
    status = pass_of(&job, &batch, step, &err);
    if (!status && step == 2)
      brim_model_gradients(job.model)[brim_model_flat_size(job.model) / 2] = NAN;
    int updated = status ? status : brim_model_update(job.model, &adamw, &norm, &err);
    if (step == 2) {
      *failed = updated;
      brim_model_zero_gradients(job.model);
    } else {
      status = updated;
    }
    *wrong += job.model->half_made ? wrong_copies(job.model) : 1;
  }
  if (status)
    printf("# %s\n", err.message);
  float *weights = status ? NULL : case_weights(&job);
  brim_plan_free(plan);
  brim_batch_free(&batch);
  case_close(&job);
  return weights;
}

static void failed_step(void) {
  int64_t wrong, also;
  int failed = BRIM_OK, none = BRIM_OK;
  const size_t bytes = weight_bytes();
  float *without = three_steps(false, &wrong, &none), *with = three_steps(true, &also, &failed);
  ok(failed == BRIM_E_DIVERGED, "a gradient that is not finite fails the step");
  ok(wrong == 0 && also == 0, "weights and their copy are together before it and after it");
  ok(without && with && memcmp(without, with, bytes) == 0, "and the next step is that of a run without it");
  free(without), free(with);
}

/* Weights that are written from outside have a copy again at the next pass. */
static void written(void) {
  case_job job = case_open(model_folder, 2);
  brim_train_options options = case_options(NULL);
  brim_train_result result;
  brim_error err = {0};
  watcher w = {.model = job.model};
  options.precision = BRIM_PRECISION_BF16;
  options.max_steps = 2;
  options.event = watch, options.event_context = &w;
  int status = case_train(&job, &options, &result, &err);
  const int64_t size = brim_model_flat_size(job.model);
  float *values = malloc((size_t)size *
                         sizeof *values); /* to read them is not to take their address, which makes the copy old too */
  if (!status)
    status = brim_model_read(job.model, BRIM_VALUES, 0, size, values, &err);
  job.model->half_made = true;
  for (int64_t i = 0; i < size; i++)
    values[i] *= 1.25f;
  if (!status)
    status = brim_model_write(job.model, BRIM_VALUES, 0, size, values, &err);
  ok(!status && !job.model->half_made, "weights that are written make the copy old");
  w = (watcher){.model = job.model};
  status = case_train(&job, &options, &result, &err);
  ok(!status && w.made == 2 && w.wrong == 0, "which the next pass makes again");
  free(values);
  case_close(&job);
}

int main(void) {
  model_folder = case_model_folder("bert-pair-3");
  failed_step();
  written();
  same_bits();
  same_folds();
  model_folder = case_model_folder("modernbert-cls");
  same_bits();
  return tap_done();
}
