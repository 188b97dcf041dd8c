/* nomic_bert.c: NomicBERT (nomic-embed-text): BERT's layers with rotary positions, without biases, and with a gate. Source:
 * modeling_nomic_bert.py of Hugging Face transformers 5.23; names of tensors are those of the published files, which transformers
 * keeps. */
#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/gated.h"
#include "model/families/rotary.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout"};

static const brim_family_names names = {
    .word = "embeddings.word_embeddings",
    .type = "embeddings.token_type_embeddings",
    .embed_norm = "emb_ln",
    .layer = "encoder.layers.%d.",
    .query = "attn.Wqkv",
    .attention_output = "attn.out_proj",
    .attention_norm = "norm1",
    .gate = "mlp.fc12",
    .up = "mlp.fc11",
    .down = "mlp.fc2",
    .output_norm = "norm2",
    .head_dense = "pooler.dense",
    .head_output = "classifier",
    .head_dense_in_encoder = true,
};

static int read(brim_config *c, brim_error *err) {
  c->theta[0] = 1000;
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(brim_json_root(c->document), "rope_parameters"), "rotary_emb_base", &c->theta[0], err);
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = brim_write_gated_layer(&w, x, false);
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = c->head_dropout, .activation = BRIM_ACT_TANH});
}

const brim_family brim_family_nomic_bert = {.type = "nomic_bert",
                                            .architecture = "NomicBertForSequenceClassification",
                                            .prefix = "nomic_bert.",
                                            .keys = &keys,
                                            .names = &names,
                                            .defaults = {.vocab_size = 30528,
                                                         .hidden = 768,
                                                         .layers = 12,
                                                         .heads = 12,
                                                         .intermediate = 3072,
                                                         .positions = 2048,
                                                         .types = 2,
                                                         .pad_id = 0,
                                                         .norm_eps = 1e-12,
                                                         .head_dropout = -1,
                                                         .activation = "silu"},
                                            .read = read,
                                            .append = append};
