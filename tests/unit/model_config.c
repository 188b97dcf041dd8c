/* config.json: defaults, families, what is refused, and that saving keeps what brim does not know. */
#include <unistd.h>

#include "model_case.h"

static int load(const char *json, const brim_labels *labels, brim_config *config, brim_error *err) {
  static int number;
  char name[32];
  snprintf(name, sizeof name, "config-%d", number++);
  const char *folder = scratch_make_folder(name);
  case_write(folder, "config.json", json, strlen(json));
  *err = (brim_error){0};
  return brim_config_load(case_runtime, folder, labels, config, err);
}

static void check_defaults(void) {
  brim_config c;
  brim_error err;
  if (load("{\"model_type\":\"bert\"}", NULL, &c, &err))
    case_stop("bert", &err);
  ok(c.vocab_size == 30522 && c.hidden == 768 && c.layers == 12 && c.heads == 12 && c.intermediate == 3072 &&
         c.positions == 512 && c.types == 2 && c.pad_id == 0 && c.norm_eps == 1e-12 && c.hidden_dropout == 0.1 &&
         c.attention_dropout == 0.1 && c.head_dropout == 0.1 && c.initializer_range == 0.02 && c.activation == BRIM_ACT_GELU,
     "BERT's defaults");
  ok(c.labels.task == BRIM_TASK_CLASSIFICATION && c.labels.count == 2 && strcmp(c.labels.names[1], "LABEL_1") == 0,
     "two labels without names");
  brim_config_free(&c);
  if (load("{\"model_type\":\"xlm-roberta\",\"layer_norm_eps\":1e-05,\"classifier_dropout\":0.3}", NULL, &c, &err))
    case_stop("xlm-roberta", &err);
  ok(c.vocab_size == 50265 && c.pad_id == 1 && c.norm_eps == 1e-5 && c.head_dropout == 0.3 && brim_config_max_length(&c) == 510,
     "XLM-R's defaults; two positions fewer");
  brim_config_free(&c);
  if (load("{\"model_type\":\"distilbert\",\"dim\":96,\"n_heads\":6,\"layer_norm_eps\":0.5,\"dropout\":0}", NULL, &c, &err))
    case_stop("distilbert", &err);
  ok(c.hidden == 96 && c.heads == 6 && c.layers == 6 && c.types == 0 && c.norm_eps == 1e-12 && c.head_dropout == 0.2 &&
         c.hidden_dropout == 0 && c.attention_dropout == 0.1,
     "DistilBERT's keys and defaults; its eps is fixed");
  brim_config_free(&c);
  if (load("{\"model_type\":\"electra\",\"hidden_size\":768,\"num_attention_heads\":12}", NULL, &c, &err))
    case_stop("electra", &err);
  ok(c.hidden == 768 && c.embedding == 128 && c.layers == 12 && c.heads == 12 && c.intermediate == 1024 && c.types == 2 &&
         c.head_dropout == 0.1 && brim_config_max_length(&c) == 512,
     "ELECTRA's defaults; its tables are narrower");
  brim_config_free(&c);
  if (load("{\"model_type\":\"albert\",\"num_hidden_groups\":3}", NULL, &c, &err))
    case_stop("albert", &err);
  ok(c.hidden == 4096 && c.embedding == 128 && c.layers == 12 && c.heads == 64 && c.intermediate == 16384 && c.groups == 3 &&
         c.hidden_dropout == 0 && c.attention_dropout == 0 && c.head_dropout == 0.1 && c.activation == BRIM_ACT_GELU_NEW,
     "ALBERT's defaults: nothing is dropped but in the head");
  brim_config_free(&c);
}

/* What a config.json of nothing but its type stands for: transformers 5.23's classes of configuration, and for `new` that of
 * Alibaba-NLP/new-impl. */
static void check_family_defaults(void) {
  static const struct {
    const char *type;
    int32_t vocab, hidden, layers, heads, intermediate, positions, types, pad;
    double eps;
  } expected[] = {
      {"roberta", 50265, 768, 12, 12, 3072, 512, 2, 1, 1e-12},        {"mpnet", 30527, 768, 12, 12, 3072, 512, 0, 1, 1e-12},
      {"albert", 30000, 4096, 12, 64, 16384, 512, 2, 0, 1e-12},       {"electra", 30522, 256, 12, 4, 1024, 512, 2, 0, 1e-12},
      {"distilbert", 30522, 768, 6, 12, 3072, 512, 0, 0, 1e-12},      {"deberta-v2", 128100, 1536, 24, 24, 6144, 512, 0, 0, 1e-7},
      {"modernbert", 50368, 768, 22, 12, 1152, 8192, 0, 50283, 1e-5}, {"nomic_bert", 30528, 768, 12, 12, 3072, 2048, 2, 0, 1e-12},
      {"eurobert", 128256, 768, 12, 12, 3072, 8192, 0, 128001, 1e-5}, {"gte", 250048, 768, 12, 12, 3072, 8192, 1, 1, 1e-12},
      {"new", 30528, 768, 12, 12, 3072, 2048, 1, 0, 1e-12},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    char json[64];
    brim_config c;
    brim_error err;
    snprintf(json, sizeof json, "{\"model_type\":\"%s\"}", expected[i].type);
    if (load(json, NULL, &c, &err))
      case_stop(expected[i].type, &err);
    if (!ok(c.vocab_size == expected[i].vocab && c.hidden == expected[i].hidden && c.layers == expected[i].layers &&
                c.heads == expected[i].heads && c.intermediate == expected[i].intermediate &&
                c.positions == expected[i].positions && c.types == expected[i].types && c.pad_id == expected[i].pad &&
                c.norm_eps == expected[i].eps,
            "the sizes of a %s whose config.json names none", expected[i].type))
      printf("# %d %d %d %d %d %d %d %d %g\n", (int)c.vocab_size, (int)c.hidden, (int)c.layers, (int)c.heads, (int)c.intermediate,
             (int)c.positions, (int)c.types, (int)c.pad_id, c.norm_eps);
    brim_config_free(&c);
  }
}

/* Layers with a window, as a text of 0 and 1. */
static const char *windows_of(const brim_config *c) {
  static char text[64];
  for (int32_t i = 0; i < c->layers; i++)
    text[i] = brim_config_has_window(c, i) ? '1' : '0';
  text[c->layers] = 0;
  return text;
}

static const brim_field *field_of(const brim_config *c, const char *name, brim_field fields[BRIM_CONFIG_FIELDS]) {
  const int count = brim_config_fields(c, fields);
  for (int i = 0; i < count; i++)
    if (strcmp(fields[i].name, name) == 0)
      return &fields[i];
  case_stop(name, &(brim_error){0});
  return NULL;
}

