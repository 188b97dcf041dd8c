/* logits.h: the model's outputs between device and host: logits that stay where the device has them, and losses that the host
 * computes from them.
 *
 *   brim_model_forward(.., NULL, NULL) -> brim_model_read_logits -> (the caller's loss) -> brim_model_seed -> brim_model_backward
 */
#ifndef BRIM_MODEL_LOGITS_H
#define BRIM_MODEL_LOGITS_H
#include "brim/model.h"
#include "ops/ops.h"

/* False: the device's memory is the host's. *card: as in brim_model_options. */
bool brim_model_has_card(const brim_model *model, int32_t *card);
/* Of the last forward, those of row `row` of its batch, or of all its tokens where labels are of tokens, to `to` in the device's
 * memory. Queued: they are there after the next wait. */
void brim_model_copy_logits(brim_model *model, int32_t row, float *to);
/* Whether a prediction without all_tokens computes the last layer for first tokens alone, and brim_model_map_hidden gives these:
 * of a model that is prepared. */
bool brim_model_gives_first(const brim_model *model);
/* Whether hidden states are floats in the host's memory. */
bool brim_model_maps_hidden(const brim_model *model);
/* Hidden states of the last layer where they are, until the next pass: [tokens of a ragged batch, hidden], or without all_tokens
 * [texts, hidden] of first tokens. NULL: they are not in the host's memory, or not floats; brim_model_hidden copies them. */
int brim_model_map_hidden(brim_model *model, const float **out, brim_error *err) BRIM_CHECK;
/* Waits for the device; after a failure there is no pass to go back through. */
int brim_model_settle(brim_model *model, brim_error *err) BRIM_CHECK;

/* Those of the laid out batch as floats, by rows or by real tokens; queued. */
void brim_model_copy_out(brim_model *model, float *logits);
/* After a forward of masked words that gives no logits: what became of `count` of them from `first` on, in the order of texts. */
int brim_model_read_outcomes(brim_model *model, int32_t first, int32_t count, brim_outcome *outcomes, brim_error *err) BRIM_CHECK;
/* After a forward: its logits, [texts or real tokens, outputs], as the model has them (double in the model of doubles). */
int brim_model_read_logits(brim_model *model, real *logits, brim_error *err) BRIM_CHECK;
/* After a training forward without loss: the gradient of the loss by these logits, [texts or real tokens, outputs], from which
 * backward begins; loss scales are the caller's. It stays as it is until the device was waited for. BRIM_E_USAGE: there is no
 * such forward, or its head is not trained. */
int brim_model_seed(brim_model *model, const real *gradient, brim_error *err) BRIM_CHECK;
#endif
