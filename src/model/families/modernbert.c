/* modernbert.c: ModernBERT, and what is built like it: Ettin, mmBERT, embedders from it.
 *
 *   x  = dropout(norm(word))
 *   layer:  context = attention(turned queries and keys, values) of norm(x); the first layer takes x itself
 *           y  = x + dropout(context W)
 *           x' = y + dropout(act(u) * g) W, where u and g are the halves of norm(y) W
 *   hidden = norm(x)
 *   head:   first token, or mean -> dense -> activation -> norm -> dropout -> scores
 *
 * A pre-norm stream. Every n-th layer sees all tokens; the others only those at most so many away, and turn queries and keys by
 * another theta. Source: modeling_modernbert.py and configuration_modernbert.py of Hugging Face transformers 5.23. */
#include "base/status.h"
#include "model/families/gated.h"
#include "model/families/rotary.h"

static const brim_family_keys keys = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .intermediate = "intermediate_size",
    .activation = "hidden_activation",
    .hidden_dropout = "embedding_dropout", /* nothing else of this width is dropped but after attention */
    .attention_dropout = "attention_dropout",
    .head_dropout = "classifier_dropout",
    .eps = "norm_eps",
};

static const brim_family_names names = {
    .word = "embeddings.tok_embeddings",
    .embed_norm = "embeddings.norm",
    .layer = "layers.%d.",
    .up = "mlp.Wi",
    .head_dense = "head.dense",
    .head_output = "classifier",
    .words = {"head.dense", "head.norm", "decoder", "decoder.bias", "decoder.bias"},
};

/* ---- config.json ---------------------------------------------------------------------------------------------- */

/* Which layers have a window: a list of all layers, or every n-th has none. */
static int read_windowed(brim_config *c, const brim_json_value *root, brim_error *err) {
  const brim_json_value *list = brim_json_get(root, "layer_types");
  int64_t every = 3;
  BRIM_TRY(brim_json_read_int(c->document, root, "global_attn_every_n_layers", 1, BRIM_MOST_LAYERS, &every, err));
  const bool listed = list && list->kind != BRIM_JSON_NULL;
  if (listed && (list->kind != BRIM_JSON_ARRAY || (int32_t)list->length != c->layers))
    return brim_json_error(c->document, list, err, BRIM_E_FORMAT, "layer_types must list all %d layers", c->layers);
  const brim_json_value *item = listed ? brim_json_first(list) : NULL;
  for (int32_t i = 0; i < c->layers; i++) {
    const bool windowed = listed ? brim_json_is_string(item, "sliding_attention") : i % every != 0;
    if (listed && !windowed && !brim_json_is_string(item, "full_attention"))
      return brim_json_error(c->document, item, err, BRIM_E_UNSUPPORTED,
                             "a layer's type is full_attention or sliding_attention: brim has no other");
    c->windowed[i / 64] |= (uint64_t)windowed << i % 64;
    item = listed ? brim_json_after(list, item) : NULL;
  }
  return BRIM_OK;
}

static int read_thetas(brim_config *c, const brim_json_value *root, brim_error *err) {
  static const char *const kinds[] = {"full_attention", "sliding_attention"}, *const older[] = {"global_rope_theta",
                                                                                                "local_rope_theta"};
  const brim_json_value *parameters = brim_json_get(root, "rope_parameters"), *local = brim_json_get(root, older[1]);
  c->theta[0] = 160000;
  c->theta[1] = 10000;
  const bool nested = parameters && parameters->kind == BRIM_JSON_OBJECT;
  if (nested) // one for all layers, where each kind of layer has its own
    BRIM_TRY(brim_check_rope_type(c, parameters, err));
  for (int i = 0; i < 2; i++) {
    BRIM_TRY(brim_read_theta(c, nested ? brim_json_get(parameters, kinds[i]) : parameters, older[i], i, err));
  }
  if (!nested && local && local->kind == BRIM_JSON_NULL) /* in an older file: all layers turn alike */
    c->theta[1] = c->theta[0];
  return BRIM_OK;
}

static int read_flags(brim_config *c, const brim_json_value *root, brim_error *err) {
  bool norm_bias = false;
  BRIM_TRY(brim_json_read_bool(c->document, root, "norm_bias", &norm_bias, err));
  c->bare_norms = !norm_bias;
  BRIM_TRY(brim_json_read_bool(c->document, root, "attention_bias", &c->attention_bias, err));
  BRIM_TRY(brim_json_read_bool(c->document, root, "mlp_bias", &c->inner_bias, err));
  return brim_json_read_bool(c->document, root, "classifier_bias", &c->head_bias, err);
}

