/* int8.c: predictions whose layers multiply bytes. Queries, keys, values, projection and feed-forward are quantized; embeddings,
 * attention, norms and the head are those of fp32. */
#include "base/memory.h"
#include "base/poison.h"
#include "model/model.h"

void brim_model_release_int8(brim_model *model) {
  if (model->int8_block)
    brim_unpoison(model->int8_block, model->int8_size);
  brim_release(model->runtime, model->int8_block);
  model->int8_block = NULL;
  model->int8_layers = NULL;
}

/* Weights that follow each other in the values, and their biases, are one. */
static void make(brim_model *m, const brim_int8 *w, brim_pair_at at) {
  m->ops->int8_pack(&m->context, &(brim_int8_pack){.w = m->values + at.weight, .b = m->values + at.bias, .to = *w});
}

void brim_model_make_int8(brim_model *model) {
  for (int32_t i = 0; !model->int8_made && i < model->config.layers; i++) {
    const brim_layer_at *at = &model->parameters.layers[i];
    const brim_int8_layer *layer = &model->int8_layers[i];
    make(model, &layer->query, at->query);
    make(model, &layer->keys_values, at->key);
    make(model, &layer->attention_output, at->attention_output);
    make(model, &layer->up, at->up);
    make(model, &layer->down, at->down);
  }
  model->int8_made = true;
}

/* y = x w^T + b, with rows of y `stride` values apart. */
static void linear(brim_model *m, int64_t rows, const brim_int8 *w, const real *x, real *y, int64_t stride) {
  m->ops->int8_forward(&m->context,
                       &(brim_int8_linear){.rows = rows, .w = *w, .x = x, .x_stride = w->in, .y = y, .y_stride = stride});
}

static void project(brim_model *m, int32_t layer, const real *x) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_int8_layer *w = &m->int8_layers[layer];
  const int32_t slots = m->tape.layout.slots, hidden = m->config.hidden;
  real *qkv = s->layers[layer].qkv;
  if (!brim_model_first_only(m, layer)) {
    linear(m, slots, &w->query, x, qkv, 3 * hidden);
    linear(m, slots, &w->keys_values, x, qkv + hidden, 3 * hidden);
    return;
  }
  const brim_rows first = brim_model_first_rows(m);
  linear(m, slots, &w->keys_values, x, qkv, 2 * hidden);
  m->ops->gather_rows(&m->context, &(brim_gather){.at = first, .width = hidden, .x = x, .x_stride = hidden, .y = s->first_input});
  linear(m, first.count, &w->query, s->first_input, s->first_query, hidden);
}

void brim_layer_forward_int8(brim_model *model, int32_t layer, const real *x, real *out) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_int8_layer *w = &model->int8_layers[layer];
  const brim_layer_at *at = &model->parameters.layers[layer];
  const real *residual = brim_model_first_only(model, layer) ? s->first_input : x;
  project(model, layer, x);
  const brim_attention attention = brim_model_attention(model, layer);
  model->ops->attention_forward(&model->context, &attention);
  const brim_int8_norm projection = {.w = w->attention_output,
                                     .x = s->layers[layer].context,
                                     .residual = brim_model_residual(model, layer,
                                                                     brim_model_attention_output_dropout(model, layer), residual,
                                                                     at->attention_norm),
                                     .y = s->y};
  model->ops->int8_norm_forward(&model->context, &projection);
  const brim_int8_feed feed = {
      .up = w->up,
      .down = w->down,
      .act = model->config.activation,
      .x = s->y,
      .residual = brim_model_residual(model, layer, brim_model_output_dropout(model, layer), s->y, at->output_norm),
      .y = out};
  model->ops->int8_feed_forward(&model->context, &feed);
}
