/* json_write.c: JSON, value by value. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "base/text.h"
#include "brim/base.h"

/* What precedes a value: a comma after another value, and the member's name. */
static void begin_value(brim_json_writer *json, const char *name) {
  if (json->comma)
    brim_text_append(json->out, ",", 1);
  if (name) {
    brim_text_json_string(json->out, name, strlen(name));
    brim_text_append(json->out, ":", 1);
  }
  json->comma = true;
}

static void open_with(brim_json_writer *json, const char *name, const char *bracket) {
  begin_value(json, name);
  brim_text_append(json->out, bracket, 1);
  json->comma = false;
}

static void close_with(brim_json_writer *json, const char *bracket) {
  brim_text_append(json->out, bracket, 1);
  json->comma = true;
}

void brim_json_open_object(brim_json_writer *json, const char *name) {
  open_with(json, name, "{");
}

void brim_json_close_object(brim_json_writer *json) {
  close_with(json, "}");
}

void brim_json_open_array(brim_json_writer *json, const char *name) {
  open_with(json, name, "[");
}

void brim_json_close_array(brim_json_writer *json) {
  close_with(json, "]");
}

void brim_json_put_integer(brim_json_writer *json, const char *name, int64_t value) {
  begin_value(json, name);
  brim_text_integer(json->out, value);
}

void brim_json_put_count(brim_json_writer *json, const char *name, uint64_t value) {
  begin_value(json, name);
  if (value <= INT64_MAX)
    brim_text_integer(json->out, (int64_t)value);
  else
    brim_text_printf(json->out, "%llu", (unsigned long long)value);
}

void brim_json_put_number(brim_json_writer *json, const char *name, double value) {
  begin_value(json, name);
  brim_text_json_number(json->out, value);
}

void brim_json_put_bool(brim_json_writer *json, const char *name, bool value) {
  begin_value(json, name);
  brim_text_string(json->out, value ? "true" : "false");
}

void brim_json_put_string(brim_json_writer *json, const char *name, const char *value) {
  begin_value(json, name);
  if (value)
    brim_text_json_string(json->out, value, strlen(value));
  else
    brim_text_string(json->out, "null");
}

void brim_json_put_bytes(brim_json_writer *json, const char *name, const char *bytes, size_t length) {
  begin_value(json, name);
  brim_text_json_string(json->out, bytes, length);
}

void brim_json_put_name(brim_json_writer *json, const char *bytes, size_t length) {
  begin_value(json, NULL);
  brim_text_json_string(json->out, bytes, length);
  brim_text_append(json->out, ":", 1);
  json->comma = false;
}

void brim_json_put_json(brim_json_writer *json, const char *name, const char *bytes, size_t length) {
  begin_value(json, name);
  brim_text_append(json->out, bytes, length);
}

void brim_json_put_text(brim_json_writer *json, const char *name, const brim_text *value) {
  brim_json_put_json(json, name, value->data, value->length);
  json->out->failed |= value->failed;
}

void brim_json_put_printf(brim_json_writer *json, const char *name, const char *format, ...) {
  char value[128];
  va_list args;
  va_start(args, format);
  brim_number_vformat(value, sizeof value, format, args);
  va_end(args);
  begin_value(json, name);
  brim_text_string(json->out, value);
}

void brim_json_begin_line(brim_json_writer *json) {
  brim_text_string(json->out, json->comma ? ",\n" : "\n");
  json->comma = false;
}

void brim_json_put_field(brim_json_writer *json, const brim_field *field, bool named) {
  const char *name = named ? field->name : NULL;
  switch (field->kind) {
  case BRIM_VALUE_INT:
    brim_json_put_integer(json, name, field->integer);
    return;
  case BRIM_VALUE_UNSIGNED:
    brim_json_put_count(json, name, (uint64_t)field->integer);
    return;
  case BRIM_VALUE_REAL:
    brim_json_put_number(json, name, field->real);
    return;
  case BRIM_VALUE_TEXT:
    brim_json_put_string(json, name, field->text ? field->text : "");
    return;
  case BRIM_VALUE_BOOL:
    brim_json_put_bool(json, name, field->integer != 0);
    return;
  case BRIM_VALUE_JSON:
    begin_value(json, name);
    brim_text_string(json->out, field->text ? field->text : "null");
    return;
  }
}
