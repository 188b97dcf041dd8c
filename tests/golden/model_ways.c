/* Every golden model, by every way of computing a step, against PyTorch in double precision: with checkpoints of activations,
 * with layers frozen, in parts, and with all of these. With --data DIR: those of DIR/golden, on every level. */
#include "brim/train.h"
#include "golden_tensors.h"
#include "levels.h"
#include "model/run/flat.h"
#include "model/run/model.h"

typedef struct way {
  const char *freeze;
  bool checkpoint;
  uint32_t part; /* rows of a part; 0: all */
  bool padded;
} way;

static const way ways[] = {
    {"", true, 0, false},         {"embeddings", false, 0, false}, {"layers:1", false, 0, false}, {"layers:1", true, 0, true},
    {"encoder", false, 0, false}, {"", false, 1, false},           {"", false, 2, true},          {"layers:1", true, 3, false},
};

typedef struct job {
  const char *name;
  brim_model *model;
  const brim_dataset *rows;
  const brim_store *want;
  double divisor, loss;
  int64_t compared; /* values of gradients */
  double worst;
  char where[200];
} job;

/* Rows first .. first+count-1 of the step of all rows. */
static void fill(const job *j, brim_batch *batch, uint32_t first, uint32_t count, int32_t width) {
  enum { MOST = 64 };
  uint64_t list[MOST];
  uint32_t places[MOST];
  brim_error err;
  brim_planned part = {
      .count = count, .rows = list, .places = places, .step_rows = (uint32_t)brim_dataset_rows(j->rows), .width = width};
  for (uint32_t i = 0; i < count; i++) {
    list[i] = places[i] = first + i;
    part.tokens += brim_dataset_lengths(j->rows)[first + i];
  }
  part.slots = width ? (int64_t)count * width : part.tokens;
  if (brim_batch_fill(batch, runtime, j->rows, &part, &err))
    stop(j->name, &err);
  batch->divisor = j->divisor;
}

/* What the loss of the step of all rows is divided by: their number, or that of their labelled tokens. */
static double divisor_of(const brim_dataset *rows) {
  double tokens = 0;
  for (uint64_t i = 0; i < brim_dataset_rows(rows); i++) {
    brim_sample s;
    brim_dataset_sample(rows, i, &s);
    for (int32_t k = 0; s.token_labels && k < s.length; k++)
      tokens += s.token_labels[k] != BRIM_NO_LABEL;
  }
  return tokens > 0 ? tokens : (double)brim_dataset_rows(rows);
}

static void run(job *j, const way *how) {
  const brim_pass pass = {.training = true};
  const uint32_t rows = (uint32_t)brim_dataset_rows(j->rows), size = how->part ? how->part : rows;
  const int32_t longest = brim_dataset_longest(j->rows);
  const brim_model_limits limits = {.max_slots = (int64_t)size * longest,
                                    .max_sequences = (int32_t)size,
                                    .max_length = longest,
                                    .training = true,
                                    .checkpoint_activations = how->checkpoint};
  brim_batch batch = {0};
  brim_error err;
  if (brim_model_freeze(j->model, how->freeze, &err) || brim_model_prepare(j->model, &limits, &err))
    stop(j->name, &err);
  brim_model_zero_gradients(j->model);
  j->loss = 0;
  for (uint32_t first = 0; first < rows; first += size) {
    double loss;
    fill(j, &batch, first, rows - first < size ? rows - first : size, how->padded ? longest : 0);
    if (brim_model_forward(j->model, &batch, &pass, &loss, NULL, &err) || brim_model_backward(j->model, &batch, &pass, &err))
      stop(j->name, &err);
    j->loss += loss;
  }
  brim_batch_free(&batch);
}

static const brim_parameter *find(const brim_model *model, const char *name) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++)
    if (strcmp(brim_model_parameter(model, i)->name, name) == 0)
      return brim_model_parameter(model, i);
  return NULL;
}

