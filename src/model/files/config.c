/* config.c: reads config.json. Keys and defaults: configuration_bert.py, configuration_roberta.py, configuration_distilbert.py
 * and configuration_utils.py of Hugging Face transformers 5.23. */
#include "model/config.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/status.h"
#include "model/families/families.h"
#include "model/files/sentence.h"
#include "task/task.h"

#define CONFIG_LIMIT ((size_t)64 << 20) /* bytes; a few thousand label names fit in one */

/* What the reading functions share. */
typedef struct reading {
  brim_runtime *runtime;
  brim_config *config;
  const brim_json_document *document;
  const brim_json_value *root;
} reading;

/* ---- members ---------------------------------------------------------------------------------------------- */

static int read_size(const reading *r, const char *key, int32_t high, int32_t *out, brim_error *err) {
  int64_t value = *out;
  key = brim_family_key(r->config->family, r->root, key);
  BRIM_TRY(brim_json_read_int(r->document, r->root, key, 1, high, &value, err));
  *out = (int32_t)value;
  return BRIM_OK;
}

/* A real number from `low` to `high`. */
static int read_range(const reading *r, const char *key, double low, double high, double *out, brim_error *err) {
  key = brim_family_key(r->config->family, r->root, key);
  BRIM_TRY(brim_json_read_real(r->document, r->root, key, out, err));
  if (!(*out >= low && *out <= high))
    return brim_json_error(r->document, brim_json_get(r->root, key), err, BRIM_E_FORMAT, "%s is %g, but must be from %g to %g",
                           key, *out, low, high);
  return BRIM_OK;
}

static int read_family(const reading *r, brim_error *err) {
  const char *type = NULL;
  char known[BRIM_FAMILY_LIST];
  size_t length = 0;
  if (r->root->kind != BRIM_JSON_OBJECT)
    return brim_json_error(r->document, r->root, err, BRIM_E_FORMAT, "a configuration is a JSON object, this is %s",
                           brim_json_kind_name((brim_json_kind)r->root->kind));
  BRIM_TRY(brim_json_read_string(r->document, r->root, "model_type", &type, &length, err));
  if (!type)
    return brim_json_error(r->document, NULL, err, BRIM_E_FORMAT, "there is no \"model_type\": add one of %s",
                           brim_family_list(known));
  r->config->family = brim_family_find(type, length);
  if (!r->config->family)
    return brim_json_error(r->document, brim_json_get(r->root, "model_type"), err, BRIM_E_UNSUPPORTED,
                           "model type \"%.*s\" is not one that brim has: %s", (int)(length < 100 ? length : 100), type,
                           brim_family_list(known));
  return BRIM_OK;
}

int brim_config_read_activation(const brim_config *config, const char *key, const char *absent, brim_activation *out,
                                brim_error *err) {
  static const struct {
    const char *name;
    brim_activation activation;
  } known[] = {
      {"gelu", BRIM_ACT_GELU},
      {"gelu_python", BRIM_ACT_GELU},
      {"gelu_new", BRIM_ACT_GELU_NEW},
      {"gelu_pytorch_tanh", BRIM_ACT_GELU_NEW},
      {"gelu_python_tanh", BRIM_ACT_GELU_NEW},
      {"gelu_accurate", BRIM_ACT_GELU_NEW},
      {"gelu_fast", BRIM_ACT_GELU_NEW},
      {"relu", BRIM_ACT_RELU},
      {"silu", BRIM_ACT_SILU},
      {"swish", BRIM_ACT_SILU},
  };
  const brim_json_value *root = brim_json_root(config->document);
  const char *name = absent;
  size_t length = strlen(name);
  BRIM_TRY(brim_json_read_string(config->document, root, key, &name, &length, err));
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
      *out = known[i].activation;
      return BRIM_OK;
    }
  return brim_json_error(config->document, brim_json_get(root, key), err, BRIM_E_UNSUPPORTED,
                         "activation \"%.*s\" is not one that brim has: gelu, gelu_new, gelu_pytorch_tanh, relu, silu",
                         (int)(length < 100 ? length : 100), name);
}

