/* forward.c: passes: from token ids to logits and loss, and back to every weight. What they compute is the schedule's. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/kinds/kinds.h"
#include "model/run/host.h"
#include "model/run/logits.h"
#include "model/run/mixout.h"
#include "model/run/model.h"
#include "task/task.h"

static double loss_divisor(const brim_batch *batch) {
  if (batch->divisor > 0)
    return batch->divisor;
  if (batch->token_labels) {
    const int32_t tokens = batch->offsets[batch->count];
    const int64_t labels = brim_token_labels_count(batch->token_labels, tokens, tokens);
    return labels > 0 ? (double)labels : 1;
  }
  return batch->step_rows > 0 ? batch->step_rows : (double)batch->count;
}

static brim_frame frame_of(const brim_model *m, const brim_batch *batch, const brim_pass *pass, bool loss) {
  const brim_stage *stage = m->tape.stage;
  const brim_slots *s = &stage->slots;
  const brim_rows first = {.count = m->tape.layout.n, .slot = s->first}, chosen = {.count = m->tape.chosen, .slot = s->chosen};
  const int32_t longest = batch->width ? batch->width : m->tape.layout.max_length;
  int32_t first_reached;
  const int32_t reached = brim_distances_reached(&m->program, longest, &first_reached);
  brim_frame f = {.layout = m->tape.layout,
                  .rows = {[BRIM_ROW_TEXTS] = first,
                           [BRIM_ROW_CHOSEN] = s->chosen ? chosen : first,
                           [BRIM_ROW_TOKENS] = {m->tape.layout.slots, NULL},
                           [BRIM_ROW_DISTANCES] = {brim_program_limits(&m->program).distances, NULL},
                           [BRIM_ROW_REACHED] = {reached, NULL}},
                  .first_reached = first_reached,
                  .ids = s->ids,
                  .positions = s->positions,
                  .types = s->types,
                  .skipped = s->skipped,
                  .dropout = pass->dropout,
                  .values = m->values,
                  .half = m->half,
                  .narrowed = m->half_from,
                  .gradients = m->gradients,
                  .packed = m->packed,
                  .labels = batch->labels,
                  .classes = loss || s->chosen ? s->classes : NULL,
                  .class_weights = pass->class_weights,
                  .smoothing = pass->label_smoothing,
                  .divisor = loss_divisor(batch) / (pass->loss_scale > 0 ? pass->loss_scale : 1),
                  .loss = loss ? &m->answers[BRIM_ANSWER_LOSS + m->queued] : NULL};
  const brim_slice_ends *cut = &m->slices;
  if (cut->count > 0) {
    const brim_row_slices texts = {cut->count, cut->names, cut->texts, cut->joins};
    f.slices[BRIM_ROW_TEXTS] = f.slices[BRIM_ROW_CHOSEN] = texts;
    f.slices[BRIM_ROW_TOKENS] = (brim_row_slices){cut->count, cut->names, cut->slots, cut->joins};
  }
  memcpy(f.memory, s->memory, sizeof f.memory);
  brim_dropout_key(pass->seed, pass->optimizer_step, f.key);
  return f;
}

/* `from` goes to the device by way of memory that stays as it is until the answers are there. */
static void send(brim_model *m, void *to, void *by, const void *from, size_t size) {
  memcpy(by, from, size);
  m->ops->write(&m->context, to, by, size);
}

/* Labels and weights of classes to where the device finds them. */
static void send_labels(brim_model *m, const brim_batch *batch, brim_frame *f) {
  const brim_slots *s = &m->tape.stage->slots, *laid = m->tape.laid;
  const size_t count = (size_t)batch->count * (size_t)brim_labels_width(&m->config.labels);
  if (!s->classes) {
    send(m, s->labels, laid->labels, f->labels, count * sizeof *s->labels);
    f->labels = s->labels;
  }
  if (!f->class_weights)
    return;
  send(m, s->class_weights, laid->class_weights, f->class_weights, (size_t)m->config.labels.count * sizeof *s->class_weights);
  f->class_weights = s->class_weights;
}

int brim_model_settle(brim_model *model, brim_error *err) {
  const int status = model->ops->sync(&model->context, err);
  if (status)
    model->tape = (brim_tape){0};
  return status;
}

bool brim_model_queue_full(const brim_model *model) {
  return model->queued == BRIM_MOST_QUEUED;
}

/* The loss of all slices, which the host can see. */
static void answer_slices(brim_model *m) {
  double *loss = &m->answers[BRIM_ANSWER_LOSS + m->queued];
  *loss = 0;
  for (int32_t k = 0; k < m->slices.count; k++)
    *loss += m->slices.losses[k];
}

