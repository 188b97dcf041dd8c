/* markup.c: text that is shown as text. */
#include <string.h>

#include "base/utf8.h"
#include "report/page.h"
#include "report/width.h"

static const char *entity(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  case '\'':
    return "&#39;";
  default:
    return NULL;
  }
}

/* Characters that a document may not hold, or that would change what is around them. */
static bool forbidden(uint32_t rune) {
  return (brim_utf8_steers(rune) && rune != '\n' && rune != '\t') || (rune & 0xFFFE) == 0xFFFE;
}

/* Appends one character and returns its length in `text`. */
static size_t put_rune(brim_text *out, const char *text, size_t length) {
  uint32_t rune;
  const int bytes = brim_utf8_decode(text, length, &rune);
  const char *escaped = bytes == 1 ? entity(text[0]) : NULL;
  if (escaped)
    brim_text_string(out, escaped);
  else if (bytes == 0 || forbidden(rune))
    brim_text_string(out, "\xEF\xBF\xBD");
  else
    brim_text_append(out, text, (size_t)bytes);
  return bytes ? (size_t)bytes : 1;
}

size_t brim_shown(char *text, size_t length, bool lines) {
  size_t used = 0;
  for (size_t at = 0; at < length;) {
    uint32_t rune;
    const int bytes = brim_utf8_decode(text + at, length - at, &rune);
    if (bytes == 0 || forbidden(rune) || (!lines && (rune == '\n' || rune == '\t')))
      text[used++] = '?';
    else
      for (int i = 0; i < bytes; i++)
        text[used++] = text[at + (size_t)i];
    at += bytes ? (size_t)bytes : 1;
  }
  text[used] = 0;
  return used;
}

void brim_markup(brim_text *out, const char *text, size_t length) {
  for (size_t at = 0; at < length;)
    at += put_rune(out, text + at, length - at);
}

void brim_markup_string(brim_text *out, const char *text) {
  brim_markup(out, text, strlen(text));
}

/* Columns of the character at `text`, whose length is put into *bytes. */
static int rune_width(const char *text, size_t length, size_t *bytes) {
  char one[5] = {0};
  const int size = brim_utf8_length(text, length);
  *bytes = size ? (size_t)size : 1;
  memcpy(one, text, *bytes);
  return (int)brim_display_width(one);
}

void brim_markup_fitted(brim_text *out, const char *text, int columns) {
  const size_t length = strlen(text);
  if (brim_display_width(text) <= columns) {
    brim_markup(out, text, length);
    return;
  }
  int used = 1; /* the ellipsis */
  for (size_t at = 0, bytes; at < length; at += bytes) {
    used += rune_width(text + at, length - at, &bytes);
    if (used > columns)
      break;
    put_rune(out, text + at, length - at);
  }
  brim_text_string(out, "\xE2\x80\xA6");
}
