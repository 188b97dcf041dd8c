/* pretokenizer.h: the pre-tokenizers of a tokenizer.json as a flat list of steps. */
#ifndef BRIM_TEXT_PRETOKENIZER_H
#define BRIM_TEXT_PRETOKENIZER_H
#include "base/json.h"
#include "text/pattern.h"
#include "text/runes.h"

/* What becomes of the delimiters that a split finds. */
typedef enum brim_behavior {
  BRIM_REMOVED,
  BRIM_ISOLATED,
  BRIM_MERGED_WITH_PREVIOUS,
  BRIM_MERGED_WITH_NEXT,
  BRIM_CONTIGUOUS
} brim_behavior;

typedef enum brim_prepend { BRIM_PREPEND_ALWAYS, BRIM_PREPEND_FIRST, BRIM_PREPEND_NEVER } brim_prepend;

typedef enum brim_split_kind {
  BRIM_SPLIT_WHITE, /* on White_Space, removed */
  BRIM_SPLIT_PUNCTUATION,
  BRIM_SPLIT_NUMERIC, /* Digits */
  BRIM_SPLIT_WORDS,   /* Whitespace: \w+|[^\w\s]+ */
  BRIM_SPLIT_PATTERN,
  BRIM_SPLIT_METASPACE,
  BRIM_SPLIT_PREFIX_SPACE, /* ByteLevel's add_prefix_space */
  BRIM_SPLIT_BYTES         /* ByteLevel: bytes become characters */
} brim_split_kind;

typedef struct brim_split_step {
  brim_split_kind kind;
  brim_behavior behavior;
  bool invert;          /* what does not match is the delimiter */
  bool split;           /* Metaspace */
  brim_prepend prepend; /* Metaspace */
  uint32_t replacement; /* Metaspace */
  brim_pattern *pattern;
} brim_split_step;

typedef struct brim_pretokenizer {
  brim_runtime *runtime;
  brim_split_step *steps;
  size_t count, capacity;
} brim_pretokenizer;

#define BRIM_GPT2_PATTERN "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

int brim_pretokenizer_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value,
                           brim_pretokenizer *out, brim_error *err) BRIM_CHECK;
void brim_pretokenizer_free(brim_pretokenizer *pretokenizer);
/* *same: the pre-tokenizers of two files mean the same, however they are written. */
int brim_pretokenizer_compare(brim_runtime *runtime, const brim_json_document *a_document, const brim_json_value *a,
                              const brim_json_document *b_document, const brim_json_value *b, bool *same,
                              brim_error *err) BRIM_CHECK;

/* A piece of text, or an added token (id >= 0), which no step touches. */
typedef struct brim_span {
  size_t begin, end; /* runes */
  uint32_t origin;   /* where its original begins */
  int32_t id;
} brim_span;

/* Runes and the spans that lie in them, in order. */
typedef struct brim_pieces {
  brim_runes runes;
  brim_span *spans;
  size_t count, capacity;
} brim_pieces;

void brim_pieces_init(brim_pieces *pieces, brim_runtime *runtime);
void brim_pieces_free(brim_pieces *pieces);
int brim_pieces_add(brim_pieces *pieces, brim_span span, brim_error *err) BRIM_CHECK;
/* Runs all steps over *pieces; `spare` is scratch. */
int brim_pretokenizer_run(const brim_pretokenizer *pretokenizer, brim_pieces *pieces, brim_pieces *spare,
                          brim_error *err) BRIM_CHECK;

#endif
