/* mixout.h: passes of a step whose weights are mixed with those at the start of training (ops.h).
 *
 *   mix  ->  forwards and backwards  ->  unmix  ->  the update, which mixes the gradient  ->  answers
 *
 * Between mix and unmix nobody else may look at the weights. Nothing happens where the model has no mixout. */
#ifndef BRIM_MODEL_RUN_MIXOUT_H
#define BRIM_MODEL_RUN_MIXOUT_H
#include "brim/model.h"
#include "ops/ops.h"

/* The weights of step `step`, by a draw of (seed, step, place of the weight). Waits for the device, so that the weights are safe
 * whatever becomes of the step. */
int brim_model_mix(brim_model *model, uint64_t seed, uint64_t step, brim_error *err) BRIM_CHECK;
/* The weights as they were. May be called at any time. */
void brim_model_unmix(brim_model *model);
/* For updates: the gradient of these ranges, whole or in parts, becomes that of the weights themselves. Once a step. */
void brim_model_mix_gradient(brim_model *model, const brim_update_range *ranges, int32_t count);
/* The device has answered: what was queued was done, or nothing of it, perhaps. */
void brim_model_mix_answered(brim_model *model, bool done);
#endif
