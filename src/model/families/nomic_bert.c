/* nomic_bert.c: NomicBERT (nomic-embed-text): BERT's layers with rotary positions, without biases, and with a gate. Source:
 * modeling_nomic_bert.py of Hugging Face transformers 5.23; names of tensors are those of the published files, which transformers
 * keeps. */
#include "base/status.h"
#include "model/families/bert.h"
#include "model/families/gated.h"
#include "model/families/rotary.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout"};

static const brim_family_names names = {
    .word = "embeddings.word_embeddings",
    .type = "embeddings.token_type_embeddings",
    .embed_norm = "emb_ln",
    .layer = "encoder.layers.%d.",
    .query = "attn.Wqkv",
    .attention_output = "attn.out_proj",
    .attention_norm = "norm1",
    .gate = "mlp.fc12",
    .up = "mlp.fc11",
    .down = "mlp.fc2",
    .output_norm = "norm2",
    .head_dense = "pooler.dense",
    .head_output = "classifier",
    .head_dense_in_encoder = true,
    .words = {"cls.predictions.transform.dense", "cls.predictions.transform.layer_norm", "cls.predictions.decoder",
              "cls.predictions.bias", "cls.predictions.decoder.bias"},
};

/* The published files' members, which are GPT-2's. */
static const brim_renamed older[] = {{"n_embd", "hidden_size"},
                                     {"n_layer", "num_hidden_layers"},
                                     {"n_head", "num_attention_heads"},
                                     {"n_inner", "intermediate_size"},
                                     {"n_positions", "max_position_embeddings"},
                                     {"layer_norm_epsilon", "layer_norm_eps"},
                                     {"resid_pdrop", "hidden_dropout_prob"},
                                     {"attn_pdrop", "attention_probs_dropout_prob"},
                                     {"activation_function", NULL},
                                     {"rotary_emb_base", NULL},
                                     {0}};

/* What those files can say besides, and brim computes in one way alone. */
static int check_older(const brim_config *c, const brim_json_value *root, brim_error *err) {
  static const struct {
    const char *key;
    bool is;
  } flags[] = {{"prenorm", false},      {"qkv_proj_bias", false},  {"mlp_fc1_bias", false}, {"mlp_fc2_bias", false},
               {"use_rms_norm", false}, {"parallel_block", false}, {"causal", false},       {"rotary_emb_interleaved", false}};
  static const struct {
    const char *key;
    double is;
  } numbers[] = {{"rotary_emb_fraction", 1}, {"rotary_scaling_factor", 1}, {"rotary_emb_scale_base", 0}};
  const brim_json_value *act = brim_json_get(root, "activation_function");
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    bool value = flags[i].is;
    BRIM_TRY(brim_json_read_bool(c->document, root, flags[i].key, &value, err));
    if (value != flags[i].is)
      return brim_json_error(c->document, brim_json_get(root, flags[i].key), err, BRIM_E_UNSUPPORTED,
                             "%s must be %s: brim has no other", flags[i].key, flags[i].is ? "true" : "false");
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    double value = numbers[i].is;
    BRIM_TRY(brim_json_read_real(c->document, root, numbers[i].key, &value, err));
    if (value != numbers[i].is)
      return brim_json_error(c->document, brim_json_get(root, numbers[i].key), err, BRIM_E_UNSUPPORTED,
                             "%s must be %g or null: brim has no other", numbers[i].key, numbers[i].is);
  }
  if (act && act->kind != BRIM_JSON_NULL && !brim_json_is_string(act, "swiglu"))
    return brim_json_error(c->document, act, err, BRIM_E_UNSUPPORTED, "activation_function must be swiglu: brim has no other");
  return BRIM_OK;
}

static int read(brim_config *c, brim_error *err) {
  const brim_json_value *root = brim_json_root(c->document);
  c->theta[0] = 1000;
  BRIM_TRY(check_older(c, root, err));
  BRIM_TRY(brim_check_rotary(c, err));
  return brim_read_theta(c, brim_json_get(root, "rope_parameters"), "rotary_emb_base", 0, err);
}

static void append(brim_program *p, const brim_config *c) {
  brim_writing w = brim_writing_of(p, c);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < c->layers; w.layer++)
    x = brim_write_gated_layer(&w, x, false);
  p->hidden = x;
  brim_write_head(&w, x, (brim_head){.dropout = c->head_dropout, .activation = BRIM_ACT_TANH, .words = c->activation});
}

const brim_family brim_family_nomic_bert = {.type = "nomic_bert",
                                            .architecture = "NomicBertForSequenceClassification",
                                            .prefix = "nomic_bert.",
                                            .older_prefix = "bert.",
                                            .older = older,
                                            .writes_rope = true,
                                            .keys = &keys,
                                            .names = &names,
                                            .defaults = {.vocab_size = 30528,
                                                         .hidden = 768,
                                                         .layers = 12,
                                                         .heads = 12,
                                                         .intermediate = 3072,
                                                         .positions = 2048,
                                                         .types = 2,
                                                         .pad_id = 0,
                                                         .norm_eps = 1e-12,
                                                         .head_dropout = -1,
                                                         .activation = "silu"},
                                            .pooled_logits = "model.classifier(model.nomic_bert.pooler(pooled.unsqueeze(1)))",
                                            .read = read,
                                            .append = append};
