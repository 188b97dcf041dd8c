/* encoder.c: the operations of the encoder as forward and backward both describe them.
 *
 *   embedded = dropout(norm(word + position + type))
 *   layer:  q, k, v = x W      context = attention(q, k, v)
 *           y  = norm(x + dropout(context W))
 *           x' = norm(y + dropout(act(y W) W))
 *
 * Post-layer-norm, as in "Attention is all you need" and BERT. DistilBERT drops nothing out behind the attention's projection. */
#include <math.h>

#include "model/model.h"

brim_dropout brim_model_dropout(const brim_model *model, double p, uint32_t site) {
  return brim_dropout_make(model->tape.dropout ? p : 0, model->tape.key, site);
}

brim_dropout brim_model_attention_output_dropout(const brim_model *model, int32_t layer) {
  const double p = model->config.family->attention_output_dropout ? model->config.hidden_dropout : 0;
  return brim_model_dropout(model, p, brim_site_of_layer(layer, BRIM_SITE_ATTENTION_OUTPUT));
}

brim_dropout brim_model_output_dropout(const brim_model *model, int32_t layer) {
  return brim_model_dropout(model, model->config.hidden_dropout, brim_site_of_layer(layer, BRIM_SITE_OUTPUT));
}

bool brim_model_first_only(const brim_model *model, int32_t layer) {
  return layer == model->config.layers - 1 && !model->tape.all_tokens && model->config.pooling == BRIM_POOLING_CLS;
}

brim_rows brim_model_first_rows(const brim_model *model) {
  return (brim_rows){.count = model->tape.layout.n, .slot = model->tape.stage->slots.first};
}

brim_rows brim_model_layer_rows(const brim_model *model, int32_t layer) {
  return brim_model_first_only(model, layer) ? brim_model_first_rows(model) : (brim_rows){.count = model->tape.layout.slots};
}

brim_embed brim_model_embed(const brim_model *model) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_parameters *p = &model->parameters;
  return (brim_embed){.layout = model->tape.layout,
                      .ids = s->ids,
                      .type_ids = p->type < 0 ? NULL : s->types,
                      .positions = s->positions,
                      .word = model->values + p->word,
                      .position = model->values + p->position,
                      .type = p->type < 0 ? NULL : model->values + p->type,
                      .gamma = model->values + p->embed_norm.weight,
                      .beta = model->values + p->embed_norm.bias,
                      .eps = (real)model->config.norm_eps,
                      .hidden = model->config.hidden,
                      .dropout = brim_model_dropout(model, model->config.hidden_dropout, BRIM_SITE_EMBEDDING),
                      .sum = s->embed_sum,
                      .mean = s->embed_mean,
                      .rstd = s->embed_rstd};
}

brim_residual brim_model_residual(const brim_model *model, int32_t layer, brim_dropout dropout, const real *residual,
                                  brim_pair_at norm) {
  return (brim_residual){.layout = model->tape.layout,
                         .at = brim_model_layer_rows(model, layer),
                         .dropout = dropout,
                         .residual = residual,
                         .gamma = model->values + norm.weight,
                         .beta = model->values + norm.bias,
                         .eps = (real)model->config.norm_eps};
}

brim_attention brim_model_attention(const brim_model *model, int32_t layer) {
  const brim_slots *s = &model->tape.stage->slots;
  const brim_layer_slots *l = &s->layers[layer];
  const int32_t hidden = model->config.hidden, head_size = hidden / model->config.heads;
  const bool first = brim_model_first_only(model, layer);
  return (brim_attention){
      .layout = model->tape.layout,
      .heads = model->config.heads,
      .head_size = head_size,
      .scale = (real)(1 / sqrt(head_size)),
      .first_only = first,
      .dropout = brim_model_dropout(model, model->config.attention_dropout, brim_site_of_layer(layer, BRIM_SITE_ATTENTION)),
      .q = first ? s->first_query : l->qkv,
      .k = first ? l->qkv : l->qkv + hidden,
      .v = first ? l->qkv + hidden : l->qkv + 2 * hidden,
      .q_stride = first ? hidden : 3 * hidden,
      .kv_stride = first ? 2 * hidden : 3 * hidden,
      .out = l->context,
      .out_stride = hidden,
      .lse = l->lse,
  };
}
