/* optimizer_file.c: flat buffers to and from safetensors, by parameter name. */
#include "train/folder/optimizer_file.h"

#include <string.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"
#include "model/run/model.h"

static int state_count(const brim_model *model) {
  return brim_optimizer_states(model->optimizer);
}

/* "STATE.NAME" in the arena, or NULL. */
static char *tensor_name(brim_arena *arena, const char *state, const char *parameter) {
  const size_t prefix = strlen(state), length = strlen(parameter);
  char *name = brim_arena_alloc(arena, prefix + 1 + length + 1);
  if (!name)
    return NULL;
  memcpy(name, state, prefix);
  name[prefix] = '.';
  memcpy(name + prefix + 1, parameter, length + 1);
  return name;
}

/* All states, on the host; or none, after a failure. */
static int map_states(brim_model *model, float *flat[BRIM_MOST_STATES], brim_error *err) {
  for (int i = 0; i < state_count(model); i++) {
    const int status = brim_flat_map(model, (brim_flat)(BRIM_STATE0 + i), &flat[i], err);
    while (status && --i >= 0)
      brim_flat_unmap(model, flat[i]);
    BRIM_TRY(status);
  }
  return BRIM_OK;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* Those of one state; *count moves on. */
static int list_state(const brim_model *model, const char *state, const float *flat, brim_arena *arena, brim_tensor *tensors,
                      int32_t *count, brim_error *err) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    const int64_t at = brim_flat_trained_at(model, i);
    if (at < 0)
      continue;
    brim_tensor *to = &tensors[(*count)++];
    *to = (brim_tensor){
        .name = tensor_name(arena, state, p->name), .rank = p->rank, .shape = {p->shape[0], p->shape[1]}, .data = flat + at};
    if (!to->name)
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

static int write_states(brim_runtime *runtime, const brim_model *model, float *const flat[], const char *path, brim_error *err) {
  const size_t most = (size_t)state_count(model) * (size_t)brim_model_parameter_count(model);
  int32_t count = 0;
  brim_arena arena;
  brim_arena_init(&arena, runtime, 0);
  brim_tensor *tensors = brim_arena_alloc_array(&arena, most + 1, sizeof *tensors);
  int status = tensors ? BRIM_OK : BRIM_NOMEM(err);
  for (int i = 0; i < state_count(model) && !status; i++)
    status = list_state(model, model->optimizer->states[i], flat[i], &arena, tensors, &count, err);
  if (!status)
    status = brim_tensors_write(runtime, path, tensors, count, err);
  brim_arena_free(&arena);
  return status;
}

int brim_optimizer_write(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  float *flat[BRIM_MOST_STATES];
  BRIM_TRY(map_states(model, flat, err));
  const int status = write_states(runtime, model, flat, path, err);
  for (int i = 0; i < state_count(model); i++)
    brim_flat_unmap(model, flat[i]);
  return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static int read_tensor(const brim_store *store, const char *path, const char *name, float *target, int64_t count,
                       brim_error *err) {
  const brim_stored *tensor = brim_store_find(store, name, strlen(name));
  if (!tensor || tensor->count != count)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "the tensor \"%s\" is missing or does not have %lld elements", name,
                         (long long)count);
  return brim_store_read(store, tensor, target, err);
}

/* `flat`: of one state. */
static int read_state(const brim_store *store, brim_arena *arena, const brim_model *model, const char *state, float *flat,
                      const char *path, brim_error *err) {
  const brim_arena_mark mark = brim_arena_mark_now(arena);
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    const int64_t at = brim_flat_trained_at(model, i);
    if (at < 0)
      continue;
    brim_arena_reset(arena, mark);
    const char *name = tensor_name(arena, state, p->name);
    BRIM_TRY(name ? read_tensor(store, path, name, flat + at, p->count, err) : BRIM_NOMEM(err));
  }
  return BRIM_OK;
}

static int read_states(const brim_store *store, brim_runtime *runtime, const brim_model *model, float *const flat[],
                       const char *path, brim_error *err) {
  brim_arena arena;
  brim_arena_init(&arena, runtime, 0);
  int status = BRIM_OK;
  for (int i = 0; i < state_count(model) && !status; i++)
    status = read_state(store, &arena, model, model->optimizer->states[i], flat[i], path, err);
  brim_arena_free(&arena);
  return status;
}

int brim_optimizer_read(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  brim_store *store;
  float *flat[BRIM_MOST_STATES];
  BRIM_TRY(brim_store_open(runtime, path, &store, err));
  int status = map_states(model, flat, err);
  const int mapped = status ? 0 : state_count(model);
  if (!status)
    status = read_states(store, runtime, model, flat, path, err);
  for (int i = 0; i < mapped; i++)
    if (status)
      brim_flat_unmap(model, flat[i]);
    else
      status = brim_flat_unmap_written(model, (brim_flat)(BRIM_STATE0 + i), flat[i], err);
  brim_store_close(store);
  return status;
}
