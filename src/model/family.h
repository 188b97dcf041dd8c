/* family.h: what tells the encoders apart: names of tensors and of config.json's keys, positions, and the head. */
#ifndef BRIM_MODEL_FAMILY_H
#define BRIM_MODEL_FAMILY_H
#include "ops/ops.h"

/* Keys of config.json. */
typedef struct brim_family_keys {
  const char *hidden, *layers, *heads, *intermediate, *activation, *hidden_dropout, *attention_dropout, *head_dropout;
} brim_family_keys;

/* Names of tensors, without ".weight" and ".bias". Those of the encoder stand behind the prefix, those of a layer behind
 * prefix + layer. `type` NULL: no token types. */
typedef struct brim_family_names {
  const char *word, *position, *type, *embed_norm;
  const char *layer; /* with %d */
  const char *query, *key, *value, *attention_output, *attention_norm, *up, *down, *output_norm;
  const char *head_dense, *head_output;
  bool head_dense_in_encoder; /* the pooler belongs to the encoder */
} brim_family_names;

/* One model_type.
 *
 *   head: first token -> [dropout] -> dense -> activation -> dropout -> output */
typedef struct brim_family {
  const char *type;         /* model_type */
  const char *architecture; /* architectures[0] of a saved classifier */
  const char *prefix;       /* of the encoder's tensors; files of a bare encoder lack it */
  const brim_family_keys *keys;
  const brim_family_names *names;
  bool pad_positions; /* positions count from pad_token_id + 1, as fairseq does; else from 0 */
  bool fixed_eps;     /* layer_norm_eps is not configurable: 1e-12 */
  bool attention_output_dropout;
  bool head_input_dropout;
  brim_activation head_activation;
  double head_dropout;               /* < 0: hidden_dropout where config.json gives none */
  int32_t vocab_size, types, pad_id; /* defaults of config.json */
} brim_family;

/* NULL when there is no such model_type. */
const brim_family *brim_family_find(const char *type, size_t length);
/* "bert, roberta, ..." for messages. */
const char *brim_family_list(void);

#endif
