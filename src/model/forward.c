/* forward.c: from token ids to logits and loss. Formulas: encoder.c. */
#include <string.h>

#include "base/runtime.h"
#include "base/status.h"
#include "model/model.h"

/* y = x w^T + b of parameters that follow each other. */
static void linear(brim_model *m, int64_t rows, int32_t out, const real *x, brim_pair_at at, real *y) {
  const int32_t hidden = m->config.hidden;
  m->ops->linear_forward(&m->context, &(brim_linear){.rows = rows,
                                                     .in = hidden,
                                                     .out = out,
                                                     .x = x,
                                                     .x_stride = hidden,
                                                     .w = m->values + at.weight,
                                                     .b = m->values + at.bias,
                                                     .y = y,
                                                     .y_stride = out});
}

/* Queries, keys and values of all tokens in one product; of the last layer only keys and values. */
static void project(brim_model *m, int32_t layer, const real *x) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_layer_at *at = &m->parameters.layers[layer];
  const int32_t slots = m->tape.layout.slots, hidden = m->config.hidden;
  real *qkv = s->layers[layer].qkv;
  if (!brim_model_first_only(m, layer)) {
    linear(m, slots, 3 * hidden, x, at->query, qkv);
    return;
  }
  const brim_rows first = brim_model_first_rows(m);
  linear(m, slots, 2 * hidden, x, at->key, qkv);
  m->ops->gather_rows(&m->context, &(brim_gather){.at = first, .width = hidden, .x = x, .x_stride = hidden, .y = s->first_input});
  linear(m, first.count, hidden, s->first_input, at->query, s->first_query);
}

/* What feeds the residual of a first-only layer was gathered. */
void brim_layer_forward(brim_model *m, int32_t layer, const real *x, real *out) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_layer_slots *l = &s->layers[layer];
  const brim_layer_at *at = &m->parameters.layers[layer];
  const int32_t hidden = m->config.hidden, intermediate = m->config.intermediate;
  const real *v = m->values, *residual = brim_model_first_only(m, layer) ? s->first_input : x;
  project(m, layer, x);
  const brim_attention attention = brim_model_attention(m, layer);
  m->ops->attention_forward(&m->context, &attention);
  const brim_linear_norm projection = {
      .in = hidden,
      .out = hidden,
      .x = l->context,
      .w = v + at->attention_output.weight,
      .b = v + at->attention_output.bias,
      .residual = brim_model_residual(m, layer, brim_model_attention_output_dropout(m, layer), residual, at->attention_norm),
      .sum = l->attention_sum,
      .mean = l->attention_mean,
      .rstd = l->attention_rstd,
      .y = s->y};
  m->ops->linear_norm_forward(&m->context, &projection);
  brim_layer_keep_attention(m, layer);
  const brim_linear_act up = {.rows = projection.residual.at.count,
                              .in = hidden,
                              .out = intermediate,
                              .x = s->y,
                              .w = v + at->up.weight,
                              .b = v + at->up.bias,
                              .act = m->config.activation,
                              .pre = l->pre,
                              .y = s->wide};
  m->ops->linear_act_forward(&m->context, &up);
  const brim_linear_norm down = {
      .in = intermediate,
      .out = hidden,
      .x = s->wide,
      .w = v + at->down.weight,
      .b = v + at->down.bias,
      .residual = brim_model_residual(m, layer, brim_model_output_dropout(m, layer), s->y, at->output_norm),
      .sum = l->output_sum,
      .mean = l->output_mean,
      .rstd = l->output_rstd,
      .y = out};
  m->ops->linear_norm_forward(&m->context, &down);
  brim_layer_keep_output(m, layer);
}

/* Input of a layer: its own, if it is kept. */
static real *layer_input(const brim_slots *s, int32_t layer) {
  return s->layers[layer].input ? s->layers[layer].input : s->x;
}

