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

/* Weights that lie one behind the other in the values, and their biases, are one. */
static void make(brim_model *m, const brim_int8 *w, brim_pair_at at) {
  m->ops->int8_pack(&m->context, w->in, w->out, m->values + at.weight, m->values + at.bias, (void *)(uintptr_t)w->packed);
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

static void project(brim_model *m, int32_t layer, const real *x) {
  const brim_slots *s = &m->tape.stage->slots;
  const brim_int8_layer *w = &m->int8_layers[layer];
  const int64_t slots = m->tape.layout.slots, hidden = m->config.hidden;
  real *qkv = s->layers[layer].qkv;
  if (!brim_model_first_only(m, layer)) {
    m->ops->int8_forward(&m->context, slots, &w->query, x, hidden, qkv, 3 * hidden);
    m->ops->int8_forward(&m->context, slots, &w->keys_values, x, hidden, qkv + hidden, 3 * hidden);
    return;
  }
  const brim_rows first = brim_model_first_rows(m);
  m->ops->int8_forward(&m->context, slots, &w->keys_values, x, hidden, qkv, 2 * hidden);
  m->ops->gather_rows(&m->context, &first, m->config.hidden, x, hidden, s->first_input);
  m->ops->int8_forward(&m->context, first.count, &w->query, s->first_input, hidden, s->first_query, hidden);
}

void brim_layer_forward_int8(brim_model *model, int32_t layer, const real *x, real *out) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_int8_layer *w = &model->int8_layers[layer];
  const brim_layer_at *at = &model->parameters.layers[layer];
  const brim_rows rows = brim_model_layer_rows(model, layer);
  const real *v = model->values;
  const brim_dropout attention_dropout = brim_model_attention_output_dropout(model, layer),
                     output_dropout = brim_model_output_dropout(model, layer);
  brim_residual r = {.layout = &model->tape.layout,
                     .at = &rows,
                     .dropout = &attention_dropout,
                     .residual = brim_model_first_only(model, layer) ? s->first_input : x,
                     .gamma = v + at->attention_norm.weight,
                     .beta = v + at->attention_norm.bias,
                     .eps = (real)model->config.norm_eps};
  project(model, layer, x);
  const brim_attention attention = brim_model_attention(model, layer);
  model->ops->attention_forward(&model->context, &attention);
  model->ops->int8_norm_forward(&model->context, &w->attention_output, s->layers[layer].context, &r, s->y);
  r.dropout = &output_dropout;
  r.residual = s->y;
  r.gamma = v + at->output_norm.weight;
  r.beta = v + at->output_norm.bias;
  model->ops->int8_feed_forward(&model->context, &w->up, model->config.activation, &w->down, s->y, &r, out);
}
