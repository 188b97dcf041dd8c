#include "data/csv_scan.h"

#include <string.h>

#include "base/memory.h"

void brim_csv_scan_free(brim_csv_scan *scan) {
  brim_release(scan->runtime, scan->spans);
  *scan = (brim_csv_scan){0};
}

bool brim_csv_is_empty(const brim_csv_scan *scan) {
  return scan->count == 1 && scan->spans[0].length == 0 && !scan->spans[0].quoted;
}

int64_t brim_count_lines(const char *bytes, size_t length) {
  int64_t lines = 0;
  for (const char *end = bytes + length; (bytes = memchr(bytes, '\n', (size_t)(end - bytes))); bytes++)
    lines++;
  return lines;
}

/* Whether a backslash here is left out, for what it precedes is text: a quote, a backslash, the delimiter, a CR or an LF. */
static bool is_escape(const char *at, const char *end, char delimiter) {
  return end - at > 1 && *at == '\\' && (at[1] == '"' || at[1] == '\\' || at[1] == delimiter || at[1] == '\r' || at[1] == '\n');
}

static size_t decode_escaped(const brim_field_span *span, const char *from, const char *end, char *out) {
  char *to = out;
  while (from < end) {
    const bool twice = span->quoted && end - from > 1 && *from == '"' && from[1] == '"';
    from += twice || is_escape(from, end, span->delimiter);
    *to++ = *from++;
  }
  return (size_t)(to - out);
}

size_t brim_field_span_decode(const brim_field_span *span, const char *bytes, char *out) {
  const char *from = bytes + span->start, *end = from + span->length;
  char *to = out;
  if (!span->doubled) {
    memcpy(out, from, span->length);
    return span->length;
  }
  if (span->escaped)
    return decode_escaped(span, from, end, out);
  while (from < end) {
    const char *quote = memchr(from, '"', (size_t)(end - from));
    size_t piece = (size_t)((quote ? quote + 1 : end) - from);
    memcpy(to, from, piece);
    to += piece;
    from += piece + (quote != NULL); /* the second quote of the pair */
  }
  return (size_t)(to - out);
}

static bool add_span(brim_csv_scan *scan, brim_field_span span) {
  if (brim_grow(scan->runtime, (void **)&scan->spans, &scan->capacity, scan->count + 1, sizeof span, NULL))
    return false;
  scan->spans[scan->count++] = span;
  return true;
}

/* ---- quoted ----------------------------------------------------------------------------------------------- */

/* High bits mark the bytes of `word` that are zero. Above the lowest marked byte there may be false marks, so only the lowest one
 * counts: on little-endian machines that is the first. */
static inline uint64_t zero_bytes(uint64_t word) {
  return (word - 0x0101010101010101u) & ~word & 0x8080808080808080u;
}

/* The first delimiter, CR or LF at or after `at`, or `length`. Eight bytes at a time. */
static size_t find_end(const char *bytes, size_t at, size_t length, char delimiter) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  const uint64_t ones = 0x0101010101010101u;
  uint64_t d = ones * (unsigned char)delimiter, r = ones * '\r', n = ones * '\n';
  for (; length - at >= 8; at += 8) {
    uint64_t word;
    memcpy(&word, bytes + at, 8);
    uint64_t hits = zero_bytes(word ^ d) | zero_bytes(word ^ r) | zero_bytes(word ^ n);
    if (hits)
      return at + (size_t)__builtin_ctzll(hits) / 8;
  }
#endif
  while (at < length && bytes[at] != delimiter && bytes[at] != '\r' && bytes[at] != '\n')
    at++;
  return at;
}

/* The same where a backslash makes text of it. A pair holds two bytes, and an odd run of backslashes makes text of what
 * follows. */
static size_t find_bare_end(const char *bytes, size_t start, size_t length, char delimiter, bool *escaped) {
  size_t at = start, run;
  do {
    at = find_end(bytes, at, length, delimiter);
    for (run = 0; at - run > start && bytes[at - run - 1] == '\\';)
      run++;
  } while (at < length && run % 2 && ++at);
  for (const char *from = bytes + start, *end = bytes + at;
       !*escaped && from < end && (from = memchr(from, '\\', (size_t)(end - from))); from++)
    *escaped = is_escape(from, end, delimiter);
  return at;
}