static void check_modernbert(void) {
  brim_config c;
  brim_error err;
  brim_field fields[BRIM_CONFIG_FIELDS];
  if (load("{\"model_type\":\"modernbert\"}", NULL, &c, &err))
    case_stop("modernbert", &err);
  ok(c.hidden == 768 && c.layers == 22 && c.intermediate == 1152 && c.pad_id == 50283 && c.norm_eps == 1e-5 && c.bare_norms &&
         !c.attention_bias && c.window == 64 && c.theta[0] == 160000 && c.theta[1] == 10000 && c.pooling == BRIM_POOLING_CLS &&
         c.activation == BRIM_ACT_GELU && brim_config_max_length(&c) == 8192,
     "ModernBERT's defaults");
  ok(strcmp(windows_of(&c), "0110110110110110110110") == 0, "every third layer sees all tokens");
  ok(field_of(&c, "local_attention", fields)->integer == 128, "a window is named as config.json has it");
  ok(field_of(&c, "layer_types", fields)->kind == BRIM_VALUE_UNSIGNED && field_of(&c, "layer_types", fields)->integer >= 0,
     "a hash is marked as none to show");
  brim_config_free(&c);
  if (load("{\"model_type\":\"modernbert\",\"num_hidden_layers\":4,\"global_attn_every_n_layers\":2,\"local_attention\":33,"
           "\"global_rope_theta\":5000,\"local_rope_theta\":70.5,\"classifier_pooling\":\"mean\",\"norm_bias\":true}",
           NULL, &c, &err))
    case_stop("older members", &err);
  ok(c.theta[0] == 5000 && c.theta[1] == 70.5 && c.window == 16 && !c.bare_norms && c.pooling == BRIM_POOLING_MEAN &&
         strcmp(windows_of(&c), "0101") == 0,
     "older members for thetas, and every second layer");
  brim_config_free(&c);
  if (load("{\"model_type\":\"modernbert\",\"num_hidden_layers\":3,\"layer_types\":[\"sliding_attention\",\"full_attention\","
           "\"full_attention\"],\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":7},"
           "\"sliding_attention\":{\"rope_theta\":8}}}",
           NULL, &c, &err))
    case_stop("newer members", &err);
  ok(c.theta[0] == 7 && c.theta[1] == 8 && strcmp(windows_of(&c), "100") == 0, "newer members, and a list of layers");
  brim_config_free(&c);
  if (load("{\"model_type\":\"modernbert\",\"global_rope_theta\":500,\"local_rope_theta\":null}", NULL, &c, &err))
    case_stop("a local theta of null", &err);
  ok(c.theta[0] == 500 && c.theta[1] == 500, "a local theta of null is the other layers'");
  brim_config_free(&c);
}

static void check_gated(void) {
  brim_config c;
  brim_error err;
  if (load("{\"model_type\":\"nomic_bert\",\"rotary_emb_base\":500}", NULL, &c, &err))
    case_stop("nomic_bert", &err);
  ok(c.vocab_size == 30528 && c.theta[0] == 500 && c.activation == BRIM_ACT_SILU && c.hidden_dropout == 0 && c.types == 2 &&
         !c.attention_bias && brim_config_max_length(&c) == 2048,
     "NomicBERT's defaults, and the older member for theta");
  brim_config_free(&c);
  if (load("{\"model_type\":\"gte\",\"type_vocab_size\":0}", NULL, &c, &err))
    case_stop("gte", &err);
  ok(c.vocab_size == 250048 && c.theta[0] == 160000 && c.activation == BRIM_ACT_GELU && c.inner_dropout == 0.1 && c.types == 0 &&
         c.attention_bias && c.pad_id == 1 && brim_config_max_length(&c) == 8192,
     "GTE's defaults; it may have no token types");
  brim_config_free(&c);
  if (load("{\"model_type\":\"eurobert\",\"num_key_value_heads\":4,\"rope_parameters\":{\"rope_theta\":250000}}", NULL, &c, &err))
    case_stop("eurobert", &err);
  ok(c.vocab_size == 128256 && c.theta[0] == 250000 && c.activation == BRIM_ACT_SILU && c.group == 3 && c.rms && c.bare_norms &&
         c.late && c.pooling == BRIM_POOLING_MEAN && c.head_dropout == 0,
     "EuroBERT's defaults: tokens are pooled late; three heads share keys and values");
  brim_config_free(&c);
  if (load("{\"model_type\":\"eurobert\",\"classifier_pooling\":\"bos\"}", NULL, &c, &err))
    case_stop("eurobert", &err);
  ok(!c.late && c.pooling == BRIM_POOLING_CLS && c.group == 1, "or the first token is looked at");
  brim_config_free(&c);
}

static void check_refused(const char *json, int code, const char *words) {
  brim_config c;
  brim_error err;
  const int status = load(json, NULL, &c, &err);
  if (!ok(status == code && strstr(err.message, words), "refused: %.90s", json))
    printf("# %d: %s\n", status, err.message);
  brim_config_free(&c);
}

/* Of a file of one line, at this byte. */
static void check_place(const char *json, int64_t byte) {
  brim_config c;
  brim_error err;
  const int status = load(json, NULL, &c, &err);
  ok(status && err.line == 1 && err.byte == byte, "byte %lld, expected %lld: %.90s", (long long)err.byte, (long long)byte, json);
  brim_config_free(&c);
}

/* What brim_config_save writes of this config.json. */
static char *saved(const char *json, size_t *length) {
  brim_config c;
  brim_error err;
  if (load(json, NULL, &c, &err))
    case_stop(json, &err);
  const char *folder = scratch_make_folder(c.family->type);
  if (brim_config_save(case_runtime, &c, folder, &err))
    case_stop("save", &err);
  brim_config_free(&c);
  char path[600];
  snprintf(path, sizeof path, "%s/config.json", folder);
  return case_read_file(path, length);
}

static bool holds(const char *text, size_t length, const char *words) {
  return memmem(text, length, words, strlen(words)) != NULL;
}

