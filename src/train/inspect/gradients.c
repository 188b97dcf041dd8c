/* gradients.c: numbers from inside a step, for comparison with other programs. Dropout is off. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/event.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "brim/train.h"
#include "model/files/safetensors.h"
#include "model/run/fits.h"
#include "model/run/flat.h"
#include "train/folder/fields.h"
#include "train/schedule.h"

#define FILE_LIMIT ((size_t)64 << 20)

/* Some rows of a dataset as one batch. */
typedef struct inspection {
  brim_runtime *runtime;
  brim_model *model;
  const brim_dataset *dataset;
  brim_padding padding;
  brim_batch batch;
  uint64_t *rows;
  uint32_t *places;
  size_t capacity; /* of both */
} inspection;

static void inspection_free(inspection *in) {
  brim_batch_free(&in->batch);
  brim_release(in->runtime, in->rows);
  brim_release(in->runtime, in->places);
}

static int make_room(inspection *in, size_t count, brim_error *err) {
  if (count <= in->capacity)
    return BRIM_OK;
  brim_release(in->runtime, in->rows);
  brim_release(in->runtime, in->places);
  in->rows = brim_alloc_array(in->runtime, count, sizeof *in->rows);
  in->places = brim_alloc_array(in->runtime, count, sizeof *in->places);
  in->capacity = in->rows && in->places ? count : 0;
  for (size_t i = 0; i < in->capacity; i++)
    in->places[i] = (uint32_t)i;
  return in->capacity > 0 ? BRIM_OK : BRIM_NOMEM(err);
}

static int32_t batch_width(const inspection *in, int32_t longest) {
  if (in->padding == BRIM_PAD_NONE)
    return 0;
  return in->padding == BRIM_PAD_LONGEST ? longest : brim_model_max_length(in->model);
}

/* The batch of in->rows[0 .. count-1]. */
static int fill(inspection *in, uint32_t count, brim_error *err) {
  const int32_t *lengths = brim_dataset_lengths(in->dataset);
  int32_t longest = 0;
  int64_t tokens = 0;
  for (uint32_t i = 0; i < count; i++) {
    const int32_t length = lengths[in->rows[i]];
    tokens += length;
    longest = length > longest ? length : longest;
  }
  const int32_t width = batch_width(in, longest);
  if (width > 0)
    BRIM_TRY(brim_length_fits(in->model, "a row has", longest, BRIM_E_MISMATCH, err));
  const brim_planned part = {.count = count,
                             .rows = in->rows,
                             .places = in->places,
                             .step_rows = count,
                             .width = width,
                             .tokens = tokens,
                             .slots = width > 0 ? (int64_t)count * width : tokens};
  return brim_batch_fill(&in->batch, in->runtime, in->dataset, &part, err);
}

static brim_model_limits batch_limits(const brim_batch *batch, bool training) {
  return (brim_model_limits){
      .max_slots = batch->slots, .max_sequences = batch->count, .max_length = brim_batch_width(batch), .training = training};
}

/* All rows of the dataset. */
static int fill_all(inspection *in, brim_error *err) {
  const uint64_t count = brim_dataset_rows(in->dataset);
  if (count == 0 || count > INT32_MAX)
    return brim_error_set(err, BRIM_E_USAGE, "a batch needs at least one row");
  if ((unsigned)in->padding > BRIM_PAD_MAX_LENGTH)
    return brim_error_set(err, BRIM_E_USAGE, "padding %d does not exist", (int)in->padding);
  BRIM_TRY(make_room(in, (size_t)count, err));
  for (uint64_t i = 0; i < count; i++)
    in->rows[i] = i;
  return fill(in, (uint32_t)count, err);
}

/* ---- gradients -------------------------------------------------------------------------------------------- */

typedef struct results {
  brim_arena arena;
  brim_tensor *tensors;
  int count;
  float *hidden, *logits, *loss, *norm;
  float *gradients; /* the model's, on the host; NULL: not there yet */
} results;

static bool finds_outcomes(const inspection *in) {
  return brim_model_shape(in->model)->outputs == BRIM_OUTPUTS_OF_LABELLED;
}

