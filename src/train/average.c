#include "train/average.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "model/files/safetensors.h"
#include "model/run/flat.h"

uint64_t brim_average_first(const brim_train_options *options, uint64_t total_steps) {
  if (options->swa_start <= 0.0)
    return 0;
  uint64_t first = (uint64_t)ceil(options->swa_start * (double)total_steps - 1e-9);
  return first > 0 ? first : 1;
}

/* About twenty of them unless it was said otherwise. */
uint64_t brim_average_every(const brim_train_options *options, uint64_t total_steps) {
  if (options->swa_every > 0)
    return options->swa_every;
  uint64_t every = (total_steps - brim_average_first(options, total_steps)) / 20;
  return every > 0 ? every : 1;
}

enum { TILE = 1 << 16 };

typedef struct adding {
  const float *values;
  float *average;
  int64_t count;
  float share;
} adding;

static void add_tile(void *context, int64_t tile, int worker) {
  const adding *a = context;
  int64_t end = (tile + 1) * TILE < a->count ? (tile + 1) * TILE : a->count;
  (void)worker;
  for (int64_t i = tile * TILE; i < end; i++)
    a->average[i] += (a->values[i] - a->average[i]) * a->share;
}

int brim_average_add(brim_runtime *runtime, brim_model *model, float *average, uint64_t count, brim_error *err) {
  float *values;
  BRIM_TRY(brim_flat_map(model, BRIM_VALUES, &values, err));
  adding a = {values, average, brim_model_flat_size(model), 1.0f / (float)(count + 1)};
  if (count == 0)
    memcpy(average, a.values, (size_t)a.count * sizeof *average);
  else
    brim_pool_run(runtime, (a.count + TILE - 1) / TILE, add_tile, &a);
  brim_flat_unmap(model, values);
  return BRIM_OK;
}

/* ---- as a file -------------------------------------------------------------------------------------------- */

int brim_flat_write(brim_runtime *runtime, const brim_model *model, const float *flat, const char *path, brim_error *err) {
  int32_t count = brim_model_parameter_count(model);
  brim_tensor *tensors = brim_alloc_array(runtime, (size_t)count, sizeof *tensors);
  if (!tensors)
    return BRIM_NOMEM(err);
  for (int32_t i = 0; i < count; i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    tensors[i] = (brim_tensor){.name = p->name, .rank = p->rank, .shape = {p->shape[0], p->shape[1]}, .data = flat + p->offset};
  }
  int status = brim_tensors_write(runtime, path, tensors, count, err);
  brim_release(runtime, tensors);
  return status;
}

static int read_all(const brim_store *store, const brim_model *model, float *flat, const char *path, brim_error *err) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    const brim_stored *tensor = brim_store_find(store, p->name, strlen(p->name));
    if (!tensor || tensor->count != p->count)
      return brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1,
                           "the checkpoint is of a model of another shape: the tensor \"%s\" is missing or does not have %lld "
                           "elements",
                           p->name, (long long)p->count);
    BRIM_TRY(brim_store_read(store, tensor, flat + p->offset, err));
  }
  return BRIM_OK;
}

int brim_flat_read(brim_runtime *runtime, const brim_model *model, float *flat, const char *path, brim_error *err) {
  brim_store *store;
  BRIM_TRY(brim_store_open(runtime, path, &store, err));
  int status = read_all(store, model, flat, path, err);
  brim_store_close(store);
  return status;
}