/* What is brim's own: how the head sees a text, and whether token types are looked at. */
static int read_own(const reading *r, brim_error *err) {
  const char *name = "cls";
  size_t length = strlen(name);
  char text[8] = "";
  bool types = true, pairs = false;
  BRIM_TRY(brim_json_read_string(r->document, r->root, "brim_pooling", &name, &length, err));
  if (length < sizeof text)
    memcpy(text, name, length);
  if (!brim_pooling_parse(text, &r->config->pooling) || !brim_pooling_is_simple(r->config->pooling))
    return brim_json_error(r->document, brim_json_get(r->root, "brim_pooling"), err, BRIM_E_FORMAT,
                           "brim_pooling is one of cls, mean, max");
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "brim_type_ids", &types, err));
  r->config->ignores_types = !types;
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "brim_pairs", &pairs, err));
  r->config->pairs = brim_json_get(r->root, "brim_pairs") ? pairs : -1;
  name = "last", length = strlen(name);
  BRIM_TRY(brim_json_read_string(r->document, r->root, "brim_layers", &name, &length, err));
  brim_error wrong;
  if (brim_mixed_parse(name, length, r->config->layers, &r->config->mixed, &wrong))
    return brim_json_error(r->document, brim_json_get(r->root, "brim_layers"), err, BRIM_E_FORMAT, "%s", wrong.message);
  return BRIM_OK;
}

static int read_sizes(const reading *r, brim_error *err) {
  brim_config *c = r->config;
  const brim_family_keys *keys = c->family->keys;
  const brim_family_defaults *defaults = &c->family->defaults;
  c->vocab_size = defaults->vocab_size;
  c->types = defaults->types;
  c->hidden = defaults->hidden;
  c->layers = defaults->layers;
  c->heads = defaults->heads;
  c->intermediate = defaults->intermediate;
  c->positions = defaults->positions;
  BRIM_TRY(read_size(r, "vocab_size", 1 << 28, &c->vocab_size, err));
  BRIM_TRY(read_size(r, keys->hidden, 1 << 16, &c->hidden, err));
  BRIM_TRY(read_size(r, keys->layers, BRIM_MOST_LAYERS, &c->layers, err));
  BRIM_TRY(read_size(r, keys->heads, 1 << 10, &c->heads, err));
  BRIM_TRY(read_size(r, keys->intermediate, 1 << 20, &c->intermediate, err));
  BRIM_TRY(read_size(r, "max_position_embeddings", 1 << 24, &c->positions, err));
  if (c->types > 0) {
    int64_t types = c->types;
    BRIM_TRY(brim_json_read_int(r->document, r->root, "type_vocab_size", c->family->may_lack_types ? 0 : 1, 256, &types, err));
    c->types = (int32_t)types;
  }
  c->embedding = defaults->embedding > 0 ? defaults->embedding : c->hidden;
  if (keys->embedding)
    BRIM_TRY(read_size(r, keys->embedding, 1 << 16, &c->embedding, err));
  if (c->hidden % c->heads != 0)
    return brim_json_error(r->document, brim_json_get(r->root, keys->heads), err, BRIM_E_FORMAT,
                           "%s %d cannot be shared out among %d heads: it must be a multiple", keys->hidden, c->hidden, c->heads);
  return BRIM_OK;
}

static int read_padding(const reading *r, brim_error *err) {
  brim_config *c = r->config;
  const brim_json_value *pad = brim_json_get(r->root, "pad_token_id");
  int64_t id = pad && pad->kind == BRIM_JSON_NULL ? -1 : c->family->defaults.pad_id;
  BRIM_TRY(brim_json_read_int(r->document, r->root, "pad_token_id", -1, c->vocab_size - 1, &id, err));
  c->pad_id = (int32_t)id;
  if (c->pad_id >= c->vocab_size) // what a family takes where the file says nothing: an id of the file's vocabulary
    return brim_json_error(r->document, r->root, err, BRIM_E_FORMAT,
                           "pad_token_id is not given, and %s takes %d, which vocab_size %d does not hold: give pad_token_id",
                           c->family->type, c->pad_id, c->vocab_size);
  if (c->family->pad_positions && c->pad_id < 0)
    return brim_json_error(r->document, pad, err, BRIM_E_FORMAT, "%s counts its positions from pad_token_id, which is not given",
                           c->family->type);
  if (brim_config_max_length(c) < 1)
    return brim_json_error(r->document, brim_json_get(r->root, "max_position_embeddings"), err, BRIM_E_FORMAT,
                           "%d positions leave none for a text after pad_token_id %d", c->positions, c->pad_id);
  return BRIM_OK;
}

