/* normalizer.h: the normalizers of a tokenizer.json as a flat list of steps. */
#ifndef BRIM_TEXT_NORMALIZER_H
#define BRIM_TEXT_NORMALIZER_H
#include "base/json.h"
#include "text/charsmap.h"
#include "text/nfx.h"
#include "text/pattern.h"
#include "text/runes.h"

typedef enum brim_normal_kind {
  BRIM_NORMAL_CLEAN,           /* BertNormalizer clean_text */
  BRIM_NORMAL_CJK,             /* BertNormalizer handle_chinese_chars */
  BRIM_NORMAL_DROP_NONSPACING, /* BertNormalizer strip_accents, after an NFD form */
  BRIM_NORMAL_DROP_COMBINING,  /* StripAccents */
  BRIM_NORMAL_LOWER,
  BRIM_NORMAL_FORM, /* NFC, NFD, NFKC, NFKD */
  BRIM_NORMAL_STRIP,
  BRIM_NORMAL_REPLACE,
  BRIM_NORMAL_PREPEND,
  BRIM_NORMAL_CHARSMAP, /* Precompiled */
  BRIM_NORMAL_NMT_DROP,
  BRIM_NORMAL_NMT_BLANK, /* Nmt */
  BRIM_NORMAL_BYTES      /* ByteLevel */
} brim_normal_kind;

typedef struct brim_normal_step {
  brim_normal_kind kind;
  brim_form form;
  bool strip_left, strip_right;
  brim_pattern *pattern;
  brim_runes content; /* of Replace and Prepend */
  brim_charsmap charsmap;
} brim_normal_step;

typedef struct brim_normalizer {
  brim_runtime *runtime;
  brim_normal_step *steps;
  size_t count, capacity;
} brim_normalizer;

/* `value` may be NULL or null: no steps. On failure *out is still to be freed. */
int brim_normalizer_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                         brim_normalizer *out, brim_error *err) BRIM_CHECK;
void brim_normalizer_free(brim_normalizer *normalizer);
/* *same: the normalizers of two files mean the same, however they are written. */
int brim_normalizer_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                            const brim_json_document *b_document, const brim_json_value *b, bool *same,
                            brim_error *err) BRIM_CHECK;
/* Normalises all of *text, whose original begins at `origin`. `spare` and `work` are scratch. */
int brim_normalizer_run(const brim_normalizer *normalizer, brim_runes *text, uint32_t origin, brim_runes *spare, brim_runes *work,
                        brim_error *err) BRIM_CHECK;

#endif
