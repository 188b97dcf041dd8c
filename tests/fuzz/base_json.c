/* The JSON reader on any bytes: the pull reader and the document agree, strings are valid UTF-8, errors have a place, and what
 * was read, written again and read again is the same. */
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "fuzz.h"

static void write_value(brim_text *text, const brim_json_value *value) {
  bool object = value->kind == BRIM_JSON_OBJECT;
  switch (value->kind) {
  case BRIM_JSON_NULL:
    brim_text_string(text, "null");
    return;
  case BRIM_JSON_BOOL:
    brim_text_string(text, value->as.integer ? "true" : "false");
    return;
  case BRIM_JSON_INT:
    brim_text_integer(text, value->as.integer);
    return;
  case BRIM_JSON_REAL:
    brim_text_json_number(text, value->as.real);
    return;
  case BRIM_JSON_STRING:
  case BRIM_JSON_KEY:
    MUST(brim_utf8_valid(value->as.text, value->length) == value->length);
    brim_text_json_string(text, value->as.text, value->length);
    return;
  default:
    break;
  }
  uint32_t members = 0;
  brim_text_string(text, object ? "{" : "[");
  for (const brim_json_value *v = brim_json_first(value); v; v = brim_json_after(value, v)) {
    if (members++)
      brim_text_string(text, ",");
    write_value(text, v);
    if (object) {
      MUST(v->kind == BRIM_JSON_KEY);
      brim_text_string(text, ":");
      write_value(text, brim_json_member(v));
    }
  }
  MUST(members == value->length);
  brim_text_string(text, object ? "}" : "]");
}

static int pull_all(brim_runtime *runtime, const char *bytes, size_t size, brim_error *err) {
  brim_json_reader reader;
  brim_json_token token;
  int status, depth = 0;
  brim_json_reader_init(&reader, runtime, "fuzz");
  brim_json_reader_start(&reader, bytes, size, 0, 0);
  do {
    status = brim_json_next(&reader, &token, err);
    MUST(status != BRIM_OK || token.byte <= size);
    depth += token.kind == BRIM_JSON_ARRAY || token.kind == BRIM_JSON_OBJECT;
    depth -= token.kind == BRIM_JSON_ARRAY_END || token.kind == BRIM_JSON_OBJECT_END;
    MUST(depth >= 0 && depth <= BRIM_JSON_DEPTH);
  } while (status == BRIM_OK && token.kind != BRIM_JSON_END);
  MUST(status != BRIM_OK || depth == 0);
  brim_json_reader_free(&reader);
  return status;
}

static void again(brim_runtime *runtime, const brim_json_document *document) {
  brim_text once, twice;
  brim_json_document *back;
  brim_error err;
  brim_text_init(&once, runtime);
  brim_text_init(&twice, runtime);
  write_value(&once, brim_json_root(document));
  MUST(brim_json_parse(runtime, once.data, once.length, "again", &back, &err) == BRIM_OK);
  write_value(&twice, brim_json_root(back));
  MUST(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
  brim_json_free(back);
  brim_text_free(&once);
  brim_text_free(&twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  brim_runtime *runtime = fuzz_runtime();
  const char *bytes = (const char *)data;
  brim_json_document *document;
  brim_error err = {0}, pull_err = {0};
  int status = brim_json_parse(runtime, bytes, size, "fuzz", &document, &err);
  MUST(pull_all(runtime, bytes, size, &pull_err) == status);
  if (status == BRIM_OK) {
    again(runtime, document);
  } else {
    fuzz_check_error(status, &err, (int64_t)size);
    MUST(err.line == pull_err.line && err.byte == pull_err.byte && strcmp(err.message, pull_err.message) == 0);
  }
  brim_json_free(document);
  return 0;
}
