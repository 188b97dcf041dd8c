/* step.c: one step of a loss that the host computes, without dropout, in parts of so many rows: vectors or scores, the
 * loss, and the gradient of every weight. What must not depend on the parts, does not. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/files/safetensors.h"
#include "model/run/ask.h"
#include "model/run/flat.h"
#include "train/answers/fit.h"
#include "train/host_loss.h"
#include "train/loss_choice.h"

typedef struct job {
  brim_runtime *runtime;
  brim_model *model;
  const brim_dataset *dataset;
  brim_padding padding;
  uint64_t at_once; /* rows of a part */
  brim_host_loss host;
  brim_batch batch;
  brim_arena arena;
  brim_tensor *tensors;
  int count;
  float *gradients; /* the model's, on the host; NULL: not there yet */
} job;

/* ---- parts --------------------------------------------------------------------------------------------------- */

/* The batch of the rows from `first` on. */
static int fill(job *j, uint64_t first, brim_error *err) {
  const uint64_t rows = brim_dataset_rows(j->dataset), *firsts = brim_dataset_firsts(j->dataset);
  const uint64_t count = rows - first < j->at_once ? rows - first : j->at_once;
  const int32_t *lengths = brim_dataset_text_lengths(j->dataset);
  uint64_t *numbers = brim_arena_alloc_array(&j->arena, (size_t)count, sizeof *numbers);
  uint32_t *places = brim_arena_alloc_array(&j->arena, (size_t)count, sizeof *places);
  brim_planned part = {.count = (uint32_t)count, .rows = numbers, .places = places, .step_rows = (uint32_t)rows};
  if (!numbers || !places)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < count; i++)
    numbers[i] = first + i, places[i] = (uint32_t)(first + i);
  const uint64_t from = firsts ? firsts[first] : first, end = firsts ? firsts[first + count] : first + count;
  for (uint64_t t = from; t < end; t++) {
    part.tokens += lengths[t];
    part.longest = lengths[t] > part.longest ? lengths[t] : part.longest;
  }
  part.texts = (uint32_t)(end - from);
  part.width = j->padding == BRIM_PAD_NONE ? 0 : j->padding == BRIM_PAD_LONGEST ? part.longest : brim_model_max_length(j->model);
  part.slots = part.width > 0 ? (int64_t)part.texts * part.width : part.tokens;
  return brim_batch_fill(&j->batch, j->runtime, j->dataset, &part, err);
}

static int prepare(job *j, brim_error *err) {
  brim_model_limits limits = {.training = true};
  for (uint64_t first = 0; first < brim_dataset_rows(j->dataset); first += j->at_once) {
    BRIM_TRY(fill(j, first, err));
    limits.max_slots = j->batch.slots > limits.max_slots ? j->batch.slots : limits.max_slots;
    limits.max_sequences = j->batch.count > limits.max_sequences ? j->batch.count : limits.max_sequences;
    limits.max_length = brim_batch_width(&j->batch) > limits.max_length ? brim_batch_width(&j->batch) : limits.max_length;
  }
  BRIM_TRY(brim_model_prepare(j->model, &limits, err));
  brim_model_zero_gradients(j->model);
  return BRIM_OK;
}

/* ---- the step ------------------------------------------------------------------------------------------------- */

static int forward(job *j, const brim_batch *part, brim_error *err) {
  const brim_pass pass = {.training = true};
  bool finite;
  BRIM_TRY(brim_model_forward(j->model, part, &pass, NULL, NULL, err));
  return brim_host_loss_take(&j->host, j->model, part, &finite, err);
}

static int backward(job *j, const brim_batch *part, brim_error *err) {
  const brim_pass pass = {.training = true};
  BRIM_TRY(brim_host_loss_seed(&j->host, j->model, part, 1, err));
  return brim_model_backward(j->model, part, &pass, err);
}

