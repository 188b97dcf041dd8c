/* fields.c: strict reading of objects. */
#include "text/fields.h"
#include "base/status.h"
#include "text/unicode.h"
#include <string.h>

enum { MAX_DEPTH = 16 };

bool brim_fields_is(const char *text, size_t length, const char *string) {
  return length == strlen(string) && memcmp(text, string, length) == 0;
}

int brim_fields_string(const brim_json_document *document, const brim_json_value *object, const char *key, const char **text,
                       size_t *length, brim_error *err) {
  *text = NULL;
  BRIM_TRY(brim_json_read_string(document, object, key, text, length, err));
  if (!*text)
    return brim_json_error(document, object, err, BRIM_E_FORMAT, "\"%s\" is missing", key);
  return BRIM_OK;
}

static int not_an_object(const brim_json_document *document, const brim_json_value *value, const char *what, brim_error *err) {
  return brim_json_error(document, value, err, BRIM_E_FORMAT, "the %s is %s, not an object", what,
                         brim_json_kind_name((brim_json_kind)value->kind));
}

int brim_fields_type(const brim_json_document *document, const brim_json_value *object, const char *what, const char **type,
                     size_t *length, brim_error *err) {
  if (object->kind != BRIM_JSON_OBJECT)
    return not_an_object(document, object, what, err);
  return brim_fields_string(document, object, "type", type, length, err);
}

static bool listed(const char *known, const char *text, size_t length) {
  while (*known) {
    size_t n = strcspn(known, " ");
    if (n == length && memcmp(known, text, n) == 0)
      return true;
    known += n + (known[n] == ' ');
  }
  return false;
}

int brim_fields_known(const brim_json_document *document, const brim_json_value *object, const char *what, const char *known,
                      brim_error *err) {
  if (object->kind != BRIM_JSON_OBJECT)
    return not_an_object(document, object, what, err);
  for (const brim_json_value *key = brim_json_first(object); key; key = brim_json_after(object, key))
    if (!brim_fields_is(key->as.text, key->length, "type") && !listed(known, key->as.text, key->length))
      return brim_json_error(document, key, err, BRIM_E_UNSUPPORTED, "the %s has the unknown key \"%.*s\"", what,
                             (int)(key->length < 200 ? key->length : 200), key->as.text);
  return BRIM_OK;
}

const char *brim_fields_raw(brim_runtime *runtime, const char *file, size_t file_length, const brim_json_value *value,
                            size_t *length) {
  brim_json_reader reader;
  brim_json_token token;
  brim_json_reader_init(&reader, runtime, NULL);
  brim_json_reader_start(&reader, file + value->byte, file_length - value->byte, 0, 0);
  int status = brim_json_next(&reader, &token, NULL);
  if (status == BRIM_OK && (token.kind == BRIM_JSON_ARRAY || token.kind == BRIM_JSON_OBJECT))
    status = brim_json_skip(&reader, NULL);
  *length = reader.at;
  brim_json_reader_free(&reader);
  return status == BRIM_OK ? file + value->byte : NULL;
}

int brim_fields_character(const brim_json_document *document, const brim_json_value *object, const char *key, uint32_t *code,
                          brim_error *err) {
  const char *text;
  size_t length;
  BRIM_TRY(brim_fields_string(document, object, key, &text, &length, err));
  if (length == 0 || (size_t)brim_utf8_next(text, code) != length)
    return brim_json_error(document, brim_json_get(object, key), err, BRIM_E_FORMAT, "\"%s\" must be one character", key);
  return BRIM_OK;
}

int brim_fields_pattern(const brim_json_document *document, const brim_json_value *object, const char *key, bool *regex,
                        const char **text, size_t *length, brim_error *err) {
  const brim_json_value *pattern = brim_json_get(object, key), *inner;
  if (!pattern || pattern->kind != BRIM_JSON_OBJECT || pattern->length != 1)
    return brim_json_error(document, pattern ? pattern : object, err, BRIM_E_FORMAT,
                           "\"%s\" must be an object with \"String\" or \"Regex\"", key);
  BRIM_TRY(brim_fields_known(document, pattern, "pattern", "String Regex", err));
  inner = brim_json_get(pattern, "Regex");
  *regex = inner != NULL;
  return brim_fields_string(document, pattern, *regex ? "Regex" : "String", text, length, err);
}

int brim_fields_sequence(const brim_json_document *document, const brim_json_value *object, const char *what, const char *key,
                         int *depth, const brim_json_value **list, brim_error *err) {
  *list = brim_json_get(object, key);
  BRIM_TRY(brim_fields_known(document, object, what, key, err));
  if (!*list || (*list)->kind != BRIM_JSON_ARRAY)
    return brim_json_error(document, object, err, BRIM_E_FORMAT, "the %s needs an array \"%s\"", what, key);
  if (++*depth > MAX_DEPTH)
    return brim_json_error(document, object, err, BRIM_E_FORMAT, "the %s nests too deeply", what);
  return BRIM_OK;
}