/* One gradient of `want`: absolute, and with another limit, for key biases. */
static void compare(job *j, const char *name, const float *gradients) {
  in_file at = filed(name + strlen("grad."));
  const brim_parameter *p = find(j->model, at.name);
  if (!p && filed_otherwise(&at))
    p = find(j->model, at.name);
  const int64_t trained = p ? brim_trained_at(&j->model->trained, p->offset) : 0;
  if (trained < 0)
    return; /* frozen */
  int64_t count = 0;
  float *want = read_tensor(j->want, name, &count);
  double d = (double)INFINITY;
  if (p && p->count == count * at.parts) {
    const float *got = gradients + trained + at.part * count;
    d = is_key_bias(name) ? 10 * farthest_from(got, want, count) : apart_from(got, want, count);
  }
  free(want);
  j->compared += count;
  if (d <= j->worst)
    return;
  j->worst = d;
  snprintf(j->where, sizeof j->where, "%s", at.name);
}

static void check(job *j, const way *how, const char *kernels) {
  brim_error err;
  float *gradients;
  int64_t count;
  float *loss = read_tensor(j->want, "loss", &count);
  run(j, how);
  if (brim_flat_map(j->model, BRIM_GRADIENTS, &gradients, &err))
    stop(j->name, &err);
  j->compared = 0;
  j->worst = 0;
  for (int32_t i = 0; i < brim_store_count(j->want); i++)
    if (strncmp(brim_store_tensor(j->want, i)->name, "grad.", 5) == 0)
      compare(j, brim_store_tensor(j->want, i)->name, gradients);
  brim_flat_unmap(j->model, gradients);
  const double apart = fabs(j->loss - (double)*loss) / fabs((double)*loss);
  int64_t trained = 0;
  for (int32_t i = 0; i < brim_model_parameter_count(j->model); i++) {
    const brim_parameter *p = brim_model_parameter(j->model, i);
    trained += brim_flat_trained_at(j->model, i) >= 0 ? p->count : 0;
  }
  ok(apart <= 2e-6 && j->worst <= 1e-5 && j->compared == trained,
     "%s, %s, frozen: %s%s, parts of %u rows%s: loss %.1e, gradients %.1e (%s)", j->name, kernels,
     *how->freeze ? how->freeze : "nothing", how->checkpoint ? ", checkpoints" : "", how->part, how->padded ? ", padded" : "",
     apart, j->worst, j->where);
  free(loss);
}

static void check_kernels(const char *folder, const char *name, const char *kernels) {
  brim_error err;
  brim_dataset *rows;
  const brim_model_options options = {.kernels = kernels};
  brim_store *want = open_store(join(folder, "expected.safetensors"));
  if (brim_dataset_read_json(runtime, join(folder, "batch.json"), &rows, &err))
    stop(folder, &err);
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    job j = {.name = name, .rows = rows, .want = want, .divisor = divisor_of(rows)};
    if (brim_model_load(runtime, folder, &options, &j.model, &err))
      stop(folder, &err);
    if (strncmp(ways[i].freeze, "layers:", 7) != 0 || j.model->config.groups == 0) /* ALBERT's layers are one */
      check(&j, &ways[i], kernels);
    brim_model_free(j.model);
  }
  brim_dataset_free(rows);
  brim_store_close(want);
}

static void check_model(const char *folder, const char *name) {
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    check_kernels(folder, name, brim_ops_cpu((brim_cpu_level)level)->name);
}

int main(int argc, char **argv) {
  brim_error err;
  const brim_runtime_options options = {.threads = 2};
  if (brim_runtime_new(&options, &runtime, &err))
    stop("runtime", &err);
  const char *data = tap_data(argc, argv);
  if (data)
    setenv("BRIM_TEST_LEVELS", "all", 0);
  const int count = each_golden(data, check_model);
  ok(count >= 6, "%d golden models", count);
  brim_runtime_free(runtime);
  return tap_done();
}