static int read_reals(const reading *r, brim_error *err) {
  brim_config *c = r->config;
  const brim_family_keys *keys = c->family->keys;
  const brim_family_defaults *defaults = &c->family->defaults;
  c->norm_eps = defaults->norm_eps;
  c->hidden_dropout = defaults->hidden_dropout;
  c->attention_dropout = defaults->attention_dropout;
  c->initializer_range = 0.02;
  if (!c->family->fixed_eps)
    BRIM_TRY(read_range(r, keys->eps ? keys->eps : "layer_norm_eps", 1e-38, 1, &c->norm_eps, err));
  if (keys->hidden_dropout)
    BRIM_TRY(read_range(r, keys->hidden_dropout, 0, 1, &c->hidden_dropout, err));
  BRIM_TRY(read_range(r, keys->attention_dropout, 0, 1, &c->attention_dropout, err));
  BRIM_TRY(read_range(r, "initializer_range", 0, 1e6, &c->initializer_range, err));
  c->head_dropout = defaults->head_dropout < 0 ? c->hidden_dropout : defaults->head_dropout;
  return keys->head_dropout ? read_range(r, keys->head_dropout, 0, 1, &c->head_dropout, err) : BRIM_OK;
}

/* Families without a table of positions have one kind of them, whatever the member says: mmBERT's "sans_pos" is ModernBERT's. */
static int refuse_positions(const reading *r, brim_error *err) {
  const brim_json_value *kind = brim_json_get(r->root, "position_embedding_type");
  const brim_family *family = r->config->family;
  const char *own = family->has_ntk ? "rope" : "absolute";
  if (!kind || kind->kind == BRIM_JSON_NULL || brim_json_is_string(kind, own) || !(family->has_ntk || family->names->position))
    return BRIM_OK;
  return brim_json_error(r->document, kind, err, BRIM_E_UNSUPPORTED, "position_embedding_type must be \"%s\": brim has no other",
                         own);
}

/* Options that change what the encoder computes and that brim does not have. */
static int refuse_unsupported(const reading *r, brim_error *err) {
  bool decoder = false, crosses = false;
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "is_decoder", &decoder, err));
  if (decoder)
    return brim_json_error(r->document, brim_json_get(r->root, "is_decoder"), err, BRIM_E_UNSUPPORTED,
                           "the model is a decoder (is_decoder); brim trains encoders");
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "add_cross_attention", &crosses, err));
  if (crosses) /* transformers does not open one that is no decoder */
    return brim_json_error(r->document, brim_json_get(r->root, "add_cross_attention"), err, BRIM_E_UNSUPPORTED,
                           "the model attends to what another model made (add_cross_attention); brim trains encoders");
  const brim_json_value *quantized = brim_json_get(r->root, "quantization_config");
  if (quantized && quantized->kind == BRIM_JSON_OBJECT)
    return brim_json_error(r->document, quantized, err, BRIM_E_UNSUPPORTED,
                           "the weights are quantized (quantization_config): brim trains the model that they were made from");
  return refuse_positions(r, err);
}

/* ---- labels ----------------------------------------------------------------------------------------------- */

/* "LABEL_0", "LABEL_1", ..: what Hugging Face calls classes without names. */
static int numbered_labels(const reading *r, brim_task task, int32_t count, brim_error *err) {
  const size_t size = 24;
  char *text = brim_alloc_array(r->runtime, (size_t)count, size);
  const char **names = brim_alloc_array(r->runtime, (size_t)count, sizeof *names);
  int status = text && names ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t i = 0; i < count && !status; i++) {
    brim_number_format(text + (size_t)i * size, size, "LABEL_%d", i);
    names[i] = text + (size_t)i * size;
  }
  if (!status)
    status = brim_labels_make(r->runtime, task, names, count, &r->config->labels, err);
  brim_release(r->runtime, names);
  brim_release(r->runtime, text);
  return status;
}

/* A class's name; of a number or a boolean, which others write too, its text, in `number`. NULL: it is none of these. */
static const char *name_of(const brim_json_value *name, char *number, size_t size) {
  switch ((brim_json_kind)name->kind) {
  case BRIM_JSON_STRING:
    return name->as.text;
  case BRIM_JSON_INT:
    brim_number_format(number, size, "%lld", (long long)name->as.integer);
    return number;
  case BRIM_JSON_REAL:
    brim_number_format(number, size, "%.9g", name->as.real);
    return number;
  case BRIM_JSON_BOOL:
    return name->as.integer ? strcpy(number, "true") : strcpy(number, "false");
  default:
    return NULL;
  }
}

