/* hashes.h: digests of a model's flat buffers. */
#ifndef BRIM_TRAIN_HASHES_H
#define BRIM_TRAIN_HASHES_H
#include "brim/model.h"

/* Over the parameters of a flat buffer: of the values, which has all, or of a state, without the gaps between them. */
uint64_t brim_flat_hash(const brim_model *model, brim_flat which, const float *flat, uint64_t seed);
/* Hash of all weights: the identity of a model. */
int brim_model_weights_hash(brim_model *model, uint64_t *hash, brim_error *err) BRIM_CHECK;
int brim_model_optimizer_hash(brim_model *model, uint64_t *hash, brim_error *err) BRIM_CHECK;

#endif
