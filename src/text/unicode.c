/* unicode.c: decomposition and composition on the generated tables. */
#include "text/unicode.h"

enum {
  HANGUL_S = 0xAC00,
  HANGUL_L = 0x1100,
  HANGUL_V = 0x1161,
  HANGUL_T = 0x11A7,
  HANGUL_LS = 19,
  HANGUL_VS = 21,
  HANGUL_TS = 28,
  HANGUL_SS = HANGUL_LS * HANGUL_VS * HANGUL_TS
};

static const uint32_t *mapped(const uint8_t *block, const uint16_t *index, uint32_t code) {
  uint32_t at = index[(uint32_t)block[code / BRIM_UNICODE_BLOCK] * BRIM_UNICODE_BLOCK + code % BRIM_UNICODE_BLOCK];
  return at ? &brim_unicode_sequence[at] : NULL;
}

int brim_char_decompose(uint32_t code, bool compatible, uint32_t out[BRIM_DECOMPOSITION_MAX]) {
  if (code < 0xA0) {
    out[0] = code;
    return 1;
  }
  if (code >= HANGUL_S && code < HANGUL_S + HANGUL_SS) {
    uint32_t s = code - HANGUL_S, t = s % HANGUL_TS;
    out[0] = HANGUL_L + s / (HANGUL_VS * HANGUL_TS);
    out[1] = HANGUL_V + s % (HANGUL_VS * HANGUL_TS) / HANGUL_TS;
    out[2] = HANGUL_T + t;
    return t ? 3 : 2;
  }
  const uint32_t *sequence = compatible ? mapped(brim_unicode_compatible_block, brim_unicode_compatible_index, code)
                                        : mapped(brim_unicode_canonical_block, brim_unicode_canonical_index, code);
  if (!sequence) {
    out[0] = code;
    return 1;
  }
  int count = (int)sequence[0];
  for (int i = 0; i < count; i++)
    out[i] = sequence[1 + i];
  return count;
}

uint32_t brim_char_compose(uint32_t first, uint32_t second) {
  if (first >= HANGUL_L && first < HANGUL_L + HANGUL_LS && second >= HANGUL_V && second < HANGUL_V + HANGUL_VS)
    return HANGUL_S + ((first - HANGUL_L) * HANGUL_VS + (second - HANGUL_V)) * HANGUL_TS;
  if (first >= HANGUL_S && first < HANGUL_S + HANGUL_SS && (first - HANGUL_S) % HANGUL_TS == 0 && second > HANGUL_T &&
      second < HANGUL_T + HANGUL_TS)
    return first + (second - HANGUL_T);
  size_t low = 0, high = BRIM_UNICODE_PAIRS;
  while (low < high) {
    size_t middle = (low + high) / 2;
    uint32_t a = brim_unicode_pair_first[middle], b = brim_unicode_pair_second[middle];
    if (a < first || (a == first && b < second))
      low = middle + 1;
    else
      high = middle;
  }
  if (low < BRIM_UNICODE_PAIRS && brim_unicode_pair_first[low] == first && brim_unicode_pair_second[low] == second)
    return brim_unicode_pair_composite[low];
  return 0;
}
