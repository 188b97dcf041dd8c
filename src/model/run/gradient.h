/* gradient.h: the model's gradient, for those who add it up over slices and ranks. */
#ifndef BRIM_MODEL_RUN_GRADIENT_H
#define BRIM_MODEL_RUN_GRADIENT_H
#include "brim/model.h"
#include "ops/ops.h"

/* Of a model that is prepared for training; it is good until the model is prepared again. */
typedef struct brim_gradient_view {
  real *values; /* [size]; NULL: the device's memory is not the host's */
  int64_t size;
  const brim_update_range *ranges; /* [range_count] in the order of the values; embeddings are those with a row_size */
  int32_t range_count;
  uint8_t *rows; /* [row_count] rows of all embeddings, one after another: 0: the row's gradient is zero */
  size_t row_count;
  const uint8_t *first; /* ranges[i].touched - first: the first row of an embedding */
} brim_gradient_view;
brim_gradient_view brim_gradient_view_of(const brim_model *model);

static inline uint8_t *brim_gradient_rows_of(const brim_gradient_view *g, const brim_update_range *embedding) {
  return g->rows + (embedding->touched - g->first);
}

/* Somebody has written into its values and rows: they are all zero, or not. */
void brim_gradient_changed(brim_model *model, bool zero);

/* The model adds to `values` [size] from now on, which are zero as its gradient is; returns where it did until now. Borrowed. */
real *brim_gradient_swap(brim_model *model, real *values);

/* Values of a gradient, and rows of its embeddings, also before the model is prepared. */
int64_t brim_gradient_size(const brim_model *model);
size_t brim_gradient_row_count(const brim_model *model);
#endif