/* Where the device gives outcomes, logits of all tokens are wanted. */
static int64_t logit_rows(const inspection *in) {
  return finds_outcomes(in) ? in->batch.tokens : brim_model_logit_rows(in->model, &in->batch);
}

static int make_results(results *r, const inspection *in, brim_error *err) {
  const int64_t tokens = in->batch.tokens, n = logit_rows(in), hidden = brim_model_hidden_size(in->model),
                outputs = brim_model_outputs(in->model);
  const int32_t parameters = brim_model_parameter_count(in->model);
  r->hidden = brim_arena_alloc_array(&r->arena, (size_t)(tokens * hidden), sizeof(float));
  r->logits = brim_arena_alloc_array(&r->arena, (size_t)(n * outputs), sizeof(float));
  r->loss = brim_arena_alloc(&r->arena, sizeof(float));
  r->norm = brim_arena_alloc(&r->arena, sizeof(float));
  r->tensors = brim_arena_alloc_array(&r->arena, (size_t)parameters + 4, sizeof *r->tensors);
  if (!r->hidden || !r->logits || !r->loss || !r->norm || !r->tensors)
    return BRIM_NOMEM(err);
  r->tensors[r->count++] = (brim_tensor){"hidden", 2, {tokens, hidden}, r->hidden};
  r->tensors[r->count++] = (brim_tensor){"logits", 2, {n, outputs}, r->logits};
  r->tensors[r->count++] = (brim_tensor){"loss", 1, {1}, r->loss};
  r->tensors[r->count++] = (brim_tensor){"grad_norm", 1, {1}, r->norm};
  return BRIM_OK;
}

/* "grad.NAME" for every trained parameter. */
static int list_gradients(results *r, const brim_model *model, brim_error *err) {
  double square = 0;
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    const int64_t at = brim_flat_trained_at(model, i);
    if (at < 0)
      continue;
    const float *gradient = r->gradients + at;
    const size_t length = strlen(p->name);
    char *name = brim_arena_alloc(&r->arena, length + sizeof "grad.");
    if (!name)
      return BRIM_NOMEM(err);
    memcpy(name, "grad.", 5);
    memcpy(name + 5, p->name, length + 1);
    r->tensors[r->count++] = (brim_tensor){name, p->rank, {p->shape[0], p->shape[1]}, gradient};
    for (int64_t k = 0; k < p->count; k++)
      square += (double)gradient[k] * (double)gradient[k];
  }
  *r->norm = (float)sqrt(square);
  return BRIM_OK;
}

/* Hidden states of all tokens come from a prediction; loss, logits and gradients from a pass as training has it. */
static int compute(inspection *in, results *r, brim_error *err) {
  const brim_pass all = {.all_tokens = true}, training = {.training = true};
  brim_model_limits limits = batch_limits(&in->batch, true);
  const bool outcomes = finds_outcomes(in);
  brim_batch unlabelled = in->batch;
  double loss;
  limits.logits = outcomes;
  unlabelled.token_labels = NULL;
  BRIM_TRY(make_results(r, in, err));
  BRIM_TRY(brim_model_prepare(in->model, &limits, err));
  BRIM_TRY(brim_model_forward(in->model, outcomes ? &unlabelled : &in->batch, &all, NULL, outcomes ? r->logits : NULL, err));
  BRIM_TRY(brim_model_hidden(in->model, &in->batch, r->hidden, err));
  brim_model_zero_gradients(in->model);
  BRIM_TRY(brim_model_forward(in->model, &in->batch, &training, &loss, outcomes ? NULL : r->logits, err));
  BRIM_TRY(brim_model_backward(in->model, &in->batch, &training, err));
  *r->loss = (float)loss;
  BRIM_TRY(brim_flat_map(in->model, BRIM_GRADIENTS, &r->gradients, err));
  return list_gradients(r, in->model, err);
}