/* names[id] of every member {"id": "name"}, each id once; copies in the arena. */
static int collect_names(const reading *r, const brim_json_value *map, brim_arena *arena, const char **names, brim_error *err) {
  for (const brim_json_value *key = brim_json_first(map); key; key = brim_json_after(map, key)) {
    const brim_json_value *name = brim_json_member(key);
    int64_t id = -1;
    if (!brim_number_integer(key->as.text, key->length, &id) || id < 0 || id >= map->length || names[id])
      return brim_json_error(r->document, key, err, BRIM_E_FORMAT, "the keys of id2label must be \"0\" to \"%u\", each once",
                             map->length - 1);
    char number[32];
    const char *text = name_of(name, number, sizeof number);
    const size_t length = text == number ? strlen(number) : name->length;
    if (!text || memchr(text, 0, length))
      return brim_json_error(r->document, name, err, BRIM_E_FORMAT, "a name in id2label must be a text without NUL, this is %s",
                             brim_json_kind_name((brim_json_kind)name->kind));
    names[id] = brim_arena_copy_string(arena, text, length);
    if (!names[id])
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

static int named_labels(const reading *r, brim_task task, const brim_json_value *map, brim_error *err) {
  brim_arena arena;
  brim_arena_init(&arena, r->runtime, 0);
  const char **names = brim_arena_alloc_array(&arena, map->length, sizeof *names);
  int status = names ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    memset(names, 0, map->length * sizeof *names);
    status = collect_names(r, map, &arena, names, err);
  }
  if (!status) {
    brim_error named = {0};
    status = brim_labels_make(r->runtime, task, names, (int32_t)map->length, &r->config->labels, &named);
    if (status) /* "two classes are named .." says no file */
      brim_json_error(r->document, map, err, status, "%s", named.message);
  }
  brim_arena_free(&arena);
  return status;
}

/* brim_task, a member for tasks that no other member says. False: there is one, and no such task. */
static bool own_task(const brim_json_value *root, brim_task *task) {
  const brim_json_value *own = brim_json_get(root, "brim_task");
  char name[32];
  *task = BRIM_TASK_AUTO;
  if (!own)
    return true;
  snprintf(name, sizeof name, "%.*s", own->kind == BRIM_JSON_STRING ? (int)own->length : 0, own->as.text);
  return brim_task_parse(name, task) && *task != BRIM_TASK_AUTO;
}

/* The first of architectures; NULL: there is none. */
static const brim_json_value *class_of(const brim_json_value *root) {
  const brim_json_value *classes = brim_json_get(root, "architectures");
  const brim_json_value *class = classes && classes->kind == BRIM_JSON_ARRAY ? brim_json_first(classes) : NULL;
  return class && class->kind == BRIM_JSON_STRING ? class : NULL;
}

brim_task brim_config_class_task(const brim_config *config) {
  const brim_json_value *root = brim_json_root(config->document), *class = class_of(root);
  brim_task own;
  if (own_task(root, &own) && own != BRIM_TASK_AUTO)
    return own;
  return class ? brim_task_of_class(class->as.text, class->length) : BRIM_TASK_AUTO;
}

/* A folder whose vectors are of several layers is of embeddings, if config.json names no head: a model with one may have been
 * written over them. */
static bool gives_vectors(const reading *r) {
  const brim_json_value *class = class_of(r->root);
  const bool head = (class && brim_task_class_has_head(class->as.text, class->length)) || brim_json_get(r->root, "brim_task");
  return r->config->lists_layers && !head;
}

/* The task of problem_type; without one it follows from the number of outputs, as in Hugging Face. */
static int read_task(const reading *r, int32_t count, brim_task *task, brim_error *err) {
  char known[200];
  const brim_json_value *problem = brim_json_get(r->root, "problem_type");
  if (!own_task(r->root, task))
    return brim_json_error(r->document, brim_json_get(r->root, "brim_task"), err, BRIM_E_UNSUPPORTED,
                           "this brim has no such task: give the labels, or train with the brim that wrote the folder");
  *task = brim_config_class_task(r->config);
  if (*task != BRIM_TASK_AUTO)
    return BRIM_OK;
  *task = brim_task_of_outputs(count);
  if (count == 1 && r->config->reranks && r->config->other_scores)
    return brim_json_error(r->document, r->root, err, BRIM_E_UNSUPPORTED,
                           "the activation_fn of this cross-encoder is neither Sigmoid nor Identity, which brim has");
  if (count == 1 && r->config->reranks)
    return *task = brim_task_of_folder(BRIM_FOLDER_OF_CROSS_ENCODER), BRIM_OK;
  if (!problem || problem->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  *task = problem->kind == BRIM_JSON_STRING ? brim_task_of_problem(problem->as.text, problem->length) : BRIM_TASK_AUTO;
  const brim_task_rules *rules = brim_task_rules_of(*task);
  brim_task_problems(known, sizeof known);
  if (!rules)
    return brim_json_error(r->document, problem, err, BRIM_E_UNSUPPORTED, "this problem_type is not one that brim has: %s",
                           known);
  if (count < rules->least)
    return brim_json_error(r->document, problem, err, BRIM_E_FORMAT, "%s needs more than one label", rules->problem);
  return BRIM_OK;
}

static bool has_vocabulary(brim_task task) {
  const brim_task_rules *rules = brim_task_rules_of(task);
  return rules && rules->head == BRIM_HEAD_OF_WORDS;
}

/* As many outputs as there are ids, without names. */
static int vocabulary_labels(const reading *r, brim_task task, brim_error *err) {
  brim_config *c = r->config;
  c->tied = !c->family->unties_words;
  c->legacy_words = c->has_decoder_bias = true;
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "tie_word_embeddings", &c->tied, err));
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "legacy", &c->legacy_words, err));
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "decoder_bias", &c->has_decoder_bias, err));
  return brim_labels_make(r->runtime, task, NULL, c->vocab_size, &c->labels, err);
}

