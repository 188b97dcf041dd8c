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
};

static int read(brim_config *c, brim_error *err) {
  c->theta[0] = 160000;
  c->attention_bias = c->inner_bias = true;
  c->inner_dropout = c->hidden_dropout;
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(brim_json_root(c->document), "rope_parameters"), "rope_theta", &c->theta[0], err);
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = brim_write_gated_layer(&w, x, true);
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = c->head_dropout, .activation = BRIM_ACT_TANH});
}

const brim_family brim_family_gte = {.type = "gte",
                                     .architecture = "GteForSequenceClassification",
                                     .prefix = "gte.",
                                     .keys = &keys,
                                     .names = &names,
                                     .may_lack_types = true,
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
                                     .read = read,
                                     .append = append};
