/* deberta.c: DeBERTa-v2 and v3, mDeBERTa: scores have products of queries and keys with those of their distance (disentangled
 * attention), which a layer's own weights make of an embedding that all layers share. Source: modeling_deberta_v2.py of Hugging
 * Face transformers 5.23. It is trained, and frozen, with the embeddings. */
#include <string.h>

#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/encoder.h"

enum { SITE_DISTANCES = 3 }; /* of a layer */

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "cls_dropout", .embedding = "embedding_size"};

#define NAMES                                                                                                                    \
  .word = "embeddings.word_embeddings", .type = "embeddings.token_type_embeddings", .embed_norm = "embeddings.LayerNorm",        \
  .layer = "encoder.layer.%d.", .query = "attention.self.query_proj", .key = "attention.self.key_proj",                          \
  .value = "attention.self.value_proj", .attention_output = "attention.output.dense",                                            \
  .attention_norm = "attention.output.LayerNorm", .up = "intermediate.dense", .down = "output.dense",                            \
  .output_norm = "output.LayerNorm", .head_dense = "pooler.dense", .head_output = "classifier", .words = BRIM_BERT_WORDS

static const brim_family_names names = {NAMES};
static const brim_family_names names_with_positions = {NAMES, .position = "embeddings.position_embeddings"};

/* The head that config.json calls not legacy. */
static const brim_word_names newer_words = {"lm_predictions.lm_head.dense", "lm_predictions.lm_head.LayerNorm", NULL,
                                            "lm_predictions.lm_head.bias", NULL};

/* ---- config.json ---------------------------------------------------------------------------------------------- */

typedef struct reading {
  brim_config *config;
  const brim_json_document *document;
  const brim_json_value *root;
} reading;

static int refuse(const reading *r, const char *key, const char *what, brim_error *err) {
  return brim_json_error(r->document, brim_json_get(r->root, key), err, BRIM_E_UNSUPPORTED, "%s: %s", key, what);
}

static bool names_word(const brim_json_value *value, const char *word) {
  if (value && value->kind == BRIM_JSON_STRING)
    for (uint32_t i = 0; i + 3 <= value->length; i++)
      if (memcmp(value->as.text + i, word, 3) == 0)
        return true;
  if (value && value->kind == BRIM_JSON_ARRAY)
    for (const brim_json_value *item = brim_json_first(value); item; item = brim_json_after(value, item))
      if (brim_json_is_string(item, word))
        return true;
  return false;
}

/* What of the attention brim has: both products, or none. */
static int check_attention(const reading *r, brim_error *err) {
  const brim_json_value *types = brim_json_get(r->root, "pos_att_type"), *norm = brim_json_get(r->root, "norm_rel_ebd");
  int64_t size = r->config->hidden / r->config->heads;
  r->config->by_distance = r->config->shares_keys = false;
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "relative_attention", &r->config->by_distance, err));
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "share_att_key", &r->config->shares_keys, err));
  BRIM_TRY(brim_json_read_int(r->document, r->root, "attention_head_size", 1, 1 << 16, &size, err));
  const int named = names_word(types, "p2c") + names_word(types, "c2p");
  if (!r->config->by_distance && named > 0)
    return refuse(r, "pos_att_type", "it is named, but relative_attention is off", err);
  if (r->config->by_distance && named < 2)
    return refuse(r, "pos_att_type", "brim has DeBERTa with both p2c and c2p only", err);
  if (size != r->config->hidden / r->config->heads)
    return refuse(r, "attention_head_size", "brim has heads that share hidden_size only", err);
  r->config->norms_distances = norm && brim_json_is_string(norm, "layer_norm");
  if (norm && norm->kind != BRIM_JSON_NULL && !r->config->norms_distances && !brim_json_is_string(norm, "none"))
    return refuse(r, "norm_rel_ebd", "take layer_norm or none", err);
  return BRIM_OK;
}

