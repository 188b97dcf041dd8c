/* gradient_shard.h: an update that ranks share. The gradient of each is in memory that all can read; each adds up its own part of
 * it over all ranks and updates the weights of that part, and takes the weights of the other parts from the ranks that have them.
 * Bits are those of a rank that does all of it. Tables of embeddings have no parts: every rank updates them whole, from a
 * gradient that is the sum of all.
 *
 *   each -> squares  ->  update  ->  take -> (the others have taken) -> clear
 *
 * Between two of these arrows' ends all ranks meet. Where the device's memory is the host's. */
#ifndef BRIM_MODEL_RUN_GRADIENT_SHARD_H
#define BRIM_MODEL_RUN_GRADIENT_SHARD_H
#include "brim/model.h"

typedef struct brim_gradient_shard brim_gradient_shard;

bool brim_gradient_shard_can(const brim_model *model);
/* Bytes of the memory that the others read, without the gradient: what `squares` of brim_gradient_shard_new needs. */
size_t brim_gradient_shard_squares_size(const brim_model *model);
/* `gradients` and `squares` [world]: of each rank, where this one sees them; all zero. This rank's gradient is the model's until
 * brim_gradient_shard_free, after which the model has its own again. Borrowed, as is a model that is prepared for training and
 * keeps what it freezes. */
int brim_gradient_shard_new(brim_model *model, int32_t rank, int32_t world, float *const *gradients, double *const *squares,
                            brim_gradient_shard **out, brim_error *err) BRIM_CHECK;
void brim_gradient_shard_free(brim_gradient_shard *shard);

/* Calls it with the pieces of this rank's part of the gradient, from the pool's threads. */
typedef void (*brim_gradient_shard_fn)(void *context, int64_t offset, int64_t count);
void brim_gradient_shard_each(brim_gradient_shard *shard, brim_gradient_shard_fn fn, void *context);
/* Of this rank's part, now that it is the sum of all, to where the others read them. */
void brim_gradient_shard_squares(brim_gradient_shard *shard);
/* Norm, clipping and update as brim_model_queue_update, but of this rank's part and the tables. */
int brim_gradient_shard_update(brim_gradient_shard *shard, const brim_update_options *options, brim_error *err) BRIM_CHECK;
/* The values of the other parts; their gradient becomes zero. Nothing where the update did nothing. */
void brim_gradient_shard_take(brim_gradient_shard *shard);
/* This rank's part of the gradient becomes zero. */
void brim_gradient_shard_clear(brim_gradient_shard *shard);

/* A state of the optimizer, of which each rank has its own part only: to where the others read it; and those of the others. */
void brim_gradient_shard_show_state(brim_gradient_shard *shard, brim_flat state);
void brim_gradient_shard_take_state(brim_gradient_shard *shard, brim_flat state);
#endif
