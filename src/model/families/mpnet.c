/* mpnet.c: MPNet: RoBERTa without token types, whose scores have a bias by distance from an embedding that all layers share.
 * Source: modeling_mpnet.py of Hugging Face transformers 5.23. It is trained, and frozen, with the embeddings. */
#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/encoder.h"

enum { BUCKETS = 32, FARTHEST = 128, PADDING = 1 }; /* which transformers has in the code */

static const brim_family_keys keys = {BRIM_BERT_KEYS};

static const brim_family_names names = {
    .word = "embeddings.word_embeddings",
    .position = "embeddings.position_embeddings",
    .embed_norm = "embeddings.LayerNorm",
    .layer = "encoder.layer.%d.",
    .query = "attention.attn.q",
    .key = "attention.attn.k",
    .value = "attention.attn.v",
    .attention_output = "attention.attn.o",
    .attention_norm = "attention.LayerNorm",
    .up = "intermediate.dense",
    .down = "output.dense",
    .output_norm = "output.LayerNorm",
    .head_dense = "classifier.dense",
    .head_output = "classifier.out_proj",
    .words = BRIM_ROBERTA_WORDS,
};

static int read(brim_config *config, brim_error *err) {
  const brim_json_document *document = config->document;
  const brim_json_value *root = brim_json_root(document);
  int64_t buckets = BUCKETS;
  BRIM_TRY(brim_json_read_int(document, root, "relative_attention_num_buckets", 1, 1 << 20, &buckets, err));
  if (buckets != BUCKETS)
    return brim_json_error(document, brim_json_get(root, "relative_attention_num_buckets"), err, BRIM_E_UNSUPPORTED,
                           "relative_attention_num_buckets must be 32: transformers computes no other");
  if (config->pad_id != PADDING)
    return brim_json_error(document, brim_json_get(root, "pad_token_id"), err, BRIM_E_UNSUPPORTED,
                           "pad_token_id must be 1: transformers computes no other");
  return BRIM_OK;
}

static void append(brim_program *p, const brim_config *config) {
  brim_writing w = brim_writing_of(p, config);
  int32_t x = brim_write_embeddings(&w);
  const brim_by_distance by = {
      .distances = {BRIM_DISTANCE_HALVES, BUCKETS, FARTHEST},
      .bias = brim_declare_named(&w, "encoder.relative_attention_bias", ".weight", BUCKETS, config->heads, BRIM_WEIGHT_DECAY),
      .embeddings = BRIM_NONE};
  for (w.layer = 0; w.layer < config->layers; w.layer++) {
    brim_begin_layer(&w, x);
    const int32_t context = brim_append_relative(
        p, brim_write_project(&w, x), by, config->heads,
        (brim_drop_at){config->attention_dropout, brim_site_of_layer(w.layer, BRIM_SITE_ATTENTION)});
    x = brim_write_feed_forward(&w, brim_write_join(&w, context, x, config->hidden_dropout), config->hidden_dropout);
  }
  p->hidden = x;
  brim_write_head(&w, x,
                  (brim_head){.drops_input = true,
                              .input_dropout = config->head_dropout,
                              .dropout = config->head_dropout,
                              .activation = BRIM_ACT_TANH,
                              .words = BRIM_ACT_GELU});
}

const brim_family brim_family_mpnet = {.type = "mpnet",
                                       .architecture = "MPNetForSequenceClassification",
                                       .prefix = "mpnet.",
                                       .keys = &keys,
                                       .names = &names,
                                       .pad_positions = true,
                                       .defaults = {BRIM_BERT_SIZES, BRIM_BERT_RATES, .vocab_size = 30527, .pad_id = PADDING},
                                       .read = read,
                                       .pooled_logits = "model.classifier(pooled.unsqueeze(1))",
                                       .append = append};
