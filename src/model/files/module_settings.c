/* module_settings.c: config_sentence_transformers.json: prompts, the class of the model, what its vectors are cut to and compared
 * by. */
#include <string.h>

#include "base/status.h"
#include "model/files/modules.h"

/* A prompt that is no text would be none. */
static int check_prompts(const brim_modules *m, const brim_json_value *prompts, brim_error *err) {
  if (!prompts || prompts->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  if (prompts->kind != BRIM_JSON_OBJECT)
    return brim_json_error(m->settings, prompts, err, BRIM_E_FORMAT, "\"prompts\" must be an object, but is %s",
                           brim_json_kind_name(prompts->kind));
  for (const brim_json_value *key = brim_json_first(prompts); key; key = brim_json_after(prompts, key)) {
    const brim_json_value *text = brim_json_member(key);
    if (text->kind != BRIM_JSON_STRING && text->kind != BRIM_JSON_NULL)
      return brim_json_error(m->settings, text, err, BRIM_E_FORMAT, "a prompt must be a string, but is %s",
                             brim_json_kind_name(text->kind));
  }
  return BRIM_OK;
}

/* A default that names no prompt: sentence-transformers refuses it, and vectors without it would be others. */
static int check_prompt(const brim_modules *m, brim_error *err) {
  const brim_json_value *root = m->settings ? brim_json_root(m->settings) : NULL;
  const brim_json_value *name = root ? brim_json_get(root, "default_prompt_name") : NULL;
  const brim_json_value *prompts = name && name->kind == BRIM_JSON_STRING ? brim_json_get(root, "prompts") : NULL;
  const bool listed = prompts && prompts->kind == BRIM_JSON_OBJECT;
  if (!name || name->kind == BRIM_JSON_NULL || brim_json_is_string(name, "query") || brim_json_is_string(name, "document"))
    return BRIM_OK; /* these two are there without being said */
  for (const brim_json_value *key = listed ? brim_json_first(prompts) : NULL; key; key = brim_json_after(prompts, key))
    if (key->length == name->length && memcmp(key->as.text, name->as.text, name->length) == 0)
      return BRIM_OK;
  return brim_json_error(m->settings, name, err, BRIM_E_FORMAT, "\"default_prompt_name\" is none of the names in \"prompts\"");
}

static int read_truncated(brim_modules *m, brim_error *err) {
  const brim_json_value *root = m->settings ? brim_json_root(m->settings) : NULL;
  int64_t count = 0;
  if (root)
    BRIM_TRY(brim_json_read_int(m->settings, root, "truncate_dim", 1, 1 << 30, &count, err));
  m->truncated = (int32_t)count;
  return BRIM_OK;
}

/* Which class of sentence-transformers the folder is of. Of a cross-encoder it makes an encoder whose tokens are averaged, and
 * looks neither at its modules nor at its settings. */
static int read_kind(brim_modules *m, brim_error *err) {
  const brim_json_value *type = m->settings ? brim_json_get(brim_json_root(m->settings), "model_type") : NULL;
  if (!type || brim_json_is_string(type, "SentenceTransformer"))
    return BRIM_OK;
  if (brim_json_is_string(type, "CrossEncoder")) {
    m->scores = true;
    m->listed = m->mixes = false;
    return BRIM_OK;
  }
  return brim_json_error(
      m->settings, type, err, BRIM_E_UNSUPPORTED,
      "the folder's model is no SentenceTransformer, with one dense vector for a text, and brim does not compute "
      "the vectors of others, such as SparseEncoder: it can only train its encoder, for tasks without vectors");
}

static int read_settings(brim_modules *m, brim_error *err) {
  BRIM_TRY(check_prompts(m, m->settings ? brim_json_get(brim_json_root(m->settings), "prompts") : NULL, err));
  BRIM_TRY(read_truncated(m, err));
  return check_prompt(m, err);
}

int brim_modules_load_settings(brim_modules *m, brim_error *err) {
  BRIM_TRY(brim_module_json(m->runtime, m->home, "", "config_sentence_transformers.json", &m->settings, err));
  BRIM_TRY(read_kind(m, err));
  if (m->scores) {
    brim_json_free(m->settings);
    m->settings = NULL;
  }
  return read_settings(m, err);
}

const char *brim_modules_setting(brim_modules *m, const char *name) {
  const brim_json_value *value = m->settings ? brim_json_get(brim_json_root(m->settings), name) : NULL;
  return value && value->kind == BRIM_JSON_STRING ? brim_arena_copy_string(&m->arena, value->as.text, value->length) : NULL;
}

const char *brim_modules_similarity(brim_modules *m) {
  const char *name = brim_modules_setting(m, BRIM_SIMILARITY_SETTING);
  return name ? name : "cosine";
}

const char *brim_modules_prompt(brim_modules *m, const char *name) {
  const brim_json_value *prompts = m->settings ? brim_json_get(brim_json_root(m->settings), "prompts") : NULL;
  const char *wanted = name ? name : brim_modules_setting(m, "default_prompt_name");
  const brim_json_value *text = wanted ? brim_json_get(prompts, wanted) : NULL;
  if (text && text->kind == BRIM_JSON_NULL) /* as empty there */
    return "";
  return text && text->kind == BRIM_JSON_STRING ? brim_arena_copy_string(&m->arena, text->as.text, text->length) : NULL;
}

void brim_modules_prompt_names(const brim_modules *m, brim_text *out) {
  const brim_json_value *prompts = m->settings ? brim_json_get(brim_json_root(m->settings), "prompts") : NULL;
  const char *separator = "";
  for (const brim_json_value *v = prompts ? brim_json_first(prompts) : NULL; v; v = brim_json_after(prompts, v)) {
    if (v->kind != BRIM_JSON_KEY) /* a list */
      return;
    brim_text_printf(out, "%s%.*s", separator, (int)v->length, v->as.text);
    separator = ", ";
  }
}
