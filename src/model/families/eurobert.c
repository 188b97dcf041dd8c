/* eurobert.c: EuroBERT: Llama's layers, which see all tokens: RMS norms, rotary positions, heads of queries that share keys and
 * values, and a gate.
 *
 *   layer:  y  = x + attention(norm(x)) W      x' = y + (act(norm(y) Wgate) * norm(y) Wup) W
 *   hidden = norm(x)
 *   head:   late: tokens -> dense -> GELU -> mean -> scores; else first token or mean -> dense -> GELU -> scores
 *
 * Source: modeling_eurobert.py and configuration_eurobert.py of Hugging Face transformers 5.23. */
#include "base/status.h"
#include "model/families/gated.h"
#include "model/families/rotary.h"

static const brim_family_keys keys = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .intermediate = "intermediate_size",
    .activation = "hidden_act",
    .attention_dropout = "attention_dropout",
    .eps = "rms_norm_eps",
};

static const brim_family_names names = {
    .word = "embed_tokens",
    .layer = "layers.%d.",
    .query = "self_attn.q_proj",
    .key = "self_attn.k_proj",
    .value = "self_attn.v_proj",
    .attention_output = "self_attn.o_proj",
    .attention_norm = "input_layernorm",
    .gate = "mlp.gate_proj",
    .up = "mlp.up_proj",
    .down = "mlp.down_proj",
    .output_norm = "post_attention_layernorm",
    .head_dense = "dense",
    .head_output = "classifier",
    .words = {.decoder = "lm_head", .bias = "lm_head.bias", .untied_bias = "lm_head.bias"},
};

static int read(brim_config *c, brim_error *err) {
  const brim_json_value *root = brim_json_root(c->document);
  int64_t shared = c->heads;
  c->rms = c->bare_norms = true;
  c->theta[0] = 10000;
  BRIM_TRY(brim_check_rotary(c, err));
  BRIM_TRY(brim_json_read_int(c->document, root, "num_key_value_heads", 1, c->heads, &shared, err));
  if (c->heads % shared != 0)
    return brim_json_error(c->document, brim_json_get(root, "num_key_value_heads"), err, BRIM_E_FORMAT,
                           "%d heads of queries cannot be shared out among %d of keys and values: it must be a multiple",
                           c->heads, (int)shared);
  c->group = c->heads / (int32_t)shared;
  BRIM_TRY(brim_json_read_bool(c->document, root, "attention_bias", &c->attention_bias, err));
  BRIM_TRY(brim_json_read_bool(c->document, root, "mlp_bias", &c->inner_bias, err));
  BRIM_TRY(brim_read_theta(c, brim_json_get(root, "rope_parameters"), "rope_theta", 0, err));
  return brim_read_pooling(c, "late", err);
}

/* Three matrices that adjoin, and then their biases. */
static brim_projected project(const brim_writing *w, int32_t x, brim_heads heads) {
  const brim_config *c = w->config;
  const char *const modules[] = {names.query, names.key, names.value};
  const int32_t shared = c->hidden / c->group, rows[] = {c->hidden, shared, shared};
  int32_t weight = BRIM_NONE, bias = BRIM_NONE;
  for (int i = 0; i < 3; i++) {
    const int32_t at = brim_declare_named(w, modules[i], ".weight", rows[i], c->hidden,
                                          BRIM_WEIGHT_DECAY | BRIM_WEIGHT_BARE | (i ? BRIM_WEIGHT_ADJOINS : 0));
    weight = i ? weight : at;
  }
  for (int i = 0; i < 3 && c->attention_bias; i++) {
    const int32_t at = brim_declare_named(w, modules[i], ".bias", rows[i], 0, i ? BRIM_WEIGHT_ADJOINS : 0);
    bias = i ? bias : at;
  }
  return brim_append_project_heads(w->p, x, weight, 3, bias, heads);
}

static int32_t layer(const brim_writing *w, int32_t x) {
  const brim_config *c = w->config;
  const brim_heads heads = {.count = c->heads, .group = c->group, .theta = c->theta[0], .factor = c->factor[0]};
  brim_begin_layer(w, x);
  const brim_projected projected = project(w, brim_append_norm(w->p, x, brim_declare_norm(w, names.attention_norm, c->hidden)),
                                           heads);
  const int32_t context = brim_append_attend_heads(w->p, projected, heads,
                                                   brim_drop_in_layer(w, c->attention_dropout, BRIM_SITE_ATTENTION));
  const int32_t y = brim_append_add(w->p, context, x,
                                    brim_declare_biased(w, names.attention_output, c->hidden, c->hidden, c->attention_bias),
                                    brim_drop_in_layer(w, 0, BRIM_SITE_ATTENTION_OUTPUT));
  const int32_t normed = brim_append_norm(w->p, y, brim_declare_norm(w, names.output_norm, c->hidden));
  const int32_t gated = brim_write_gate(w, normed, c->inner_bias, false);
  return brim_append_add(w->p, gated, y, brim_declare_biased(w, names.down, c->hidden, c->intermediate, c->inner_bias),
                         brim_drop_in_layer(w, 0, BRIM_SITE_OUTPUT));
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  brim_family_names own = names;
  if (!c->inner_bias)
    own.words.bias = own.words.untied_bias = NULL;
  w.names = &own;
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = layer(&w, x);
  w.layer = BRIM_NONE;
  p->hidden = brim_append_norm(p, x, brim_declare_norm(&w, "norm", c->hidden)); /* belongs to the last layer */
  brim_write_head(&w, p->hidden, (brim_head){.dropout = -1, .activation = BRIM_ACT_GELU});
}

const brim_family brim_family_eurobert = {.type = "eurobert",
                                          .architecture = "EuroBertForSequenceClassification",
                                          .prefix = "model.",
                                          .keys = &keys,
                                          .names = &names,
                                          .first = "bos",
                                          .unties_words = true,
                                          .defaults = {.vocab_size = 128256,
                                                       .hidden = 768,
                                                       .layers = 12,
                                                       .heads = 12,
                                                       .intermediate = 3072,
                                                       .positions = 8192,
                                                       .pad_id = 128001,
                                                       .norm_eps = 1e-5,
                                                       .activation = "silu"},
                                          .pooled_logits = "model.classifier(model.activation(model.dense(pooled)))",
                                          .read = read,
                                          .append = append};
