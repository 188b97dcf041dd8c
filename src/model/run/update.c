/* update.c: the gradient's norm and the update of the flat buffers, and which rows of the embeddings take part. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/run/flat.h"
#include "model/run/mixout.h"
#include "model/run/model.h"

static const brim_weight *weight_of(const brim_model *m, int32_t range) {
  return &m->program.weights[m->range_weights[range]];
}

/* The row of an embedding that is read for a slot. */
static int32_t selected_row(const brim_slots *s, brim_read_by by, int32_t slot) {
  return by == BRIM_BY_IDS ? s->ids[slot] : by == BRIM_BY_POSITIONS ? s->positions[slot] : s->types[slot];
}

/* Sets the bytes of the rows that the laid out batch reads. `all` are bytes of all rows, embedding after embedding. */
static void mark_rows(brim_model *m, uint8_t *all) {
  for (int32_t i = 0; i < m->range_count; i++) {
    const brim_read_by by = weight_of(m, i)->selected;
    /* Of words, where the decoder is tied, every row has a gradient: no bytes. */
    uint8_t *rows = by == BRIM_BY_NOTHING || !m->ranges[i].touched ? NULL : all + (m->ranges[i].touched - m->touched);
    for (int32_t slot = 0; rows && slot < m->tape.layout.slots; slot++)
      rows[selected_row(m->tape.laid, by, slot)] = 1;
  }
}

void brim_model_touch(brim_model *model) {
  model->dirty = true;
  if (model->embedding_rows > 0)
    mark_rows(model, model->host_touched);
}

/* ---- late rows: those without a gradient miss updates until somebody reads them, or the past is full --------- */

static brim_update update_of(brim_model *m) {
  return (brim_update){.rule = m->optimizer->rule,
                       .values = m->values,
                       .gradients = m->gradients,
                       .states = {m->states[0], m->states[1]},
                       .start = m->start,
                       .ranges = m->ranges,
                       .range_count = m->range_count,
                       .square = &m->answers[BRIM_ANSWER_SQUARE],
                       .losses = &m->answers[BRIM_ANSWER_LOSS],
                       .loss_count = m->queued,
                       .past = m->past,
                       .past_count = m->past_count};
}

/* What the host marked, to the device. */
static void send_rows(brim_model *m, uint8_t *to, const uint8_t *from) {
  if (to != from)
    m->ops->write(&m->context, to, from, m->embedding_rows);
}

void brim_model_catch_up(brim_model *model) {
  if (model->past_count == 0)
    return;
  brim_update u = update_of(model);
  u.all = true;
  model->ops->catch_up(&model->context, &u);
  model->ops->clear(&model->context, model->done, model->embedding_rows);
  model->past_count = 0;
}

void brim_model_catch_up_batch(brim_model *model) {
  if (model->past_count == 0)
    return;
  const brim_update u = update_of(model);
  uint8_t *wanted = model->host_wanted + (model->rows_block ? (size_t)model->queued * model->embedding_rows : 0);
  memset(wanted, 0, model->embedding_rows);
  mark_rows(model, wanted);
  send_rows(model, model->wanted, wanted);
  model->ops->catch_up(&model->context, &u);
}

/* All embeddings are in the first section, and have its rate. */
static double embedding_rate(const brim_model *m) {
  int32_t range = 0;
  while (m->ranges[range].row_size <= 0)
    range++;
  return m->ranges[range].rate;
}

static void remember(brim_model *m, const brim_update_step *step) {
  if (m->embedding_rows == 0 || !(m->ops->features & BRIM_FEATURE_LATE_ROWS))
    return;
  brim_update_step *past = &m->past[m->past_count++];
  *past = *step;
  past->lr *= embedding_rate(m);
  if (m->past_count == BRIM_UPDATE_PAST)
    brim_model_catch_up(m);
}

/* ---- gradients and states ---------------------------------------------------------------------------------- */

static void zero_rows(brim_model *m, const brim_update_range *range) {
  const uint8_t *touched = m->host_touched + (range->touched - m->touched);
  for (int64_t row = 0; row < range->count / range->row_size; row++)
    if (touched[row])
      m->ops->zero(&m->context,
                   &(brim_zero){.count = range->row_size, .x = m->gradients + range->offset + row * range->row_size});
}

