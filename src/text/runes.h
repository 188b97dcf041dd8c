/* runes.h: text as code points that remember where they came from. The exact path (offsets, rare pipelines) works on these; the
 * fast paths work on bytes and give the same ids. */
#ifndef BRIM_TEXT_RUNES_H
#define BRIM_TEXT_RUNES_H
#include "brim/base.h"

/* One code point and the bytes of the original text that it comes from. */
typedef struct brim_rune {
  uint32_t code, from, to;
} brim_rune;

typedef struct brim_runes {
  brim_runtime *runtime;
  brim_rune *at;
  size_t count, capacity;
  size_t most; /* what a text may grow to; 0: no bound */
} brim_runes;

void brim_runes_init(brim_runes *runes, brim_runtime *runtime);
void brim_runes_free(brim_runes *runes);
/* Bounds what may become of a text of `count` code points: steps that double it, one after another, would fill the memory. */
void brim_runes_bound(brim_runes *runes, size_t count);
/* BRIM_E_UNSUPPORTED once there are more. */
int brim_runes_check(const brim_runes *runes, brim_error *err) BRIM_CHECK;
int brim_runes_reserve(brim_runes *runes, size_t more, brim_error *err) BRIM_CHECK;
int brim_runes_add(brim_runes *runes, brim_rune rune, brim_error *err) BRIM_CHECK;
/* Appends the code points of valid UTF-8; the first byte is byte `origin`. */
int brim_runes_decode(brim_runes *runes, const char *bytes, size_t length, uint32_t origin, brim_error *err) BRIM_CHECK;

/* Writes new text for old[0..count) while keeping track of origins, with the reference's rules: change 0 replaces the next old
 * code point, change -n replaces it and removes n more, change 1 inserts (and shares the origin of what precedes it). */
typedef struct brim_rewriter {
  const brim_rune *old;
  size_t count, next; /* next: the next old code point */
  uint32_t origin;    /* where the old text begins: the origin of what is inserted before everything */
  brim_runes *out;
} brim_rewriter;

int brim_rewriter_put(brim_rewriter *rewriter, uint32_t code, int64_t change, brim_error *err) BRIM_CHECK;

#endif
