/* charsmap.c: loading a precompiled_charsmap and replacing graphemes with it. */
#include "text/charsmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/grapheme.h"
#include "text/unicode.h"
#include <string.h>

static int base64_digit(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Decodes in place of a fresh buffer of at least length bytes; the number of bytes, or SIZE_MAX. */
static size_t decode_base64(const char *text, size_t length, uint8_t *out) {
  size_t n = 0;
  if (length % 4 != 0)
    return SIZE_MAX;
  for (size_t i = 0; i < length; i += 4) {
    int padding = i + 4 == length ? (text[i + 3] == '=') + (text[i + 3] == '=' && text[i + 2] == '=') : 0;
    uint32_t bits = 0;
    for (int j = 0; j < 4; j++) {
      int digit = j >= 4 - padding ? 0 : base64_digit(text[i + (size_t)j]);
      if (digit < 0)
        return SIZE_MAX;
      bits = bits << 6 | (uint32_t)digit;
    }
    for (int j = 0; j < 3 - padding; j++)
      out[n++] = (uint8_t)(bits >> (16 - 8 * j));
  }
  return n;
}

static int unpack(brim_charsmap *map, const uint8_t *bytes, size_t length, brim_error *err) {
  uint32_t size = 0;
  if (length >= 4)
    memcpy(&size, bytes, 4);
  if (length < 4 || size % 4 != 0 || size < 4 || size > length - 4)
    return brim_error_set(err, BRIM_E_FORMAT, "precompiled_charsmap is cut or damaged");
  map->unit_count = size / 4;
  map->texts_length = length - 4 - size;
  map->units = brim_alloc_array(map->runtime, map->unit_count, 4);
  map->texts = brim_copy_string(map->runtime, (const char *)bytes + 4 + size, map->texts_length);
  if (!map->units || !map->texts)
    return BRIM_NOMEM(err);
  memcpy(map->units, bytes + 4, size);
  if (brim_utf8_valid(map->texts, map->texts_length) != map->texts_length)
    return brim_error_set(err, BRIM_E_FORMAT, "precompiled_charsmap holds malformed UTF-8");
  return BRIM_OK;
}

int brim_charsmap_load(brim_runtime *runtime, const char *base64, size_t length, brim_charsmap *out, brim_error *err) {
  *out = (brim_charsmap){.runtime = runtime};
  uint8_t *bytes = brim_alloc(runtime, length + 1);
  if (!bytes)
    return BRIM_NOMEM(err);
  size_t n = decode_base64(base64, length, bytes);
  int status = n == SIZE_MAX ? brim_error_set(err, BRIM_E_FORMAT, "precompiled_charsmap is not base64")
                             : unpack(out, bytes, n, err);
  brim_release(runtime, bytes);
  if (status != BRIM_OK)
    brim_charsmap_free(out);
  return status;
}

void brim_charsmap_free(brim_charsmap *map) {
  if (!map->runtime)
    return;
  brim_release(map->runtime, map->units);
  brim_release(map->runtime, map->texts);
  *map = (brim_charsmap){0};
}

/* Units as in darts-clone: label in the low byte (and the sign bit), leaf flag in bit 8, offset above. */
static uint32_t unit_offset(uint32_t unit) {
  return unit >> 10 << ((unit & 1u << 9) >> 6);
}

const char *brim_charsmap_find(const brim_charsmap *map, const char *text, size_t length, size_t *replacement_length) {
  uint32_t node = unit_offset(map->units[0]);
  for (size_t i = 0; i < length; i++) {
    uint8_t byte = (uint8_t)text[i];
    if (byte == 0)
      return NULL;
    node ^= byte;
    if (node >= map->unit_count)
      return NULL;
    uint32_t unit = map->units[node];
    if ((unit & (1u << 31 | 0xFF)) != byte)
      return NULL;
    node ^= unit_offset(unit);
    if (!(unit >> 8 & 1))
      continue;
    if (node >= map->unit_count)
      return NULL;
    size_t index = map->units[node] & 0x7FFFFFFFu;
    if (index >= map->texts_length || ((uint8_t)map->texts[index] & 0xC0) == 0x80)
      return NULL;
    *replacement_length = strnlen(map->texts + index, map->texts_length - index);
    return map->texts + index;
  }
  return NULL;
}

/* The change of a code point can still grow while it is the last one; so one is held back. */
typedef struct writer {
  brim_rewriter rewriter;
  bool held;
  uint32_t code;
  int64_t change;
} writer;

static int put(writer *w, uint32_t code, int64_t change, brim_error *err) {
  if (w->held)
    BRIM_TRY(brim_rewriter_put(&w->rewriter, w->code, w->change, err));
  w->held = true;
  w->code = code;
  w->change = change;
  return BRIM_OK;
}

static int put_replacement(writer *w, const char *text, size_t length, size_t old_count, brim_error *err) {
  size_t n = 0;
  for (size_t i = 0; i < length; n++) {
    uint32_t code;
    i += (size_t)brim_utf8_next(text + i, &code);
    BRIM_TRY(put(w, code, n >= old_count, err));
  }
  if (n < old_count && w->held)
    w->change -= (int64_t)(old_count - n);
  return BRIM_OK;
}

int brim_charsmap_run(const brim_charsmap *map, const brim_rune *in, size_t count, uint32_t origin, brim_runes *out,
                      brim_error *err) {
  writer w = {.rewriter = {.old = in, .count = count, .origin = origin, .out = out}};
  for (size_t i = 0; i < count;) {
    size_t end = brim_grapheme_end(in, count, i), length = 0, replaced;
    char bytes[8];
    for (size_t j = i; j < end && length < 6; j++)
      length += (size_t)brim_utf8_size(in[j].code);
    if (length < 6) {
      length = 0;
      for (size_t j = i; j < end; j++)
        length += (size_t)brim_utf8_put(in[j].code, bytes + length);
      const char *text = brim_charsmap_find(map, bytes, length, &replaced);
      if (text) {
        BRIM_TRY(put_replacement(&w, text, replaced, end - i, err));
        i = end;
        continue;
      }
    }
    for (; i < end; i++) {
      length = (size_t)brim_utf8_put(in[i].code, bytes);
      const char *text = brim_charsmap_find(map, bytes, length, &replaced);
      BRIM_TRY(text ? put_replacement(&w, text, replaced, 1, err) : put(&w, in[i].code, 0, err));
    }
  }
  return w.held ? brim_rewriter_put(&w.rewriter, w.code, w.change, err) : BRIM_OK;
}