/* Older names are read, and what is saved has the newer ones, which transformers reads. */
static void check_older(void) {
  brim_config c;
  brim_error err;
  size_t n;
#define NOMIC                                                                                                                    \
  "{\"model_type\":\"nomic_bert\",\"n_embd\":96,\"n_head\":6,\"n_layer\":3,\"n_inner\":100,\"n_positions\":512,"                 \
  "\"layer_norm_epsilon\":1e-5,\"resid_pdrop\":0.25,\"attn_pdrop\":0.125,\"rotary_emb_base\":500,\"vocab_size\":70"
  if (load(NOMIC ",\"activation_function\":\"swiglu\",\"rotary_scaling_factor\":null}", NULL, &c, &err))
    case_stop("nomic_bert", &err);
  ok(c.hidden == 96 && c.heads == 6 && c.layers == 3 && c.intermediate == 100 && c.positions == 512 && c.norm_eps == 1e-5 &&
         c.hidden_dropout == 0.25 && c.attention_dropout == 0.125 && c.theta[0] == 500 && c.activation == BRIM_ACT_SILU,
     "older members of NomicBERT");
  brim_config_free(&c);
  char *text = saved(NOMIC "}", &n);
  ok(holds(text, n, "\"hidden_size\": 96") && holds(text, n, "\"rope_theta\": 500.0") && !holds(text, n, "n_embd") &&
         !holds(text, n, "rotary_emb_base"),
     "are saved as newer ones");
  brim_runtime_release(case_runtime, text);
  if (load("{\"model_type\":\"jina_embeddings_v3\",\"rotary_emb_base\":500,\"rope_theta\":70.5}", NULL, &c, &err))
    case_stop("jina_embeddings_v3", &err);
  ok(c.theta[0] == 70.5, "of two older names of theta that of transformers 4 counts");
  brim_config_free(&c);
  check_refused(NOMIC ",\"activation_function\":\"geglu\"}", BRIM_E_UNSUPPORTED, "swiglu");
  check_refused(NOMIC ",\"prenorm\":true}", BRIM_E_UNSUPPORTED, "prenorm");
  check_refused(NOMIC ",\"rotary_scaling_factor\":2}", BRIM_E_UNSUPPORTED, "rotary_scaling_factor");
#define NEW "{\"model_type\":\"new\",\"position_embedding_type\":\"rope\",\"rope_theta\":20000"
  text = saved(NEW ",\"rope_scaling\":{\"type\":\"ntk\",\"factor\":8.0}}", &n);
  ok(holds(text, n, "\"model_type\": \"gte\"") && holds(text, n, "\"rope_theta\": 160000.0") &&
         holds(text, n, "\"factor\": 1.067") && holds(text, n, "\"linear\"") && !holds(text, n, "rope_scaling"),
     "model_type new is saved as gte, with its scaled positions");
  brim_runtime_release(case_runtime, text);
  check_refused(NEW ",\"pack_qkv\":false}", BRIM_E_UNSUPPORTED, "pack_qkv");
  check_refused(NEW ",\"layer_norm_type\":\"rms_norm\"}", BRIM_E_UNSUPPORTED, "layer_norm_type");
  check_refused(NEW ",\"rope_scaling\":{\"type\":\"yarn\",\"factor\":8.0}}", BRIM_E_UNSUPPORTED, "rope_type yarn");
  check_refused(NEW ",\"rope_scaling\":{\"type\":\"ntk\",\"factor\":0.5}}", BRIM_E_FORMAT, "factor");
}

/* Without a table of positions there is nothing that the member could change, and published files say many things. */
static void check_positions(void) {
  static const char *const files[] = {"{\"model_type\":\"modernbert\",\"position_embedding_type\":\"sans_pos\"}", /* mmBERT */
                                      "{\"model_type\":\"gte\",\"position_embedding_type\":\"rope\"}",
                                      "{\"model_type\":\"jina_embeddings_v3\",\"position_embedding_type\":\"rotary\"}",
                                      "{\"model_type\":\"new\",\"position_embedding_type\":null}",
                                      "{\"model_type\":\"xlm-roberta\",\"position_embedding_type\":\"absolute\"}"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    brim_config c;
    brim_error err;
    ok(load(files[i], NULL, &c, &err) == BRIM_OK, "%s is read", files[i]);
    brim_config_free(&c);
  }
}

static void check_deberta(void) {
  brim_config c;
  brim_error err;
  if (load("{\"model_type\":\"deberta-v2\"}", NULL, &c, &err))
    case_stop("deberta-v2", &err);
  ok(c.hidden == 1536 && c.embedding == 1536 && c.types == 0 && c.has_positions && !c.by_distance && c.norm_eps == 1e-7,
     "DeBERTa's defaults: positions, and no attention by distance");
  brim_config_free(&c);
  if (load("{\"model_type\":\"deberta-v2\",\"relative_attention\":true,\"pos_att_type\":\"p2c|c2p\",\"embedding_size\":128,"
           "\"position_biased_input\":false,\"position_buckets\":256,\"norm_rel_ebd\":\"layer_norm\"}",
           NULL, &c, &err))
    case_stop("deberta-v2", &err);
  ok(c.embedding == 128 && c.by_distance && !c.shares_keys && !c.has_positions && c.norms_distances && c.distances.rows == 512 &&
         c.distances.farthest == 512,
     "narrow tables, and attention by distance with weights of its own");
  brim_config_free(&c);
}

static void check_activation(const char *name, int status, brim_activation want) {
  char json[256];
  brim_config c;
  brim_error err;
  snprintf(json, sizeof json, "{\"model_type\":\"bert\",\"hidden_act\":\"%s\"}", name);
  const int got = load(json, NULL, &c, &err);
  ok(got == status && (status || c.activation == want) && (!status || strstr(err.message, name)), "activation %s", name);
  brim_config_free(&c);
}

