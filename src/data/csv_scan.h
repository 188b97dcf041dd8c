/* csv_scan.h: cuts one csv or tsv record off the front of some bytes. Pure: no files, no columns, no messages. */
#ifndef BRIM_DATA_CSV_SCAN_H
#define BRIM_DATA_CSV_SCAN_H
#include "brim/base.h"

typedef enum brim_csv_status {
  BRIM_CSV_DONE,
  BRIM_CSV_MORE,  /* the record does not end in these bytes: come again with more, or with final */
  BRIM_CSV_OPEN,  /* the input ends in a quoted field; `fault` is its opening quote */
  BRIM_CSV_STRAY, /* `fault` is a byte after a closing quote that is neither delimiter nor line end */
  BRIM_CSV_MEMORY
} brim_csv_status;

/* A field, as a range of the bytes, quotes around it left off. */
typedef struct brim_field_span {
  size_t start, length;
  bool quoted;
  bool doubled;   /* holds doubled quotes or escapes: brim_field_span_decode */
  bool escaped;   /* a backslash before a quote, a backslash, the delimiter or a line end belongs to it */
  char delimiter; /* where escaped */
} brim_field_span;

typedef struct brim_csv_scan {
  brim_runtime *runtime;
  brim_field_span *spans; /* [count] */
  size_t count, capacity;
  size_t used;   /* bytes of the record with its line end */
  int64_t lines; /* line ends in it */
  size_t fault;
  bool backslash; /* with brim_csv_scan_quoted: a quote, a delimiter or a line end after a backslash is text */
} brim_csv_scan;

void brim_csv_scan_free(brim_csv_scan *scan);
/* Quoted fields (csv): records end at LF, CRLF or CR. `final`: nothing follows these bytes; length > 0. */
brim_csv_status brim_csv_scan_quoted(brim_csv_scan *scan, const char *bytes, size_t length, bool final, char delimiter);
/* Quotes mean nothing (tsv): records end at LF or CRLF. */
brim_csv_status brim_csv_scan_plain(brim_csv_scan *scan, const char *bytes, size_t length, bool final, char delimiter);
/* Writes a span's text, doubled quotes made single and escapes left out; `out` has room for span->length bytes. Returns what it
 * wrote. */
size_t brim_field_span_decode(const brim_field_span *span, const char *bytes, char *out);
/* An empty line: one empty field without quotes. */
bool brim_csv_is_empty(const brim_csv_scan *scan);
/* Line feeds in some bytes. */
int64_t brim_count_lines(const char *bytes, size_t length);

#endif
