/* The pull reader. Documents in memory are in json_document.c. */
#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/utf8.h"
#include <stdio.h>
#include <string.h>

enum { EXPECT_VALUE, EXPECT_FIRST_ITEM, EXPECT_FIRST_KEY, EXPECT_KEY, EXPECT_COLON, EXPECT_COMMA, EXPECT_NOTHING };

const char *brim_json_kind_name(brim_json_kind kind) {
  static const char *const names[] = {"the end",
                                      "null",
                                      "true or false",
                                      "an integer",
                                      "a number",
                                      "a string",
                                      "a member",
                                      "an array",
                                      "the end of an array",
                                      "an object",
                                      "the end of an object"};
  return names[kind];
}

void brim_json_reader_init(brim_json_reader *reader, brim_runtime *runtime, const char *name) {
  *reader = (brim_json_reader){.runtime = runtime, .name = name, .expect = EXPECT_NOTHING};
}

void brim_json_reader_free(brim_json_reader *reader) {
  if (!reader || !reader->runtime)
    return;
  brim_release(reader->runtime, reader->scratch);
  reader->scratch = NULL;
  reader->scratch_size = 0;
}

void brim_json_reader_start(brim_json_reader *reader, const char *bytes, size_t length, int64_t first_byte, int64_t first_line) {
  reader->bytes = bytes;
  reader->length = length;
  reader->at = 0;
  reader->first_byte = first_byte;
  reader->first_line = first_line;
  reader->scratch_used = 0;
  reader->depth = 0;
  reader->expect = EXPECT_VALUE;
  reader->skipping = false;
}

int brim_json_reader_error(const brim_json_reader *reader, size_t byte, brim_error *err, int code, const char *format, ...) {
  if (!err)
    return code;
  char message[sizeof err->message];
  va_list args;
  va_start(args, format);
  brim_number_vformat(message, sizeof message, format, args);
  va_end(args);
  int64_t line = reader->first_line ? reader->first_line : 1;
  for (size_t i = 0; i < byte && i < reader->length; i++)
    line += reader->bytes[i] == '\n';
  return brim_error_at(err, code, reader->name, line, reader->first_byte + (int64_t)byte, "%s", message);
}

static int fail(const brim_json_reader *r, size_t byte, brim_error *err, const char *what) {
  return brim_json_reader_error(r, byte, err, BRIM_E_FORMAT, "not valid JSON: %s", what);
}

static int fail_expected(const brim_json_reader *r, brim_error *err, const char *what) {
  char found[32] = "the text ends";
  if (r->at < r->length) {
    unsigned char c = (unsigned char)r->bytes[r->at];
    snprintf(found, sizeof found, c > 32 && c < 127 ? "here is '%c'" : "here is byte 0x%02X", c);
  }
  return brim_json_reader_error(r, r->at, err, BRIM_E_FORMAT, "not valid JSON: expected %s, but %s", what, found);
}

static void skip_spaces(brim_json_reader *r) {
  while (r->at < r->length && brim_json_is_space(r->bytes[r->at]))
    r->at++;
}

/* ---- strings ---- */

/* Position of the first byte from `at` on that is not plain ASCII text: a quote, backslash, control or high byte. Eight at a
 * time: (x - 1..) & ~x & 0x80.. marks bytes that are zero, here after an exclusive or with what is looked for. */
static size_t plain_end(const char *bytes, size_t at, size_t length) {
  const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
  while (length - at >= 8) {
    uint64_t x;
    memcpy(&x, bytes + at, 8);
    uint64_t quote = x ^ ones * '"', slash = x ^ ones * '\\';
    uint64_t hit = (quote - ones) & ~quote;
    hit |= (slash - ones) & ~slash;
    hit |= (x - ones * 0x20) & ~x;
    if ((hit | x) & high)
      break;
    at += 8;
  }
  for (; at < length; at++) {
    unsigned char c = (unsigned char)bytes[at];
    if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80)
      break;
  }
  return at;
}

static bool hex4(const brim_json_reader *r, size_t at, uint32_t *value) {
  if (r->length - at < 4)
    return false;
  *value = 0;
  for (int i = 0; i < 4; i++) {
    char c = r->bytes[at + (size_t)i];
    int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0)
      return false;
    *value = *value << 4 | (uint32_t)digit;
  }
  return true;
}

/* "\uXXXX" at r->at, or two of them for a character above U+FFFF. */
static int unicode_escape(brim_json_reader *r, brim_error *err) {
  uint32_t c, low;
  size_t at = r->at;
  if (!hex4(r, at + 2, &c))
    return fail(r, at, err, "\\u needs four hexadecimal digits");
  r->at += 6;
  if (c >= 0xD800 && c < 0xE000) {
    bool pair = c < 0xDC00 && r->length - r->at >= 6 && r->bytes[r->at] == '\\' && r->bytes[r->at + 1] == 'u' &&
                hex4(r, r->at + 2, &low) && low >= 0xDC00 && low < 0xE000;
    if (!pair)
      return fail(r, at, err, "half of a surrogate pair");
    c = 0x10000 + ((c - 0xD800) << 10 | (low - 0xDC00));
    r->at += 6;
  }
  r->scratch_used += (size_t)brim_utf8_encode(c, r->scratch + r->scratch_used);
  return BRIM_OK;
}

