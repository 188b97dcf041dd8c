/* class_weights.h: weights of classes from the option's text. */
#ifndef BRIM_TRAIN_CLASS_WEIGHTS_H
#define BRIM_TRAIN_CLASS_WEIGHTS_H
#include "brim/train.h"

/* [model's outputs] weights in fresh memory, as brim_train_options.class_weights says; `text` NULL: NULL. The data set's labels
 * fit the model. */
int brim_class_weights_make(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, const char *text,
                            double **out, brim_error *err) BRIM_CHECK;

#endif