static int read_distances(const reading *r, brim_error *err) {
  int64_t farthest = -1, buckets = -1;
  BRIM_TRY(brim_json_read_int(r->document, r->root, "max_relative_positions", -1, 1 << 20, &farthest, err));
  BRIM_TRY(brim_json_read_int(r->document, r->root, "position_buckets", -1, 1 << 20, &buckets, err));
  if (buckets > 0 && buckets < 4)
    return brim_json_error(r->document, brim_json_get(r->root, "position_buckets"), err, BRIM_E_FORMAT,
                           "position_buckets is %d, but must be 4 or more, or -1", (int)buckets);
  if (farthest < 1)
    farthest = r->config->positions;
  if (buckets > 0 && farthest - 1 <= buckets / 2)
    return brim_json_error(r->document, brim_json_get(r->root, "max_relative_positions"), err, BRIM_E_FORMAT,
                           "max_relative_positions is %d, but must be more than half of position_buckets, %d", (int)farthest,
                           (int)buckets);
  r->config->distances = (brim_distances){.rule = BRIM_DISTANCE_CENTERED,
                                          .rows = 2 * (int32_t)(buckets > 0 ? buckets : farthest),
                                          .farthest = buckets > 0 ? (int32_t)farthest : 0};
  return BRIM_OK;
}

/* Of the models that were published, v2-xlarge and v2-xxlarge have one. */
static int check_convolution(const reading *r, brim_error *err) {
  int64_t size = 0;
  BRIM_TRY(brim_json_read_int(r->document, r->root, "conv_kernel_size", 0, INT32_MAX, &size, err));
  return size > 0 ? refuse(r, "conv_kernel_size", "brim has DeBERTa without a convolution only", err) : BRIM_OK;
}

static int read_pooler(const reading *r, brim_error *err) {
  brim_config *c = r->config;
  int64_t width = c->hidden;
  BRIM_TRY(brim_json_read_int(r->document, r->root, "pooler_hidden_size", 1, 1 << 16, &width, err));
  if (width != c->hidden)
    return refuse(r, "pooler_hidden_size", "it must be hidden_size", err);
  c->pooler_dropout = 0;
  BRIM_TRY(brim_json_read_real(r->document, r->root, "pooler_dropout", &c->pooler_dropout, err));
  if (!(c->pooler_dropout >= 0 && c->pooler_dropout <= 1))
    return brim_json_error(r->document, brim_json_get(r->root, "pooler_dropout"), err, BRIM_E_FORMAT,
                           "pooler_dropout is %g, but must lie from 0 to 1", c->pooler_dropout);
  return brim_config_read_activation(c, "pooler_hidden_act", "gelu", &c->pooler_activation, err);
}

static int read(brim_config *config, brim_error *err) {
  const reading r = {config, config->document, brim_json_root(config->document)};
  int64_t types = 0;
  bool positions = true;
  BRIM_TRY(brim_json_read_int(r.document, r.root, "type_vocab_size", 0, 256, &types, err));
  BRIM_TRY(brim_json_read_bool(r.document, r.root, "position_biased_input", &positions, err));
  config->types = (int32_t)types;
  config->has_positions = positions;
  BRIM_TRY(check_attention(&r, err));
  if (config->by_distance)
    BRIM_TRY(read_distances(&r, err));
  BRIM_TRY(check_convolution(&r, err));
  return read_pooler(&r, err);
}

/* ---- program -------------------------------------------------------------------------------------------------- */

static int32_t distance_embedding(const brim_writing *w) {
  const brim_config *c = w->config;
  const int32_t weight = brim_declare_named(w, "encoder.rel_embeddings", ".weight", c->distances.rows, c->hidden,
                                            BRIM_WEIGHT_DECAY);
  const brim_normed norm = c->norms_distances ? brim_declare_norm(w, "encoder.LayerNorm", c->hidden)
                                              : (brim_normed){.norm = BRIM_NONE};
  return brim_append_distances(w->p, weight, norm);
}

