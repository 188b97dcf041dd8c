/* config_fields.c: what config.json says of an encoder, after defaults, as named values: two files that say the same have the
 * same, however they are written. Names are those of transformers, where it has one. */
#include "base/hashmap.h"
#include "model/config.h"

#define FIELD_INT(n, v) {.name = (n), .kind = BRIM_VALUE_INT, .integer = (int64_t)(v)}
/* Compared, but never shown: a number that says nothing to people. */
#define FIELD_OWN(n, v)  {.name = (n), .kind = BRIM_VALUE_UNSIGNED, .integer = (int64_t)((v) & INT64_MAX)}
#define FIELD_REAL(n, v) {.name = (n), .kind = BRIM_VALUE_REAL, .real = (v)}
#define FIELD_TEXT(n, v) {.name = (n), .kind = BRIM_VALUE_TEXT, .text = (v)}
#define FIELD_BOOL(n, v) {.name = (n), .kind = BRIM_VALUE_BOOL, .integer = (v)}

static const char *activation_word(brim_activation activation) {
  static const char *const words[] = {[BRIM_ACT_NONE] = "none", [BRIM_ACT_GELU] = "gelu", [BRIM_ACT_GELU_NEW] = "gelu_new",
                                      [BRIM_ACT_RELU] = "relu", [BRIM_ACT_TANH] = "tanh", [BRIM_ACT_SILU] = "silu"};
  return words[activation];
}

/* Labels and pooling are compared by what they are; weights that are drawn, by their hash. */
int brim_config_fields(const brim_config *c, brim_field fields[BRIM_CONFIG_FIELDS]) {
  const brim_field all[BRIM_CONFIG_FIELDS] = {
      FIELD_INT("vocab_size", c->vocab_size),
      FIELD_INT("hidden_size", c->hidden),
      FIELD_INT("num_hidden_layers", c->layers),
      FIELD_INT("num_attention_heads", c->heads),
      FIELD_INT("intermediate_size", c->intermediate),
      FIELD_INT("num_hidden_groups", c->groups),
      FIELD_INT("embedding_size", c->embedding),
      FIELD_INT("max_position_embeddings", c->positions),
      FIELD_INT("type_vocab_size", c->types),
      FIELD_INT("pad_token_id", c->pad_id),
      FIELD_TEXT("hidden_act", activation_word(c->activation)),
      FIELD_REAL("layer_norm_eps", c->norm_eps),
      FIELD_REAL("hidden_dropout_prob", c->hidden_dropout),
      FIELD_REAL("attention_probs_dropout_prob", c->attention_dropout),
      FIELD_REAL("classifier_dropout", c->head_dropout),
      FIELD_OWN("distance_rule", c->distances.rule),
      FIELD_INT("distance_rows", c->distances.rows),
      FIELD_INT("farthest_distance", c->distances.farthest),
      FIELD_BOOL("norm_rel_ebd", c->norms_distances),
      FIELD_BOOL("position_biased_input", c->has_positions),
      FIELD_BOOL("pos_att_type", c->by_distance),
      FIELD_BOOL("share_att_key", c->shares_keys),
      FIELD_REAL("pooler_dropout", c->pooler_dropout),
      FIELD_TEXT("pooler_hidden_act", activation_word(c->pooler_activation)),
      FIELD_REAL("rope_theta", c->theta[0]),
      FIELD_REAL("local_rope_theta", c->theta[1]),
      FIELD_REAL("rope_factor", c->factor[0]),
      FIELD_REAL("local_rope_factor", c->factor[1]),
      FIELD_INT("local_attention", 2 * (int64_t)c->window),
      FIELD_OWN("layer_types", brim_hash64(c->windowed, sizeof c->windowed, 0)),
      FIELD_INT("key_value_groups", c->group),
      FIELD_BOOL("norm_bias", !c->bare_norms),
      FIELD_BOOL("rms_norm", c->rms),
      FIELD_BOOL("attention_bias", c->attention_bias),
      FIELD_BOOL("mlp_bias", c->inner_bias),
      FIELD_BOOL("classifier_bias", c->head_bias),
      FIELD_REAL("mlp_dropout", c->inner_dropout),
      FIELD_TEXT("classifier_activation", activation_word(c->head_activation)),
      FIELD_BOOL("pooled_late", c->late),
  };
  for (int i = 0; i < BRIM_CONFIG_FIELDS; i++)
    fields[i] = all[i];
  return BRIM_CONFIG_FIELDS;
}
