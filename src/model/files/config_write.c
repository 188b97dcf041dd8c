/* config_write.c: config.json as it was read, with what training decides put in its place. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"
#include "model/config.h"
#include "model/families/rotary.h"
#include "model/files/sentence.h"
#include "task/task.h"

/* ---- any JSON value, two spaces a level as Hugging Face writes it ------------------------------------------ */

static void new_line(brim_text *out, int depth) {
  brim_text_string(out, "\n");
  for (int i = 0; i < depth; i++)
    brim_text_string(out, "  ");
}

/* A real number stays one: transformers refuses 2 where a member is to be 2.0. */
static void write_real(brim_text *out, double value) {
  const size_t before = out->length;
  brim_text_json_number(out, value);
  for (size_t i = before; i < out->length; i++)
    if (!strchr("-0123456789", out->data[i]))
      return;
  brim_text_string(out, ".0");
}

static void write_items(brim_text *out, const brim_json_value *container, int depth) {
  const char *separator = "";
  for (const brim_json_value *item = brim_json_first(container); item; item = brim_json_after(container, item)) {
    brim_text_string(out, separator);
    separator = ",";
    new_line(out, depth + 1);
    if (item->kind == BRIM_JSON_KEY) {
      brim_text_json_string(out, item->as.text, item->length);
      brim_text_string(out, ": ");
      brim_config_put_value(out, brim_json_member(item), depth + 1);
    } else {
      brim_config_put_value(out, item, depth + 1);
    }
  }
  if (*separator)
    new_line(out, depth);
}

/* No deeper than the reader lets documents be. */
void brim_config_put_value(brim_text *out, const brim_json_value *value, int depth) {
  switch ((brim_json_kind)value->kind) {
  case BRIM_JSON_BOOL:
    brim_text_string(out, value->as.integer ? "true" : "false");
    break;
  case BRIM_JSON_INT:
    brim_text_integer(out, value->as.integer);
    break;
  case BRIM_JSON_REAL:
    write_real(out, value->as.real);
    break;
  case BRIM_JSON_STRING:
    brim_text_json_string(out, value->as.text, value->length);
    break;
  case BRIM_JSON_ARRAY:
    brim_text_string(out, "[");
    write_items(out, value, depth);
    brim_text_string(out, "]");
    break;
  case BRIM_JSON_OBJECT:
    brim_text_string(out, "{");
    write_items(out, value, depth);
    brim_text_string(out, "}");
    break;
  default:
    brim_text_string(out, "null");
  }
}

/* ---- members that training decides -------------------------------------------------------------------------- */

/* "Bert" of the family's class for texts, and the task's end. */
static void write_architectures(brim_text *out, const brim_config *config) {
  const char *class = config->family->architecture, *end = strstr(class, "For");
  brim_text_printf(out, "[\n    \"%.*s%s\"\n  ]", (int)(end ? end - class : (ptrdiff_t)strlen(class)), class,
                   brim_task_rules_of(config->labels.task)->class);
}

/* The values of a regression have no names: Hugging Face calls them LABEL_0, LABEL_1, .. */
static void write_name(brim_text *out, const brim_config *config, int32_t id) {
  if (config->labels.names)
    brim_text_json_string(out, config->labels.names[id], strlen(config->labels.names[id]));
  else
    brim_text_printf(out, "\"LABEL_%d\"", id);
}

static void write_id2label(brim_text *out, const brim_config *config) {
  brim_text_string(out, "{");
  for (int32_t id = 0; id < brim_config_outputs(config); id++) {
    brim_text_printf(out, "%s\n    \"%d\": ", id ? "," : "", id);
    write_name(out, config, id);
  }
  brim_text_string(out, "\n  }");
}

static void write_label2id(brim_text *out, const brim_config *config) {
  brim_text_string(out, "{");
  for (int32_t id = 0; id < brim_config_outputs(config); id++) {
    brim_text_string(out, id ? ",\n    " : "\n    ");
    write_name(out, config, id);
    brim_text_printf(out, ": %d", id);
  }
  brim_text_string(out, "\n  }");
}

static void write_problem(brim_text *out, const brim_config *config) {
  const char *problem = brim_task_rules_of(config->labels.task)->problem;
  brim_text_printf(out, problem ? "\"%s\"" : "null", problem);
}

static void write_label_count(brim_text *out, const brim_config *config) {
  brim_text_integer(out, brim_config_outputs(config));
}

static void write_dtype(brim_text *out, const brim_config *config) {
  (void)config;
  brim_text_string(out, "\"float32\"");
}

static void write_pooling(brim_text *out, const brim_config *config) {
  char name[BRIM_POOLING_NAME];
  brim_text_printf(out, "\"%s\"", brim_pooling_name(config->pooling, name));
}

/* Where the file format has a name for the pooling, other programs know it too. */
static void write_own_pooling(brim_text *out, const brim_config *config) {
  brim_text_printf(out, "\"%s\"", config->pooling == BRIM_POOLING_CLS ? config->family->first : config->late ? "late" : "mean");
}

