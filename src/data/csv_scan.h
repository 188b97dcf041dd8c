/* split.h: cuts one csv or tsv record off the front of some bytes. Pure: no files, no columns, no messages. */
#ifndef BRIM_DATA_SPLIT_H
#define BRIM_DATA_SPLIT_H
#include "brim/base.h"

typedef enum brim_split_status {
  BRIM_SPLIT_DONE,
  BRIM_SPLIT_MORE,  /* the record does not end in these bytes: come again with more, or with final */
  BRIM_SPLIT_OPEN,  /* the input ends in a quoted field; `fault` is its opening quote */
  BRIM_SPLIT_STRAY, /* `fault` is a byte after a closing quote that is neither delimiter nor line end */
  BRIM_SPLIT_MEMORY
} brim_split_status;

/* A field, as a range of the bytes, quotes around it left off. */
typedef struct brim_field_span {
  size_t start, length;
  bool quoted;
  bool doubled; /* holds doubled quotes: brim_field_span_decode */
} brim_field_span;

typedef struct brim_split {
  brim_runtime *runtime;
  brim_field_span *spans; /* [count] */
  size_t count, capacity;
  size_t used;   /* bytes of the record with its line end */
  int64_t lines; /* line ends in it */
  size_t fault;
} brim_split;

void brim_split_free(brim_split *split);
/* Quoted fields (csv): records end at LF, CRLF or CR. `final`: nothing follows these bytes; length > 0. */
brim_split_status brim_split_quoted(brim_split *split, const char *bytes, size_t length, bool final, char delimiter);
/* Quotes mean nothing (tsv): records end at LF or CRLF. */
brim_split_status brim_split_plain(brim_split *split, const char *bytes, size_t length, bool final, char delimiter);
/* Writes a span's text, doubled quotes made single; `out` has room for span->length bytes. Returns what it wrote. */
size_t brim_field_span_decode(const brim_field_span *span, const char *bytes, char *out);
/* An empty line: one empty field without quotes. */
bool brim_split_blank(const brim_split *split);
/* Line feeds in some bytes. */
int64_t brim_count_lines(const char *bytes, size_t length);

#endif
