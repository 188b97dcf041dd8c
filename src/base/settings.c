/* settings.c: a flat JSON object as name and value, one by one. */
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"

#include <string.h>

enum { LARGEST_FILE = 16 << 20 };

/* The text of a scalar; NULL for containers. */
static const char *scalar_text(const brim_json_token *token, size_t *length) {
  if (token->kind == BRIM_JSON_BOOL) {
    *length = token->integer ? 4 : 5;
    return token->integer ? "true" : "false";
  }
  *length = token->length;
  return token->kind == BRIM_JSON_STRING || token->kind == BRIM_JSON_INT || token->kind == BRIM_JSON_REAL ? token->text : NULL;
}

typedef struct settings {
  brim_json_reader reader;
  brim_setting_fn setting;
  void *context;
} settings;

static int give(settings *s, const char *name, const brim_json_token *token, int64_t item, brim_error *err) {
  size_t length;
  brim_error own = {0};
  brim_text copy; /* numbers are not NUL-terminated in the file */
  const char *text = scalar_text(token, &length);
  if (!text)
    return brim_json_reader_error(&s->reader, token->byte, err, BRIM_E_FORMAT,
                                  "\"%s\" is %s; expected a string, a number, a boolean or a list of those", name,
                                  brim_json_kind_name(token->kind));
  brim_text_init(&copy, s->reader.runtime);
  brim_text_append(&copy, text, length);
  brim_text_append(&copy, "", 0);
  int status = brim_text_status(&copy, &own);
  const brim_setting setting = {name, length ? copy.data : "", length, item, token->kind == BRIM_JSON_BOOL};
  if (!status)
    status = s->setting(s->context, &setting, &own);
  if (status)
    brim_json_reader_error(&s->reader, token->byte, err, status, "%s", own.message);
  brim_text_free(&copy);
  return status;
}

/* The value after a key: a scalar, null, or a list of scalars. */
static int give_member(settings *s, const char *name, brim_error *err) {
  brim_json_token token;
  int status = brim_json_next(&s->reader, &token, err);
  if (status || token.kind == BRIM_JSON_NULL)
    return status;
  if (token.kind != BRIM_JSON_ARRAY)
    return give(s, name, &token, -1, err);
  for (int64_t item = 0; !(status = brim_json_next(&s->reader, &token, err)) && token.kind != BRIM_JSON_ARRAY_END; item++)
    if ((status = give(s, name, &token, item, err)))
      break;
  return status;
}

static int give_members(settings *s, brim_error *err) {
  brim_json_token token;
  int status = brim_json_next(&s->reader, &token, err);
  if (status)
    return status;
  if (token.kind != BRIM_JSON_OBJECT)
    return brim_json_reader_error(&s->reader, token.byte, err, BRIM_E_FORMAT,
                                  "expected an object of settings, {\"name\": value, ...}");
  while (!(status = brim_json_next(&s->reader, &token, err)) && token.kind == BRIM_JSON_KEY) {
    char name[128];
    if (token.length >= sizeof name || memchr(token.text, 0, token.length))
      return brim_json_reader_error(&s->reader, token.byte, err, BRIM_E_USAGE, "no setting has such a name");
    memcpy(name, token.text, token.length);
    name[token.length] = 0;
    if ((status = give_member(s, name, err)))
      return status;
  }
  if (!status)
    status = brim_json_next(&s->reader, &token, err); /* nothing may follow */
  return status;
}

int brim_settings_read(brim_runtime *runtime, const char *path, brim_setting_fn setting, void *context, brim_error *err) {
  BRIM_GIVEN(err, runtime, path);
  if (!setting)
    return brim_not_given(err, "setting");
  char *bytes = NULL;
  size_t length = 0;
  int status = brim_file_read_all(runtime, path, LARGEST_FILE, &bytes, &length, err);
  if (status)
    return status;
  settings s = {.setting = setting, .context = context};
  brim_json_reader_init(&s.reader, runtime, path);
  const size_t mark = length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* as editors of Windows begin a file */
  brim_json_reader_start(&s.reader, bytes + mark, length - mark, (int64_t)mark, 0);
  status = give_members(&s, err);
  brim_json_reader_free(&s.reader);
  brim_runtime_release(runtime, bytes);
  return status;
}