static int escape(brim_json_reader *r, brim_error *err) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  if (r->length - r->at < 2)
    return fail(r, r->at, err, "the text ends inside a string");
  char c = r->bytes[r->at + 1];
  if (c == 'u')
    return r->length - r->at < 6 ? fail(r, r->at, err, "\\u needs four hexadecimal digits") : unicode_escape(r, err);
  const char *known = c ? strchr(from, c) : NULL;
  if (!known)
    return fail(r, r->at, err, "an unknown escape after a backslash");
  r->scratch[r->scratch_used++] = to[known - from];
  r->at += 2;
  return BRIM_OK;
}

/* What is decoded is never longer than what was written, so scratch memory as long as the document never moves while strings in
 * it are in use. */
static int need_scratch(brim_json_reader *r, brim_error *err) {
  if (r->scratch_size >= r->length)
    return BRIM_OK;
  char *larger = brim_resize(r->runtime, r->scratch, r->length);
  if (!larger)
    return BRIM_NOMEM(err);
  r->scratch = larger;
  r->scratch_size = r->length;
  return BRIM_OK;
}

/* Passes over well-formed text up to a quote or backslash. */
static int scan_text(brim_json_reader *r, brim_error *err) {
  for (;;) {
    r->at = plain_end(r->bytes, r->at, r->length);
    if (r->at == r->length)
      return fail(r, r->at, err, "the text ends inside a string");
    unsigned char c = (unsigned char)r->bytes[r->at];
    if (c == '"' || c == '\\')
      return BRIM_OK;
    if (c < 0x20)
      return fail(r, r->at, err, "a control character in a string: write it as \\u00XX");
    int n = brim_utf8_length(r->bytes + r->at, r->length - r->at);
    if (!n)
      return fail(r, r->at, err, "bytes that are not UTF-8");
    r->at += (size_t)n;
  }
}

/* r->at is at the opening quote. A string without escapes is a slice of the document. */
static int read_string(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  size_t from = ++r->at;
  BRIM_TRY(scan_text(r, err));
  if (r->bytes[r->at] == '"') {
    token->text = r->bytes + from;
    token->length = r->at++ - from;
    return BRIM_OK;
  }
  BRIM_TRY(need_scratch(r, err));
  size_t begin = r->scratch_used;
  while (r->bytes[r->at] != '"') {
    memcpy(r->scratch + r->scratch_used, r->bytes + from, r->at - from);
    r->scratch_used += r->at - from;
    if (r->bytes[r->at] == '\\')
      BRIM_TRY(escape(r, err));
    from = r->at;
    BRIM_TRY(scan_text(r, err));
  }
  memcpy(r->scratch + r->scratch_used, r->bytes + from, r->at - from);
  r->scratch_used += r->at - from;
  r->at++;
  token->text = r->scratch + begin;
  token->length = r->scratch_used - begin;
  return BRIM_OK;
}

/* ---- other values ---- */

static bool digits(brim_json_reader *r) {
  size_t from = r->at;
  while (r->at < r->length && r->bytes[r->at] >= '0' && r->bytes[r->at] <= '9')
    r->at++;
  return r->at > from;
}

static int read_number(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  size_t from = r->at;
  bool whole = true;
  if (r->bytes[r->at] == '-')
    r->at++;
  size_t first = r->at;
  if (!digits(r))
    return fail_expected(r, err, "a digit");
  if (r->bytes[first] == '0' && r->at - first > 1)
    return fail(r, first, err, "a number with a leading zero");
  if (r->at < r->length && r->bytes[r->at] == '.') {
    r->at++;
    whole = false;
    if (!digits(r))
      return fail_expected(r, err, "a digit");
  }
  if (r->at < r->length && (r->bytes[r->at] == 'e' || r->bytes[r->at] == 'E')) {
    r->at++;
    whole = false;
    if (r->at < r->length && (r->bytes[r->at] == '+' || r->bytes[r->at] == '-'))
      r->at++;
    if (!digits(r))
      return fail_expected(r, err, "a digit");
  }
  token->text = r->bytes + from;
  token->length = r->at - from;
  whole = whole && brim_number_integer(token->text, token->length, &token->integer);
  bool negative_zero = whole && token->integer == 0 && *token->text == '-';
  token->kind = whole && !negative_zero ? BRIM_JSON_INT : BRIM_JSON_REAL;
  if (!r->skipping && !brim_number_real(token->text, token->length, &token->real))
    return fail(r, from, err, "a number that is too large");
  return BRIM_OK;
}

