/* forward.c: passes: from token ids to logits and loss, and back to every weight. What they compute is the schedule's. */
#include <string.h>

#include "base/status.h"
#include "model/model.h"

static double loss_divisor(const brim_batch *batch) {
  if (batch->divisor > 0)
    return batch->divisor;
  return batch->step_rows > 0 ? batch->step_rows : (double)batch->count;
}

static brim_frame frame_of(const brim_model *m, const brim_batch *batch, const brim_pass *pass, double *loss) {
  const brim_stage *stage = m->tape.stage;
  const brim_slots *s = &stage->slots;
  const brim_rows first = {.count = m->tape.layout.n, .slot = s->first};
  brim_frame f = {.layout = m->tape.layout,
                  .rows = {[BRIM_ROW_TEXTS] = first, [BRIM_ROW_CHOSEN] = first, [BRIM_ROW_TOKENS] = {m->tape.layout.slots, NULL}},
                  .ids = s->ids,
                  .positions = s->positions,
                  .types = s->types,
                  .dropout = pass->dropout,
                  .values = m->values,
                  .gradients = m->gradients,
                  .trained = m->trained,
                  .packed = m->packed,
                  .labels = batch->labels,
                  .class_weights = pass->class_weights,
                  .smoothing = pass->label_smoothing,
                  .divisor = loss_divisor(batch),
                  .loss = loss};
  memcpy(f.memory, s->memory, sizeof f.memory);
  brim_dropout_key(pass->seed, pass->optimizer_step, f.key);
  return f;
}

static void copy_logits(const brim_model *m, const brim_batch *batch, float *logits) {
  const real *from = brim_version_address(m->tape.schedule, m->tape.schedule->logits, &m->tape.frame);
  for (int64_t i = 0; i < (int64_t)batch->count * m->config.labels.count; i++)
    logits[i] = (float)from[i];
}

int brim_model_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, double *loss, float *logits,
                       brim_error *err) {
  brim_tape *tape = &model->tape;
  if (pass->training && !loss)
    return brim_error_set(err, BRIM_E_USAGE, "a training pass computes the loss: it needs a place for it");
  BRIM_TRY(brim_model_lay_out(model, batch, pass, loss != NULL, err));
  if (loss)
    *loss = 0;
  if (batch->count == 0)
    return BRIM_OK;
  if (tape->stage->limits.precision == BRIM_PRECISION_INT8)
    brim_model_make_int8(model);
  brim_model_catch_up_batch(model);
  tape->schedule = pass->all_tokens ? &tape->stage->all : &tape->stage->asked;
  tape->frame = frame_of(model, batch, pass, loss);
  const int status = brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, false, err);
  if (status)
    *tape = (brim_tape){0};
  else if (logits)
    copy_logits(model, batch, logits);
  return status;
}

int brim_model_backward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) {
  brim_tape *tape = &model->tape;
  (void)pass;
  if (!tape->stage || !tape->training || tape->backward_done || tape->layout.n != batch->count ||
      tape->layout.tokens != batch->offsets[batch->count])
    return brim_error_set(err, BRIM_E_USAGE, "backward needs a training forward of the same batch before it");
  tape->backward_done = true;
  if (batch->count == 0)
    return BRIM_OK;
  brim_model_touch(model);
  return brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, true, err);
}

int brim_model_hidden(const brim_model *model, const brim_batch *batch, float *hidden, brim_error *err) {
  const brim_tape *tape = &model->tape;
  const int32_t width = model->config.hidden;
  if (!tape->stage || !tape->all_tokens || tape->layout.n != batch->count || tape->backward_done)
    return brim_error_set(err, BRIM_E_USAGE, "hidden states are there after a forward of this batch with all_tokens");
  const real *all = batch->count ? brim_version_address(tape->schedule, tape->schedule->hidden, &tape->frame) : NULL;
  for (int32_t i = 0; i < batch->count; i++) {
    const real *from = all + (int64_t)tape->layout.offsets[i] * width;
    float *to = hidden + (int64_t)batch->offsets[i] * width;
    for (int64_t k = 0; k < (int64_t)tape->layout.lengths[i] * width; k++)
      to[k] = (float)from[k];
  }
  return BRIM_OK;
}
