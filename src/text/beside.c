/* beside.c: the files beside a tokenizer, which class they mean, and what they say about cutting texts. */
#include "text/beside.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "text/fields.h"
#include <string.h>

enum { FILE_LIMIT = 64 << 20 };
#define NO_BOUND 1e9 /* transformers writes 1e30 where there is no longest text */

/* A file of an object, if it is there. */
static int load_one(brim_runtime *runtime, const char *folder, const char *name, brim_json_document **out, brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = brim_path_is_taken(path) && !brim_path_is_folder(path) ? brim_json_load(runtime, path, FILE_LIMIT, out, err)
                                                                      : BRIM_OK;
  brim_release(runtime, path);
  const brim_json_value *root = status == BRIM_OK && *out ? brim_json_root(*out) : NULL;
  if (root && root->kind != BRIM_JSON_OBJECT)
    return brim_json_error(*out, root, err, BRIM_E_FORMAT, "%s must hold an object, this is %s", name,
                           brim_json_kind_name((brim_json_kind)root->kind));
  return status;
}

const char *const brim_beside_names[BRIM_BESIDE_FILES] = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                                                          "config.json"};

int brim_beside_load(brim_runtime *runtime, const char *folder, brim_beside *out, brim_error *err) {
  brim_json_document **const documents[BRIM_BESIDE_FILES] = {&out->config, &out->map, &out->added, &out->model};
  *out = (brim_beside){0};
  for (int i = 0; i < BRIM_BESIDE_FILES; i++)
    BRIM_TRY(load_one(runtime, folder, brim_beside_names[i], documents[i], err));
  return BRIM_OK;
}

void brim_beside_free(brim_beside *beside) {
  brim_json_free(beside->config);
  brim_json_free(beside->map);
  brim_json_free(beside->added);
  brim_json_free(beside->model);
  *beside = (brim_beside){0};
}

static const brim_json_value *text_member(const brim_json_document *document, const char *key) {
  const brim_json_value *value = document ? brim_json_get(brim_json_root(document), key) : NULL;
  return value && value->kind == BRIM_JSON_STRING ? value : NULL;
}

/* What a file names. */
static const brim_json_value *class_name(const brim_beside *beside) {
  const brim_json_value *name = text_member(beside->config, "tokenizer_class");
  return name ? name : text_member(beside->model, "tokenizer_class");
}

static bool has_none(const brim_beside *beside) {
  const brim_json_value *type = text_member(beside->model, "model_type");
  return type && brim_class_is_none(type->as.text, type->length);
}

const brim_json_value *brim_beside_other(const brim_beside *beside) {
  const brim_json_value *name = has_none(beside) ? NULL : class_name(beside);
  return name && brim_class_is_other(name->as.text, name->length) ? name : NULL;
}

/* As AutoTokenizer chooses: the class that a file names, unless models of this type have none; else the model's. */
const brim_tokenizer_class *brim_beside_class(const brim_beside *beside, bool *named) {
  const brim_json_value *name = class_name(beside), *type = text_member(beside->model, "model_type");
  *named = name != NULL;
  if (has_none(beside))
    return NULL;
  if (name)
    return brim_class_named(name->as.text, name->length);
  return type ? brim_class_of_model(type->as.text, type->length) : NULL;
}

/* ---- members that do not change the pipeline ----------------------------------------------------------------- */

/* "model_max_length", or "max_len" of older files. */
static int read_max_length(const brim_json_document *config, const brim_json_value *root, int64_t *out, brim_error *err) {
  const char *key = brim_json_get(root, "model_max_length") ? "model_max_length" : "max_len";
  const brim_json_value *value = brim_json_get(root, key);
  double length = 0;
  BRIM_TRY(brim_json_read_real(config, root, key, &length, err));
  if (!value || value->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  if (length < 1)
    return brim_json_error(config, value, err, BRIM_E_FORMAT, "\"%s\" must be at least 1", key);
  *out = length < NO_BOUND ? (int64_t)length : 0;
  return BRIM_OK;
}

static int read_side(const brim_json_document *config, const brim_json_value *root, int *left, brim_error *err) {
  const char *side = NULL;
  size_t length = 0;
  BRIM_TRY(brim_json_read_string(config, root, "truncation_side", &side, &length, err));
  if (!side)
    return BRIM_OK;
  if (!brim_fields_is(side, length, "left") && !brim_fields_is(side, length, "right"))
    return brim_json_error(config, brim_json_get(root, "truncation_side"), err, BRIM_E_FORMAT,
                           "\"truncation_side\" must be \"left\" or \"right\"");
  *left = brim_fields_is(side, length, "left");
  return BRIM_OK;
}

static int read_windows(const brim_json_document *config, const brim_json_value *root, brim_windowing *out, brim_error *err) {
  int64_t most = 0, overlap = 0;
  BRIM_TRY(brim_json_read_int(config, root, BRIM_WINDOWS_KEY, 0, INT32_MAX, &most, err));
  BRIM_TRY(brim_json_read_int(config, root, BRIM_WINDOW_OVERLAP_KEY, 0, INT32_MAX, &overlap, err));
  *out = (brim_windowing){(int32_t)most, (int32_t)overlap};
  return BRIM_OK;
}

static int read_truncation(const brim_json_document *config, const brim_json_value *root, brim_truncation *out, brim_error *err) {
  const brim_json_value *value = brim_json_get(root, BRIM_TRUNCATION_KEY);
  for (brim_truncation t = BRIM_LONGEST_FIRST; value && t <= BRIM_ONLY_SECOND; t++)
    if (brim_json_is_string(value, brim_truncation_name(t)))
      return *out = t, BRIM_OK;
  return value ? brim_json_error(config, value, err, BRIM_E_FORMAT,
                                 "\"" BRIM_TRUNCATION_KEY "\" must be \"longest_first\", \"only_first\" or \"only_second\"")
               : BRIM_OK;
}

int brim_beside_facts_read(const brim_beside *beside, brim_beside_facts *out, brim_error *err) {
  if (!beside->config)
    return BRIM_OK;
  const brim_json_value *root = brim_json_root(beside->config), *names = brim_json_get(root, "model_input_names");
  BRIM_TRY(read_max_length(beside->config, root, &out->max_length, err));
  BRIM_TRY(read_side(beside->config, root, &out->left, err));
  BRIM_TRY(brim_json_read_bool(beside->config, root, "split_special_tokens", &out->split_special, err));
  BRIM_TRY(brim_json_read_bool(beside->config, root, "clean_up_tokenization_spaces", &out->tidies, err));
  BRIM_TRY(brim_json_read_bool(beside->config, root, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output",
                               &out->tidies_bpe, err));
  BRIM_TRY(read_windows(beside->config, root, &out->windows, err));
  BRIM_TRY(read_truncation(beside->config, root, &out->truncation, err));
  if (!names || names->kind == BRIM_JSON_NULL)
    return BRIM_OK;
  out->types = 0; /* of a text too: transformers reads it letter by letter */
  for (const brim_json_value *v = names->kind == BRIM_JSON_ARRAY ? brim_json_first(names) : NULL; v;
       v = brim_json_after(names, v))
    out->types |= brim_json_is_string(v, "token_type_ids");
  return BRIM_OK;
}