int brim_inspect_gradients(brim_runtime *runtime, brim_model *model, const brim_dataset *batch, brim_padding padding,
                           const char *output, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, batch, output);
  inspection in = {.runtime = runtime, .model = model, .dataset = batch, .padding = padding};
  results r = {0};
  brim_arena_init(&r.arena, runtime, 0);
  int status = fill_all(&in, err);
  if (!status)
    status = compute(&in, &r, err);
  if (!status)
    status = brim_tensors_write_named(runtime, output, r.tensors, r.count, err);
  if (r.gradients)
    brim_flat_unmap(model, r.gradients);
  brim_model_zero_gradients(model);
  brim_arena_free(&r.arena);
  inspection_free(&in);
  return status;
}

/* ---- trajectory ------------------------------------------------------------------------------------------- */

typedef struct recipe {
  brim_json_document *document;
  const brim_json_value *step_rows;
  brim_update_options update;
  double lr;
  int64_t steps, warmup;
} recipe;

/* The members of "hyperparameters", or of the file itself. Absent ones have the defaults of training. */
static int read_recipe(brim_runtime *runtime, const char *path, recipe *r, brim_error *err) {
  BRIM_TRY(brim_json_load_named(runtime, path, FILE_LIMIT, &r->document, err));
  const brim_json_document *d = r->document;
  const brim_json_value *root = brim_json_root(d), *inner = brim_json_get(root, "hyperparameters"), *h = inner ? inner : root;
  const brim_json_value *schedule = brim_json_get(h, "schedule");
  brim_train_options defaults;
  brim_train_options_init(&defaults);
  r->lr = defaults.lr;
  r->update = (brim_update_options){.beta1 = defaults.beta1,
                                    .beta2 = defaults.beta2,
                                    .eps = defaults.eps,
                                    .weight_decay = defaults.weight_decay,
                                    .clip = defaults.clip};
  r->step_rows = brim_json_get(h, "step_rows");
  if (!r->step_rows || r->step_rows->kind != BRIM_JSON_ARRAY)
    return brim_json_error(d, h, err, BRIM_E_FORMAT, "step_rows must list the rows of every step: [[0, 1], [2, 3]]");
  if (schedule && !brim_json_is_string(schedule, "linear"))
    return brim_json_error(d, schedule, err, BRIM_E_UNSUPPORTED, "the schedule must be \"linear\"");
  r->steps = r->step_rows->length;
  BRIM_TRY(brim_json_read_real(d, h, "lr", &r->lr, err));
  BRIM_TRY(brim_json_read_real(d, h, "beta1", &r->update.beta1, err));
  BRIM_TRY(brim_json_read_real(d, h, "beta2", &r->update.beta2, err));
  BRIM_TRY(brim_json_read_real(d, h, "eps", &r->update.eps, err));
  BRIM_TRY(brim_json_read_real(d, h, "weight_decay", &r->update.weight_decay, err));
  BRIM_TRY(brim_json_read_real(d, h, "max_grad_norm", &r->update.clip, err));
  BRIM_TRY(brim_json_read_int(d, h, "warmup_steps", 0, INT32_MAX, &r->warmup, err));
  BRIM_TRY(brim_json_read_int(d, h, "total_steps", 1, INT32_MAX, &r->steps, err));
  if (r->steps > r->step_rows->length)
    return brim_json_error(d, r->step_rows, err, BRIM_E_FORMAT, "there are rows for %u steps, but total_steps is %lld",
                           r->step_rows->length, (long long)r->steps);
  return BRIM_OK;
}

/* The batch of one entry of step_rows. */
static int fill_step(inspection *in, const recipe *r, const brim_json_value *rows, brim_error *err) {
  const uint64_t have = brim_dataset_rows(in->dataset);
  uint32_t count = 0;
  if (rows->kind != BRIM_JSON_ARRAY || rows->length == 0)
    return brim_json_error(r->document, rows, err, BRIM_E_FORMAT, "a step needs a list of at least one row");
  BRIM_TRY(make_room(in, rows->length, err));
  for (const brim_json_value *row = brim_json_first(rows); row; row = brim_json_after(rows, row)) {
    if (row->kind != BRIM_JSON_INT || row->as.integer < 0 || (uint64_t)row->as.integer >= have)
      return brim_json_error(r->document, row, err, BRIM_E_FORMAT, "the batch has rows 0 to %llu", (unsigned long long)have - 1);
    in->rows[count++] = (uint64_t)row->as.integer;
  }
  return fill(in, count, err);
}

