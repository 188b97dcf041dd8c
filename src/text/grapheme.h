/* grapheme.h: what readers take for one character. */
#ifndef BRIM_TEXT_GRAPHEME_H
#define BRIM_TEXT_GRAPHEME_H
#include "text/runes.h"

/* Grapheme clusters (UAX 29, Unicode 17): the index after the cluster that begins at runes[at]. */
size_t brim_grapheme_end(const brim_rune *runes, size_t count, size_t at);

#endif