static void check_labels(void) {
  brim_config c;
  brim_error err;
  if (load("{\"model_type\":\"bert\",\"id2label\":{\"1\":\"b\\u00e9\",\"2\":\"c\",\"0\":\"a\"}}", NULL, &c, &err))
    case_stop("labels", &err);
  ok(c.labels.count == 3 && strcmp(c.labels.names[0], "a") == 0 && strcmp(c.labels.names[1], "b\303\251") == 0,
     "names by their ids");
  brim_config_free(&c);
  if (load("{\"model_type\":\"bert\",\"id2label\":{\"0\":10,\"1\":0.5,\"2\":true}}", NULL, &c, &err))
    return;
  ok(!strcmp(c.labels.names[0], "10") && !strcmp(c.labels.names[1], "0.5") && !strcmp(c.labels.names[2], "true"),
     "names that are numbers or booleans are read as texts");
  brim_config_free(&c);
  if (load("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"LABEL_0\"}}", NULL, &c, &err))
    case_stop("regression", &err);
  ok(c.labels.task == BRIM_TASK_REGRESSION && c.labels.count == 1 && !c.labels.names, "one label is regression");
  brim_config_free(&c);
  if (load("{\"model_type\":\"bert\",\"num_labels\":4,\"id2label\":null}", NULL, &c, &err))
    case_stop("num_labels", &err);
  ok(c.labels.count == 4 && strcmp(c.labels.names[3], "LABEL_3") == 0, "a number of labels");
  brim_config_free(&c);
  char *names[] = {"neg", "pos"};
  const brim_labels given = {.task = BRIM_TASK_CLASSIFICATION, .count = 2, .names = names};
  if (load("{\"model_type\":\"bert\",\"problem_type\":\"multi_label_classification\"}", &given, &c, &err))
    case_stop("given", &err);
  ok(c.labels.count == 2 && strcmp(c.labels.names[0], "neg") == 0, "the data's labels come before the file's");
  brim_config_free(&c);
  const struct {
    const char *json;
    brim_task task;
    int32_t count;
  } tasks[] = {
      {"{\"model_type\":\"bert\",\"problem_type\":\"multi_label_classification\",\"num_labels\":3}", BRIM_TASK_MULTI_LABEL, 3},
      {"{\"model_type\":\"bert\",\"problem_type\":\"multi_label_classification\",\"num_labels\":1}", BRIM_TASK_MULTI_LABEL, 1},
      {"{\"model_type\":\"bert\",\"problem_type\":\"regression\",\"num_labels\":3}", BRIM_TASK_REGRESSION, 3},
      {"{\"model_type\":\"bert\",\"problem_type\":\"regression\"}", BRIM_TASK_REGRESSION, 2},
      {"{\"model_type\":\"bert\",\"problem_type\":\"regression\",\"brim_task\":\"multi-label\",\"num_labels\":3}",
       BRIM_TASK_MULTI_LABEL, 3},
      {"{\"model_type\":\"bert\",\"num_labels\":1}", BRIM_TASK_REGRESSION, 1}};
  for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
    if (load(tasks[i].json, NULL, &c, &err))
      case_stop("tasks", &err);
    ok(c.labels.task == tasks[i].task && c.labels.count == tasks[i].count, "the task of %s", tasks[i].json);
    brim_config_free(&c);
  }
  const brim_labels single = {.task = BRIM_TASK_CLASSIFICATION, .count = 1, .names = names};
  ok(load("{\"model_type\":\"bert\"}", &single, &c, &err) == BRIM_E_MISMATCH, "a single class is refused");
}