static int read(brim_config *c, brim_error *err) {
  const brim_json_value *root = brim_json_root(c->document);
  int64_t local = 128;
  BRIM_TRY(brim_check_rotary(c, err));
  BRIM_TRY(read_flags(c, root, err));
  BRIM_TRY(read_windowed(c, root, err));
  BRIM_TRY(read_thetas(c, root, err));
  BRIM_TRY(brim_json_read_int(c->document, root, "local_attention", 2, 1 << 24, &local, err));
  c->window = (int32_t)(local / 2);
  BRIM_TRY(brim_json_read_real(c->document, root, "mlp_dropout", &c->inner_dropout, err));
  if (!(c->inner_dropout >= 0 && c->inner_dropout <= 1))
    return brim_json_error(c->document, brim_json_get(root, "mlp_dropout"), err, BRIM_E_FORMAT,
                           "mlp_dropout is %g, but must be from 0 to 1", c->inner_dropout);
  BRIM_TRY(brim_config_read_activation(c, "classifier_activation", "gelu", &c->head_activation, err));
  return brim_read_pooling(c, "cls", err);
}

/* ---- the program ---------------------------------------------------------------------------------------------- */

static int32_t attend(const brim_writing *w, int32_t x) {
  const brim_config *c = w->config;
  const bool windowed = brim_config_has_window(c, w->layer);
  const brim_heads heads = {
      .count = c->heads, .window = windowed ? c->window : 0, .theta = c->theta[windowed], .factor = c->factor[windowed]};
  const int32_t qkv = brim_declare_biased(w, "attn.Wqkv", 3 * c->hidden, c->hidden, c->attention_bias);
  const brim_projected projected = brim_append_project_heads(w->p, x, qkv, 1, brim_bias_of(w->p, qkv), heads);
  return brim_append_attend_heads(w->p, projected, heads, brim_drop_in_layer(w, c->attention_dropout, BRIM_SITE_ATTENTION));
}

static int32_t layer(const brim_writing *w, int32_t x) {
  const brim_config *c = w->config;
  brim_begin_layer(w, x);
  const int32_t normed = w->layer > 0 ? brim_append_norm(w->p, x, brim_declare_norm(w, "attn_norm", c->hidden)) : x;
  const int32_t context = attend(w, normed);
  const int32_t y = brim_append_add(w->p, context, x, brim_declare_biased(w, "attn.Wo", c->hidden, c->hidden, c->attention_bias),
                                    brim_drop_in_layer(w, c->attention_dropout, BRIM_SITE_ATTENTION_OUTPUT));
  const int32_t again = brim_append_norm(w->p, y, brim_declare_norm(w, "mlp_norm", c->hidden));
  const int32_t gated = brim_write_gate(w, again, c->inner_bias, false);
  return brim_append_add(w->p, gated, y, brim_declare_biased(w, "mlp.Wo", c->hidden, c->intermediate, c->inner_bias),
                         brim_drop_in_layer(w, 0, BRIM_SITE_OUTPUT));
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = layer(&w, x);
  w.layer = BRIM_NONE;
  p->hidden = brim_append_norm(p, x, brim_declare_norm(&w, "final_norm", c->hidden)); /* belongs to the last layer */
  brim_write_head(&w, p->hidden,
                  (brim_head){.dropout = c->head_dropout,
                              .activation = c->head_activation,
                              .bare = !c->head_bias,
                              .norm = "head.norm",
                              .words = c->head_activation});
}

const brim_family brim_family_modernbert = {.type = "modernbert",
                                            .architecture = "ModernBertForSequenceClassification",
                                            .prefix = "model.",
                                            .keys = &keys,
                                            .names = &names,
                                            .first = "cls",
                                            .defaults = {.vocab_size = 50368,
                                                         .hidden = 768,
                                                         .layers = 22,
                                                         .heads = 12,
                                                         .intermediate = 1152,
                                                         .positions = 8192,
                                                         .pad_id = 50283,
                                                         .norm_eps = 1e-5,
                                                         .activation = "gelu"},
                                            .pooled_logits = "model.classifier(model.head(pooled))",
                                            .read = read,
                                            .append = append};
