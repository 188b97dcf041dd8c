#include "base/utf8.h"
#include <string.h>

/* Least and greatest second byte after each leading byte E0-F4; others take 80-BF. */
static bool second_byte_fits(unsigned lead, unsigned second) {
  unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  return second >= low && second <= high;
}

static bool continues(char byte) {
  return ((unsigned char)byte & 0xC0) == 0x80;
}

int brim_utf8_length(const char *bytes, size_t length) {
  unsigned lead = (unsigned char)bytes[0];
  if (lead < 0x80)
    return 1;
  int need = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
  if (!need || length < (size_t)need || !second_byte_fits(lead, (unsigned char)bytes[1]))
    return 0;
  for (int i = 2; i < need; i++)
    if (!continues(bytes[i]))
      return 0;
  return need;
}

/* Nothing but ASCII in bytes[0, 32). */
static bool is_ascii(const char *bytes) {
  uint64_t words[4];
  memcpy(words, bytes, sizeof words);
  return ((words[0] | words[1] | words[2] | words[3]) & 0x8080808080808080u) == 0;
}

/* Bytes of ASCII at the front, in steps of 256. */
static size_t ascii_front(const char *bytes, size_t length) {
  size_t at = 0;
  for (; length - at >= 256; at += 256) {
    uint64_t words[32], any = 0;
    memcpy(words, bytes + at, sizeof words);
    for (int i = 0; i < 32; i++)
      any |= words[i];
    if (any & 0x8080808080808080u)
      break;
  }
  return at;
}

size_t brim_utf8_valid(const char *bytes, size_t length) {
  size_t at = 0;
  bool ascii = true; /* so far: other texts do not ask for much at once */
  while (at < length) {
    uint64_t eight;
    if (ascii)
      at += ascii_front(bytes + at, length - at);
    ascii = length - at >= 32 && is_ascii(bytes + at);
    if (ascii) {
      at += 32;
      continue;
    }
    if (length - at >= 8 && (memcpy(&eight, bytes + at, 8), (eight & 0x8080808080808080u) == 0)) {
      at += 8;
      continue;
    }
    if (length >= 8 && length - at < 8 && (memcpy(&eight, bytes + length - 8, 8), (eight & 0x8080808080808080u) == 0))
      return length; /* the last eight bytes, some of which are known */
    int n = brim_utf8_length(bytes + at, length - at);
    if (!n)
      return at;
    at += (size_t)n;
  }
  return length;
}

int brim_utf8_decode(const char *bytes, size_t length, uint32_t *character) {
  const unsigned char *b = (const unsigned char *)bytes;
  int n = brim_utf8_length(bytes, length);
  switch (n) {
  case 1:
    *character = b[0];
    break;
  case 2:
    *character = (uint32_t)(b[0] & 0x1F) << 6 | (b[1] & 0x3F);
    break;
  case 3:
    *character = (uint32_t)(b[0] & 0x0F) << 12 | (uint32_t)(b[1] & 0x3F) << 6 | (b[2] & 0x3F);
    break;
  case 4:
    *character = (uint32_t)(b[0] & 0x07) << 18 | (uint32_t)(b[1] & 0x3F) << 12 | (uint32_t)(b[2] & 0x3F) << 6 | (b[3] & 0x3F);
    break;
  default:
    *character = 0xFFFD;
  }
  return n;
}

int brim_utf8_encode(uint32_t character, char out[4]) {
  if (character < 0x80) {
    out[0] = (char)character;
    return 1;
  }
  if (character < 0x800) {
    out[0] = (char)(0xC0 | character >> 6);
    out[1] = (char)(0x80 | (character & 0x3F));
    return 2;
  }
  if (character < 0x10000) {
    out[0] = (char)(0xE0 | character >> 12);
    out[1] = (char)(0x80 | (character >> 6 & 0x3F));
    out[2] = (char)(0x80 | (character & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | character >> 18);
  out[1] = (char)(0x80 | (character >> 12 & 0x3F));
  out[2] = (char)(0x80 | (character >> 6 & 0x3F));
  out[3] = (char)(0x80 | (character & 0x3F));
  return 4;
}

bool brim_utf8_steers(uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0), turns = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
  return control || turns;
}