/* The first quote at or after `from` that no backslash escapes, or NULL. A pair that the bytes cut may be one: it is no quote
 * yet. */
static const char *find_quote(const char *bytes, size_t from, size_t length, char delimiter, bool *escaped) {
  while (from < length && bytes[from] != '"') {
    bool pair = is_escape(bytes + from, bytes + length, delimiter);
    *escaped |= pair;
    from += 1 + pair;
  }
  return from < length ? bytes + from : NULL;
}

/* Passes over a quoted field whose opening quote is at *at; *at gets the byte after its closing quote. At the end of the bytes
 * that is a guess, which the caller does not believe unless they are final: a second quote may follow. */
static brim_csv_status quoted_field(brim_csv_scan *scan, const char *bytes, size_t length, bool final, char delimiter, size_t *at,
                                    brim_field_span *span) {
  size_t start = *at + 1, from = start;
  bool doubled = false, escaped = false;
  const char *quote;
  while ((quote = scan->backslash ? find_quote(bytes, from, length, delimiter, &escaped)
                                  : memchr(bytes + from, '"', length - from))) {
    size_t q = (size_t)(quote - bytes);
    if (q + 1 == length || bytes[q + 1] != '"') {
      *span = (brim_field_span){.start = start,
                                .length = q - start,
                                .quoted = true,
                                .doubled = doubled || escaped,
                                .escaped = scan->backslash,
                                .delimiter = delimiter};
      *at = q + 1;
      return BRIM_CSV_DONE;
    }
    doubled = true;
    from = q + 2;
  }
  scan->fault = *at;
  return final ? BRIM_CSV_OPEN : BRIM_CSV_MORE;
}

brim_csv_status brim_csv_scan_quoted(brim_csv_scan *scan, const char *bytes, size_t length, bool final, char delimiter) {
  size_t at = 0;
  scan->count = 0;
  scan->lines = 1;
  for (;;) {
    brim_field_span span = {.start = at};
    if (at < length && bytes[at] == '"') {
      brim_csv_status status = quoted_field(scan, bytes, length, final, delimiter, &at, &span);
      if (status != BRIM_CSV_DONE)
        return status;
      scan->lines += brim_count_lines(bytes + span.start, span.length);
    } else if (scan->backslash) {
      at = find_bare_end(bytes, at, length, delimiter, &span.doubled);
      span.length = at - span.start;
      span.escaped = true;
      span.delimiter = delimiter;
      scan->lines += brim_count_lines(bytes + span.start, span.length);
    } else {
      at = find_end(bytes, at, length, delimiter);
      span.length = at - span.start;
    }
    if (at == length && !final)
      return BRIM_CSV_MORE;
    if (!add_span(scan, span))
      return BRIM_CSV_MEMORY;
    if (at == length)
      break;
    char end = bytes[at];
    if (end == '\r' && at + 1 == length && !final)
      return BRIM_CSV_MORE; /* an LF may follow */
    if (end != delimiter && end != '\r' && end != '\n') {
      scan->fault = at;
      return BRIM_CSV_STRAY;
    }
    at++;
    if (end == '\r' && at < length && bytes[at] == '\n')
      at++;
    if (end != delimiter)
      break;
  }
  scan->used = at;
  return BRIM_CSV_DONE;
}

/* ---- plain ------------------------------------------------------------------------------------------------ */

brim_csv_status brim_csv_scan_plain(brim_csv_scan *scan, const char *bytes, size_t length, bool final, char delimiter) {
  const char *feed = memchr(bytes, '\n', length);
  if (!feed && !final)
    return BRIM_CSV_MORE;
  size_t end = feed ? (size_t)(feed - bytes) : length;
  scan->used = feed ? end + 1 : length;
  scan->lines = 1;
  scan->count = 0;
  if (end > 0 && bytes[end - 1] == '\r')
    end--;
  for (size_t at = 0;; at++) {
    const char *tab = memchr(bytes + at, delimiter, end - at);
    size_t stop = tab ? (size_t)(tab - bytes) : end;
    if (!add_span(scan, (brim_field_span){.start = at, .length = stop - at}))
      return BRIM_CSV_MEMORY;
    if (!tab)
      return BRIM_CSV_DONE;
    at = stop;
  }
}
