/* moments.h: AdamW's moments as optimizer.safetensors: "moment1.NAME" and "moment2.NAME" for every trained parameter
 * NAME. */
#ifndef BRIM_TRAIN_MOMENTS_H
#define BRIM_TRAIN_MOMENTS_H
#include "brim/model.h"

int brim_moments_write(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) BRIM_CHECK;
/* Into the model's moments. BRIM_E_FORMAT when a tensor is missing or has another size. */
int brim_moments_read(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) BRIM_CHECK;

#endif