bool brim_config_ties(const brim_config *config) {
  return has_vocabulary(config->labels.task) &&
         (config->tied || !config->legacy_words); /* DeBERTa's other head has no own matrix */
}

const char *brim_config_idle_bias(const brim_config *config) {
  const brim_word_names *names = &config->family->names->words;
  const bool own = has_vocabulary(config->labels.task) && !brim_config_ties(config) && names->decoder;
  return own && names->bias && strcmp(names->bias, names->untied_bias) != 0 ? names->bias : NULL;
}

bool brim_config_has_two_heads(const brim_config *config) {
  return has_vocabulary(config->labels.task) && config->family->newer_words;
}

static int read_labels(const reading *r, brim_error *err) {
  const brim_json_value *map = brim_json_get(r->root, "id2label");
  if (map && map->kind == BRIM_JSON_NULL)
    map = NULL;
  if (map && (map->kind != BRIM_JSON_OBJECT || map->length == 0 || map->length > 1 << 20))
    return brim_json_error(r->document, map, err, BRIM_E_FORMAT, "id2label must be an object with a name for each class");
  int32_t count = map ? (int32_t)map->length : 2;
  brim_task task;
  if (!map)
    BRIM_TRY(read_size(r, "num_labels", 1 << 20, &count, err));
  BRIM_TRY(read_task(r, count, &task, err));
  if (has_vocabulary(task))
    return vocabulary_labels(r, task, err);
  if (!brim_task_shape(task)->named)
    return brim_labels_make(r->runtime, task, NULL, count, &r->config->labels, err);
  BRIM_TRY(map ? named_labels(r, task, map, err) : numbered_labels(r, task, count, err));
  bool strings = false;
  BRIM_TRY(brim_json_read_bool(r->document, r->root, "brim_label_strings", &strings, err));
  brim_labels_set_strings(&r->config->labels, strings);
  return BRIM_OK;
}

static int copy_labels(const reading *r, const brim_labels *labels, brim_error *err) {
  if (has_vocabulary(labels->task))
    return vocabulary_labels(r, labels->task, err);
  if (labels->count < brim_task_rules_of(labels->task)->least)
    return brim_error_set(err, BRIM_E_MISMATCH, "there is only one class of labels: a classifier needs at least two");
  return brim_labels_copy(r->runtime, labels, &r->config->labels, err);
}

/* ---- entry ------------------------------------------------------------------------------------------------ */

/* The checkpoint of transformers' Trainer with the most steps; 0: there is none. */
static long find_checkpoint(const char *folder) {
  static const char prefix[] = "checkpoint-";
  long most = 0;
  DIR *entries = opendir(folder);
  for (const struct dirent *e; entries && (e = readdir(entries));) {
    const long steps = strncmp(e->d_name, prefix, sizeof prefix - 1) == 0 ? strtol(e->d_name + sizeof prefix - 1, NULL, 10) : 0;
    if (steps > most)
      most = steps;
  }
  if (entries)
    closedir(entries);
  return most;
}

