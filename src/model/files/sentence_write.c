/* sentence_write.c: the files that make sentence-transformers open a folder. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "base/text.h"
#include "model/files/sentence.h"
#include "task/task.h"

static int write_file(brim_runtime *runtime, const char *folder, const char *name, const char *text, size_t length,
                      brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  const int status = path ? brim_file_write_all(runtime, path, text, length, err) : BRIM_NOMEM(err);
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
  brim_text_printf(out,
                   "%s  {\n    \"idx\": %d,\n    \"name\": \"%d\",\n    \"path\": \"%s\",\n    \"type\": "
                   "\"sentence_transformers.models.%s\"\n  }",
                   number ? ",\n" : "", number, number, path, class);
}

static int write_modules(const brim_sentence *s, brim_runtime *runtime, const brim_config *config, const char *folder,
                         brim_error *err) {
  brim_text out;
  brim_text_init(&out, runtime);
  brim_text_string(&out, "[\n");
  put_module(&out, 0, "", "Transformer");
  put_module(&out, 1, "1_Pooling", "Pooling");
  for (int32_t i = 0; i < config->dense_count; i++)
    put_module(&out, 2 + i, config->dense[i].path, "Dense");
  char norm[32];
  snprintf(norm, sizeof norm, "%d_Normalize", 2 + (int)config->dense_count);
  if (s->normalizes)
    put_module(&out, 2 + config->dense_count, norm, "Normalize");
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

/* Members that an old version does not know stop it: only those that say something are written. */
static int write_pooling(brim_runtime *runtime, const brim_config *config, const char *folder, brim_error *err) {
  const brim_pool_list modes = brim_pooling_modes(config->pooling);
  brim_text out;
  char *inner = brim_path_join(runtime, folder, "1_Pooling");
  if (!inner)
    return BRIM_NOMEM(err);
  brim_text_init(&out, runtime);
  (in_order(&modes) ? put_flags : put_list)(&out, &modes, config->hidden);
  brim_text_string(&out, config->skips_prompts ? ",\n  \"include_prompt\": false\n}\n" : "\n}\n");
  int status = brim_make_folder(runtime, inner, err);
  if (!status)
    status = write_text(runtime, inner, "config.json", &out, err);
  else
    brim_text_free(&out);
  brim_release(runtime, inner);
  return status;
}

/* Its tensors without the folder's name before theirs. */
static int write_dense_weights(brim_runtime *runtime, const brim_dense_module *d, const brim_tensor *tensors, int32_t count,
                               const char *inner, brim_error *err) {
  const size_t length = strlen(d->path);
  brim_tensor own[2];
  int found = 0;
  for (int32_t i = 0; i < count && found < 2; i++)
    if (strncmp(tensors[i].name, d->path, length) == 0 && tensors[i].name[length] == '/') {
      own[found] = tensors[i];
      own[found++].name += length + 1;
    }
  char *path = brim_path_join(runtime, inner, "model.safetensors");
  const int status = path ? brim_tensors_write(runtime, path, own, found, err) : BRIM_NOMEM(err);
  brim_release(runtime, path);
  return status;
}

static int write_dense(brim_runtime *runtime, const brim_dense_module *d, const brim_tensor *tensors, int32_t count,
                       const char *folder, brim_error *err) {
  brim_text out;
  char *inner = brim_path_join(runtime, folder, d->path);
  if (!inner)
    return BRIM_NOMEM(err);
  brim_text_init(&out, runtime);
  brim_text_printf(&out,
                   "{\n  \"in_features\": %d,\n  \"out_features\": %d,\n  \"bias\": %s,\n  \"activation_function\": \"%s\"\n}\n",
                   (int)d->in, (int)d->out, d->biased ? "true" : "false", brim_module_activation_path(d->activation));
  int status = brim_make_folder(runtime, inner, err);
  if (!status)
    status = write_text(runtime, inner, "config.json", &out, err);
  else
    brim_text_free(&out);
  if (!status)
    status = write_dense_weights(runtime, d, tensors, count, inner, err);
  brim_release(runtime, inner);
  return status;
}

/* ---- settings ------------------------------------------------------------------------------------------------ */

static const char plain[] =
    "{\n  \"model_type\": \"SentenceTransformer\",\n  \"prompts\": {},\n  \"default_prompt_name\": null,\n"
    "  \"similarity_fn_name\": \"cosine\"\n}\n";

static void put_name(brim_text *out, bool first, int depth, const char *name, size_t length) {
  brim_text_printf(out, "%s\n%*s", first ? "" : ",", 2 * depth, "");
  brim_text_json_string(out, name, length);
  brim_text_string(out, ": ");
}

static bool is_name(const brim_json_value *key, const char *name) {
  return name && strlen(name) == key->length && memcmp(name, key->as.text, key->length) == 0;
}

/* Those of the file under other names, and these. */
static void put_prompts(brim_text *out, const brim_json_value *prompts, const char *const names[2], const char *const texts[2]) {
  bool first = true;
  brim_text_string(out, "{");
  for (const brim_json_value *v = prompts ? brim_json_first(prompts) : NULL; v && v->kind == BRIM_JSON_KEY;
       v = brim_json_after(prompts, v))
    if (!is_name(v, names[0]) && !is_name(v, names[1])) {
      put_name(out, first, 2, v->as.text, v->length);
      brim_config_put_value(out, brim_json_member(v), 2);
      first = false;
    }
  for (int i = 0; i < 2; i++)
    if (names[i] && (i == 0 || !names[0] || strcmp(names[0], names[1]) != 0)) {
      put_name(out, first, 2, names[i], strlen(names[i]));
      brim_text_json_string(out, texts[i], strlen(texts[i]));
      first = false;
    }
  brim_text_string(out, "\n  }");
}

static void put_settings(brim_text *out, const brim_json_value *root, const char *const names[2], const char *const texts[2]) {
  bool first = true;
  brim_text_string(out, "{");
  for (const brim_json_value *v = brim_json_first(root); v && v->kind == BRIM_JSON_KEY; v = brim_json_after(root, v))
    if (!is_name(v, "prompts")) {
      put_name(out, first, 1, v->as.text, v->length);
      brim_config_put_value(out, brim_json_member(v), 1);
      first = false;
    }
  put_name(out, first, 1, "prompts", strlen("prompts"));
  put_prompts(out, brim_json_get(root, "prompts"), names, texts);
  brim_text_string(out, "\n}\n");
}

int brim_sentence_set_prompts(brim_sentence *s, const char *const names[2], const char *const texts[2], brim_error *err) {
  const char *from = s->settings ? s->settings : plain;
  const size_t length = s->settings ? s->settings_length : strlen(plain);
  brim_json_document *d;
  brim_text out;
  BRIM_TRY(brim_json_parse(s->runtime, from, length, "config_sentence_transformers.json", &d, err));
  brim_text_init(&out, s->runtime);
  put_settings(&out, brim_json_root(d), names, texts);
  brim_json_free(d);
  const int status = brim_text_status(&out, err);
  if (status) {
    brim_text_free(&out);
    return status;
  }
  brim_release(s->runtime, s->settings);
  s->settings = out.data;
  s->settings_length = out.length;
  return BRIM_OK;
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
  BRIM_TRY(write_pooling(runtime, config, folder, err));
  for (int32_t i = 0; i < config->dense_count; i++)
    BRIM_TRY(write_dense(runtime, &config->dense[i], tensors, tensor_count, folder, err));
  return write_settings(s, runtime, folder, err);
}
