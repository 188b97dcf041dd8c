/* sentence_write.c: the files that make sentence-transformers open a folder. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"
#include "model/files/sentence.h"
#include "task/task.h"

static int write_file(brim_runtime *runtime, const char *folder, const char *name, const char *text, size_t length,
                      brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  const int status = path ? brim_file_write_own(runtime, path, text, length, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int write_text(brim_runtime *runtime, const char *folder, const char *name, brim_text *text, brim_error *err) {
  int status = brim_text_status(text, err);
  if (!status)
    status = write_file(runtime, folder, name, text->data, text->length, err);
  brim_text_free(text);
  return status;
}

/* ---- embeddings ---------------------------------------------------------------------------------------------- */

static void put_module(brim_text *out, int number, const char *path, const char *class) {
  brim_text_printf(out, "%s  {\n    \"idx\": %d,\n    \"name\": \"%d\",\n    \"path\": \"%s\",\n    \"type\": \"%s\"\n  }",
                   number ? ",\n" : "", number, number, path, class);
}

#define LIBRARY "sentence_transformers.models."

static const char *layers_path(const brim_config *config) {
  return config->mixed.joined ? "1_" BRIM_JOINED_CLASS : BRIM_LAYERS_MODULE;
}

static int write_modules(const brim_sentence *s, brim_runtime *runtime, const brim_config *config, const char *folder,
                         brim_error *err) {
  brim_text out;
  char norm[32];
  int number = 0;
  brim_text_init(&out, runtime);
  brim_text_string(&out, "[\n");
  put_module(&out, number++, "", LIBRARY "Transformer");
  if (config->mixed.count > 0)
    put_module(&out, number++, layers_path(config),
               config->mixed.joined ? BRIM_JOINED_FILE "." BRIM_JOINED_CLASS : LIBRARY "WeightedLayerPooling");
  put_module(&out, number++, "1_Pooling", LIBRARY "Pooling");
  for (int32_t i = 0; i < config->dense_count; i++)
    put_module(&out, number++, config->dense[i].path, LIBRARY "Dense");
  snprintf(norm, sizeof norm, "%d_Normalize", 2 + (int)config->dense_count);
  if (s->normalizes)
    put_module(&out, number, norm, LIBRARY "Normalize");
  brim_text_string(&out, "\n]\n");
  return write_text(runtime, folder, "modules.json", &out, err);
}

/* Whether the older form joins them in this order. */
static bool in_order(const brim_pool_list *modes) {
  for (int32_t i = 1; i < modes->count; i++)
    if (modes->of[i] < modes->of[i - 1])
      return false;
  return true;
}

/* A flag for each mode, of which the first versions know four. */
static void put_flags(brim_text *out, const brim_pool_list *modes, int32_t hidden) {
  static const brim_pool_mode order[BRIM_POOL_MODES] = {BRIM_POOL_CLS,       BRIM_POOL_MEAN,          BRIM_POOL_MAX,
                                                        BRIM_POOL_MEAN_SQRT, BRIM_POOL_WEIGHTED_MEAN, BRIM_POOL_LAST};
  enum { KNOWN = 4 };
  brim_text_printf(out, "{\n  \"word_embedding_dimension\": %d", (int)hidden);
  for (int i = 0; i < BRIM_POOL_MODES; i++)
    if (i < KNOWN || brim_pool_has(modes, order[i]))
      brim_text_printf(out, ",\n  \"%s\": %s", brim_module_flag(order[i]), brim_pool_has(modes, order[i]) ? "true" : "false");
}

/* Another order needs the form of version 5.4 and later. */
static void put_list(brim_text *out, const brim_pool_list *modes, int32_t hidden) {
  brim_text_printf(out, "{\n  \"embedding_dimension\": %d,\n  \"pooling_mode\": [", (int)hidden);
  for (int32_t i = 0; i < modes->count; i++)
    brim_text_printf(out, "%s\"%s\"", i ? ", " : "", brim_module_mode(modes->of[i]));
  brim_text_string(out, "]");
}

