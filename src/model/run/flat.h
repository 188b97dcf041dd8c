/* flat.h: the flat buffers in host memory, whole, for as long as somebody looks at them. */
#ifndef BRIM_MODEL_FLAT_H
#define BRIM_MODEL_FLAT_H
#include "brim/model.h"
#include "ops/ops.h"

/* *out: NULL after a failure; else the buffer itself where the device's memory is the host's, else a copy of it. Rows of
 * embeddings are up to date. BRIM_E_USAGE: there is no such buffer. Nothing else of the model may be called until
 * brim_flat_unmap, but for questions. Gradients and states are those of what is trained (model/trained.h). */
int brim_flat_map(brim_model *model, brim_flat which, real **out, brim_error *err) BRIM_CHECK;
void brim_flat_unmap(brim_model *model, real *mapped);
/* What is in `mapped` now is what the buffer has from now on, and the model knows of it. */
int brim_flat_unmap_written(brim_model *model, brim_flat which, real *mapped, brim_error *err) BRIM_CHECK;
/* `mapped` is now the gradient of all ranks, which has the rows that brim_gradient_view says. */
int brim_flat_unmap_summed(brim_model *model, real *mapped, brim_error *err) BRIM_CHECK;
/* Zeros everywhere, without a look at which of them are. */
void brim_flat_clear(brim_model *model, brim_flat which);
/* Devices that add up gradients themselves (ops.h): whether there are any; rank 0's key; all join; a piece of the gradient, which
 * is queued; and, when all pieces are, what comes after them: the gradient is that of all ranks then, as after
 * brim_flat_unmap_summed. */
bool brim_flat_has_ranks(const brim_model *model);
int brim_flat_ranks_key(brim_model *model, char key[BRIM_RANKS_KEY], brim_error *err) BRIM_CHECK;
int brim_flat_ranks_join(brim_model *model, const char key[BRIM_RANKS_KEY], int32_t rank, int32_t world,
                         brim_error *err) BRIM_CHECK;
void brim_flat_ranks_leave(brim_model *model, bool broken);
void brim_flat_ranks_sum(brim_model *model, int64_t offset, int64_t count);
void brim_flat_ranks_wait(brim_model *model);
/* Its address on the device; NULL: there is none. */
real *brim_flat_at(const brim_model *model, brim_flat which);

/* Where the gradient of a parameter, and each of its states, begins in their buffers; -1: it is not trained. */
int64_t brim_flat_trained_at(const brim_model *model, int32_t parameter);
/* Of what is trained. NULL before brim_model_prepare with training. */
float *brim_model_gradients(brim_model *model);
/* The optimizer's states are flat buffers like the gradients, owned by the model after prepare(training), saved in checkpoints.
 * As for the values, these calls bring rows of embeddings up to date. */
float *brim_model_state0(brim_model *model);
float *brim_model_state1(brim_model *model);
/* To be called after gradients were written from outside (sums over ranks): any row of an embedding may now have one. */
void brim_model_gradients_written(brim_model *model);

#endif
