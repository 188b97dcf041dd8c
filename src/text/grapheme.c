/* grapheme.c: the rules of grapheme clusters, on the generated tables. */
#include "text/grapheme.h"
#include "text/unicode.h"

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