/* A folder without config.json may be something else that trainings leave. */
static int refuse_other(brim_runtime *runtime, const char *folder, brim_error *err) {
  char *adapter = brim_path_join(runtime, folder, "adapter_config.json");
  if (!adapter)
    return BRIM_NOMEM(err);
  const bool peft = brim_path_exists(adapter);
  brim_release(runtime, adapter);
  if (peft)
    return brim_error_at(
        err, BRIM_E_IO, folder, 0, -1,
        "the folder has no config.json: it holds an adapter of PEFT; merge_and_unload() and save_pretrained() make a "
        "model of it");
  BRIM_TRY(brim_sentence_refuse_others(runtime, folder, err));
  const long steps = find_checkpoint(folder);
  return steps ? brim_error_at(
                     err, BRIM_E_IO, folder, 0, -1,
                     "the folder has no config.json: it holds checkpoints; name one of them, such as %.200s/checkpoint-%ld",
                     folder, steps)
               : BRIM_OK;
}

static int load_document(brim_runtime *runtime, const char *folder, brim_config *out, brim_error *err) {
  *out = (brim_config){0};
  char *path = brim_path_join(runtime, folder, "config.json");
  if (!path)
    return BRIM_NOMEM(err);
  int status = brim_path_is_folder(folder) && !brim_path_exists(path) ? refuse_other(runtime, folder, err) : BRIM_OK;
  if (!status)
    status = brim_json_load(runtime, path, CONFIG_LIMIT, &out->document, err);
  brim_release(runtime, path);
  return status;
}

static int read_encoder(const reading *r, brim_error *err) {
  BRIM_TRY(read_family(r, err));
  BRIM_TRY(refuse_unsupported(r, err));
  BRIM_TRY(read_sizes(r, err));
  BRIM_TRY(read_padding(r, err));
  const brim_family *family = r->config->family;
  BRIM_TRY(
      brim_config_read_activation(r->config, family->keys->activation, family->defaults.activation, &r->config->activation, err));
  BRIM_TRY(read_own(r, err));
  BRIM_TRY(read_reals(r, err));
  return r->config->family->read ? r->config->family->read(r->config, err) : BRIM_OK;
}

int brim_config_load_encoder(brim_runtime *runtime, const char *folder, brim_config *out, brim_error *err) {
  int status = load_document(runtime, folder, out, err);
  if (!status) {
    const reading r = {runtime, out, out->document, brim_json_root(out->document)};
    status = read_encoder(&r, err);
  }
  if (status)
    brim_config_free(out);
  return status;
}

int brim_config_load(brim_runtime *runtime, const char *folder, const brim_labels *labels, brim_config *out, brim_error *err) {
  BRIM_TRY(brim_config_load_encoder(runtime, folder, out, err));
  const reading r = {runtime, out, out->document, brim_json_root(out->document)};
  int status = brim_sentence_read_reranker(runtime, folder, out, err);
  if (!status)
    status = brim_sentence_find_layers(runtime, folder, out, err);
  if (!status)
    status = labels ? copy_labels(&r, labels, err)
             : gives_vectors(&r)
                 ? brim_labels_make(runtime, brim_task_of_folder(BRIM_FOLDER_OF_ENCODER), NULL, 1, &out->labels, err)
                 : read_labels(&r, err);
  if (!status && brim_task_rules_of(out->labels.task)->head != BRIM_HEAD_OF_TEXTS) /* layers of vectors are the modules' */
    out->mixed = (brim_mixed){0};
  if (status)
    brim_config_free(out);
  return status;
}

int brim_config_stored_labels(brim_runtime *runtime, const brim_config *config, brim_labels *out, brim_error *err) {
  brim_config stored = *config;
  stored.labels = (brim_labels){0};
  const reading r = {runtime, &stored, config->document, brim_json_root(config->document)};
  const int status = read_labels(&r, err);
  if (status)
    brim_labels_free(&stored.labels);
  *out = stored.labels;
  return status;
}

void brim_config_free(brim_config *config) {
  brim_labels_free(&config->labels);
  brim_json_free(config->document);
  *config = (brim_config){0};
}

int32_t brim_config_outputs(const brim_config *config) {
  const brim_task_rules *rules = brim_task_rules_of(config->labels.task);
  return rules && rules->width > 0 ? rules->width : config->labels.count;
}

int32_t brim_config_max_length(const brim_config *config) {
  return config->family->pad_positions ? config->positions - config->pad_id - 1 : config->positions;
}
