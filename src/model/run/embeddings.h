/* embeddings.h: rows of embeddings of several ranks' gradients, each rank's own ones packed one after another. Rows are
 * counted over all trained embeddings, as brim_gradient_rows does. */
#ifndef BRIM_MODEL_EMBEDDINGS_H
#define BRIM_MODEL_EMBEDDINGS_H
#include "brim/model.h"
#include "ops/ops.h"

/* Values of the rows whose bit is set. */
int64_t brim_embeddings_size(const brim_model *model, const uint8_t *bits);
/* These rows of `gradient`. */
void brim_embeddings_pack(const brim_model *model, const uint8_t *bits, const real *gradient, real *packed);
/* `packed` has the rows of one rank after those of another; rank r's are those of bits + r * bytes. `gradient` gets their sum, in
 * the order of the ranks, of all rows that have a gradient in the model. */
void brim_embeddings_add_packed(const brim_model *model, const uint8_t *bits, size_t bytes, int32_t world, const real *packed,
                                real *gradient);
#endif
