/* A document as one flat array of values in the order of the text: a container is followed by what it holds. */
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include <string.h>

struct brim_json_document {
  brim_runtime *runtime;
  brim_json_reader reader; /* keeps the scratch memory with the decoded strings, and the name for messages */
  char *name, *owned;      /* copy of the name; the file's bytes when brim_json_load read them */
  brim_json_value *values;
  size_t count, capacity;
};

static int add_value(brim_json_document *d, const brim_json_token *token, brim_error *err) {
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->values, &d->capacity, d->count + 1, sizeof *d->values, err));
  brim_json_value *value = &d->values[d->count++];
  *value = (brim_json_value){.kind = (uint8_t)token->kind, .next = 1, .byte = (uint32_t)token->byte};
  switch (token->kind) {
  case BRIM_JSON_KEY:
  case BRIM_JSON_STRING:
    value->as.text = token->text;
    value->length = (uint32_t)token->length;
    break;
  case BRIM_JSON_REAL:
    value->as.real = token->real;
    break;
  default:
    value->as.integer = token->integer;
  }
  return BRIM_OK;
}

static int build(brim_json_document *d, brim_error *err) {
  size_t open[BRIM_JSON_DEPTH];
  int depth = 0;
  for (;;) {
    brim_json_token token;
    BRIM_TRY(brim_json_next(&d->reader, &token, err));
    if (token.kind == BRIM_JSON_END)
      return BRIM_OK;
    if (token.kind == BRIM_JSON_ARRAY_END || token.kind == BRIM_JSON_OBJECT_END) {
      size_t container = open[--depth];
      d->values[container].next = (uint32_t)(d->count - container);
      continue;
    }
    if (depth) {
      brim_json_value *parent = &d->values[open[depth - 1]];
      parent->length += parent->kind == BRIM_JSON_ARRAY || token.kind == BRIM_JSON_KEY;
    }
    if (token.kind == BRIM_JSON_ARRAY || token.kind == BRIM_JSON_OBJECT)
      open[depth++] = d->count;
    BRIM_TRY(add_value(d, &token, err));
  }
}

int brim_json_parse(brim_runtime *runtime, const char *bytes, size_t length, const char *name, brim_json_document **out,
                    brim_error *err) {
  *out = NULL;
  if (length >= UINT32_MAX)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, name, 0, -1, "JSON of 4 GiB and more cannot be loaded");
  brim_json_document *d = brim_alloc_zero(runtime, sizeof *d);
  if (!d)
    return BRIM_NOMEM(err);
  d->runtime = runtime;
  if (!name)
    name = "";
  d->name = brim_copy_string(runtime, name, strlen(name));
  brim_json_reader_init(&d->reader, runtime, d->name);
  brim_json_reader_start(&d->reader, bytes, length, 0, 0);
  int status = d->name ? build(d, err) : BRIM_NOMEM(err);
  if (status != BRIM_OK) {
    brim_json_free(d);
    return status;
  }
  *out = d;
  return BRIM_OK;
}

static int load(brim_runtime *runtime, const char *path, bool plain, size_t limit, brim_json_document **out, brim_error *err) {
  char *bytes;
  size_t length;
  *out = NULL;
  BRIM_TRY((plain ? brim_file_read_plain : brim_file_read_all)(runtime, path, limit, &bytes, &length, err));
  int status = brim_file_refuse_pointer(path, bytes, length, err);
  if (status == BRIM_OK)
    status = brim_json_parse(runtime, bytes, length, path, out, err);
  if (status == BRIM_OK)
    (*out)->owned = bytes;
  else
    brim_release(runtime, bytes);
  return status;
}

int brim_json_load(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err) {
  return load(runtime, path, true, limit, out, err);
}

int brim_json_load_named(brim_runtime *runtime, const char *path, size_t limit, brim_json_document **out, brim_error *err) {
  return load(runtime, path, false, limit, out, err);
}

void brim_json_free(brim_json_document *d) {
  if (!d)
    return;
  brim_json_reader_free(&d->reader);
  brim_release(d->runtime, d->name);
  brim_release(d->runtime, d->owned);
  brim_release(d->runtime, d->values);
  brim_release(d->runtime, d);
}

const brim_json_value *brim_json_root(const brim_json_document *d) {
  return d->values;
}

static bool is_container(const brim_json_value *value) {
  return value && (value->kind == BRIM_JSON_ARRAY || value->kind == BRIM_JSON_OBJECT);
}

const brim_json_value *brim_json_first(const brim_json_value *container) {
  return is_container(container) && container->length ? container + 1 : NULL;
}

