/* hashes.c: digests of a model's flat buffers. */
#include "train/folder/hashes.h"

#include "base/hashmap.h"
#include "base/status.h"
#include "model/run/flat.h"
#include "model/run/model.h"

uint64_t brim_flat_hash(const brim_model *model, brim_flat which, const float *flat, uint64_t seed) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    const int64_t at = which == BRIM_VALUES ? p->offset : brim_flat_trained_at(model, i);
    if (at >= 0)
      seed = brim_hash64(flat + at, (size_t)p->count * sizeof *flat, seed);
  }
  return seed;
}

/* *hash continues from what it is. */
static int hash_buffer(brim_model *model, brim_flat which, uint64_t *hash, brim_error *err) {
  float *flat;
  BRIM_TRY(brim_flat_map(model, which, &flat, err));
  *hash = brim_flat_hash(model, which, flat, *hash);
  brim_flat_unmap(model, flat);
  return BRIM_OK;
}

int brim_model_weights_hash(brim_model *model, uint64_t *hash, brim_error *err) {
  *hash = 0;
  return hash_buffer(model, BRIM_VALUES, hash, err);
}

int brim_model_optimizer_hash(brim_model *model, uint64_t *hash, brim_error *err) {
  *hash = 1;
  for (int i = 0; i < brim_optimizer_states(model->optimizer); i++)
    BRIM_TRY(hash_buffer(model, (brim_flat)(BRIM_STATE0 + i), hash, err));
  return BRIM_OK;
}
