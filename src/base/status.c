#include "base/status.h"
#include "base/number.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A character that would steer what shows it, as names and texts of others may have, is a question mark. */
static void calm(char *text) {
  char *to = text;
  for (size_t left = strlen(text), bytes; left > 0; text += bytes, left -= bytes) {
    uint32_t character;
    const int length = brim_utf8_decode(text, left, &character);
    bytes = length ? (size_t)length : 1;
    if (length && brim_utf8_steers(character))
      *to++ = '?';
    else
      to = (char *)memmove(to, text, bytes) + bytes;
  }
  *to = 0;
}

/* A message is one line of valid text: control characters become spaces, and a cut never leaves half a character. */
static void tidy(char *text) {
  size_t length = strlen(text);
  for (char *p = text; *p; p++)
    if ((unsigned char)*p < 32 || *p == 127)
      *p = ' ';
  while (length && ((unsigned char)text[length - 1] & 0xC0) == 0x80 && brim_utf8_valid(text, length) < length)
    text[--length] = 0;
  if (length && (unsigned char)text[length - 1] >= 0xC0)
    text[--length] = 0;
  calm(text);
}

/* A path that is too long keeps its end, which says more. */
static void copy_path(char *out, size_t size, const char *path) {
  size_t length = path ? strlen(path) : 0;
  if (length < size) {
    if (length)
      memcpy(out, path, length);
    out[length] = 0;
  } else {
    memcpy(out, "...", 3);
    memcpy(out + 3, path + length - (size - 4), size - 3);
  }
  tidy(out);
}

static void error_fill(brim_error *err, int code, const char *file, int64_t line, int64_t byte, const char *format,
                       va_list args) {
  err->code = code;
  err->line = line;
  err->byte = byte;
  copy_path(err->file, sizeof err->file, file);
  brim_number_vformat(err->message, sizeof err->message, format, args);
  tidy(err->message);
}

int brim_error_set(brim_error *err, int code, const char *format, ...) {
  if (!err)
    return code;
  va_list args;
  va_start(args, format);
  error_fill(err, code, NULL, 0, -1, format, args);
  va_end(args);
  return code;
}

int brim_error_at(brim_error *err, int code, const char *file, int64_t line, int64_t byte, const char *format, ...) {
  if (!err)
    return code;
  va_list args;
  va_start(args, format);
  error_fill(err, code, file, line, byte, format, args);
  va_end(args);
  return code;
}

size_t brim_error_text(const brim_error *err, char *buffer, size_t size) {
  char where[64] = "";
  if (err->line > 0 && err->byte >= 0)
    snprintf(where, sizeof where, "line %lld, byte %lld", (long long)err->line, (long long)err->byte);
  else if (err->line > 0)
    snprintf(where, sizeof where, "line %lld", (long long)err->line);
  else if (err->byte >= 0)
    snprintf(where, sizeof where, "byte %lld", (long long)err->byte);
  int n = snprintf(buffer, size, "%s%s%s%s%s", err->file, *err->file ? ": " : "", where, *where ? ": " : "", err->message);
  return n < 0 ? 0 : (size_t)n;
}

int brim_not_given(brim_error *err, const char *name) {
  return brim_error_set(err, BRIM_E_USAGE, "%.*s is NULL: it has to be given", (int)strcspn(name, ","), name);
}

int brim_given(brim_error *err, const char *names, const void *const *pointers, size_t count) {
  size_t missing = 0;
  while (missing < count && pointers[missing])
    missing++;
  if (missing == count) /* as nearly always, and often: the names are not looked at */
    return BRIM_OK;
  for (; missing > 0; missing--) {
    names += strcspn(names, ",");
    names += strspn(names, ", ");
  }
  return brim_not_given(err, names);
}

int brim_given_array(brim_error *err, const char *name, const void *array, const char *count_name, int64_t count) {
  if (count < 0)
    return brim_error_set(err, BRIM_E_USAGE, "%s is %lld: %s cannot have so many items", count_name, (long long)count, name);
  return count == 0 || array ? BRIM_OK : brim_not_given(err, name);
}

int brim_given_strings(brim_error *err, const char *name, const char *const *strings, const char *count_name, int64_t count) {
  BRIM_TRY(brim_given_array(err, name, strings, count_name, count));
  for (int64_t i = 0; i < count; i++)
    if (!strings[i])
      return brim_error_set(err, BRIM_E_USAGE, "%s[%lld] is NULL: it has to be given", name, (long long)i);
  return BRIM_OK;
}

int brim_error_memory(brim_error *err) {
  return brim_error_set(err, BRIM_E_MEMORY, "out of memory");
}

int brim_error_system(brim_error *err, const char *path, const char *doing, int number) {
  char words[128];
  const char *text = strerror_r(number, words, sizeof words);
  const bool full = number == ENOSPC || number == EDQUOT;
  return brim_error_at(err, BRIM_E_IO, path, 0, -1, "cannot %s: %s%s", doing, text,
                       full ? ": free some, or write elsewhere" : "");
}

int brim_error_cancelled(brim_error *err) {
  return brim_error_set(err, BRIM_E_CANCELLED, "cancelled");
}
