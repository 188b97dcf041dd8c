/* unicode.c: decomposition, composition and grapheme clusters on the generated tables. */
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
  uint32_t place = index[(uint32_t)block[code / BRIM_UNICODE_BLOCK] * BRIM_UNICODE_BLOCK + code % BRIM_UNICODE_BLOCK];
  return place ? &brim_unicode_sequence[place] : NULL;
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

/* Grapheme_Cluster_Break and Indic_Conjunct_Break, in the order of tools/make_unicode_tables.py. */
enum { G_OTHER, G_CR, G_LF, G_CONTROL, G_EXTEND, G_ZWJ, G_RI, G_PREPEND, G_SPACING, G_L, G_V, G_T, G_LV, G_LVT };
enum { I_NONE, I_CONSONANT, I_LINKER, I_EXTEND };

/* What the rules need to know of the cluster so far. */
typedef struct cluster {
  int last;          /* class of the last code point */
  bool odd_regional; /* an odd number of regional indicators, and nothing else, at its end */
  bool pictograph;   /* ends in a pictograph and Extend* */
  bool emoji_joiner; /* ... and then ZWJ */
  bool consonant;    /* ends in a consonant and (Extend or Linker)* */
  bool linked;       /* ... with at least one Linker */
} cluster;

static bool joins(const cluster *c, int next, int conjunct, bool pictographic) {
  if (c->last == G_CR && next == G_LF)
    return true; /* GB3 */
  if (c->last == G_CR || c->last == G_LF || c->last == G_CONTROL)
    return false; /* GB4 */
  if (next == G_CR || next == G_LF || next == G_CONTROL)
    return false; /* GB5 */
  if (c->last == G_L && (next == G_L || next == G_V || next == G_LV || next == G_LVT))
    return true; /* GB6 */
  if ((c->last == G_LV || c->last == G_V) && (next == G_V || next == G_T))
    return true; /* GB7 */
  if ((c->last == G_LVT || c->last == G_T) && next == G_T)
    return true; /* GB8 */
  if (next == G_EXTEND || next == G_ZWJ || next == G_SPACING)
    return true; /* GB9, GB9a */
  if (c->last == G_PREPEND)
    return true; /* GB9b */
  if (c->consonant && c->linked && conjunct == I_CONSONANT)
    return true; /* GB9c */
  if (c->emoji_joiner && pictographic)
    return true;                          /* GB11 */
  return c->odd_regional && next == G_RI; /* GB12, GB13 */
}

static void take(cluster *c, int class, int conjunct, bool pictographic) {
  bool skips = conjunct == I_EXTEND || conjunct == I_LINKER;
  c->linked = c->consonant && skips && (c->linked || conjunct == I_LINKER);
  c->consonant = conjunct == I_CONSONANT || (c->consonant && skips);
  c->emoji_joiner = c->pictograph && class == G_ZWJ;
  c->pictograph = pictographic || (c->pictograph && class == G_EXTEND);
  c->odd_regional = class == G_RI && !(c->last == G_RI && c->odd_regional);
  c->last = class;
}

size_t brim_grapheme_end(const brim_rune *runes, size_t count, size_t at) {
  cluster c = {.last = -1};
  for (size_t i = at; i < count; i++) {
    uint32_t record = brim_char_record(runes[i].code);
    int class = (int)(record >> 21 & 15), conjunct = (int)(record >> 25 & 3);
    bool pictographic = (record & BRIM_CHAR_PICTOGRAPHIC) != 0;
    if (i > at && !joins(&c, class, conjunct, pictographic))
      return i;
    take(&c, class, conjunct, pictographic);
  }
  return count;
}
