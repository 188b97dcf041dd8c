/* albert.c: ALBERT: BERT whose embeddings are narrower than its layers, and whose layers are the same weights again and again, in
 * one group or several. Nothing is dropped after the feed-forward. Source: modeling_albert.py of Hugging Face transformers 5.23.
 */
#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/encoder.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout_prob", .embedding = "embedding_size"};

static const brim_family_names names = {
    BRIM_BERT_EMBEDDINGS,
    .layer = "encoder.albert_layer_groups.%d.albert_layers.0.",
    .query = "attention.query",
    .key = "attention.key",
    .value = "attention.value",
    .attention_output = "attention.dense",
    .attention_norm = "attention.LayerNorm",
    .up = "ffn",
    .down = "ffn_output",
    .output_norm = "full_layer_layer_norm",
    .head_dense = "pooler",
    .head_output = "classifier",
    .head_dense_in_encoder = true,
    .words = {"predictions.dense", "predictions.LayerNorm", "predictions.decoder", "predictions.bias",
              "predictions.decoder.bias"},
};

static int read(brim_config *config, brim_error *err) {
  const brim_json_document *document = config->document;
  const brim_json_value *root = brim_json_root(document);
  int64_t groups = 1, inner = 1;
  BRIM_TRY(brim_json_read_int(document, root, "num_hidden_groups", 1, config->layers, &groups, err));
  BRIM_TRY(brim_json_read_int(document, root, "inner_group_num", 1, 1 << 10, &inner, err));
  if (inner != 1)
    return brim_json_error(document, brim_json_get(root, "inner_group_num"), err, BRIM_E_UNSUPPORTED,
                           "inner_group_num must be 1: brim has no groups of several layers");
  config->groups = (int32_t)groups;
  return BRIM_OK;
}

static void append(brim_program *p, const brim_config *config) {
  brim_writing w = brim_writing_of(p, config);
  int32_t x = brim_write_embeddings(&w);
  const int32_t wider = brim_declare_linear(&w, "encoder.embedding_hidden_mapping_in", config->hidden, config->embedding, 0);
  x = brim_append_dense(p, x, wider, BRIM_ACT_NONE);
  for (w.layer = 0; w.layer < config->layers; w.layer++) {
    w.shared = (int32_t)(w.layer / ((double)config->layers / config->groups));
    brim_begin_layer(&w, x);
    const int32_t context = brim_write_attend(&w, brim_write_project(&w, x));
    x = brim_write_feed_forward(&w, brim_write_join(&w, context, x, config->hidden_dropout), 0);
  }
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = config->head_dropout, .activation = BRIM_ACT_TANH, .words = config->activation});
}

const brim_family brim_family_albert = {
    .type = "albert",
    .architecture = "AlbertForSequenceClassification",
    .prefix = "albert.",
    .keys = &keys,
    .names = &names,
    .defaults = {.vocab_size = 30000,
                 .hidden = 4096,
                 .layers = 12,
                 .heads = 64,
                 .intermediate = 16384,
                 .embedding = 128,
                 .positions = 512,
                 .types = 2,
                 .pad_id = 0,
                 .norm_eps = 1e-12,
                 .head_dropout = 0.1,
                 .activation = "gelu_new"},
    .read = read,
    .pooled_logits = "model.classifier(model.albert.pooler_activation(model.albert.pooler(pooled)))",
    .append = append};