static int read_word(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  static const struct {
    const char *word;
    size_t length;
    brim_json_kind kind;
    int64_t value;
  } words[] = {{"null", 4, BRIM_JSON_NULL, 0}, {"true", 4, BRIM_JSON_BOOL, 1}, {"false", 5, BRIM_JSON_BOOL, 0}};
  for (size_t i = 0; i < 3; i++) {
    if (r->length - r->at < words[i].length || memcmp(r->bytes + r->at, words[i].word, words[i].length) != 0)
      continue;
    r->at += words[i].length;
    token->kind = words[i].kind;
    token->integer = words[i].value;
    return BRIM_OK;
  }
  return fail_expected(r, err, "a value");
}

static void value_done(brim_json_reader *r) {
  r->expect = r->depth ? EXPECT_COMMA : EXPECT_NOTHING;
}

/* Passes over a container that is nested too deep to be read: strings are looked at, and which brackets there are is counted. */
static int skip_deep(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  const size_t from = r->at;
  size_t depth = 0;
  do {
    const char c = r->bytes[r->at];
    if (c == '"') {
      BRIM_TRY(read_string(r, token, err));
      continue;
    }
    depth += c == '{' || c == '[';
    depth -= c == '}' || c == ']';
    r->at++;
  } while (depth > 0 && r->at < r->length);
  if (depth > 0)
    return fail(r, from, err, "what begins here is never closed");
  token->kind = BRIM_JSON_NULL;
  value_done(r);
  return BRIM_OK;
}

static int open_container(brim_json_reader *r, brim_json_token *token, bool object, brim_error *err) {
  if (r->depth == BRIM_JSON_DEPTH && r->skipping)
    return skip_deep(r, token, err);
  if (r->depth == BRIM_JSON_DEPTH)
    return brim_json_reader_error(r, r->at, err, BRIM_E_FORMAT, "JSON nested more than %d deep is refused", BRIM_JSON_DEPTH);
  r->in_object[r->depth++] = object;
  r->at++;
  r->expect = object ? EXPECT_FIRST_KEY : EXPECT_FIRST_ITEM;
  token->kind = object ? BRIM_JSON_OBJECT : BRIM_JSON_ARRAY;
  return BRIM_OK;
}

static int close_container(brim_json_reader *r, brim_json_token *token) {
  bool object = r->in_object[--r->depth];
  r->at++;
  token->kind = object ? BRIM_JSON_OBJECT_END : BRIM_JSON_ARRAY_END;
  value_done(r);
  return BRIM_OK;
}

static int read_value(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  if (r->at == r->length)
    return fail_expected(r, err, "a value");
  char c = r->bytes[r->at];
  if (c == '{' || c == '[')
    return open_container(r, token, c == '{', err);
  if (c == '"') {
    token->kind = BRIM_JSON_STRING;
    BRIM_TRY(read_string(r, token, err));
  } else if (c == '-' || (c >= '0' && c <= '9')) {
    BRIM_TRY(read_number(r, token, err));
  } else {
    BRIM_TRY(read_word(r, token, err));
  }
  value_done(r);
  return BRIM_OK;
}

static int read_key(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  if (r->at == r->length || r->bytes[r->at] != '"')
    return fail_expected(r, err, "a key in quotes");
  token->kind = BRIM_JSON_KEY;
  BRIM_TRY(read_string(r, token, err));
  r->expect = EXPECT_COLON;
  return BRIM_OK;
}

/* After a value inside a container: its end, or a comma and the next item. */
static int read_on(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  bool object = r->in_object[r->depth - 1];
  char c = r->at < r->length ? r->bytes[r->at] : 0;
  if (c == (object ? '}' : ']'))
    return close_container(r, token);
  if (c != ',')
    return fail_expected(r, err, object ? "',' or '}'" : "',' or ']'");
  r->at++;
  skip_spaces(r);
  token->byte = r->at;
  return object ? read_key(r, token, err) : read_value(r, token, err);
}

int brim_json_next(brim_json_reader *r, brim_json_token *token, brim_error *err) {
  skip_spaces(r);
  *token = (brim_json_token){.byte = r->at};
  char c = r->at < r->length ? r->bytes[r->at] : 0;
  switch (r->expect) {
  case EXPECT_COLON:
    if (c != ':')
      return fail_expected(r, err, "':'");
    r->at++;
    skip_spaces(r);
    token->byte = r->at;
    return read_value(r, token, err);
  case EXPECT_FIRST_ITEM:
    return c == ']' ? close_container(r, token) : read_value(r, token, err);
  case EXPECT_FIRST_KEY:
    return c == '}' ? close_container(r, token) : read_key(r, token, err);
  case EXPECT_COMMA:
    return read_on(r, token, err);
  case EXPECT_VALUE:
    return read_value(r, token, err);
  default: /* EXPECT_NOTHING */
    if (r->at < r->length)
      return fail(r, r->at, err, "more text after the value");
    token->kind = BRIM_JSON_END;
    return BRIM_OK;
  }
}

int brim_json_skip(brim_json_reader *r, brim_error *err) {
  brim_json_token token;
  int floor = r->expect == EXPECT_COLON ? r->depth : r->depth - 1, status;
  r->skipping = true;
  do
    status = brim_json_next(r, &token, err);
  while (!status && r->depth > floor);
  r->skipping = false;
  return status;
}
