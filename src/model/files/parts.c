/* parts.c: the parts of a model's folder. tests/python compares them with what is written. */
#include "model/files/parts.h"

#include <string.h>

#include "base/folder.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/modules.h"
#include "task/task.h"

#define POOLING_MODULE "1_Pooling"
#define JOINED_MODULE  "1_" BRIM_JOINED_CLASS

static bool always(const brim_config *config) {
  (void)config;
  return true;
}

static bool is_encoder(const brim_config *config) {
  return brim_task_rules_of(config->labels.task)->folder == BRIM_FOLDER_OF_ENCODER;
}

static bool has_settings(const brim_config *config) {
  return is_encoder(config) || brim_task_rules_of(config->labels.task)->folder == BRIM_FOLDER_OF_CROSS_ENCODER;
}

static bool joins(const brim_config *config) {
  return is_encoder(config) && config->mixed.count > 0 && config->mixed.joined;
}

static bool weighs(const brim_config *config) {
  return is_encoder(config) && config->mixed.count > 0 && !config->mixed.joined;
}

/* Dense layers have the names that the config has. */
static const struct {
  brim_part is;
  bool (*of)(const brim_config *config);
} parts_of[] = {
    {{"config.json", false}, always},
    {{"model.safetensors", false}, always},
    {{"modules.json", false}, is_encoder},
    {{"sentence_bert_config.json", false}, is_encoder},
    {{"config_sentence_transformers.json", false}, has_settings},
    {{BRIM_JOINED_FILE ".py", false}, joins},
    {{POOLING_MODULE, true}, is_encoder},
    {{JOINED_MODULE, true}, joins},
    {{BRIM_LAYERS_MODULE, true}, weighs},
};
enum { PARTS = sizeof parts_of / sizeof *parts_of };

int brim_config_parts(const brim_config *config, brim_part parts[BRIM_MOST_PARTS]) {
  int count = 0;
  for (int i = 0; i < PARTS; i++)
    if (parts_of[i].of(config))
      parts[count++] = parts_of[i].is;
  for (int32_t i = 0; is_encoder(config) && i < config->dense_count; i++)
    parts[count++] = (brim_part){config->dense[i].path, true};
  if (brim_readme_wanted(config))
    parts[count++] = (brim_part){"README.md", false};
  return count;
}

static bool is_part(const char *name, bool folder) {
  for (int i = 0; i < PARTS; i++)
    if (parts_of[i].is.folder == folder && strcmp(name, parts_of[i].is.name) == 0)
      return true;
  return false;
}

bool brim_is_model_part(const char *name) {
  return is_part(name, false) || is_part(name, true) || strcmp(name, "README.md") == 0;
}

bool brim_is_model_file(const char *name) {
  return is_part(name, false);
}

/* Dense ones come after the pooling's, which is always the first. */
bool brim_is_module_name(const char *name) {
  const size_t digits = strspn(name, "0123456789");
  return is_part(name, true) || (digits > 0 && strcmp(name + digits, "_Dense") == 0);
}

/* ---- as a folder lists them ---------------------------------------------------------------------------------- */

static bool is_name(const brim_json_value *path) {
  return path && path->kind == BRIM_JSON_STRING && path->length > 0 && path->as.text[0] != '.' &&
         !memchr(path->as.text, '/', path->length) && !memchr(path->as.text, 0, path->length);
}

static int list_modules(brim_runtime *runtime, const brim_json_value *root, char ***names, size_t *count, brim_error *err) {
  size_t room = 0;
  for (const brim_json_value *module = brim_json_first(root); module; module = brim_json_after(root, module)) {
    const brim_json_value *path = brim_json_get(module, "path");
    if (!is_name(path))
      continue;
    BRIM_TRY(brim_grow(runtime, (void **)names, &room, *count + 1, sizeof **names, err));
    char *name = brim_copy_string(runtime, path->as.text, path->length);
    if (!name)
      return BRIM_NOMEM(err);
    (*names)[(*count)++] = name;
  }
  return BRIM_OK;
}

int brim_listed_modules(brim_runtime *runtime, const char *folder, char ***names, size_t *count, brim_error *err) {
  brim_json_document *d = NULL;
  *names = NULL;
  *count = 0;
  char *path = brim_path_join(runtime, folder, "modules.json");
  int status = !path                     ? BRIM_NOMEM(err)
               : brim_path_is_file(path) ? brim_module_json(runtime, folder, "", "modules.json", &d, err)
                                         : BRIM_OK;
  brim_release(runtime, path);
  if (status && status != BRIM_E_MEMORY)
    return BRIM_OK;
  if (!status && d)
    status = list_modules(runtime, brim_json_root(d), names, count, err);
  brim_json_free(d);
  if (status) {
    brim_names_free(runtime, *names, *count);
    *names = NULL;
    *count = 0;
  }
  return status;
}
