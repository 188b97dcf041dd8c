/* target.h: where the loss of a model's outputs is computed.
 *
 * On the device, from logits and labels of a part: the losses of today's four tasks. Or on the host: from the outputs of a part,
 * or from those of all texts of an optimizer step, whatever it is cut into and however many ranks compute it. Then the trainer
 * reads outputs, and backward begins with the gradient that `loss` gives (model/run/logits.h). */
#ifndef BRIM_TARGET_TARGET_H
#define BRIM_TARGET_TARGET_H
#include "brim/task.h"

typedef enum brim_loss_scope { BRIM_LOSS_ON_DEVICE = 0, BRIM_LOSS_OF_PART, BRIM_LOSS_OF_STEP } brim_loss_scope;

/* What a loss on the host is computed from. Rows are whole, and their texts in order. Of a step, rows are in order of place, and
 * the same on every rank. */
typedef struct brim_outputs {
  int32_t rows, texts, width;
  const int32_t *firsts; /* [rows + 1] row i has the texts firsts[i] .. firsts[i + 1] - 1; NULL: row i is text i */
  const float *values;   /* [texts, width] */
  int32_t label_width;
  const float *labels;  /* [rows, label_width] */
  const uint64_t *same; /* [texts] of a step: equal for texts with the same tokens; of a part NULL */
} brim_outputs;

typedef struct brim_target {
  const char *name;
  brim_loss_scope scope;
  /* The loss, a share of the step's, and its gradient by the outputs, [texts, width], which is written: sums over rows divided by
   * `divisor`, the step's rows or the sum of their weights. Equal outputs give equal bits. NULL on the device. */
  int (*loss)(brim_runtime *runtime, const brim_outputs *outputs, double divisor, float *gradient, double *loss, brim_error *err);
} brim_target;

/* That of a model with this task. */
const brim_target *brim_target_of(brim_task task);
/* That of rows whose texts are windows of one (windows.c); NULL: the task has none. */
const brim_target *brim_target_of_windows(brim_task task);
/* The mean of the first of a row's outputs [windows, width], added up in their order. */
double brim_mean_of_windows(const float *values, int32_t windows, int32_t width);

#endif