/* All outputs, their loss, and each part again. */
static int whole(job *j, double *loss, brim_error *err) {
  const uint64_t rows = brim_dataset_rows(j->dataset);
  const brim_group alone = brim_group_single();
  for (uint64_t first = 0; first < rows; first += j->at_once) {
    const brim_batch *part;
    BRIM_TRY(fill(j, first, err));
    BRIM_TRY(brim_host_loss_keep(&j->host, &j->batch, &part, err));
    BRIM_TRY(forward(j, part, err));
  }
  BRIM_TRY(brim_host_loss_share(&j->host, &alone, err));
  BRIM_TRY(brim_host_loss_of_step(&j->host, (double)rows, loss, err));
  for (int32_t i = 0; i < j->host.kept_count; i++) {
    BRIM_TRY(forward(j, &j->host.kept[i], err));
    BRIM_TRY(backward(j, &j->host.kept[i], err));
  }
  return BRIM_OK;
}

static int in_parts(job *j, double *loss, brim_error *err) {
  const uint64_t rows = brim_dataset_rows(j->dataset);
  *loss = 0;
  for (uint64_t first = 0; first < rows; first += j->at_once) {
    double own;
    BRIM_TRY(fill(j, first, err));
    BRIM_TRY(forward(j, &j->batch, err));
    BRIM_TRY(brim_host_loss_of_rows(&j->host, &j->batch, 0, j->batch.row_count, (double)rows, &own, err));
    *loss += own;
    BRIM_TRY(backward(j, &j->batch, err));
  }
  return BRIM_OK;
}

/* ---- results -------------------------------------------------------------------------------------------------- */

static int add(job *j, const char *name, int32_t rank, int64_t rows, int64_t columns, const float *data, brim_error *err) {
  const char *copy = brim_arena_copy_string(&j->arena, name, strlen(name));
  j->tensors[j->count++] = (brim_tensor){copy, rank, {rows, columns}, data};
  return copy ? BRIM_OK : BRIM_NOMEM(err);
}

/* Column k of the vectors, after all modules, as "embeddings.K"; or the scores, as "logits". */
static int add_outputs(job *j, brim_error *err) {
  const brim_eval_options how = {.batching = BRIM_SEQUENTIAL, .batch_size = 32};
  const bool vectors = brim_model_shape(j->model)->bare;
  const uint64_t texts = brim_dataset_texts(j->dataset), rows = brim_dataset_rows(j->dataset),
                 *firsts = brim_dataset_firsts(j->dataset);
  const size_t width = (size_t)brim_model_outputs(j->model);
  float *all = brim_arena_alloc_array(&j->arena, (size_t)texts, width * sizeof *all);
  if (!all)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_predict(j->runtime, j->model, j->dataset, &how, all, err));
  if (!vectors)
    return add(j, "logits", 2, (int64_t)texts, (int64_t)width, all, err);
  const brim_meaning whole = {.unit = brim_model_normalizes(j->model)};
  double *vector = brim_arena_alloc_array(&j->arena, width, sizeof *vector);
  for (uint64_t t = 0; vector && t < texts; t++) {
    brim_give_vector(&whole, all + t * width, (int32_t)width, vector);
    for (size_t k = 0; k < width; k++)
      all[t * width + k] = (float)vector[k];
  }
  if (!vector)
    return BRIM_NOMEM(err);
  for (int32_t column = 0; column < brim_dataset_most_texts(j->dataset); column++) {
    float *own = brim_arena_alloc_array(&j->arena, (size_t)rows, width * sizeof *own);
    char name[40];
    if (!own)
      return BRIM_NOMEM(err);
    memset(own, 0, (size_t)rows * width * sizeof *own);
    for (uint64_t row = 0; row < rows; row++)
      if (!firsts || firsts[row] + (uint64_t)column < firsts[row + 1])
        memcpy(own + row * width, all + ((firsts ? firsts[row] : row) + (uint64_t)column) * width, width * sizeof *own);
    snprintf(name, sizeof name, "embeddings.%d", column);
    BRIM_TRY(add(j, name, 2, (int64_t)rows, (int64_t)width, own, err));
  }
  return BRIM_OK;
}