static void write_type_ids(brim_text *out, const brim_config *config) {
  brim_text_string(out, config->ignores_types ? "false" : "true");
}

static void write_strings(brim_text *out, const brim_config *config) {
  brim_text_string(out, config->labels.strings ? "true" : "false");
}

static bool always(const brim_config *config) {
  (void)config;
  return true;
}

/* Neither vectors nor a vocabulary have names. */
static bool has_labels(const brim_config *config) {
  const brim_head_form head = brim_task_rules_of(config->labels.task)->head;
  return head == BRIM_HEAD_OF_TEXTS || head == BRIM_HEAD_OF_TOKENS;
}

static bool has_own_pooling(const brim_config *config) {
  return config->family->first && has_labels(config);
}

static bool has_problem(const brim_config *config) {
  return brim_task_rules_of(config->labels.task)->problem != NULL;
}

/* Whether no other member says the task. */
static bool has_own_task(const brim_config *config) {
  const brim_task task = config->labels.task;
  const brim_task_rules *rules = brim_task_rules_of(task);
  const brim_task by_class = brim_task_of_class(rules->class, strlen(rules->class));
  const brim_task by_problem = rules->problem ? brim_task_of_problem(rules->problem, strlen(rules->problem))
                                              : brim_task_of_outputs(brim_config_outputs(config));
  return rules->folder == BRIM_FOLDER_PLAIN && task != (by_class != BRIM_TASK_AUTO ? by_class : by_problem);
}

static void write_task(brim_text *out, const brim_config *config) {
  brim_text_printf(out, "\"%s\"", brim_task_name(config->labels.task));
}

bool brim_config_pools(const brim_config *config) {
  if (!has_labels(config)) /* other files say how */
    return false;
  return config->pooling == BRIM_POOLING_MAX || (config->pooling == BRIM_POOLING_MEAN && !has_own_pooling(config));
}

bool brim_config_mixes(const brim_config *config) {
  return config->mixed.count > 0 && brim_task_rules_of(config->labels.task)->head == BRIM_HEAD_OF_TEXTS;
}

static void write_mixed(brim_text *out, const brim_config *config) {
  char name[BRIM_LAYERS_NAME];
  brim_text_printf(out, "\"%s\"", brim_mixed_name(config->mixed, name));
}

/* Of embeddings sentence-transformers asks the encoder for all layers by this member. */
static bool gives_layers(const brim_config *config) {
  return config->mixed.count > 0 && brim_task_rules_of(config->labels.task)->head == BRIM_HEAD_OF_VECTORS;
}

static void write_true(brim_text *out, const brim_config *config) {
  (void)config;
  brim_text_string(out, "true");
}

static bool is_reranker(const brim_config *config) {
  return brim_task_rules_of(config->labels.task)->folder == BRIM_FOLDER_OF_CROSS_ENCODER;
}

/* By which sentence-transformers before 5.4 knows what a cross-encoder's scores are made of. */
static void write_reranker(brim_text *out, const brim_config *config) {
  brim_text_printf(out, "{\n    \"activation_fn\": \"%s\"\n  }", brim_sentence_activation(config));
}

static bool ignores_types(const brim_config *config) {
  return config->ignores_types;
}

static bool knows_pairs(const brim_config *config) {
  return config->pairs >= 0;
}

static void write_pairs(brim_text *out, const brim_config *config) {
  brim_text_string(out, config->pairs ? "true" : "false");
}

/* Strings that without a word would be read as numbers or booleans. */
static bool names_look_typed(const brim_config *config) {
  const brim_labels *labels = &config->labels;
  bool typed = false;
  for (int32_t i = 0; labels->strings && i < labels->count; i++) {
    const char *name = labels->names[i];
    typed |= !name[strspn(name, "-0123456789")] || strcmp(name, "true") == 0 || strcmp(name, "false") == 0;
  }
  return typed;
}

/* Members that say in a newer way what older ones said. */
static void write_type(brim_text *out, const brim_config *config) {
  brim_text_printf(out, "\"%s\"", config->family->saved ? config->family->saved : config->family->type);
}

static bool writes_rope(const brim_config *config) {
  return config->family->writes_rope;
}

/* The head that the weights had. */
static void write_legacy(brim_text *out, const brim_config *config) {
  brim_text_string(out, config->legacy_words ? "true" : "false");
}