/* Queries and keys of distances: by the layer's weights for those of tokens, or by others. */
static int32_t project_distances(const brim_writing *w, int32_t distances, int32_t weight, int32_t bias) {
  const brim_drop_at drop = {w->config->hidden_dropout, brim_site_of_layer(w->layer, SITE_DISTANCES)};
  const char *const modules[] = {"attention.self.pos_query_proj", "attention.self.pos_key_proj"};
  const int32_t hidden = w->config->hidden;
  if (w->config->shares_keys)
    return brim_append_projected_distances(w->p, distances, weight, bias, drop);
  weight = brim_declare_named(w, modules[0], ".weight", hidden, hidden, BRIM_WEIGHT_DECAY);
  brim_declare_named(w, modules[1], ".weight", hidden, hidden, BRIM_WEIGHT_DECAY | BRIM_WEIGHT_ADJOINS);
  bias = brim_declare_named(w, modules[0], ".bias", hidden, 0, 0);
  brim_declare_named(w, modules[1], ".bias", hidden, 0, BRIM_WEIGHT_ADJOINS);
  return brim_append_projected_distances(w->p, distances, weight, bias, drop);
}

static int32_t attend(const brim_writing *w, int32_t x, int32_t distances) {
  const brim_config *c = w->config;
  int32_t bias;
  const int32_t weight = brim_declare_heads(w, &bias);
  const brim_projected heads = brim_append_project(w->p, x, weight, bias);
  if (!c->by_distance)
    return brim_write_attend(w, heads);
  const brim_by_distance by = {
      .distances = c->distances, .bias = BRIM_NONE, .embeddings = project_distances(w, distances, weight, bias)};
  return brim_append_relative(w->p, heads, by, c->heads,
                              (brim_drop_at){c->attention_dropout, brim_site_of_layer(w->layer, BRIM_SITE_ATTENTION)});
}

static int32_t layer(const brim_writing *w, int32_t x, int32_t distances) {
  const double dropout = w->config->hidden_dropout;
  brim_begin_layer(w, x);
  const int32_t context = attend(w, x, distances);
  return brim_write_feed_forward(w, brim_write_join(w, context, x, dropout), dropout);
}

static void append(brim_program *p, const brim_config *config) {
  brim_writing w = brim_writing_of(p, config);
  brim_family_names own = config->has_positions ? names_with_positions : names;
  if (!config->legacy_words)
    own.words = newer_words;
  w.names = &own;
  int32_t x = config->embedding == config->hidden ? brim_write_embeddings(&w)
                                                  : brim_write_projected_embeddings(&w, "embeddings.embed_proj");
  const int32_t distances = config->by_distance ? distance_embedding(&w) : BRIM_NONE;
  for (w.layer = 0; w.layer < config->layers; w.layer++)
    x = layer(&w, x, distances);
  p->hidden = x;
  brim_write_head(&w, x,
                  (brim_head){.drops_input = true,
                              .input_dropout = config->pooler_dropout,
                              .dropout = config->head_dropout,
                              .activation = config->pooler_activation,
                              .words = config->activation});
}

const brim_family brim_family_deberta = {
    .type = "deberta-v2",
    .architecture = "DebertaV2ForSequenceClassification",
    .prefix = "deberta.",
    .keys = &keys,
    .names = &names,
    .newer_words = &newer_words,
    .pooled_logits = "model.classifier(torch.nn.functional.gelu(model.pooler.dense(pooled)))",
    .defaults = {.norm_eps = 1e-7,
                 .hidden_dropout = 0.1,
                 .attention_dropout = 0.1,
                 .head_dropout = -1,
                 .activation = "gelu",
                 .vocab_size = 128100,
                 .hidden = 1536,
                 .layers = 24,
                 .heads = 24,
                 .intermediate = 6144,
                 .positions = 512,
                 .pad_id = 0},
    .read = read,
    .append = append};
