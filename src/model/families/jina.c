/* jina.c: Jina's embedding models of the third version (jina-embeddings-v3): XLM-R with rotary positions in place of an
 * embedding. Source: modeling_jina_embeddings_v3.py of Hugging Face transformers 5.23; names of tensors are those of the
 * published files, which transformers keeps. Their adapters for tasks (LoRA) are no part of the base, which is what is read. */
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
    .query = "mixer.Wqkv",
    .attention_output = "mixer.out_proj",
    .attention_norm = "norm1",
    .up = "mlp.fc1",
    .down = "mlp.fc2",
    .output_norm = "norm2",
    .head_dense = "classifier.dense",
    .head_output = "classifier.out_proj",
    .words = BRIM_ROBERTA_WORDS,
};

static int read(brim_config *c, brim_error *err) {
  c->theta[0] = 20000;
  c->attention_bias = true;
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(brim_json_root(c->document), "rope_parameters"), "rotary_emb_base", 0, err);
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = brim_write_feed_forward(&w, brim_write_turned_attention(&w, x), c->hidden_dropout);
  p->hidden = x;
  brim_write_head(&w, x,
                  (brim_head){.drops_input = true,
                              .input_dropout = c->head_dropout,
                              .dropout = c->head_dropout,
                              .activation = BRIM_ACT_TANH,
                              .words = BRIM_ACT_GELU});
}

const brim_family brim_family_jina = {.type = "jina_embeddings_v3",
                                      .architecture = "JinaEmbeddingsV3ForSequenceClassification",
                                      .prefix = "roberta.",
                                      .keys = &keys,
                                      .names = &names,
                                      .writes_rope = true,
                                      .defaults = {.vocab_size = 250002,
                                                   .hidden = 1024,
                                                   .layers = 24,
                                                   .heads = 16,
                                                   .intermediate = 4096,
                                                   .positions = 8194,
                                                   .types = 1,
                                                   .pad_id = 1,
                                                   .norm_eps = 1e-5,
                                                   .hidden_dropout = 0.1,
                                                   .attention_dropout = 0.1,
                                                   .head_dropout = -1,
                                                   .activation = "gelu"},
                                      .read = read,
                                      .pooled_logits = "model.classifier(pooled.unsqueeze(1))",
                                      .append = append};
