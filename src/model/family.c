/* family.c: the encoders that brim knows. Sources: modeling_bert.py, modeling_roberta.py, modeling_camembert.py,
 * modeling_xlm_roberta.py and modeling_distilbert.py of Hugging Face transformers 5.23, with their configurations' defaults. */
#include "model/family.h"

#include <string.h>

static const brim_family_keys bert_keys = {
    .hidden = "hidden_size",
    .layers = "num_hidden_layers",
    .heads = "num_attention_heads",
    .intermediate = "intermediate_size",
    .activation = "hidden_act",
    .hidden_dropout = "hidden_dropout_prob",
    .attention_dropout = "attention_probs_dropout_prob",
    .head_dropout = "classifier_dropout",
};

static const brim_family_keys distilbert_keys = {
    .hidden = "dim",
    .layers = "n_layers",
    .heads = "n_heads",
    .intermediate = "hidden_dim",
    .activation = "activation",
    .hidden_dropout = "dropout",
    .attention_dropout = "attention_dropout",
    .head_dropout = "seq_classif_dropout",
};

#define BERT_ENCODER                                                                                                             \
  .word = "embeddings.word_embeddings", .position = "embeddings.position_embeddings",                                            \
  .type = "embeddings.token_type_embeddings", .embed_norm = "embeddings.LayerNorm", .layer = "encoder.layer.%d.",                \
  .query = "attention.self.query", .key = "attention.self.key", .value = "attention.self.value",                                 \
  .attention_output = "attention.output.dense", .attention_norm = "attention.output.LayerNorm", .up = "intermediate.dense",      \
  .down = "output.dense", .output_norm = "output.LayerNorm"

static const brim_family_names bert_names = {
    BERT_ENCODER,
    .head_dense = "pooler.dense",
    .head_output = "classifier",
    .head_dense_in_encoder = true,
};

static const brim_family_names roberta_names = {
    BERT_ENCODER,
    .head_dense = "classifier.dense",
    .head_output = "classifier.out_proj",
};

static const brim_family_names distilbert_names = {
    .word = "embeddings.word_embeddings",
    .position = "embeddings.position_embeddings",
    .embed_norm = "embeddings.LayerNorm",
    .layer = "transformer.layer.%d.",
    .query = "attention.q_lin",
    .key = "attention.k_lin",
    .value = "attention.v_lin",
    .attention_output = "attention.out_lin",
    .attention_norm = "sa_layer_norm",
    .up = "ffn.lin1",
    .down = "ffn.lin2",
    .output_norm = "output_layer_norm",
    .head_dense = "pre_classifier",
    .head_output = "classifier",
};

#define ROBERTA(name, class_name)                                                                                                \
  {.type = name,                                                                                                                 \
   .architecture = class_name,                                                                                                   \
   .prefix = "roberta.",                                                                                                         \
   .keys = &bert_keys,                                                                                                           \
   .names = &roberta_names,                                                                                                      \
   .pad_positions = true,                                                                                                        \
   .attention_output_dropout = true,                                                                                             \
   .head_input_dropout = true,                                                                                                   \
   .head_activation = BRIM_ACT_TANH,                                                                                             \
   .head_dropout = -1,                                                                                                           \
   .vocab_size = 50265,                                                                                                          \
   .types = 2,                                                                                                                   \
   .pad_id = 1}

static const brim_family families[] = {
    {.type = "bert",
     .architecture = "BertForSequenceClassification",
     .prefix = "bert.",
     .keys = &bert_keys,
     .names = &bert_names,
     .attention_output_dropout = true,
     .head_activation = BRIM_ACT_TANH,
     .head_dropout = -1,
     .vocab_size = 30522,
     .types = 2,
     .pad_id = 0},
    ROBERTA("roberta", "RobertaForSequenceClassification"),
    ROBERTA("camembert", "CamembertForSequenceClassification"),
    ROBERTA("xlm-roberta", "XLMRobertaForSequenceClassification"),
    {.type = "distilbert",
     .architecture = "DistilBertForSequenceClassification",
     .prefix = "distilbert.",
     .keys = &distilbert_keys,
     .names = &distilbert_names,
     .fixed_eps = true,
     .head_activation = BRIM_ACT_RELU,
     .head_dropout = 0.2,
     .vocab_size = 30522,
     .types = 0,
     .pad_id = 0},
};

const brim_family *brim_family_find(const char *type, size_t length) {
  for (size_t i = 0; i < sizeof families / sizeof *families; i++)
    if (strlen(families[i].type) == length && memcmp(families[i].type, type, length) == 0)
      return &families[i];
  return NULL;
}

const char *brim_family_list(void) {
  return "bert, roberta, camembert, xlm-roberta, distilbert";
}
