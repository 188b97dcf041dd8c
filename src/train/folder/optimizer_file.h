/* optimizer_file.h: the optimizer's states as optimizer.safetensors: "STATE.NAME" for every trained parameter NAME and state
 * STATE, state after state ("moment1" and "moment2" are AdamW's). */
#ifndef BRIM_TRAIN_OPTIMIZER_FILE_H
#define BRIM_TRAIN_OPTIMIZER_FILE_H
#include "brim/model.h"

int brim_optimizer_write(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) BRIM_CHECK;
/* Into the model's states. BRIM_E_FORMAT when a tensor is missing or has another size. */
int brim_optimizer_read(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) BRIM_CHECK;

#endif
