/* distilbert.c: DistilBERT: BERT without token types, pooler and dropout after the attention's projection. Source:
 * modeling_distilbert.py of Hugging Face transformers 5.23. */
#include "model/families/encoder.h"

static const brim_family_keys keys = {
    .hidden = "dim",
    .layers = "n_layers",
    .heads = "n_heads",
    .intermediate = "hidden_dim",
    .activation = "activation",
    .hidden_dropout = "dropout",
    .attention_dropout = "attention_dropout",
    .head_dropout = "seq_classif_dropout",
};

static const brim_family_names names = {
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
    .words = {"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias", "vocab_projector.bias"},
};

static void append(brim_program *p, const brim_config *config) {
  brim_writing w = brim_writing_of(p, config);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < config->layers; w.layer++) {
    brim_begin_layer(&w, x);
    const int32_t context = brim_write_attend(&w, brim_write_project(&w, x));
    x = brim_write_feed_forward(&w, brim_write_join(&w, context, x, 0), config->hidden_dropout);
  }
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = config->head_dropout, .activation = BRIM_ACT_RELU, .words = config->activation});
}

const brim_family brim_family_distilbert = {.type = "distilbert",
                                            .architecture = "DistilBertForSequenceClassification",
                                            .prefix = "distilbert.",
                                            .keys = &keys,
                                            .names = &names,
                                            .fixed_eps = true,
                                            .defaults = {.vocab_size = 30522,
                                                         .hidden = 768,
                                                         .layers = 6,
                                                         .heads = 12,
                                                         .intermediate = 3072,
                                                         .positions = 512,
                                                         .pad_id = 0,
                                                         .norm_eps = 1e-12,
                                                         .hidden_dropout = 0.1,
                                                         .attention_dropout = 0.1,
                                                         .head_dropout = 0.2,
                                                         .activation = "gelu"},
                                            .pooled_logits = "model.classifier(model.pre_classifier(pooled).relu())",
                                            .append = append};
