/* decoder.h: the decoders of a tokenizer.json as a flat list of steps over a list of strings. */
#ifndef BRIM_TEXT_DECODER_H
#define BRIM_TEXT_DECODER_H
#include "base/json.h"
#include "text/pattern.h"

typedef enum brim_decode_kind {
  BRIM_DECODE_WORDPIECE,
  BRIM_DECODE_BYTES,
  BRIM_DECODE_METASPACE,
  BRIM_DECODE_SUFFIX, /* BPEDecoder */
  BRIM_DECODE_REPLACE,
  BRIM_DECODE_FUSE,
  BRIM_DECODE_STRIP,
  BRIM_DECODE_BYTE_FALLBACK
} brim_decode_kind;

typedef struct brim_decode_step {
  brim_decode_kind kind;
  bool cleanup; /* WORDPIECE */
  bool never;   /* METASPACE: the prepend scheme is "never" */
  char *text;   /* WORDPIECE: prefix; SUFFIX: suffix; REPLACE: content */
  size_t length;
  uint32_t character;    /* METASPACE, STRIP */
  int64_t start, stop;   /* STRIP */
  brim_pattern *pattern; /* REPLACE */
} brim_decode_step;

typedef struct brim_decoder {
  brim_runtime *runtime;
  brim_decode_step *steps;
  size_t count, capacity;
  bool none; /* no decoder: tokens are joined with spaces */
} brim_decoder;

/* Strings one after the other in `bytes`. */
typedef struct brim_strings {
  brim_text bytes;
  size_t *ends;
  size_t count, capacity;
} brim_strings;

void brim_strings_init(brim_strings *strings, brim_runtime *runtime);
void brim_strings_free(brim_strings *strings);
/* What has been appended to strings->bytes since the last end becomes a string. */
int brim_strings_end(brim_strings *strings, brim_error *err) BRIM_CHECK;

int brim_decoder_load(brim_runtime *runtime, const brim_json_document *document, const brim_json_value *value, brim_decoder *out,
                      brim_error *err) BRIM_CHECK;
void brim_decoder_free(brim_decoder *decoder);
/* Runs all steps over *strings. */
int brim_decoder_run(const brim_decoder *decoder, brim_strings *strings, brim_error *err) BRIM_CHECK;

#endif