/* Room for the largest step. */
static int prepare_steps(inspection *in, const recipe *r, brim_error *err) {
  brim_model_limits limits = {.training = true};
  for (const brim_json_value *rows = brim_json_first(r->step_rows); rows; rows = brim_json_after(r->step_rows, rows)) {
    BRIM_TRY(fill_step(in, r, rows, err));
    const brim_model_limits step = batch_limits(&in->batch, true);
    limits.max_slots = step.max_slots > limits.max_slots ? step.max_slots : limits.max_slots;
    limits.max_sequences = step.max_sequences > limits.max_sequences ? step.max_sequences : limits.max_sequences;
    limits.max_length = step.max_length > limits.max_length ? step.max_length : limits.max_length;
  }
  return brim_model_prepare(in->model, &limits, err);
}

static int train_step(inspection *in, recipe *r, int64_t step, brim_event_fn event, void *context, brim_error *err) {
  const brim_pass pass = {.training = true};
  double loss, norm;
  brim_update_options update = r->update;
  update.step = (uint64_t)step;
  update.lr = brim_linear_schedule(r->lr, (uint64_t)step, (uint64_t)r->warmup, (uint64_t)r->steps);
  BRIM_TRY(brim_model_forward(in->model, &in->batch, &pass, &loss, NULL, err));
  BRIM_TRY(brim_model_backward(in->model, &in->batch, &pass, err));
  BRIM_TRY(brim_model_update(in->model, &update, &norm, err));
  const brim_field fields[] = {BRIM_FIELD_INT("step", step), BRIM_FIELD_REAL("lr", update.lr), BRIM_FIELD_REAL("loss", loss),
                               BRIM_FIELD_REAL("grad_norm", norm)};
  const brim_event of = {"step", fields, 4};
  return brim_tell(event, context, &of, err);
}

static int train_steps(inspection *in, recipe *r, brim_event_fn event, void *context, brim_error *err) {
  int64_t step = 0;
  BRIM_TRY(prepare_steps(in, r, err));
  brim_model_zero_gradients(in->model);
  for (const brim_json_value *rows = brim_json_first(r->step_rows); rows && step < r->steps;
       rows = brim_json_after(r->step_rows, rows)) {
    BRIM_TRY(brim_check_cancel(in->runtime, err));
    BRIM_TRY(fill_step(in, r, rows, err));
    BRIM_TRY(train_step(in, r, ++step, event, context, err));
  }
  return BRIM_OK;
}

static int write_weights(brim_runtime *runtime, brim_model *model, const char *output, brim_error *err) {
  const int32_t count = brim_model_parameter_count(model);
  brim_tensor *tensors = brim_alloc_array(runtime, (size_t)count, sizeof *tensors);
  float *values = NULL;
  int status = tensors ? brim_flat_map(model, BRIM_VALUES, &values, err) : BRIM_NOMEM(err);
  for (int32_t i = 0; i < count && !status; i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    tensors[i] = (brim_tensor){p->name, p->rank, {p->shape[0], p->shape[1]}, values + p->offset};
  }
  if (!status)
    status = brim_tensors_write_named(runtime, output, tensors, count, err);
  if (values)
    brim_flat_unmap(model, values);
  brim_release(runtime, tensors);
  return status;
}

int brim_inspect_trajectory(brim_runtime *runtime, brim_model *model, const brim_dataset *batch, const char *hyperparameters,
                            brim_padding padding, const char *output, brim_event_fn event, void *event_context, brim_error *err) {
  BRIM_GIVEN(err, runtime, model, batch, hyperparameters, output);
  inspection in = {.runtime = runtime, .model = model, .dataset = batch, .padding = padding};
  recipe r = {0};
  int status = read_recipe(runtime, hyperparameters, &r, err);
  if (!status)
    status = train_steps(&in, &r, event, event_context, err);
  if (!status)
    status = write_weights(runtime, model, output, err);
  brim_json_free(r.document);
  inspection_free(&in);
  return status;
}
