/* class_weights.h: weights of classes from the option's text. */
#ifndef BRIM_TRAIN_CLASS_WEIGHTS_H
#define BRIM_TRAIN_CLASS_WEIGHTS_H
#include "brim/train.h"

/* What "balanced" goes by. */
typedef struct brim_class_rows {
  const brim_dataset *dataset; /* rows in memory; NULL: there are none */
  const uint64_t *counted;     /* [outputs + 1] brim_labels.rows; NULL: not counted */
} brim_class_rows;

/* [model's outputs] weights in fresh memory, as brim_train_options.class_weights says; `text` NULL: NULL. The data set's labels
 * fit the model. */
int brim_class_weights_make(brim_runtime *runtime, const brim_model *model, const brim_class_rows *rows, const char *text,
                            double **out, brim_error *err) BRIM_CHECK;

#endif
