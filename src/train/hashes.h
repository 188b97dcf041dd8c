/* hashes.h: digests of a model's flat buffers. */
#ifndef BRIM_TRAIN_HASHES_H
#define BRIM_TRAIN_HASHES_H
#include "brim/model.h"

/* Over the parameters of a flat buffer that begins with the parameter at `from` (0, or brim_model_trained_offset), without the
 * gaps between them. */
uint64_t brim_flat_hash(const brim_model *model, const float *flat, int64_t from, uint64_t seed);
/* Hash of all weights: the identity of a model. */
int brim_model_weights_hash(brim_model *model, uint64_t *hash, brim_error *err) BRIM_CHECK;
int brim_model_optimizer_hash(brim_model *model, uint64_t *hash, brim_error *err) BRIM_CHECK;

#endif