void brim_model_zero_gradients(brim_model *model) {
  if (!model->dirty)
    return;
  for (int32_t i = 0; i < model->range_count; i++) {
    const brim_update_range *range = &model->ranges[i];
    if (range->row_size > 0)
      zero_rows(model, range);
    else
      model->ops->zero(&model->context, &(brim_zero){.count = range->count, .x = model->gradients + range->offset});
  }
  memset(model->host_touched, 0, model->embedding_rows);
  model->dirty = false;
}

void brim_model_gradients_written(brim_model *model) {
  if (!model->state_block)
    return;
  memset(model->host_touched, 1, model->embedding_rows);
  model->dirty = true;
}

void brim_model_state_written(brim_model *model) {
  brim_model_catch_up(model);
  model->int8_made = model->half_made = false;
  if (!model->state_block)
    return;
  const brim_update u = update_of(model);
  model->ops->mark_alive(&model->context, &u);
}

/* ---- update ------------------------------------------------------------------------------------------------ */

/* A factor `decay` for each section that lies above: 1 for the head, decay for the top layer, decay^(L + 1) for the embeddings.
 */
static void set_rates(brim_model *m, double decay) {
  for (int32_t i = 0; i < m->range_count; i++)
    m->ranges[i].rate = decay > 0 ? pow(decay, (double)m->program.section_count - 1 - weight_of(m, i)->section) : 1;
}

/* A copy that is not there yet is made when it is needed, from values that updates have changed by then. */
static void set_copies(brim_model *m) {
  for (int32_t i = 0; i < m->range_count; i++)
    m->ranges[i].copy = brim_model_half_copy(m, weight_of(m, i));
}

int brim_model_begin_update(brim_model *model, const brim_update_options *options, brim_update *out, brim_error *err) {
  if (!model->state_block || model->train.limits.max_slots == 0)
    return brim_error_set(err, BRIM_E_USAGE, "the model has no gradients: prepare it for training first");
  *out = update_of(model);
  out->clip = options->clip;
  out->scale = options->loss_scale;
  out->step = (brim_update_step){.lr = options->lr,
                                 .eps = options->eps,
                                 .weight_decay = options->weight_decay,
                                 .beta1 = options->beta1,
                                 .beta2 = options->beta2,
                                 .correction1 = 1,
                                 .correction2 = 1,
                                 .momentum = options->momentum,
                                 .number = options->step};
  if (model->optimizer->prepare)
    model->optimizer->prepare(options, &out->step);
  brim_model_enter(model, &model->train);
  set_copies(model);
  set_rates(model, options->layer_decay);
  send_rows(model, model->touched, model->host_touched);
  model->update_queued = true;
  model->queued_step = out->step;
  return BRIM_OK;
}

int brim_model_queue_update(brim_model *model, const brim_update_options *options, brim_error *err) {
  brim_update u;
  BRIM_TRY(brim_model_begin_update(model, options, &u, err));
  brim_model_mix_gradient(model, u.ranges, u.range_count);
  model->ops->gradient_square(&model->context, &u);
  model->ops->update(&model->context, &u);
  return BRIM_OK;
}

void brim_model_updated(brim_model *model) {
  remember(model, &model->queued_step);
  model->int8_made = false;
  memset(model->host_touched, 0, model->embedding_rows);
  model->dirty = false;
}

int brim_model_update(brim_model *model, const brim_update_options *options, double *norm, brim_error *err) {
  BRIM_OUT(err, norm);
  BRIM_GIVEN(err, model, options);
  brim_answers answers;
  BRIM_TRY(brim_model_queue_update(model, options, err));
  BRIM_TRY(brim_model_answers(model, &answers, err));
  *norm = answers.norm;
  if (!isfinite(answers.norm))
    return brim_error_set(err, BRIM_E_DIVERGED, "the gradient is not finite: lower the learning rate, or look at the data");
  return BRIM_OK;
}

/* ---- the optimizer ------------------------------------------------------------------------------------------ */

int brim_model_use_optimizer(brim_model *model, const brim_optimizer_options *options, brim_error *err) {
  BRIM_GIVEN(err, model, options);
  BRIM_TRY(brim_optimizer_check(options, err));
  const brim_optimizer *optimizer = brim_optimizer_find(options->name);
  if (optimizer == model->optimizer && options->returns == model->returns && options->mixout == model->mixout)
    return BRIM_OK;
  brim_model_catch_up(model);
  brim_model_release_state(model);
  model->tape = (brim_tape){0};
  model->optimizer = optimizer;
  model->returns = options->returns;
  model->mixout = options->mixout;
  return BRIM_OK;
}

const char *brim_model_optimizer(const brim_model *model) {
  return model->optimizer->name;
}
