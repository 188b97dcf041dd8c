/* pending.h: gradients of some rows of a step, besides the model's own: sums that wait for others. Where the device's memory is
 * the host's. */
#ifndef BRIM_MODEL_RUN_PENDING_H
#define BRIM_MODEL_RUN_PENDING_H
#include "brim/model.h"
#include "ops/ops.h"

typedef struct brim_pending brim_pending;

/* Bytes of so many. Rows of embeddings come to be held only when they are used. */
uint64_t brim_pending_memory(const brim_model *model, int32_t count);
/* Of a model that is prepared for training, which is borrowed and keeps what it freezes. BRIM_E_UNSUPPORTED: the device has other
 * memory. */
int brim_pending_new(brim_model *model, int32_t count, brim_pending **out, brim_error *err) BRIM_CHECK;
void brim_pending_free(brim_pending *pending);
int32_t brim_pending_count(const brim_pending *pending);

/* The model's gradient becomes number `index`, instead of what that was; the model's is then zero. */
void brim_pending_take(brim_pending *pending, int32_t index);
/* Number `index` is added to the model's gradient, and stays what it is. */
void brim_pending_add(brim_pending *pending, int32_t index);
/* [flat size - trained offset], rows of embeddings without a gradient included: these are zero. */
real *brim_pending_values(const brim_pending *pending, int32_t index);

/* Number `index` is in this memory from now on, which is zero and as large as its own was. Borrowed. */
void brim_pending_use_buffer(brim_pending *pending, int32_t index, real *values);

/* Somebody has packed number `index`, and written into it since. */
void brim_pending_used(brim_pending *pending, int32_t index);
/* Sets the bits of rows of embeddings that number `index` has. */
void brim_pending_rows(const brim_pending *pending, int32_t index, uint8_t *bits);

/* Bytes of rows of embeddings that may have a gradient, in the model: one a row of each trained embedding. */
uint8_t *brim_gradient_rows(const brim_model *model, size_t *count);

/* A gradient without the rows of embeddings that have none in the model: those that have one move to the beginning of their
 * embedding, and back again, where the others become zero. `values` are the model's gradient, or of its size. */
void brim_gradient_pack(const brim_model *model, real *values);
void brim_gradient_unpack(const brim_model *model, real *values);
/* Rows of an embedding that have a gradient in the model. */
int64_t brim_gradient_rows_of(const brim_model *model, const brim_update_range *embedding);
#endif
