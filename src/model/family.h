/* family.h: what distinguishes the encoders: names of tensors and of config.json's keys, defaults, and the program.
 *
 * A family is a file of families/ and its row in families/families.h. */
#ifndef BRIM_MODEL_FAMILY_H
#define BRIM_MODEL_FAMILY_H
#include "base/json.h"
#include "ops/ops.h"

struct brim_config;
struct brim_program;

/* Keys of config.json; NULL: the family has no such member. */
typedef struct brim_family_keys {
  const char *hidden, *layers, *heads, *intermediate, *activation, *hidden_dropout, *attention_dropout, *head_dropout;
  const char *embedding; /* width of the embeddings; without this member as wide as the layers */
  const char *eps;       /* NULL: "layer_norm_eps" */
} brim_family_keys;

/* Names of the tensors of masked words, outside the encoder. */
typedef struct brim_word_names {
  const char *dense, *norm;       /* NULL: the decoder takes what the encoder gives */
  const char *decoder;            /* of one that is not tied; NULL: it is always tied */
  const char *bias, *untied_bias; /* the tensor itself, where the decoder is tied and where it is not; NULL: there is none */
} brim_word_names;

/* Names of tensors, without ".weight" and ".bias". Those of the encoder follow the prefix, those of a layer after
 * prefix + layer. `position`, `type`, `embed_norm` NULL: there is none. */
typedef struct brim_family_names {
  const char *word, *position, *type, *embed_norm;
  const char *layer; /* with %d */
  const char *query, *key, *value, *attention_output, *attention_norm, *up, *down, *output_norm;
  const char *gate; /* of a gated feed-forward, where `up` has not both halves */
  const char *head_dense, *head_output;
  bool head_dense_in_encoder; /* the pooler belongs to the encoder */
  brim_word_names words;
} brim_family_names;

/* What config.json means where it does not say. `embedding` 0: as `hidden`. */
typedef struct brim_family_defaults {
  int32_t vocab_size, hidden, layers, heads, intermediate, embedding, positions;
  int32_t types; /* 0: the family has none */
  int32_t pad_id;
  double norm_eps, hidden_dropout, attention_dropout;
  double head_dropout; /* < 0: hidden_dropout */
  const char *activation;
} brim_family_defaults;

/* A member of config.json as older files call it. What is saved has the newer name; NULL: it is left out, because other members
 * say what it said. */
typedef struct brim_renamed {
  const char *older, *newer;
} brim_renamed;

/* One model_type. */
typedef struct brim_family {
  const char *type;          /* model_type */
  const char *saved;         /* the model_type of what is saved; NULL: the same */
  const brim_renamed *older; /* ends with {0}; NULL: there are none */
  const char *architecture;  /* architectures[0] of a saved classifier */
  const char *prefix;        /* of the encoder's tensors; files of a bare encoder lack it */
  const char *older_prefix;  /* that other files have; NULL: none */
  const brim_family_keys *keys;
  const brim_family_names *names;
  const brim_word_names *newer_words; /* DeBERTa: its second head of masked words; NULL: there is none */
  bool pad_positions;                 /* positions count from pad_token_id + 1, as fairseq does; else from 0 */
  bool fixed_eps;                     /* layer_norm_eps is not configurable */
  bool may_lack_types;                /* type_vocab_size may be 0 */
  bool unties_words;                  /* tie_word_embeddings is false where config.json does not say */
  bool has_ntk;                       /* rotary positions may be scaled as Alibaba's files say */
  bool writes_rope;                   /* what is saved has rope_parameters, where the file had older members for them */
  const char *first; /* what `classifier_pooling` of config.json calls the first token; NULL: there is no such member */
  brim_family_defaults defaults;
  /* Reads and checks what only this family has; what all have is read. NULL: there is nothing. */
  int (*read)(struct brim_config *config, brim_error *err);
  /* Python for README.md: the logits of `pooled` [rows, hidden] by the head of transformers' `model`. */
  const char *pooled_logits;
  /* Appends the encoder's operations and its head's. */
  void (*append)(struct brim_program *p, const struct brim_config *config);
} brim_family;

/* The name that the file has for a member: `key`, or an older one where only that is there. */
const char *brim_family_key(const brim_family *family, const brim_json_value *root, const char *key);
/* The row of an older name; NULL: it is none. */
const brim_renamed *brim_family_renamed(const brim_family *family, const char *key, size_t length);

#endif