/* Queues the pass; where a loss is wanted it waits among the answers. */
static int queue_pass(brim_model *model, const brim_batch *batch, const brim_pass *pass, bool loss, brim_error *err) {
  brim_tape *tape = &model->tape;
  if (brim_model_queue_full(model))
    return brim_error_set(err, BRIM_E_USAGE, "%d passes are queued already: wait for the answer of one first", BRIM_MOST_QUEUED);
  BRIM_TRY(brim_model_lay_out(model, batch, pass, loss, err));
  if (batch->count == 0)
    return BRIM_OK;
  if (tape->stage->limits.precision == BRIM_PRECISION_INT8)
    brim_model_make_int8(model);
  if (brim_precision_is_half(tape->stage->limits.precision))
    brim_model_make_half(model);
  brim_model_catch_up_batch(model);
  tape->schedule = pass->all_tokens ? &tape->stage->all : &tape->stage->asked;
  tape->frame = frame_of(model, batch, pass, loss);
  if (loss && model->slices.count > 0)
    tape->frame.loss = model->slices.losses;
  if (loss && !brim_model_is_host(model))
    send_labels(model, batch, &tape->frame);
  const int status = brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, false, err);
  if (status) {
    brim_error ignored;
    (void)!brim_model_settle(model, &ignored);
    *tape = (brim_tape){0};
    return status;
  }
  if (loss && model->slices.count > 0)
    answer_slices(model);
  model->loss_scales[model->queued] = pass->loss_scale > 0 ? pass->loss_scale : 1;
  model->queued += loss;
  return BRIM_OK;
}

bool brim_model_joins_slices(const brim_model *model) {
  return brim_trained_joins_slices(&model->trained, &model->program);
}

int32_t brim_model_slice_losses(const brim_model *model, const int32_t **names, const double **losses) {
  *names = model->slices.names;
  *losses = model->slices.losses;
  return model->slices.count;
}

int brim_model_queue_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) {
  return queue_pass(model, batch, pass, true, err);
}

int brim_model_answers(brim_model *model, brim_answers *out, brim_error *err) {
  double answers[BRIM_ANSWERS];
  const int32_t losses = model->queued;
  const bool update = model->update_queued;
  *out = (brim_answers){.count = losses};
  model->queued = 0;
  model->update_queued = false;
  model->ops->read(&model->context, answers, model->answers, (size_t)(BRIM_ANSWER_LOSS + losses) * sizeof *answers);
  const int status = brim_model_settle(model, err);
  brim_model_mix_answered(model, !status);
  BRIM_TRY(status);
  for (int32_t i = 0; i < losses; i++)
    out->losses[i] = answers[BRIM_ANSWER_LOSS + i] / model->loss_scales[i];
  out->norm = sqrt(answers[BRIM_ANSWER_SQUARE]);
  if (update && isfinite(out->norm)) /* from here on it has been */
    brim_model_updated(model);
  return BRIM_OK;
}

int brim_model_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, double *loss, float *logits,
                       brim_error *err) {
  BRIM_GIVEN(err, model, batch, pass);
  brim_answers answers;
  if (logits && brim_model_masks(model) && (pass->training || !model->predict.limits.logits))
    return brim_error_set(
        err, BRIM_E_USAGE,
        "logits of masked words are there in predictions alone, where the model was prepared for them (logits)");
  BRIM_TRY(queue_pass(model, batch, pass, loss != NULL, err));
  if (loss)
    *loss = 0;
  if (batch->count == 0)
    return BRIM_OK;
  if (logits)
    brim_model_copy_out(model, logits);
  if (!loss)
    return brim_model_settle(model, err);
  BRIM_TRY(brim_model_answers(model, &answers, err));
  *loss = answers.losses[answers.count - 1];
  return BRIM_OK;
}

int brim_model_backward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) {
  BRIM_GIVEN(err, model, batch, pass);
  brim_tape *tape = &model->tape;
  if (!tape->stage || !tape->training || tape->backward_done || tape->layout.n != batch->count ||
      tape->layout.tokens != batch->offsets[batch->count])
    return brim_error_set(err, BRIM_E_USAGE, "backward must follow a training forward pass of the same batch");
  if (batch->count > 0 && !tape->frame.loss && !tape->seeded)
    return brim_error_set(err, BRIM_E_USAGE, "backward needs a loss: ask the forward pass for it, or give the logits' gradient");
  tape->backward_done = true;
  if (batch->count == 0)
    return BRIM_OK;
  brim_model_touch(model);
  tape->frame.ready = model->ready;
  return brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, true, err);
}