static void check_all_refused(void) {
  check_refused("{\"model_type\":\"gpt2\"}", BRIM_E_UNSUPPORTED, "bert, ernie, roberta, camembert, xlm-roberta, distilbert");
  check_refused("{\"model_type\":\"ernie\",\"use_task_id\":true}", BRIM_E_UNSUPPORTED, "use_task_id");
  check_refused("{\"hidden_size\":3}", BRIM_E_FORMAT, "model_type");
  check_refused("{\"model_type\":\"mpnet\",\"relative_attention_num_buckets\":16}", BRIM_E_UNSUPPORTED, "buckets");
#define DEBERTA "{\"model_type\":\"deberta-v2\",\"relative_attention\":true,\"share_att_key\":true,\"pos_att_type\":\"p2c|c2p\""
  check_refused("{\"model_type\":\"deberta-v2\",\"relative_attention\":true}", BRIM_E_UNSUPPORTED, "pos_att_type");
  check_refused(DEBERTA ",\"pos_att_type\":[\"c2p\"]}", BRIM_E_UNSUPPORTED, "pos_att_type");
  check_refused("{\"model_type\":\"deberta-v2\",\"pos_att_type\":\"p2c|c2p\"}", BRIM_E_UNSUPPORTED, "relative_attention is off");
  check_refused(DEBERTA ",\"conv_kernel_size\":3}", BRIM_E_UNSUPPORTED,
                "conv_kernel_size: brim has DeBERTa without a convolution");
  check_refused(DEBERTA ",\"norm_rel_ebd\":\"batch_norm\"}", BRIM_E_UNSUPPORTED, "norm_rel_ebd");
  check_refused(DEBERTA ",\"pooler_hidden_size\":128}", BRIM_E_UNSUPPORTED, "pooler_hidden_size");
  check_refused(DEBERTA ",\"position_buckets\":2}", BRIM_E_FORMAT, "position_buckets");
  check_refused(DEBERTA ",\"position_buckets\":256,\"max_relative_positions\":100}", BRIM_E_FORMAT, "max_relative_positions");
  check_refused(DEBERTA ",\"pooler_hidden_act\":\"mish\"}", BRIM_E_UNSUPPORTED, "mish");
  check_refused("{\"model_type\":\"mpnet\",\"pad_token_id\":0}", BRIM_E_UNSUPPORTED, "pad_token_id");
  check_refused("{\"model_type\":\"albert\",\"inner_group_num\":2}", BRIM_E_UNSUPPORTED, "inner_group_num");
  check_refused("{\"model_type\":\"albert\",\"num_hidden_groups\":13}", BRIM_E_FORMAT, "num_hidden_groups");
  check_refused("{\"model_type\":\"electra\",\"embedding_size\":0}", BRIM_E_FORMAT, "embedding_size");
#define MODERN(members) "{\"model_type\":\"modernbert\"," members "}"
  check_refused(MODERN("\"local_attention\":0"), BRIM_E_FORMAT, "local_attention");
  check_refused(MODERN("\"local_attention\":1"), BRIM_E_FORMAT, "local_attention");
  check_refused(MODERN("\"global_attn_every_n_layers\":0"), BRIM_E_FORMAT, "global_attn_every_n_layers");
  check_refused(MODERN("\"num_attention_heads\":7"), BRIM_E_FORMAT, "among 7 heads");
  check_refused(MODERN("\"hidden_size\":36"), BRIM_E_FORMAT, "an even width");
  check_refused(MODERN("\"layer_types\":[\"full_attention\"]"), BRIM_E_FORMAT, "all 22 layers");
  check_refused(MODERN("\"num_hidden_layers\":1,\"layer_types\":[\"chunked_attention\"]"), BRIM_E_UNSUPPORTED,
                "sliding_attention");
  check_refused(MODERN("\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"yarn\"}}"), BRIM_E_UNSUPPORTED,
                "rope_type yarn");
  check_refused(MODERN("\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":0}}"), BRIM_E_FORMAT, "rope_theta is 0");
  check_refused(MODERN("\"rope_parameters\":3"), BRIM_E_FORMAT, "object");
  check_refused(MODERN("\"rope_scaling\":{\"type\":\"ntk\",\"factor\":8}"), BRIM_E_UNSUPPORTED, "rope_type ntk");
  check_refused(MODERN("\"rope_scaling\":{\"type\":\"linear\"}"), BRIM_E_FORMAT, "factor");
  check_refused(MODERN("\"global_rope_theta\":-1"), BRIM_E_FORMAT, "global_rope_theta");
  check_refused(MODERN("\"classifier_pooling\":\"last\""), BRIM_E_UNSUPPORTED, "cls, mean");
  check_refused(MODERN("\"mlp_dropout\":2"), BRIM_E_FORMAT, "mlp_dropout");
  check_refused("{\"model_type\":\"eurobert\",\"num_key_value_heads\":5}", BRIM_E_FORMAT, "among 5 of keys and values");
  check_refused("{\"model_type\":\"eurobert\",\"head_dim\":32}", BRIM_E_UNSUPPORTED, "head_dim is 32");
  check_refused("{\"model_type\":\"eurobert\",\"classifier_pooling\":\"cls\"}", BRIM_E_UNSUPPORTED, "bos, mean, late");
  check_refused("{\"model_type\":\"gte\",\"rope_parameters\":{\"type\":\"ntk\"}}", BRIM_E_UNSUPPORTED, "rope_type ntk");
  check_refused("{\"model_type\":\"bert\",\"type_vocab_size\":0}", BRIM_E_FORMAT, "type_vocab_size");
  check_refused("[]", BRIM_E_FORMAT, "object");
  check_refused("{\"model_type\":", BRIM_E_FORMAT, "");
  check_refused("{\"model_type\":\"bert\",\"hidden_size\":\"768\"}", BRIM_E_FORMAT, "hidden_size");
  check_refused("{\"model_type\":\"bert\",\"hidden_size\":0}", BRIM_E_FORMAT, "hidden_size");
  check_refused("{\"model_type\":\"bert\",\"num_hidden_layers\":1e9}", BRIM_E_FORMAT, "num_hidden_layers");
  check_refused("{\"model_type\":\"bert\",\"num_attention_heads\":7}", BRIM_E_FORMAT, "multiple");
  check_refused("{\"model_type\":\"bert\",\"hidden_dropout_prob\":1.5}", BRIM_E_FORMAT, "hidden_dropout_prob");
  check_refused("{\"model_type\":\"bert\",\"layer_norm_eps\":0}", BRIM_E_FORMAT, "layer_norm_eps");
  check_refused("{\"model_type\":\"bert\",\"pad_token_id\":40000}", BRIM_E_FORMAT, "pad_token_id");
  check_refused("{\"model_type\":\"modernbert\",\"rope_parameters\":{\"rope_type\":\"yarn\"}}", BRIM_E_UNSUPPORTED, "yarn");
  check_refused("{\"model_type\":\"modernbert\",\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"dynamic\"}}}",
                BRIM_E_UNSUPPORTED, "linear");
  check_refused("{\"model_type\":\"modernbert\",\"vocab_size\":1000}", BRIM_E_FORMAT, "pad_token_id");
  check_refused("{\"model_type\":\"roberta\",\"pad_token_id\":null}", BRIM_E_FORMAT, "pad_token_id");
  check_refused("{\"model_type\":\"roberta\",\"max_position_embeddings\":2}", BRIM_E_FORMAT, "positions");
  check_refused("{\"model_type\":\"bert\",\"is_decoder\":true}", BRIM_E_UNSUPPORTED, "decoder");
  check_refused("{\"model_type\":\"bert\",\"add_cross_attention\":true}", BRIM_E_UNSUPPORTED, "add_cross_attention");
  check_refused("{\"model_type\":\"roberta\",\"is_decoder\":true,\"add_cross_attention\":true}", BRIM_E_UNSUPPORTED, "decoder");
  check_refused("{\"model_type\":\"bert\",\"quantization_config\":{\"bits\":4}}", BRIM_E_UNSUPPORTED, "quantized");
  check_refused("{\"model_type\":\"bert\",\"position_embedding_type\":\"relative_key\"}", BRIM_E_UNSUPPORTED, "absolute");
  check_refused("{\"model_type\":\"new\",\"position_embedding_type\":\"absolute\"}", BRIM_E_UNSUPPORTED, "rope");
  check_refused("{\"model_type\":\"bert\",\"problem_type\":\"token_classification\"}", BRIM_E_UNSUPPORTED, "problem_type");
  check_refused("{\"model_type\":\"bert\",\"brim_task\":\"tomorrow's\"}", BRIM_E_UNSUPPORTED, "no such task");
  check_refused("{\"model_type\":\"bert\",\"id2label\":{}}", BRIM_E_FORMAT, "id2label");
  check_refused("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"2\":\"b\"}}", BRIM_E_FORMAT, "id2label");
  check_refused("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"00\":\"b\"}}", BRIM_E_FORMAT, "id2label");
  check_refused("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"1\":null}}", BRIM_E_FORMAT, "id2label");
  check_refused("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"1\":\"a\"}}", BRIM_E_FORMAT, "two classes are named \"a\"");
  check_place("{\"model_type\":\"bert\",\"id2label\":{\"0\":\"a\",\"1\":\"a\"}}", 32);
}

/* Members keep their order and values; decided ones are replaced where they stand, or added. */
static void check_saved(void) {
  static const char json[] =
      "{\"zeta\": [1, {\"deep\": null, \"n\": -2.5e-7}, \"\\u20ac\\n\"], \"model_type\": \"bert\", \"dtype\": "
      "\"float16\", \"architectures\": [\"BertForMaskedLM\"], \"empty\": {}, \"none\": [], \"big\": "
      "1152921504606846977, \"num_labels\": 2, \"yes\": true}";
  static const char want[] = "{\n"
                             "  \"zeta\": [\n"
                             "    1,\n"
                             "    {\n"
                             "      \"deep\": null,\n"
                             "      \"n\": -2.5e-07\n"
                             "    },\n"
                             "    \"\342\202\254\\n\"\n"
                             "  ],\n"
                             "  \"model_type\": \"bert\",\n"
                             "  \"dtype\": \"float32\",\n"
                             "  \"architectures\": [\n"
                             "    \"BertForSequenceClassification\"\n"
                             "  ],\n"
                             "  \"empty\": {},\n"
                             "  \"none\": [],\n"
                             "  \"big\": 1152921504606846977,\n"
                             "  \"num_labels\": 3,\n"
                             "  \"yes\": true,\n"
                             "  \"id2label\": {\n"
                             "    \"0\": \"x\",\n"
                             "    \"1\": \"y \\\"z\\\"\",\n"
                             "    \"2\": \"w\"\n"
                             "  },\n"
                             "  \"label2id\": {\n"
                             "    \"x\": 0,\n"
                             "    \"y \\\"z\\\"\": 1,\n"
                             "    \"w\": 2\n"
                             "  },\n"
                             "  \"problem_type\": \"single_label_classification\"\n"
                             "}\n";
  char *names[] = {"x", "y \"z\"", "w"};
  const brim_labels labels = {.task = BRIM_TASK_CLASSIFICATION, .count = 3, .names = names};
  brim_config c, again;
  brim_error err;
  size_t length;
  const char *folder = scratch_make_folder("saved");
  if (load(json, &labels, &c, &err) || brim_config_save(case_runtime, &c, folder, &err))
    case_stop("save", &err);
  char path[600];
  snprintf(path, sizeof path, "%s/config.json", folder);
  char *text = case_read_file(path, &length);
  ok_string(text, want, "config.json is kept but for what training decides");
  brim_runtime_release(case_runtime, text);
  ok(brim_config_load(case_runtime, folder, NULL, &again, &err) == BRIM_OK && again.labels.count == 3 &&
         strcmp(again.labels.names[1], names[1]) == 0,
     "and reads back");
  brim_config_free(&again);
  brim_config_free(&c);
}