const brim_json_value *brim_json_after(const brim_json_value *container, const brim_json_value *item) {
  if (item->kind == BRIM_JSON_KEY)
    item++;
  const brim_json_value *after = item + item->next;
  return after < container + container->next ? after : NULL;
}

const brim_json_value *brim_json_member(const brim_json_value *key) {
  return key + 1;
}

static bool text_is(const brim_json_value *value, const char *string) {
  size_t length = strlen(string);
  return value->length == length && memcmp(value->as.text, string, length) == 0;
}

const brim_json_value *brim_json_get(const brim_json_value *object, const char *key) {
  const brim_json_value *found = NULL;
  if (!object || object->kind != BRIM_JSON_OBJECT)
    return NULL;
  for (const brim_json_value *k = brim_json_first(object); k; k = brim_json_after(object, k))
    if (text_is(k, key))
      found = brim_json_member(k);
  return found;
}

bool brim_json_is_string(const brim_json_value *value, const char *string) {
  return value && value->kind == BRIM_JSON_STRING && text_is(value, string);
}

double brim_json_number(const brim_json_value *value) {
  if (!value)
    return 0;
  return value->kind == BRIM_JSON_INT ? (double)value->as.integer : value->kind == BRIM_JSON_REAL ? value->as.real : 0;
}

int brim_json_error(const brim_json_document *d, const brim_json_value *value, brim_error *err, int code, const char *format,
                    ...) {
  if (!err)
    return code;
  char message[sizeof err->message];
  va_list args;
  va_start(args, format);
  brim_number_vformat(message, sizeof message, format, args);
  va_end(args);
  if (!value)
    return brim_error_at(err, code, d->name, 0, -1, "%s", message);
  return brim_json_reader_error(&d->reader, value->byte, err, code, "%s", message);
}

/* *value is NULL when the key is absent or null: then the default is kept. */
static int typed(const brim_json_document *d, const brim_json_value *object, const char *key, unsigned kinds,
                 const brim_json_value **value, brim_error *err) {
  *value = brim_json_get(object, key);
  if (*value && (*value)->kind == BRIM_JSON_NULL)
    *value = NULL;
  if (!*value || (kinds >> (*value)->kind & 1))
    return BRIM_OK;
  const char *wanted = kinds & 1u << BRIM_JSON_REAL   ? "a number"
                       : kinds & 1u << BRIM_JSON_INT  ? "an integer"
                       : kinds & 1u << BRIM_JSON_BOOL ? "true or false"
                                                      : "a string";
  return brim_json_error(d, *value, err, BRIM_E_FORMAT, "\"%s\" must be %s, but is %s", key, wanted,
                         brim_json_kind_name((*value)->kind));
}

int brim_json_read_bool(const brim_json_document *d, const brim_json_value *object, const char *key, bool *out, brim_error *err) {
  const brim_json_value *value;
  BRIM_TRY(typed(d, object, key, 1u << BRIM_JSON_BOOL, &value, err));
  if (value)
    *out = value->as.integer != 0;
  return BRIM_OK;
}

int brim_json_read_int(const brim_json_document *d, const brim_json_value *object, const char *key, int64_t low, int64_t high,
                       int64_t *out, brim_error *err) {
  const brim_json_value *value;
  BRIM_TRY(typed(d, object, key, 1u << BRIM_JSON_INT, &value, err));
  if (!value)
    return BRIM_OK;
  if (value->as.integer < low || value->as.integer > high)
    return brim_json_error(d, value, err, BRIM_E_FORMAT, "\"%s\" is %lld, but must be from %lld to %lld", key,
                           (long long)value->as.integer, (long long)low, (long long)high);
  *out = value->as.integer;
  return BRIM_OK;
}

int brim_json_read_real(const brim_json_document *d, const brim_json_value *object, const char *key, double *out,
                        brim_error *err) {
  const brim_json_value *value;
  BRIM_TRY(typed(d, object, key, 1u << BRIM_JSON_REAL | 1u << BRIM_JSON_INT, &value, err));
  if (value)
    *out = brim_json_number(value);
  return BRIM_OK;
}

int brim_json_read_string(const brim_json_document *d, const brim_json_value *object, const char *key, const char **out,
                          size_t *length, brim_error *err) {
  const brim_json_value *value;
  BRIM_TRY(typed(d, object, key, 1u << BRIM_JSON_STRING, &value, err));
  if (!value)
    return BRIM_OK;
  *out = value->as.text;
  *length = value->length;
  return BRIM_OK;
}