static int add_gradients(job *j, float *norm, brim_error *err) {
  double square = 0;
  BRIM_TRY(brim_flat_map(j->model, BRIM_GRADIENTS, &j->gradients, err));
  for (int32_t i = 0; i < brim_model_parameter_count(j->model); i++) {
    const brim_parameter *p = brim_model_parameter(j->model, i);
    const float *own = j->gradients + brim_flat_trained_at(j->model, i);
    char name[240];
    snprintf(name, sizeof name, "grad.%s", p->name);
    BRIM_TRY(add(j, name, p->rank, p->shape[0], p->shape[1], own, err));
    for (int64_t k = 0; k < p->count; k++)
      square += (double)own[k] * (double)own[k];
  }
  *norm = (float)sqrt(square);
  return BRIM_OK;
}

/* Of all tokens, in one part. */
static int add_hidden(job *j, brim_error *err) {
  const brim_pass pass = {.all_tokens = true};
  const int64_t tokens = (int64_t)brim_dataset_tokens(j->dataset), width = brim_model_hidden_size(j->model);
  const uint64_t at_once = j->at_once;
  float *hidden = brim_arena_alloc_array(&j->arena, (size_t)(tokens * width), sizeof *hidden);
  if (!hidden)
    return BRIM_NOMEM(err);
  j->at_once = brim_dataset_rows(j->dataset);
  BRIM_TRY(prepare(j, err));
  BRIM_TRY(fill(j, 0, err));
  BRIM_TRY(brim_model_forward(j->model, &j->batch, &pass, NULL, NULL, err));
  BRIM_TRY(brim_model_hidden(j->model, &j->batch, hidden, err));
  j->at_once = at_once;
  return add(j, "hidden", 2, tokens, width, hidden, err);
}

static int compute(job *j, const brim_loss_options *options, const char *output, brim_error *err) {
  const size_t tensors = (size_t)brim_model_parameter_count(j->model) + (size_t)brim_dataset_most_texts(j->dataset) + 4;
  double loss;
  float single, norm;
  j->tensors = brim_arena_alloc_array(&j->arena, tensors, sizeof *j->tensors);
  if (!j->tensors)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_choose_loss(j->runtime, j->model, j->dataset, options, &j->host, err));
  BRIM_TRY(add_outputs(j, err));
  BRIM_TRY(add_hidden(j, err));
  BRIM_TRY(prepare(j, err));
  BRIM_TRY(brim_host_loss_begin(&j->host, (uint32_t)brim_dataset_rows(j->dataset), err));
  BRIM_TRY((j->host.target->scope == BRIM_LOSS_OF_STEP ? whole : in_parts)(j, &loss, err));
  single = (float)loss;
  BRIM_TRY(add(j, "loss", 1, 1, 0, &single, err));
  BRIM_TRY(add(j, "grad_norm", 1, 1, 0, &norm, err));
  BRIM_TRY(add_gradients(j, &norm, err));
  return brim_tensors_write_named(j->runtime, output, j->tensors, j->count, err);
}

int brim_inspect_step(brim_runtime *runtime, brim_model *model, const brim_dataset *rows, const brim_loss_options *loss,
                      uint64_t rows_at_once, brim_padding padding, const char *output, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, rows, output);
  if ((unsigned)padding > BRIM_PAD_MAX_LENGTH)
    return brim_error_set(err, BRIM_E_USAGE, "padding %d does not exist", (int)padding);
  job j = {.runtime = runtime, .model = model, .dataset = rows, .padding = padding, .at_once = rows_at_once};
  brim_dataset *mapped;
  if (j.at_once == 0 || j.at_once > brim_dataset_rows(rows))
    j.at_once = brim_dataset_rows(rows);
  BRIM_TRY(brim_dataset_fit_of(runtime, model, rows, -1, 0, true, "batch", &mapped, err));
  brim_arena_init(&j.arena, runtime, 0);
  const int status = compute(&j, loss, output, err);
  if (j.gradients)
    brim_flat_unmap(model, j.gradients);
  brim_model_zero_gradients(model);
  brim_host_loss_free(&j.host);
  brim_batch_free(&j.batch);
  brim_arena_free(&j.arena);
  return status;
}