/* Families with a member for the first token and the mean keep these there, where other programs find them; reals stay reals. */
static void check_pooling_names(void) {
  static const struct {
    const char *given, *name; /* NULL: refused */
  } cases[] = {{"cls", "cls"},
               {"mean,cls", "cls,mean"},
               {"last,weighted_mean", "weighted-mean,last"},
               {"mean-sqrt,max", "max,mean-sqrt"},
               {"mean,mean", NULL},
               {"", NULL},
               {"mean,", NULL},
               {"sum", NULL},
               {"mea", NULL}};
  char name[BRIM_POOLING_NAME];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_pooling pooling = BRIM_POOLING_CONFIG;
    const bool known = brim_pooling_parse(cases[i].given, &pooling);
    ok(known == (cases[i].name != NULL) && (!known || strcmp(brim_pooling_name(pooling, name), cases[i].name) == 0),
       "the pooling \"%s\" is %s", cases[i].given, known ? name : "none");
  }
  ok(strcmp(brim_pooling_name((brim_pooling)0555555, name), "weighted-mean") == 0 &&
         strcmp(brim_pooling_name((brim_pooling)7, name), "unknown") == 0,
     "a number that says a way twice, or none, has a name all the same");
}

static void check_own_pooling(void) {
  static const struct {
    brim_pooling pooling;
    bool late;
    const char *words, *others;
  } cases[] = {{BRIM_POOLING_CLS, false, "\"classifier_pooling\": \"bos\"", "brim_pooling"},
               {BRIM_POOLING_MEAN, false, "\"classifier_pooling\": \"mean\"", "brim_pooling"},
               {BRIM_POOLING_MEAN, true, "\"classifier_pooling\": \"late\"", "brim_pooling"},
               {BRIM_POOLING_MAX, false, "\"brim_pooling\": \"max\"", "bos"}};
  const char *folder = scratch_make_folder("own-pooling");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_config c, again;
    brim_error err;
    if (load("{\"model_type\":\"eurobert\",\"factor\":2.0,\"large\":1e30,\"count\":2}", NULL, &c, &err))
      case_stop("eurobert", &err);
    c.pooling = cases[i].pooling;
    c.late = cases[i].late;
    if (brim_config_save(case_runtime, &c, folder, &err) || brim_config_load(case_runtime, folder, NULL, &again, &err))
      case_stop("saved", &err);
    char path[600];
    size_t length;
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *text = case_read_file(path, &length);
    ok(strstr(text, cases[i].words) && !strstr(text, cases[i].others) && again.pooling == c.pooling && again.late == c.late,
       "pooling is saved: %s", cases[i].words);
    ok(strstr(text, "\"factor\": 2.0,") && strstr(text, "\"count\": 2,") && strstr(text, "\"large\": 1e"), "reals stay reals");
    brim_runtime_release(case_runtime, text);
    brim_config_free(&again);
    brim_config_free(&c);
  }
}

/* 1_Pooling/config.json beside a model: what it was made for. */
static void check_made_for(void) {
  static const struct {
    const char *json;
    brim_pooling want;
  } rows[] = {
      {"{\"pooling_mode_cls_token\":false,\"pooling_mode_mean_tokens\":true}", BRIM_POOLING_MEAN},
      {"{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":false}", BRIM_POOLING_CLS},
      {"{\"pooling_mode\":\"max\"}", BRIM_POOLING_MAX},
      {"{\"pooling_mode_max_tokens\":true,\"pooling_mode_mean_tokens\":true}", BRIM_POOLING_CONFIG},
      {"{\"pooling_mode_lasttoken\":true}", BRIM_POOLING_CONFIG},
      {"{\"pooling_mode_mean_tokens\":\"yes\"}", BRIM_POOLING_CONFIG},
      {"[1]", BRIM_POOLING_CONFIG},
      {"no JSON", BRIM_POOLING_CONFIG},
  };
  brim_model_info info;
  brim_error err;
  const char *folder = scratch_make_folder("made");
  scratch_make_folder("made/0_Transformer");
  scratch_write("made/config.json", "{\"model_type\":\"bert\"}");
  scratch_write("made/0_Transformer/config.json", "{\"model_type\":\"bert\"}");
  ok(!brim_model_describe(case_runtime, folder, &info, &err) && info.made_for == BRIM_POOLING_CONFIG, "nothing says so");
  scratch_make_folder("made/1_Pooling");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    scratch_write("made/1_Pooling/config.json", rows[i].json);
    ok(!brim_model_describe(case_runtime, folder, &info, &err) && info.made_for == rows[i].want, "%s", rows[i].json);
  }
  scratch_write("made/1_Pooling/config.json", rows[0].json);
  scratch_write("made/modules.json", "[{\"path\":\"0_Transformer\",\"type\":\"sentence_transformers.models.Transformer\"}]");
  ok(!brim_model_describe(case_runtime, scratch_file("made/0_Transformer"), &info, &err) && info.made_for == BRIM_POOLING_MEAN,
     "beside 0_Transformer");
}

