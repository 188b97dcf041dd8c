/* gte.c: GTE (gte-multilingual): BERT's layers with rotary positions, and with a gate whose second half is activated and which
 * drops out. Source: modeling_gte.py of Hugging Face transformers 5.23; names of tensors are those of the published files, which
 * transformers keeps. */
#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/gated.h"
#include "model/families/rotary.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout"};

static const brim_family_names names = {
    .word = "embeddings.word_embeddings",
    .type = "embeddings.token_type_embeddings",
    .embed_norm = "embeddings.LayerNorm",
    .layer = "encoder.layer.%d.",
    .query = "attention.qkv_proj",
    .attention_output = "attention.o_proj",
    .attention_norm = "attn_ln",
    .up = "mlp.up_gate_proj",
    .down = "mlp.down_proj",
    .output_norm = "mlp_ln",
    .head_dense = "pooler.dense",
    .head_output = "classifier",
    .head_dense_in_encoder = true,
    .words = {"lm_head.dense", "lm_head.norm", "lm_head.decoder", "lm_head.decoder.bias", "lm_head.decoder.bias"},
};

static int read(brim_config *c, brim_error *err) {
  c->theta[0] = 160000;
  c->attention_bias = c->inner_bias = true;
  c->inner_dropout = c->hidden_dropout;
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(brim_json_root(c->document), "rope_parameters"), "rope_theta", 0, err);
}

/* The published files, model_type "new": theta is another where they do not say, and positions may be scaled. */
static int read_new(brim_config *c, brim_error *err) {
  const brim_json_value *root = brim_json_root(c->document), *norm = brim_json_get(root, "layer_norm_type");
  bool packed = true, scaled = false;
  BRIM_TRY(brim_json_read_bool(c->document, root, "pack_qkv", &packed, err));
  BRIM_TRY(brim_json_read_bool(c->document, root, "logn_attention_scale", &scaled, err));
  if (!packed)
    return brim_json_error(c->document, brim_json_get(root, "pack_qkv"), err, BRIM_E_UNSUPPORTED, "pack_qkv must be true");
  if (scaled)
    return brim_json_error(c->document, brim_json_get(root, "logn_attention_scale"), err, BRIM_E_UNSUPPORTED,
                           "logn_attention_scale must be false: brim does not have it");
  if (norm && norm->kind != BRIM_JSON_NULL && !brim_json_is_string(norm, "layer_norm"))
    return brim_json_error(c->document, norm, err, BRIM_E_UNSUPPORTED, "layer_norm_type must be layer_norm");
  c->attention_bias = c->inner_bias = true;
  c->inner_dropout = c->hidden_dropout;
  c->theta[0] = 10000;
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(root, "rope_parameters"), "rope_theta", 0, err);
}

static const brim_renamed older[] = {{"rope_theta", NULL}, {"rope_scaling", NULL}, {"position_embedding_type", NULL}, {0}};

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = brim_write_gated_layer(&w, x, true);
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = c->head_dropout, .activation = BRIM_ACT_TANH, .words = BRIM_ACT_GELU});
}

#define GTE                                                                                                                      \
  .architecture = "GteForSequenceClassification", .prefix = "gte.", .older_prefix = "new.", .keys = &keys, .names = &names,      \
  .may_lack_types = true, .pooled_logits = "model.classifier(model.gte.pooler(pooled.unsqueeze(1)))", .append = append

const brim_family brim_family_gte = {.type = "gte",
                                     GTE,
                                     .defaults = {.vocab_size = 250048,
                                                  .hidden = 768,
                                                  .layers = 12,
                                                  .heads = 12,
                                                  .intermediate = 3072,
                                                  .positions = 8192,
                                                  .types = 1,
                                                  .pad_id = 1,
                                                  .norm_eps = 1e-12,
                                                  .hidden_dropout = 0.1,
                                                  .head_dropout = -1,
                                                  .activation = "gelu"},
                                     .read = read};

const brim_family brim_family_gte_new = {.type = "new",
                                         .saved = "gte",
                                         .older = older,
                                         .has_ntk = true,
                                         .writes_rope = true,
                                         GTE,
                                         .defaults = {.vocab_size = 30528,
                                                      .hidden = 768,
                                                      .layers = 12,
                                                      .heads = 12,
                                                      .intermediate = 3072,
                                                      .positions = 2048,
                                                      .types = 1,
                                                      .pad_id = 0,
                                                      .norm_eps = 1e-12,
                                                      .hidden_dropout = 0.1,
                                                      .head_dropout = -1,
                                                      .activation = "gelu"},
                                         .read = read_new};
