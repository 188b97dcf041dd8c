/* logits.h: logits that stay where the device has them. */
#ifndef BRIM_MODEL_LOGITS_H
#define BRIM_MODEL_LOGITS_H
#include "brim/model.h"

/* False: the device's memory is the host's. *card: as in brim_model_options. */
bool brim_model_has_card(const brim_model *model, int32_t *card);
/* Of the last forward, those of row `row` of its batch, or of all its tokens where labels are of tokens, to `to` in the device's
 * memory. Queued: they are there after the next wait. */
void brim_model_copy_logits(brim_model *model, int32_t row, float *to);
/* Waits for the device; after a failure there is no pass to go back through. */
int brim_model_settle(brim_model *model, brim_error *err) BRIM_CHECK;
#endif
