/* buckets.h: a gradient as it is sent: buckets of dense values, and of embeddings the rows that have a gradient. */
#ifndef BRIM_REDUCE_BUCKETS_H
#define BRIM_REDUCE_BUCKETS_H
#include "model/run/gradient.h"

/* The gradient but for its embeddings, from its end to its beginning, as backward completes it, in buckets of about 2 MB, of
 * which the last are smaller: call it with *range 0, until it is false; *range is its own to count with. */
bool brim_bucket_next(const brim_gradient_view *g, int32_t *range, int64_t *offset, int64_t *count);
/* Likewise the embeddings of a packed gradient. */
bool brim_bucket_next_embedding(const brim_gradient_view *g, int32_t *range, int64_t *offset, int64_t *count);

/* Without the rows that have no gradient in `g`: those that have one move to the beginning of their embedding, and back again,
 * where the others become zero. `values` are g's, or as many. */
void brim_rows_pack(const brim_gradient_view *g, float *values);
void brim_rows_unpack(const brim_gradient_view *g, float *values);
/* How many rows of an embedding have one in `g`. */
int64_t brim_rows_count(const brim_gradient_view *g, const brim_update_range *embedding);

/* Rows of several ranks, each rank's own ones packed one after another. A bit is a row's number in g->rows. Values of the rows
 * whose bit is set; these rows of `values`. */
int64_t brim_rows_size(const brim_gradient_view *g, const uint8_t *bits);
void brim_rows_copy(const brim_gradient_view *g, const uint8_t *bits, const float *values, float *packed);
/* `packed` has the rows of one rank after those of another; rank r's are those of bits + r * bytes. `values` gets their sum, in
 * the order of the ranks, of all rows that have a gradient in `g`. */
void brim_rows_add(const brim_gradient_view *g, const uint8_t *bits, size_t bytes, int32_t world, const float *packed,
                   float *values);
#endif
