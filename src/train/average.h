/* average.h: the equal average of the weights over the end of a run (Izmailov et al., "Averaging weights leads to wider optima
 * and better generalization", UAI 2018), as torch.optim.swa_utils.AveragedModel takes it. */
#ifndef BRIM_TRAIN_AVERAGE_H
#define BRIM_TRAIN_AVERAGE_H
#include "brim/train.h"

/* The first step that is averaged, and how many steps lie between two; 0: none is. */
uint64_t brim_average_first(const brim_train_options *options, uint64_t total_steps);
uint64_t brim_average_every(const brim_train_options *options, uint64_t total_steps);
/* Adds the model's weights, as number `count` from 0: average += (weights - average) / (count + 1). */
int brim_average_add(brim_runtime *runtime, brim_model *model, float *average, uint64_t count, brim_error *err) BRIM_CHECK;
/* A flat buffer as a safetensors file under the parameters' names, and back. */
int brim_flat_write(brim_runtime *runtime, const brim_model *model, const float *flat, const char *path,
                    brim_error *err) BRIM_CHECK;
/* BRIM_E_MISMATCH when a tensor is missing or has another size. */
int brim_flat_read(brim_runtime *runtime, const brim_model *model, float *flat, const char *path, brim_error *err) BRIM_CHECK;

#endif
