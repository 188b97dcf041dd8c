/* forward.c: passes: from token ids to logits and loss, and back to every weight. What they compute is the schedule's. */
#include <string.h>

#include "base/status.h"
#include "model/model.h"
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
  const brim_rows first = {.count = m->tape.layout.n, .slot = s->first};
  brim_frame f = {.layout = m->tape.layout,
                  .rows = {[BRIM_ROW_TEXTS] = first,
                           [BRIM_ROW_CHOSEN] = first,
                           [BRIM_ROW_TOKENS] = {m->tape.layout.slots, NULL},
                           [BRIM_ROW_DISTANCES] = {brim_program_limits(&m->program).distances, NULL}},
                  .ids = s->ids,
                  .positions = s->positions,
                  .types = s->types,
                  .dropout = pass->dropout,
                  .values = m->values,
                  .narrow = m->narrow,
                  .narrowed = m->narrow_from,
                  .gradients = m->gradients,
                  .trained = m->trained,
                  .packed = m->packed,
                  .labels = batch->labels,
                  .classes = loss ? s->classes : NULL,
                  .class_weights = pass->class_weights,
                  .smoothing = pass->label_smoothing,
                  .divisor = loss_divisor(batch),
                  .loss = loss ? &m->answers[BRIM_ANSWER_LOSS] : NULL};
  memcpy(f.memory, s->memory, sizeof f.memory);
  brim_dropout_key(pass->seed, pass->optimizer_step, f.key);
  return f;
}

/* Labels and weights of classes to where the device finds them. */
static void send_labels(brim_model *m, const brim_batch *batch, brim_frame *f) {
  const brim_slots *s = &m->tape.stage->slots;
  const size_t count = (size_t)batch->count * (size_t)brim_labels_width(&m->config.labels);
  if (!s->classes) {
    m->ops->write(&m->context, s->labels, f->labels, count * sizeof *s->labels);
    f->labels = s->labels;
  }
  if (!f->class_weights)
    return;
  m->ops->write(&m->context, s->class_weights, f->class_weights, (size_t)m->config.labels.count * sizeof *s->class_weights);
  f->class_weights = s->class_weights;
}

/* `count` numbers of the device as floats, after sync. */
static void read_numbers(brim_model *m, const real *from, int64_t count, float *to) {
#ifdef BRIM_REAL_DOUBLE /* whose memory is the host's */
  (void)m;
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)from[i];
#else
  m->ops->read(&m->context, to, from, (size_t)count * sizeof *to);
#endif
}

/* Rows of the real tokens of the laid out batch, one after another. */
static void read_tokens(brim_model *m, const real *from, int32_t width, float *to) {
  const brim_slots *laid = &m->tape.stage->laid;
  for (int32_t i = 0; i < m->tape.layout.n; to += (int64_t)laid->lengths[i++] * width)
    read_numbers(m, from + (int64_t)laid->offsets[i] * width, (int64_t)laid->lengths[i] * width, to);
}

/* Those of the laid out batch. */
static void read_logits(brim_model *m, float *logits) {
  const real *from = brim_version_address(m->tape.schedule, m->tape.schedule->logits, &m->tape.frame);
  if (brim_task_has_tokens(m->config.labels.task))
    read_tokens(m, from, m->config.labels.count, logits);
  else
    read_numbers(m, from, (int64_t)m->tape.layout.n * m->config.labels.count, logits);
}

int brim_model_settle(brim_model *model, brim_error *err) {
  const int status = model->ops->sync(&model->context, err);
  if (status)
    model->tape = (brim_tape){0};
  return status;
}

int brim_model_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, double *loss, float *logits,
                       brim_error *err) {
  brim_tape *tape = &model->tape;
  if (pass->training && !loss)
    return brim_error_set(err, BRIM_E_USAGE, "a training pass computes the loss: loss must not be NULL");
  BRIM_TRY(brim_model_lay_out(model, batch, pass, loss != NULL, err));
  if (loss)
    *loss = 0;
  if (batch->count == 0)
    return BRIM_OK;
  if (tape->stage->limits.precision == BRIM_PRECISION_INT8)
    brim_model_make_int8(model);
  if (tape->stage->limits.precision == BRIM_PRECISION_BF16)
    brim_model_make_narrow(model);
  brim_model_catch_up_batch(model);
  tape->schedule = pass->all_tokens ? &tape->stage->all : &tape->stage->asked;
  tape->frame = frame_of(model, batch, pass, loss != NULL);
  if (loss && !brim_model_is_host(model))
    send_labels(model, batch, &tape->frame);
  const int status = brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, false, err);
  if (status) {
    brim_error ignored;
    (void)!brim_model_settle(model, &ignored);
    *tape = (brim_tape){0};
    return status;
  }
  if (loss)
    model->ops->read(&model->context, loss, tape->frame.loss, sizeof *loss);
  if (logits)
    read_logits(model, logits);
  return brim_model_settle(model, err);
}

int brim_model_backward(brim_model *model, const brim_batch *batch, const brim_pass *pass, brim_error *err) {
  brim_tape *tape = &model->tape;
  (void)pass;
  if (!tape->stage || !tape->training || tape->backward_done || tape->layout.n != batch->count ||
      tape->layout.tokens != batch->offsets[batch->count])
    return brim_error_set(err, BRIM_E_USAGE, "backward must follow a training forward pass of the same batch");
  tape->backward_done = true;
  if (batch->count == 0)
    return BRIM_OK;
  brim_model_touch(model);
  return brim_schedule_run(tape->schedule, model->ops, &model->context, &tape->frame, true, err);
}

int brim_model_hidden(brim_model *model, const brim_batch *batch, float *hidden, brim_error *err) {
  const brim_tape *tape = &model->tape;
  const int32_t width = brim_model_hidden_size(model);
  if (!tape->stage || !tape->all_tokens || tape->layout.n != batch->count || tape->backward_done)
    return brim_error_set(err, BRIM_E_USAGE, "hidden states exist only after a forward pass of this batch with all_tokens");
  const real *all = batch->count ? brim_version_address(tape->schedule, tape->schedule->hidden, &tape->frame) : NULL;
  read_tokens(model, all, width, hidden);
  return brim_model_settle(model, err);
}
