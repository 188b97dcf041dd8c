#include "report/width.h"

#include "base/utf8.h"

#include <string.h>

typedef struct range {
  uint32_t first, last;
} range;

static const range nothing[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},
                                {0x64B, 0x65F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
                                {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};
static const range twice[] = {{0x1100, 0x115F}, {0x2E80, 0x303E}, {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                              {0xFE30, 0xFE6F}, {0xFF00, 0xFF60}, {0x1F300, 0x1FAFF}, {0x20000, 0x3FFFD}};

static bool among(const range *ranges, size_t count, uint32_t rune) {
  for (size_t i = 0; i < count; i++)
    if (rune >= ranges[i].first && rune <= ranges[i].last)
      return true;
  return false;
}

int32_t brim_display_width(const char *text) {
  int32_t width = 0;
  const char *end = text + strlen(text);
  while (text < end) {
    uint32_t rune;
    const int length = brim_utf8_decode(text, (size_t)(end - text), &rune);
    text += length ? length : 1;
    if (among(nothing, sizeof nothing / sizeof *nothing, rune))
      continue;
    width += among(twice, sizeof twice / sizeof *twice, rune) ? 2 : 1;
  }
  return width;
}