/* README.md is brim's or somebody else's. */
static void check_readme(void) {
  brim_config c;
  brim_error err;
  size_t length;
  const char *folder = scratch_make_folder("readme");
  char path[600];
  snprintf(path, sizeof path, "%s/README.md", folder);
  if (load("{\"model_type\":\"roberta\"}", NULL, &c, &err) || brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err))
    case_stop("readme", &err);
  ok(access(path, F_OK) != 0, "the first token needs no explanation");
  c.pooling = BRIM_POOLING_MEAN;
  ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "the mean of all tokens does");
  char *text = case_read_file(path, &length);
  ok(strstr(text, "(hidden * real).sum(1)") && strstr(text, "model.classifier(pooled.unsqueeze(1))"), "by the family's head");
  brim_runtime_release(case_runtime, text);
  c.pooling = BRIM_POOLING_MAX, c.ignores_types = true;
  ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "the largest values, in its place");
  text = case_read_file(path, &length);
  ok(strstr(text, "masked_fill") && strstr(text, "zeros_like"), "without token types");
  brim_runtime_release(case_runtime, text);
  c.pooling = BRIM_POOLING_CLS, c.types = 2;
  ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "the first token, without token types");
  text = case_read_file(path, &length);
  ok(strstr(text, "zeros_like") && strstr(text, "\"its pair\"") && !strstr(text, "hidden"), "which pairs have");
  brim_runtime_release(case_runtime, text);
  c.ignores_types = false;
  static const struct {
    brim_mixed mixed;
    const char *words;
  } layers[] = {{{2, false}, "looks at the weighted mean of the last 2 layers ("},
                {{3, true}, "looks at the last 3 layers ("},
                {{1, true}, "looks at the last layer ("}};
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
    c.mixed = layers[i].mixed;
    ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "so do layers");
    text = case_read_file(path, &length);
    ok(strstr(text, layers[i].words) != NULL, "it %s..", layers[i].words);
    brim_runtime_release(case_runtime, text);
  }
  c.mixed = (brim_mixed){0};
  ok(!brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err) && access(path, F_OK) != 0,
     "brim's own goes where it is wrong");
  scratch_write("readme/README.md", "mine\n");
  c.pooling = BRIM_POOLING_MEAN;
  ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "somebody else's stays");
  c.pooling = BRIM_POOLING_CLS;
  ok_int(brim_readme_save(case_runtime, &c, &(brim_saving){0}, folder, &err), BRIM_OK, "with either pooling");
  text = case_read_file(path, &length);
  ok_string(text, "mine\n", "as it was");
  brim_runtime_release(case_runtime, text);
  brim_config_free(&c);
}

/* What is brim's own is read, written where it was, added only when it is needed. */
static void check_own(void) {
  brim_config c, again;
  brim_error err;
  const char *folder = scratch_make_folder("own");
  if (load("{\"model_type\":\"bert\",\"brim_pooling\":\"max\",\"x\":1}", NULL, &c, &err))
    case_stop("own", &err);
  ok(c.pooling == BRIM_POOLING_MAX && !c.ignores_types, "pooling by its name");
  c.ignores_types = true;
  c.pooling = BRIM_POOLING_MEAN;
  if (brim_config_save(case_runtime, &c, folder, &err) || brim_config_load(case_runtime, folder, NULL, &again, &err))
    case_stop("own, saved", &err);
  ok(again.pooling == BRIM_POOLING_MEAN && again.ignores_types, "pooling and token types are saved");
  brim_config_free(&again);
  brim_config_free(&c);
  if (load("{\"model_type\":\"bert\"}", NULL, &c, &err) || brim_config_save(case_runtime, &c, folder, &err))
    case_stop("plain", &err);
  char path[600];
  size_t length;
  snprintf(path, sizeof path, "%s/config.json", folder);
  char *text = case_read_file(path, &length);
  ok(c.pooling == BRIM_POOLING_CLS && !strstr(text, "brim_"), "a model that has nothing of brim's is saved without it");
  brim_runtime_release(case_runtime, text);
  brim_config_free(&c);
  check_refused("{\"model_type\":\"bert\",\"brim_pooling\":\"sum\"}", BRIM_E_FORMAT, "cls, mean, max");
  check_refused("{\"model_type\":\"bert\",\"brim_pooling\":\"a long name of a pooling\"}", BRIM_E_FORMAT, "cls, mean, max");
  check_refused("{\"model_type\":\"bert\",\"brim_type_ids\":0}", BRIM_E_FORMAT, "brim_type_ids");
}

/* Layers are of a head on texts and of vectors; what other heads keep of them would be untrue. */
static void check_layers(void) {
  static const char modules[] = "[{\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
                                "{\"path\":\"1_W\",\"type\":\"sentence_transformers.models.WeightedLayerPooling\"}]";
  static const struct {
    const char *class;
    bool listed;    /* by modules.json */
    brim_task task; /* what it is read as */
    int32_t count;
    bool layers, states; /* what is saved */
  } cases[] = {{"BertForSequenceClassification", false, BRIM_TASK_CLASSIFICATION, 2, true, true},
               {"BertForSequenceClassification", true, BRIM_TASK_CLASSIFICATION, 2, true, false},
               {"BertForTokenClassification", false, BRIM_TASK_TOKENS, 0, false, true},
               {"BertForTokenClassification", true, BRIM_TASK_TOKENS, 0, false, false},
               {"BertForMaskedLM", true, BRIM_TASK_MASKED, 0, false, false},
               {"BertModel", false, BRIM_TASK_CLASSIFICATION, 2, true, true},
               {"BertModel", true, BRIM_TASK_EMBEDDING, 0, false, false}};
  const char *folder = scratch_make_folder("layers");
  char json[300], path[600];
  snprintf(path, sizeof path, "%s/config.json", folder);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    brim_config c;
    brim_error err;
    size_t length;
    snprintf(json, sizeof json,
             "{\"model_type\":\"bert\",\"architectures\":[\"%s\"],\"brim_layers\":\"weighted:2\","
             "\"output_hidden_states\":true}",
             cases[i].class);
    scratch_write("layers/config.json", json);
    scratch_write("layers/modules.json", cases[i].listed ? modules : "[]");
    if (brim_config_load(case_runtime, folder, NULL, &c, &err) || brim_config_save(case_runtime, &c, folder, &err))
      case_stop("layers", &err);
    ok(c.labels.task == cases[i].task && c.mixed.count == cases[i].count, "%s%s: of the task %s, %d layers", cases[i].class,
       cases[i].listed ? " with modules of layers" : "", brim_task_name(c.labels.task), (int)c.mixed.count);
    char *text = case_read_file(path, &length);
    ok(!strstr(text, "brim_layers") == !cases[i].layers && !strstr(text, "output_hidden_states") == !cases[i].states,
       "and is saved with what it needs");
    brim_runtime_release(case_runtime, text);
    brim_config_free(&c);
  }
}