/* Its tensors without the folder's name before theirs. */
static int write_module_weights(brim_runtime *runtime, const char *name, const brim_tensor *tensors, int32_t count,
                                const char *inner, brim_error *err) {
  const size_t length = strlen(name);
  brim_tensor own[2];
  int found = 0;
  for (int32_t i = 0; i < count && found < 2; i++)
    if (strncmp(tensors[i].name, name, length) == 0 && tensors[i].name[length] == '/') {
      own[found] = tensors[i];
      own[found++].name += length + 1;
    }
  char *path = found > 0 ? brim_path_join(runtime, inner, "model.safetensors") : NULL;
  if (found == 0)
    return BRIM_OK;
  const int status = path ? brim_tensors_write(runtime, path, own, found, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

/* A module's folder: config.json, which is given, and its weights. */
static int write_module(brim_runtime *runtime, const char *name, brim_text *config, const brim_tensor *tensors, int32_t count,
                        const char *folder, brim_error *err) {
  char *inner = brim_path_join(runtime, folder, name);
  int status = inner ? brim_make_folder(runtime, inner, err) : BRIM_NOMEM(err);
  if (!status)
    status = write_text(runtime, inner, "config.json", config, err);
  else
    brim_text_free(config);
  if (!status)
    status = write_module_weights(runtime, name, tensors, count, inner, err);
  brim_release(runtime, inner);
  return status;
}

/* Members that an old version does not know stop it: only those that say something are written. */
static int write_pooling(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) {
  const brim_pool_list modes = brim_pooling_modes(config->pooling);
  brim_text out;
  brim_text_init(&out, runtime);
  (in_order(&modes) ? put_flags : put_list)(&out, &modes, brim_config_seen_width(config));
  brim_text_string(&out, config->skips_prompts ? ",\n  \"include_prompt\": false\n}\n" : "\n}\n");
  return write_module(runtime, "1_Pooling", &out, NULL, 0, folder, err);
}

static int write_dense(brim_runtime *runtime, const brim_dense_module *d, const brim_tensor *tensors, int32_t count,
                       const char *folder, brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  brim_text_printf(&out,
                   "{\n  \"in_features\": %d,\n  \"out_features\": %d,\n  \"bias\": %s,\n  \"activation_function\": \"%s\"\n}\n",
                   (int)d->in, (int)d->out, d->biased ? "true" : "false", brim_module_activation_path(d->activation));
  return write_module(runtime, d->path, &out, tensors, count, folder, err);
}

/* The library has no module of layers side by side: the folder brings it, for trust_remote_code=True. */
static const char joined_file[] =
    "\"\"\"The last layers of the encoder side by side, for SentenceTransformer(folder, trust_remote_code=True). Written by "
    "brim.\"\"\"\n"
    "import json\nimport os\n\nimport torch\n\n\n"
    "class " BRIM_JOINED_CLASS "(torch.nn.Module):\n"
    "    def __init__(self, count):\n        super().__init__()\n        self.count = count\n\n"
    "    def forward(self, features, **ignored):\n"
    "        features[\"token_embeddings\"] = torch.cat(features[\"all_layer_embeddings\"][-self.count:], dim=-1)\n"
    "        return features\n\n"
    "    def save(self, path, *ignored, **also_ignored):\n"
    "        with open(os.path.join(path, \"config.json\"), \"w\") as file:\n"
    "            json.dump({\"count\": self.count}, file)\n\n"
    "    @staticmethod\n    def load(path):\n"
    "        with open(os.path.join(path, \"config.json\")) as file:\n"
    "            return " BRIM_JOINED_CLASS "(**json.load(file))\n";

static int write_layers(brim_runtime *runtime, const brim_config *config, const brim_tensor *tensors, int32_t count,
                        const char *folder, brim_error *err) {
  brim_text out;
  if (config->mixed.count == 0)
    return BRIM_OK;
  if (config->mixed.joined)
    BRIM_TRY(write_file(runtime, folder, BRIM_JOINED_FILE ".py", joined_file, strlen(joined_file), err));
  brim_text_init(&out, runtime);
  if (config->mixed.joined)
    brim_text_printf(&out, "{\n  \"count\": %d\n}\n", (int)config->mixed.count);
  else
    brim_text_printf(&out, "{\n  \"word_embedding_dimension\": %d,\n  \"layer_start\": %d,\n  \"num_hidden_layers\": %d\n}\n",
                     (int)config->hidden, (int)(config->layers + 1 - config->mixed.count), (int)config->layers);
  return write_module(runtime, layers_path(config), &out, tensors, count, folder, err);
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

static const char plain[] =
    "{\n  \"model_type\": \"SentenceTransformer\",\n  \"prompts\": {},\n  \"default_prompt_name\": null,\n"
    "  \"" BRIM_SIMILARITY_SETTING "\": \"cosine\"\n}\n";

static void put_name(brim_text *out, bool first, int depth, const char *name, size_t length) {
  brim_text_printf(out, "%s\n%*s", first ? "" : ",", 2 * depth, "");
  brim_text_json_string(out, name, length);
  brim_text_string(out, ": ");
}

static bool is_name(const brim_json_value *key, const char *name) {
  return name && strlen(name) == key->length && memcmp(name, key->as.text, key->length) == 0;
}

/* One of the first `count` has this name. */
static bool is_named(const brim_json_value *key, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (is_name(key, names[i]))
      return true;
  return false;
}

static bool is_again(const char *const *names, int i) {
  for (int k = 0; k < i; k++)
    if (names[k] && strcmp(names[k], names[i]) == 0)
      return true;
  return false;
}

/* Those of the file under other names, and these. */
static void put_prompts(brim_text *out, const brim_json_value *prompts, const char *const *names, const char *const *texts) {
  bool first = true;
  brim_text_string(out, "{");
  for (const brim_json_value *v = prompts ? brim_json_first(prompts) : NULL; v && v->kind == BRIM_JSON_KEY;
       v = brim_json_after(prompts, v))
    if (!is_named(v, names, BRIM_MOST_PROMPTS)) {
      put_name(out, first, 2, v->as.text, v->length);
      brim_config_put_value(out, brim_json_member(v), 2);
      first = false;
    }
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++)
    if (names[i] && !is_again(names, i)) {
      put_name(out, first, 2, names[i], strlen(names[i]));
      brim_text_json_string(out, texts[i], strlen(texts[i]));
      first = false;
    }
  brim_text_string(out, "\n  }");
}

/* The settings with these prompts, or where names are NULL with this similarity. */
static void put_settings(brim_text *out, const brim_json_value *root, const char *const *names, const char *const *texts,
                         const char *similarity) {
  const char *replaced = names ? "prompts" : BRIM_SIMILARITY_SETTING;
  bool first = true;
  brim_text_string(out, "{");
  for (const brim_json_value *v = brim_json_first(root); v && v->kind == BRIM_JSON_KEY; v = brim_json_after(root, v))
    if (!is_name(v, replaced)) {
      put_name(out, first, 1, v->as.text, v->length);
      brim_config_put_value(out, brim_json_member(v), 1);
      first = false;
    }
  put_name(out, first, 1, replaced, strlen(replaced));
  if (names)
    put_prompts(out, brim_json_get(root, "prompts"), names, texts);
  else
    brim_text_json_string(out, similarity, strlen(similarity));
  brim_text_string(out, "\n}\n");
}

static int change_settings(brim_sentence *s, const char *const *names, const char *const *texts, const char *similarity,
                           brim_error *err) {
  const char *from = s->settings ? s->settings : plain;
  const size_t length = s->settings ? s->settings_length : strlen(plain);
  brim_json_document *d;
  brim_text out;
  BRIM_TRY(brim_json_parse(s->runtime, from, length, "config_sentence_transformers.json", &d, err));
  brim_text_init(&out, s->runtime);
  const bool same = !names && brim_json_is_string(brim_json_get(brim_json_root(d), BRIM_SIMILARITY_SETTING), similarity);
  if (!same)
    put_settings(&out, brim_json_root(d), names, texts, similarity);
  brim_json_free(d);
  const int status = brim_text_status(&out, err);
  if (status || same) {
    brim_text_free(&out);
    return status;
  }
  brim_release(s->runtime, s->settings);
  s->settings = out.data;
  s->settings_length = out.length;
  return BRIM_OK;
}

int brim_sentence_set_prompts(brim_sentence *s, const char *const names[BRIM_MOST_PROMPTS],
                              const char *const texts[BRIM_MOST_PROMPTS], brim_error *err) {
  return change_settings(s, names, texts, NULL, err);
}

int brim_sentence_set_similarity(brim_sentence *s, const char *name, brim_error *err) {
  brim_sentence_compare(s, name);
  return change_settings(s, NULL, NULL, name, err);
}

/* How long texts may be is in tokenizer_config.json. */
static int write_settings(const brim_sentence *s, brim_runtime *runtime, const char *folder, brim_error *err) {
  static const char lengths[] = "{\n  \"do_lower_case\": false\n}\n";
  BRIM_TRY(write_file(runtime, folder, "sentence_bert_config.json", lengths, strlen(lengths), err));
  return write_file(runtime, folder, "config_sentence_transformers.json", s->settings ? s->settings : plain,
                    s->settings ? s->settings_length : strlen(plain), err);
}

/* ---- rerankers ----------------------------------------------------------------------------------------------- */

static int write_reranker(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  brim_text_printf(&out,
                   "{\n  \"model_type\": \"CrossEncoder\",\n  \"activation_fn\": \"%s\",\n  \"prompts\": {},\n"
                   "  \"default_prompt_name\": null\n}\n",
                   brim_sentence_activation(config));
  return write_text(runtime, folder, "config_sentence_transformers.json", &out, err);
}

int brim_sentence_save(const brim_sentence *s, brim_runtime *runtime, const brim_config *config, const brim_tensor *tensors,
                       int32_t tensor_count, const char *folder, brim_error *err) {
  const brim_folder_form form = brim_task_rules_of(config->labels.task)->folder;
  if (form == BRIM_FOLDER_OF_CROSS_ENCODER)
    return write_reranker(runtime, config, folder, err);
  if (form != BRIM_FOLDER_OF_ENCODER)
    return BRIM_OK;
  BRIM_TRY(write_modules(s, runtime, config, folder, err));
  BRIM_TRY(write_layers(runtime, config, tensors, tensor_count, folder, err));
  BRIM_TRY(write_pooling(runtime, config, folder, err));
  for (int32_t i = 0; i < config->dense_count; i++)
    BRIM_TRY(write_dense(runtime, &config->dense[i], tensors, tensor_count, folder, err));
  return write_settings(s, runtime, folder, err);
}