static const struct decided {
  const char *key;
  bool (*added)(const brim_config *config); /* when the file had no such member; NULL: never */
  void (*write)(brim_text *out, const brim_config *config);
} decided[] = {
    {"model_type", NULL, write_type},
    {"rope_parameters", writes_rope, brim_write_rope},
    {"architectures", always, write_architectures},
    {"id2label", has_labels, write_id2label},
    {"label2id", has_labels, write_label2id},
    {"problem_type", has_problem, write_problem},
    {"dtype", NULL, write_dtype},
    {"torch_dtype", NULL, write_dtype},
    {"num_labels", NULL, write_label_count},
    {"_num_labels", NULL, write_label_count},
    {"brim_pooling", brim_config_pools, write_pooling},
    {"brim_layers", brim_config_mixes, write_mixed},
    {"output_hidden_states", gives_layers, write_true},
    {"classifier_pooling", has_own_pooling, write_own_pooling},
    {"brim_type_ids", ignores_types, write_type_ids},
    {"brim_pairs", knows_pairs, write_pairs},
    {"brim_label_strings", names_look_typed, write_strings},
    {"sentence_transformers", is_reranker, write_reranker},
    {"brim_task", has_own_task, write_task},
    {"legacy", brim_config_has_two_heads, write_legacy},
};
enum { DECIDED = sizeof decided / sizeof *decided };

/* Where outputs have no names, what the file says of labels is another task's, and stays; as what only some families write. */
static bool is_decided(const brim_config *config, const struct decided *d) {
  const bool labels = d->write == write_id2label || d->write == write_label2id || d->write == write_label_count;
  const bool some = d->write == brim_write_rope || d->write == write_legacy || d->added == gives_layers;
  return (!labels || has_labels(config)) && (!some || d->added(config));
}

static const struct decided *find_decided(const brim_config *config, const char *key, size_t length) {
  for (size_t i = 0; i < DECIDED; i++)
    if (strlen(decided[i].key) == length && memcmp(decided[i].key, key, length) == 0)
      return is_decided(config, &decided[i]) ? &decided[i] : NULL;
  return NULL;
}

static bool is_named(const brim_json_value *key, const char *name) {
  return key->length == strlen(name) && memcmp(key->as.text, name, key->length) == 0;
}

/* How another task's head saw a text: vectors have modules for it, and ways that this member has no word for. */
static bool is_of_pooling(const brim_config *config, const brim_json_value *key) {
  return is_named(key, "brim_pooling") && brim_task_rules_of(config->labels.task)->head == BRIM_HEAD_OF_VECTORS;
}

/* What a head on several layers needed, and this one does not. */
static bool is_of_layers(const brim_config *config, const brim_json_value *key) {
  return (is_named(key, "brim_layers") && !brim_config_mixes(config)) ||
         (is_named(key, "output_hidden_states") && config->lists_layers && !gives_layers(config));
}

/* How a cross-encoder's scores are made, as older versions wrote it, and of a model that is none any more. */
static bool is_of_scores(const brim_config *config, const brim_json_value *key) {
  return is_named(key, "sbert_ce_default_activation_function") ||
         (is_named(key, "sentence_transformers") && !is_reranker(config));
}

/* The name by which a member of the file is saved; NULL: it is left out. */
static const char *saved_name(const brim_config *config, const brim_json_value *key) {
  if ((is_named(key, "brim_pairs") && !knows_pairs(config)) || is_of_pooling(config, key) || is_of_layers(config, key) ||
      is_of_scores(config, key))
    return NULL;
  const brim_renamed *renamed = brim_family_renamed(config->family, key->as.text, key->length);
  if (!renamed)
    return key->as.text;
  return renamed->newer && !brim_json_get(brim_json_root(config->document), renamed->newer) ? renamed->newer : NULL;
}

static void write_config(brim_text *out, const brim_config *config) {
  const brim_json_value *root = brim_json_root(config->document);
  const char *separator = "{";
  for (const brim_json_value *key = brim_json_first(root); key; key = brim_json_after(root, key)) {
    const char *name = saved_name(config, key);
    const size_t length = name == key->as.text || !name ? key->length : strlen(name);
    const struct decided *own = name ? find_decided(config, name, length) : NULL;
    if (!name)
      continue;
    brim_text_string(out, separator);
    separator = ",";
    new_line(out, 1);
    brim_text_json_string(out, name, length);
    brim_text_string(out, ": ");
    if (own)
      own->write(out, config);
    else
      brim_config_put_value(out, brim_json_member(key), 1);
  }
  for (size_t i = 0; i < DECIDED; i++)
    if (decided[i].added && is_decided(config, &decided[i]) && decided[i].added(config) && !brim_json_get(root, decided[i].key)) {
      brim_text_printf(out, ",\n  \"%s\": ", decided[i].key); /* there is a model_type before it */
      decided[i].write(out, config);
    }
  brim_text_string(out, "\n}\n");
}

int brim_config_save(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) {
  char *path = brim_path_join(runtime, folder, "config.json");
  if (!path)
    return BRIM_NOMEM(err);
  brim_text out;
  brim_text_init(&out, runtime);
  write_config(&out, config);
  int status = brim_text_status(&out, err);
  if (!status)
    status = brim_file_write_own(runtime, path, out.data, out.length, err);
  brim_text_free(&out);
  brim_release(runtime, path);
  return status;
}
