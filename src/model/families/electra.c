/* electra.c: ELECTRA's discriminator, and its generator of masked words: BERT whose embeddings are narrower than its layers, with
 * a GELU in the head. Source: modeling_electra.py of Hugging Face transformers 5.23. */
#include "model/families/bert.h"
#include "model/families/encoder.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout", .embedding = "embedding_size"};

static const brim_family_names names = {
    BRIM_BERT_ENCODER,
    .head_dense = "classifier.dense",
    .head_output = "classifier.out_proj",
    .words = {"generator_predictions.dense", "generator_predictions.LayerNorm", "generator_lm_head", "generator_lm_head.bias",
              "generator_lm_head.bias"},
};

static void append(brim_program *p, const brim_config *config) {
  brim_writing w = brim_writing_of(p, config);
  int32_t x = brim_write_embeddings(&w);
  if (config->embedding != config->hidden)
    x = brim_append_dense(p, x, brim_declare_linear(&w, "embeddings_project", config->hidden, config->embedding, 0),
                          BRIM_ACT_NONE);
  for (w.layer = 0; w.layer < config->layers; w.layer++)
    x = brim_write_layer(&w, x);
  p->hidden = x;
  brim_write_head(&w, x,
                  (brim_head){.drops_input = true,
                              .input_dropout = config->head_dropout,
                              .dropout = config->head_dropout,
                              .activation = BRIM_ACT_GELU,
                              .words = BRIM_ACT_GELU});
}

const brim_family brim_family_electra = {.type = "electra",
                                         .architecture = "ElectraForSequenceClassification",
                                         .prefix = "electra.",
                                         .keys = &keys,
                                         .names = &names,
                                         .defaults = {BRIM_BERT_RATES, .vocab_size = 30522, .hidden = 256, .layers = 12,
                                                      .heads = 4, .intermediate = 1024, .embedding = 128, .positions = 512,
                                                      .types = 2, .pad_id = 0},
                                         .pooled_logits = "model.classifier(pooled.unsqueeze(1))",
                                         .append = append};
