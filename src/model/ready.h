/* ready.h: how much of the gradient is complete while backward is under way. */
#ifndef BRIM_MODEL_READY_H
#define BRIM_MODEL_READY_H
#include "brim/model.h"

/* `complete` is called between two operations of backward, by its thread: nothing of this pass will be added to the gradient from
 * `from` on, which counts as the gradient buffer does and falls from call to call. */
typedef struct brim_ready_hook {
  void (*complete)(void *context, int64_t from);
  void *context;
} brim_ready_hook;

/* Every backward from now on calls it, but for those whose operations a device takes at once; NULL: none does. Borrowed. Where
 * the device's memory is not the host's, what completes the gradient is queued then, and not done. */
void brim_model_on_ready(brim_model *model, const brim_ready_hook *ready);
#endif
