/* bert.h: what BERT's relatives have in common with it. */
#ifndef BRIM_MODEL_BERT_H
#define BRIM_MODEL_BERT_H
#include "model/family.h"

/* Members of brim_family_keys: all but the dropout of the head and the width of the embeddings. */
#define BRIM_BERT_KEYS                                                                                                           \
  .hidden = "hidden_size", .layers = "num_hidden_layers", .heads = "num_attention_heads", .intermediate = "intermediate_size",   \
  .activation = "hidden_act", .hidden_dropout = "hidden_dropout_prob", .attention_dropout = "attention_probs_dropout_prob"

/* Members of brim_family_names: all but the head's. */
#define BRIM_BERT_EMBEDDINGS                                                                                                     \
  .word = "embeddings.word_embeddings", .position = "embeddings.position_embeddings",                                            \
  .type = "embeddings.token_type_embeddings", .embed_norm = "embeddings.LayerNorm"
#define BRIM_BERT_ENCODER                                                                                                        \
  BRIM_BERT_EMBEDDINGS, .layer = "encoder.layer.%d.", .query = "attention.self.query", .key = "attention.self.key",              \
      .value = "attention.self.value", .attention_output = "attention.output.dense",                                             \
      .attention_norm = "attention.output.LayerNorm", .up = "intermediate.dense", .down = "output.dense",                        \
      .output_norm = "output.LayerNorm"

/* Members of brim_family_defaults: of the base model's sizes, and what are no sizes. */
#define BRIM_BERT_SIZES .hidden = 768, .layers = 12, .heads = 12, .intermediate = 3072, .positions = 512
#define BRIM_BERT_RATES                                                                                                          \
  .norm_eps = 1e-12, .hidden_dropout = 0.1, .attention_dropout = 0.1, .head_dropout = -1, .activation = "gelu"

/* Of masked words, as most descendants of BERT and of RoBERTa have them. */
#define BRIM_BERT_WORDS                                                                                                          \
  {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.decoder", "cls.predictions.bias",  \
   "cls.predictions.decoder.bias"}
#define BRIM_ROBERTA_WORDS {"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias", "lm_head.decoder.bias"}

#endif
