#include "base/text.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/utf8.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void brim_text_init(brim_text *text, brim_runtime *runtime) {
  *text = (brim_text){.runtime = runtime};
}

void brim_text_free(brim_text *text) {
  if (!text)
    return;
  if (text->runtime)
    brim_release(text->runtime, text->data);
  *text = (brim_text){.runtime = text->runtime};
}

void brim_text_clear(brim_text *text) {
  text->length = 0;
  text->failed = false;
  if (text->data)
    text->data[0] = 0;
}

/* Room for `more` bytes and the NUL. */
static bool reserve(brim_text *text, size_t more) {
  if (text->failed)
    return false;
  if (more < text->capacity - text->length)
    return true;
  if (more > SIZE_MAX / 2 - text->length ||
      brim_grow(text->runtime, (void **)&text->data, &text->capacity, text->length + more + 1, 1, NULL) != BRIM_OK) {
    text->failed = true;
    return false;
  }
  return true;
}

void brim_text_append(brim_text *text, const void *bytes, size_t length) {
  if (!reserve(text, length))
    return;
  if (length)
    memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = 0;
}

void brim_text_string(brim_text *text, const char *string) {
  brim_text_append(text, string, strlen(string));
}

void brim_text_printf(brim_text *text, const char *format, ...) {
  char small[256];
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int n = brim_number_vformat(small, sizeof small, format, args);
  if (n < 0) {
    text->failed = true;
  } else if ((size_t)n < sizeof small) {
    brim_text_append(text, small, (size_t)n);
  } else if (reserve(text, (size_t)n)) {
    brim_number_vformat(text->data + text->length, (size_t)n + 1, format, again);
    text->length += (size_t)n;
  }
  va_end(again);
  va_end(args);
}

void brim_text_integer(brim_text *text, int64_t value) {
  char digits[24], *end = digits + sizeof digits, *p = end;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do {
    *--p = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (value < 0)
    *--p = '-';
  brim_text_append(text, p, (size_t)(end - p));
}

/* Bytes that a JSON string cannot hold as they are. */
static void append_escape(brim_text *text, unsigned char c) {
  static const char hex[] = "0123456789abcdef";
  char out[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
  switch (c) {
  case '"':
    out[1] = '"';
    break;
  case '\\':
    out[1] = '\\';
    break;
  case '\n':
    out[1] = 'n';
    break;
  case '\r':
    out[1] = 'r';
    break;
  case '\t':
    out[1] = 't';
    break;
  case '\b':
    out[1] = 'b';
    break;
  case '\f':
    out[1] = 'f';
    break;
  default:
    brim_text_append(text, out, 6);
    return;
  }
  brim_text_append(text, out, 2);
}

void brim_text_json_string(brim_text *text, const char *bytes, size_t length) {
  brim_text_append(text, "\"", 1);
  size_t from = 0, at = 0;
  while (at < length) {
    unsigned char c = (unsigned char)bytes[at];
    int n = c < 0x80 ? 1 : brim_utf8_length(bytes + at, length - at);
    bool plain = n > 0 && c >= 0x20 && c != '"' && c != '\\' && c != 0x7F;
    if (!plain) {
      brim_text_append(text, bytes + from, at - from);
      if (n)
        append_escape(text, c);
      else
        brim_text_append(text, "\xEF\xBF\xBD", 3);
      from = at + 1;
    }
    at += n ? (size_t)n : 1;
  }
  brim_text_append(text, bytes + from, length - from);
  brim_text_append(text, "\"", 1);
}

void brim_text_json_number(brim_text *text, double value) {
  char buffer[40];
  double back;
  if (!isfinite(value)) {
    brim_text_append(text, "null", 4);
    return;
  }
  int n = brim_number_format(buffer, sizeof buffer, "%.9g", value);
  if (!brim_number_real(buffer, (size_t)n, &back) || memcmp(&back, &value, sizeof back) != 0)
    n = brim_number_format(buffer, sizeof buffer, "%.17g", value);
  brim_text_append(text, buffer, (size_t)n);
}

void brim_text_json_event(brim_text *text, const brim_event *event) {
  brim_json_writer json = {.out = text};
  brim_json_open_object(&json, NULL);
  brim_json_put_string(&json, "event", event->kind);
  for (int i = 0; i < event->field_count; i++)
    brim_json_put_field(&json, &event->fields[i], true);
  brim_json_close_object(&json);
}

int brim_text_status(const brim_text *text, brim_error *err) {
  BRIM_GIVEN(err, text);
  return text->failed ? BRIM_NOMEM(err) : BRIM_OK;
}