static void check_described(void) {
  brim_model_info info;
  brim_error err;
  ok(brim_model_describe(case_runtime, case_golden("roberta-regression"), &info, &err) == BRIM_OK && info.max_length == 68 &&
         info.vocab_size == 300 && info.type_count == 1 && strcmp(info.type, "roberta") == 0,
     "a model is described by its configuration alone");
  ok(brim_model_describe(case_runtime, scratch_file("nowhere"), &info, &err) == BRIM_E_IO &&
         strstr(err.file, "nowhere/config.json"),
     "a folder that is missing");
  const char *folder = scratch_make_folder("static");
  scratch_write("static/modules.json", "[{\"path\":\"\",\"type\":\"sentence_transformers.models.StaticEmbedding\"}]");
  ok(brim_model_describe(case_runtime, folder, &info, &err) == BRIM_E_UNSUPPORTED && strstr(err.message, "StaticEmbedding") &&
         brim_model_describe(case_runtime, folder, &info, NULL) == BRIM_E_UNSUPPORTED,
     "a folder without an encoder, also for who wants no words");
  scratch_write("static/modules.json", "[");
  ok(brim_model_describe(case_runtime, folder, &info, &err) == BRIM_E_IO && strstr(err.file, "static/config.json"),
     "modules that cannot be read say nothing");
}

/* What a cross-encoder's scores are made with, in the order in which sentence-transformers 6.2 looks for it. */
static void check_scores(void) {
#define SIGMOID       "torch.nn.modules.activation.Sigmoid"
#define IDENTITY      "torch.nn.modules.linear.Identity"
#define MEMBER(name)  ",\"sentence_transformers\":{\"activation_fn\":\"" name "\"}"
#define OLDER(name)   ",\"sbert_ce_default_activation_function\":\"" name "\""
#define FILE_OF(name) "{\"model_type\":\"CrossEncoder\",\"activation_fn\":" name "}"
  static const struct {
    const char *members, *settings; /* NULL: there is no such file */
    bool reranks, bare;
    int status;
  } cases[] = {{"", NULL, false, false, BRIM_OK},
               {MEMBER(SIGMOID), NULL, true, false, BRIM_OK},
               {MEMBER(IDENTITY), NULL, true, true, BRIM_OK},
               {OLDER(IDENTITY), NULL, true, true, BRIM_OK},
               {OLDER(IDENTITY) MEMBER(SIGMOID), NULL, true, false, BRIM_OK},
               {",\"sbert_ce_default_activation_function\":null", NULL, true, false, BRIM_OK},
               {",\"sentence_transformers\":{}" OLDER(IDENTITY), NULL, true, true, BRIM_OK},
               {"", FILE_OF("\"" IDENTITY "\""), true, true, BRIM_OK},
               {MEMBER(SIGMOID), FILE_OF("\"" IDENTITY "\""), true, true, BRIM_OK},
               {MEMBER(IDENTITY), FILE_OF("\"" SIGMOID "\""), true, false, BRIM_OK},
               {MEMBER(IDENTITY), FILE_OF("null"), true, true, BRIM_OK},
               {MEMBER("torch.nn.modules.activation.Tanh"), NULL, true, false, BRIM_E_UNSUPPORTED},
               {MEMBER(SIGMOID), FILE_OF("\"torch.nn.modules.activation.Softplus\""), true, false, BRIM_E_UNSUPPORTED}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char name[32], json[600];
    brim_config c;
    brim_error err;
    snprintf(name, sizeof name, "scores-%zu", i);
    snprintf(json, sizeof json, "{\"model_type\":\"bert\",\"id2label\":{\"0\":\"LABEL_0\"}%s}", cases[i].members);
    const char *folder = scratch_make_folder(name);
    case_write(folder, "config.json", json, strlen(json));
    if (cases[i].settings)
      case_write(folder, "config_sentence_transformers.json", cases[i].settings, strlen(cases[i].settings));
    const int status = brim_config_load(case_runtime, folder, NULL, &c, &err);
    ok(status == cases[i].status && (status || (c.reranks == cases[i].reranks && c.bare_scores == cases[i].bare)),
       "scores of %s %s: status %d", cases[i].members, cases[i].settings ? cases[i].settings : "", status);
    brim_config_free(&c);
  }
}

/* A model that is trained for something else is no cross-encoder any more, and one that is says it in one way. */
static void check_scores_saved(void) {
  static const brim_task tasks[] = {BRIM_TASK_RERANK, BRIM_TASK_REGRESSION};
  for (size_t i = 0; i < 2; i++) {
    brim_config c;
    brim_error err;
    const brim_labels labels = {.task = tasks[i], .count = 1};
    const char *folder = scratch_make_folder(i ? "no-scores" : "scores");
    char path[600];
    size_t length;
    if (load("{\"model_type\":\"bert\",\"num_labels\":1" OLDER(IDENTITY) MEMBER(IDENTITY) ",\"own\":1}", &labels, &c, &err))
      case_stop("a cross-encoder", &err);
    c.bare_scores = false;
    if (brim_config_save(case_runtime, &c, folder, &err))
      case_stop("save", &err);
    snprintf(path, sizeof path, "%s/config.json", folder);
    char *text = case_read_file(path, &length);
    ok(!holds(text, length, "sbert_ce") && holds(text, length, "\"own\": 1") && !holds(text, length, IDENTITY) &&
           holds(text, length, SIGMOID) == (i == 0) && holds(text, length, "sentence_transformers") == (i == 0),
       "%s", text);
    brim_runtime_release(case_runtime, text);
    brim_config_free(&c);
  }
}

int main(void) {
  case_start(1);
  check_defaults();
  check_family_defaults();
  check_activation("gelu", BRIM_OK, BRIM_ACT_GELU);
  check_activation("gelu_new", BRIM_OK, BRIM_ACT_GELU_NEW);
  check_activation("gelu_pytorch_tanh", BRIM_OK, BRIM_ACT_GELU_NEW);
  check_activation("gelu_fast", BRIM_OK, BRIM_ACT_GELU_NEW);
  check_activation("gelu_accurate", BRIM_OK, BRIM_ACT_GELU_NEW);
  check_activation("relu", BRIM_OK, BRIM_ACT_RELU);
  check_activation("silu", BRIM_OK, BRIM_ACT_SILU);
  check_activation("mish", BRIM_E_UNSUPPORTED, BRIM_ACT_NONE);
  check_labels();
  check_modernbert();
  check_gated();
  check_deberta();
  check_positions();
  check_older();
  check_all_refused();
  check_saved();
  check_own();
  check_pooling_names();
  check_own_pooling();
  check_made_for();
  check_readme();
  check_layers();
  check_described();
  check_scores();
  check_scores_saved();
  brim_runtime_free(case_runtime);
  return tap_done();
}
