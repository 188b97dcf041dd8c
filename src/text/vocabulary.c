/* vocabulary.c: the files that were used before tokenizer.json: vocab.txt (BERT), vocab.json with merges.txt (RoBERTa). */
#include "base/status.h"
#include "base/utf8.h"
#include "text/resolve.h"
#include "text/unicode.h"
#include <string.h>

typedef struct line {
  const char *text;
  size_t length;
} line;

/* The next line: ended by '\n' alone (tokens may hold any other separator). */
static bool next_line(const brim_tokenizer_file *file, size_t *at, line *out) {
  if (*at >= file->length)
    return false;
  const char *begin = file->bytes + *at, *end = memchr(begin, '\n', file->length - *at);
  size_t length = end ? (size_t)(end - begin) : file->length - *at;
  *at += length + 1;
  if (length && begin[length - 1] == '\r')
    length--;
  *out = (line){begin, length};
  return true;
}

/* Without the white space at its end; the line is valid UTF-8. */
static line trimmed(line l) {
  while (l.length) {
    size_t at = l.length - 1;
    uint32_t code;
    while (at > 0 && ((uint8_t)l.text[at] & 0xC0) == 0x80)
      at--;
    brim_utf8_next(l.text + at, &code);
    if (!brim_char_is(code, BRIM_CHAR_WHITE))
      break;
    l.length = at;
  }
  return l;
}

int brim_lines_number(const brim_tokenizer_file *file, brim_hashmap *last, brim_said_tokens *tokens, brim_error *err) {
  line l;
  size_t at = 0;
  for (int32_t id = 0; next_line(file, &at, &l); id++) {
    if (brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, file->name, id + 1, l.text - file->bytes, "malformed UTF-8");
    l = trimmed(l);
    BRIM_TRY(brim_hashmap_put(last, l.text, l.length, id, NULL, NULL, err));
    brim_said_meet(tokens, l.text, l.length, id);
  }
  return BRIM_OK;
}

void brim_lines_write(brim_json_writer *json, const brim_tokenizer_file *file, const brim_hashmap *last) {
  line l;
  size_t at = 0;
  brim_json_open_object(json, "vocab");
  for (int32_t id = 0; next_line(file, &at, &l); id++) {
    l = trimmed(l);
    if (brim_hashmap_get(last, l.text, l.length, -1) != id)
      continue;
    brim_json_put_name(json, l.text, l.length);
    brim_json_put_integer(json, NULL, id);
  }
  brim_json_close_object(json);
}

int brim_merges_write(brim_json_writer *json, const brim_tokenizer_file *file, brim_error *err) {
  line l;
  size_t at = 0;
  brim_json_open_array(json, "merges");
  for (int64_t number = 1; next_line(file, &at, &l); number++) {
    if (l.length == 0 || (l.length >= 8 && memcmp(l.text, "#version", 8) == 0))
      continue;
    const char *space = memchr(l.text, ' ', l.length);
    size_t left = space ? (size_t)(space - l.text) : 0;
    if (!space || memchr(space + 1, ' ', l.length - left - 1) || brim_utf8_valid(l.text, l.length) != l.length)
      return brim_error_at(err, BRIM_E_FORMAT, file->name, number, l.text - file->bytes,
                           "a merge must be two tokens with a space between them");
    brim_json_open_array(json, NULL);
    brim_json_put_bytes(json, NULL, l.text, left);
    brim_json_put_bytes(json, NULL, space + 1, l.length - left - 1);
    brim_json_close_array(json);
  }
  brim_json_close_array(json);
  return BRIM_OK;
}
