/* queue.h: a step whose passes and update are queued on the device, which answers once: the losses and the gradient's norm.
 *
 *   (brim_model_queue_forward -> brim_model_backward)*  ->  brim_model_queue_update  ->  brim_model_answers
 *
 * From the first of them until the answers are there nothing else of the model may be called, but for questions. Where the
 * device's memory is the host's all is done at once, with the same bits. */
#ifndef BRIM_MODEL_QUEUE_H
#define BRIM_MODEL_QUEUE_H
#include "brim/model.h"

enum { BRIM_MOST_QUEUED = 8 }; /* forwards between two calls for answers: what each sends waits on the host meanwhile */

typedef struct brim_answers {
  double losses[BRIM_MOST_QUEUED]; /* [count]: of the forwards since the last answers, in their order */
  int32_t count;
  double norm; /* of the update, if one was queued: of the gradient before clipping. Not finite, as is that of a step with a loss
                  that is not: nothing was changed, and the gradient is still there */
} brim_answers;

/* Whether answers must be asked for before the next forward. */
bool brim_model_queue_full(const brim_model *model);
/* A training forward. The batch may change when the call returns; an empty one has no answer. Errors as brim_model_forward's, but
 * for the device's, which come with the answers. */
int brim_model_queue_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) BRIM_CHECK;
/* Whether a batch may have several slices; their gradient then has the bits of one slice after the other. Not where a weight's
 * gradient has several contributions (layers that share, attention by distance), and not on a device with its own memory. */
bool brim_model_joins_slices(const brim_model *model);
/* Of the forward that was queued last: the losses of its slices, by their names. 0: it had one, or none. */
int32_t brim_model_slice_losses(const brim_model *model, const int32_t **names, const double **losses);
/* Norm, clipping and AdamW, all by what the device finds: nothing is done where the norm or a loss that waits for its answer is
 * not finite. */
int brim_model_queue_update(brim_model *model, const brim_adamw *options, brim_error *err) BRIM_CHECK;
/* Waits for the device. After a failure there is no pass to go back through, and the update has not been. */
int brim_model_answers(brim_model *model, brim_answers *out, brim_error *err) BRIM_CHECK;
#endif
