/* moments.c: flat buffers to and from safetensors, by parameter name. */
#include "train/moments.h"

#include <string.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"

/* Index of the first parameter that is trained: only those from there on have moments. */
static int32_t first_trained(const brim_model *model) {
  int32_t i = 0;
  while (brim_model_parameter(model, i)->offset < brim_model_trained_offset(model))
    i++;
  return i;
}

/* "moment1.NAME" in the arena, or NULL. */
static char *moment_name(brim_arena *arena, int moment, const char *parameter) {
  size_t prefix = strlen("moment1."), length = strlen(parameter);
  char *name = brim_arena_alloc(arena, prefix + length + 1);
  if (!name)
    return NULL;
  memcpy(name, moment ? "moment2." : "moment1.", prefix);
  memcpy(name + prefix, parameter, length + 1);
  return name;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

static int moments_write(brim_runtime *runtime, brim_model *model, float *const flat[2], const char *path, brim_error *err) {
  const int64_t trained = brim_model_trained_offset(model);
  int32_t first = first_trained(model), count = brim_model_parameter_count(model) - first;
  brim_arena arena;
  brim_arena_init(&arena, runtime, 0);
  brim_tensor *tensors = brim_arena_alloc_array(&arena, 2 * (size_t)count, sizeof *tensors);
  int status = tensors ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t i = 0; i < 2 * count && !status; i++) {
    int moment = i >= count;
    const brim_parameter *p = brim_model_parameter(model, first + i % count);
    tensors[i] = (brim_tensor){.name = moment_name(&arena, moment, p->name),
                               .rank = p->rank,
                               .shape = {p->shape[0], p->shape[1]},
                               .data = flat[moment] + (p->offset - trained)};
    if (!tensors[i].name)
      status = BRIM_NOMEM(err);
  }
  if (!status)
    status = brim_tensors_write(runtime, path, tensors, 2 * count, err);
  brim_arena_free(&arena);
  return status;
}

/* Both, on the host. */
static int moments_map(brim_model *model, float *flat[2], brim_error *err) {
  BRIM_TRY(brim_flat_map(model, BRIM_MOMENT1, &flat[0], err));
  const int status = brim_flat_map(model, BRIM_MOMENT2, &flat[1], err);
  if (status)
    brim_flat_unmap(model, flat[0]);
  return status;
}

int brim_moments_write(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  float *flat[2];
  BRIM_TRY(moments_map(model, flat, err));
  const int status = moments_write(runtime, model, flat, path, err);
  brim_flat_unmap(model, flat[0]);
  brim_flat_unmap(model, flat[1]);
  return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static int moments_read_tensor(const brim_store *store, const char *path, const char *name, float *target, int64_t count,
                               brim_error *err) {
  const brim_stored *tensor = brim_store_find(store, name, strlen(name));
  if (!tensor || tensor->count != count)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "the tensor \"%s\" is missing or does not have %lld elements", name,
                         (long long)count);
  return brim_store_read(store, tensor, target, err);
}

static int moments_read_all(const brim_store *store, brim_runtime *runtime, brim_model *model, float *const flat[2],
                            const char *path, brim_error *err) {
  const int64_t trained = brim_model_trained_offset(model);
  brim_arena arena;
  brim_arena_init(&arena, runtime, 0);
  brim_arena_mark mark = brim_arena_mark_now(&arena);
  int32_t first = first_trained(model), count = brim_model_parameter_count(model) - first;
  int status = BRIM_OK;
  for (int32_t i = 0; i < 2 * count && !status; i++) {
    int moment = i >= count;
    const brim_parameter *p = brim_model_parameter(model, first + i % count);
    brim_arena_reset(&arena, mark);
    char *name = moment_name(&arena, moment, p->name);
    float *to = flat[moment] + (p->offset - trained);
    status = name ? moments_read_tensor(store, path, name, to, p->count, err) : BRIM_NOMEM(err);
  }
  brim_arena_free(&arena);
  return status;
}

int brim_moments_read(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  brim_store *store;
  float *flat[2];
  BRIM_TRY(brim_store_open(runtime, path, &store, err));
  int status = moments_map(model, flat, err);
  if (!status) {
    status = moments_read_all(store, runtime, model, flat, path, err);
    for (int i = 0; i < 2; i++)
      if (status)
        brim_flat_unmap(model, flat[i]);
      else
        status = brim_flat_unmap_written(model, i ? BRIM_MOMENT2 : BRIM_MOMENT1, flat[i], err);
  }
  brim_store_close(store);
  return status;
}
