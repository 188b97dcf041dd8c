/* bert.c: BERT; ERNIE, which is BERT by another name; and RoBERTa, CamemBERT and XLM-R, which are BERT with positions counted as
 * fairseq does and another head. Sources: modeling_bert.py, modeling_ernie.py, modeling_roberta.py, modeling_camembert.py and
 * modeling_xlm_roberta.py of Hugging Face transformers 5.23, with their configurations' defaults. */
#include "model/families/bert.h"

#include "base/status.h"
#include "model/families/encoder.h"

static const brim_family_keys keys = {BRIM_BERT_KEYS, .head_dropout = "classifier_dropout"};

static const brim_family_names bert_names = {
    BRIM_BERT_ENCODER,        .head_dense = "pooler.dense", .head_output = "classifier", .head_dense_in_encoder = true,
    .words = BRIM_BERT_WORDS,
};

static const brim_family_names roberta_names = {
    BRIM_BERT_ENCODER,
    .head_dense = "classifier.dense",
    .head_output = "classifier.out_proj",
    .words = BRIM_ROBERTA_WORDS,
};

/* RoBERTa's masked words have GELU whatever the layers have. */
static void append(brim_program *p, const brim_config *config, bool drops_input) {
  brim_writing w = brim_writing_of(p, config);
  int32_t x = brim_write_embeddings(&w);
  for (w.layer = 0; w.layer < config->layers; w.layer++)
    x = brim_write_layer(&w, x);
  p->hidden = x;
  brim_write_head(&w, x,
                  (brim_head){.drops_input = drops_input,
                              .input_dropout = config->head_dropout,
                              .dropout = config->head_dropout,
                              .activation = BRIM_ACT_TANH,
                              .words = drops_input ? BRIM_ACT_GELU : config->activation});
}

static void append_bert(brim_program *p, const brim_config *config) {
  append(p, config, false);
}

static void append_roberta(brim_program *p, const brim_config *config) {
  append(p, config, true);
}

const brim_family brim_family_bert = {
    .type = "bert",
    .architecture = "BertForSequenceClassification",
    .prefix = "bert.",
    .keys = &keys,
    .names = &bert_names,
    .defaults = {BRIM_BERT_SIZES, BRIM_BERT_RATES, .vocab_size = 30522, .types = 2, .pad_id = 0},
    .pooled_logits = "model.classifier(model.bert.pooler(pooled.unsqueeze(1)))",
    .append = append_bert};

static int read_ernie(brim_config *c, brim_error *err) {
  const brim_json_value *root = brim_json_root(c->document);
  bool tasks = false;
  BRIM_TRY(brim_json_read_bool(c->document, root, "use_task_id", &tasks, err));
  if (tasks)
    return brim_json_error(c->document, brim_json_get(root, "use_task_id"), err, BRIM_E_UNSUPPORTED,
                           "use_task_id must be false: brim has ERNIE without a table of tasks only");
  return BRIM_OK;
}

const brim_family brim_family_ernie = {
    .type = "ernie",
    .architecture = "ErnieForSequenceClassification",
    .prefix = "ernie.",
    .keys = &keys,
    .names = &bert_names,
    .defaults = {BRIM_BERT_SIZES, BRIM_BERT_RATES, .vocab_size = 30522, .types = 2, .pad_id = 0},
    .read = read_ernie,
    .pooled_logits = "model.classifier(model.ernie.pooler(pooled.unsqueeze(1)))",
    .append = append_bert};

#define ROBERTA                                                                                                                  \
  .prefix = "roberta.", .keys = &keys, .names = &roberta_names, .pad_positions = true,                                           \
  .defaults = {BRIM_BERT_SIZES, BRIM_BERT_RATES, .vocab_size = 50265, .types = 2, .pad_id = 1},                                  \
  .pooled_logits = "model.classifier(pooled.unsqueeze(1))", .append = append_roberta

const brim_family brim_family_roberta = {.type = "roberta", .architecture = "RobertaForSequenceClassification", ROBERTA};
const brim_family brim_family_camembert = {.type = "camembert", .architecture = "CamembertForSequenceClassification", ROBERTA};
const brim_family brim_family_xlm_roberta = {
    .type = "xlm-roberta", .architecture = "XLMRobertaForSequenceClassification", ROBERTA};
