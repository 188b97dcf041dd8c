/* charsmap.h: SentencePiece's precompiled_charsmap with the reference's (not SentencePiece's) meaning. */
#ifndef BRIM_TEXT_CHARSMAP_H
#define BRIM_TEXT_CHARSMAP_H
#include "text/runes.h"

/* A Darts double array and the replacements it points to, one after the other with a NUL each. */
typedef struct brim_charsmap {
  brim_runtime *runtime;
  uint32_t *units;
  size_t unit_count;
  char *texts;
  size_t texts_length;
} brim_charsmap;

/* `base64` as in tokenizer.json. */
int brim_charsmap_load(brim_runtime *runtime, const char *base64, size_t length, brim_charsmap *out, brim_error *err) BRIM_CHECK;
void brim_charsmap_free(brim_charsmap *map);
/* The replacement of the shortest beginning of `text` that has one (the whole of `text` is then replaced), or NULL. */
const char *brim_charsmap_find(const brim_charsmap *map, const char *text, size_t length, size_t *replacement_length);
int brim_charsmap_run(const brim_charsmap *map, const brim_rune *in, size_t count, uint32_t origin, brim_runes *out,
                      brim_error *err) BRIM_CHECK;

#endif