static int encode(brim_model *m, brim_error *err) {
  const brim_slots *s = &m->tape.stage->slots;
  brim_embed embed = brim_model_embed(m);
  brim_model_catch_up_batch(m);
  const int32_t last = m->config.layers - 1, hidden = m->config.hidden;
  embed.out = layer_input(s, 0);
  m->ops->embed_forward(&m->context, &embed);
  brim_embedding_keep(m);
  for (int32_t layer = 0; layer <= last; layer++) {
    BRIM_TRY(brim_check_cancel(m->runtime, err));
    real *out = layer < last ? layer_input(s, layer + 1) : brim_model_first_only(m, layer) ? s->head_input : s->x;
    brim_layer_keep_input(m, layer);
    (brim_model_is_int8(m) ? brim_layer_forward_int8 : brim_layer_forward)(m, layer, layer_input(s, layer), out);
  }
  if (m->config.pooling != BRIM_POOLING_CLS) {
    m->ops->pool_forward(
        &m->context, &(brim_pool){.layout = m->tape.layout, .width = hidden, .x = s->x, .chosen = s->chosen, .y = s->head_input});
  } else if (!brim_model_first_only(m, last)) {
    const brim_rows first = brim_model_first_rows(m);
    m->ops->gather_rows(&m->context,
                        &(brim_gather){.at = first, .width = hidden, .x = s->x, .x_stride = hidden, .y = s->head_input});
  }
  return BRIM_OK;
}

static double loss_divisor(const brim_batch *batch) {
  if (batch->divisor > 0)
    return batch->divisor;
  return batch->step_rows > 0 ? batch->step_rows : (double)batch->count;
}

static void compute_loss(brim_model *m, const brim_batch *batch, const brim_pass *pass, double *loss) {
  static const brim_loss_kind kinds[] = {[BRIM_TASK_CLASSIFICATION] = BRIM_LOSS_CROSS_ENTROPY,
                                         [BRIM_TASK_REGRESSION] = BRIM_LOSS_SQUARED_ERROR,
                                         [BRIM_TASK_MULTI_LABEL] = BRIM_LOSS_BINARY};
  const brim_slots *s = &m->tape.stage->slots;
  const brim_loss of = {.n = batch->count,
                        .outputs = m->config.labels.count,
                        .kind = kinds[m->config.labels.task],
                        .logits = s->logits,
                        .labels = batch->labels,
                        .weights = pass->class_weights,
                        .smoothing = pass->label_smoothing,
                        .divisor = loss_divisor(batch),
                        .loss = loss,
                        .dlogits = m->tape.training ? s->dlogits : NULL};
  m->ops->loss(&m->context, &of);
}

int brim_model_forward(brim_model *model, const brim_batch *batch, const brim_pass *pass, double *loss, float *logits,
                       brim_error *err) {
  if (pass->training && !loss)
    return brim_error_set(err, BRIM_E_USAGE, "a training pass computes the loss: it needs a place for it");
  BRIM_TRY(brim_model_lay_out(model, batch, pass, loss != NULL, err));
  if (loss)
    *loss = 0;
  if (batch->count == 0)
    return BRIM_OK;
  if (brim_model_is_int8(model))
    brim_model_make_int8(model);
  const int status = encode(model, err);
  if (status) {
    model->tape = (brim_tape){0};
    return status;
  }
  brim_head_forward(model);
  if (loss)
    compute_loss(model, batch, pass, loss);
  const int64_t count = (int64_t)batch->count * model->config.labels.count;
  for (int64_t i = 0; logits && i < count; i++)
    logits[i] = (float)model->tape.stage->slots.logits[i];
  return BRIM_OK;
}

int brim_model_hidden(const brim_model *model, const brim_batch *batch, float *hidden, brim_error *err) {
  const brim_tape *tape = &model->tape;
  const int32_t width = model->config.hidden;
  if (!tape->stage || !tape->all_tokens || tape->layout.n != batch->count || tape->backward_done)
    return brim_error_set(err, BRIM_E_USAGE, "hidden states are there after a forward of this batch with all_tokens");
  for (int32_t i = 0; i < batch->count; i++) {
    const real *from = tape->stage->slots.x + (int64_t)tape->layout.offsets[i] * width;
    float *to = hidden + (int64_t)batch->offsets[i] * width;
    for (int64_t k = 0; k < (int64_t)tape->layout.lengths[i] * width; k++)
      to[k] = (float)from[k];
  }
  return BRIM_OK;
}
