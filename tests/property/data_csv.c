/* csv against a slow obvious parser: random bytes and random tables, whole, cut anywhere, and through a pipe in random pieces. */
#include <pthread.h>

#include "base/random.h"
#include "data/csv_scan.h"
#include "data_case.h"

static uint64_t draws;

static uint64_t below(uint64_t bound) {
  brim_random random = brim_random_make(7, 0, BRIM_PURPOSE_SAMPLE);
  return brim_random_below(&random, draws++, bound);
}

/* ---- the obvious parser ----------------------------------------------------------------------------------- */

typedef struct field {
  char text[512];
  size_t length;
  bool quoted;
} field;

typedef struct record {
  field fields[256];
  size_t count, used, fault;
  int64_t lines;
  brim_csv_status status;
} record;

static bool escapes(const char *bytes, size_t i, size_t length) {
  return bytes[i] == '\\' && i + 1 < length && strchr("\"\\,\r\n", bytes[i + 1]) && bytes[i + 1];
}

/* One character at a time, one state: the first record of a whole input. */
static void parse(const char *bytes, size_t length, bool quoted, bool backslash, record *out) {
  enum { START, BARE, QUOTED, CLOSED } state = START;
  size_t open = 0;
  out->count = 1;
  out->lines = 1;
  out->fields[0] = (field){0};
  for (size_t i = 0;; i++) {
    field *f = &out->fields[out->count - 1];
    bool end = i == length;
    char c = end ? 0 : bytes[i];
    if (state == QUOTED) {
      if (end) {
        out->fault = open;
        out->status = BRIM_CSV_OPEN;
        return;
      }
      if (backslash && escapes(bytes, i, length))
        c = f->text[f->length++] = bytes[++i];
      else if (c == '"')
        state = CLOSED;
      else
        f->text[f->length++] = c;
      out->lines += c == '\n';
      continue;
    }
    if (!end && backslash && state != CLOSED && escapes(bytes, i, length)) {
      c = f->text[f->length++] = bytes[++i];
      out->lines += c == '\n';
      state = BARE;
      continue;
    }
    if (end || c == '\n' || (c == '\r' && quoted) || (c == '\r' && !quoted && (i + 1 == length || bytes[i + 1] == '\n'))) {
      out->used = end ? i : c == '\r' && i + 1 < length && bytes[i + 1] == '\n' ? i + 2 : i + 1;
      out->status = BRIM_CSV_DONE;
      return;
    }
    if (c == ',') {
      out->fields[out->count++] = (field){0};
      state = START;
    } else if (c == '"' && state == START && quoted) {
      f->quoted = true;
      open = i;
      state = QUOTED;
    } else if (c == '"' && state == CLOSED) {
      f->text[f->length++] = c;
      state = QUOTED;
    } else if (state == CLOSED) {
      out->fault = i;
      out->status = BRIM_CSV_STRAY;
      return;
    } else {
      f->text[f->length++] = c;
      state = BARE;
    }
  }
}

/* ---- comparing -------------------------------------------------------------------------------------------- */

static bool same_fields(const brim_csv_scan *scan, const char *bytes, const record *want) {
  char decoded[512];
  if (scan->count != want->count)
    return false;
  for (size_t i = 0; i < scan->count; i++) {
    const brim_field_span *span = &scan->spans[i];
    size_t length = brim_field_span_decode(span, bytes, decoded);
    bool plain = span->length == length && memcmp(bytes + span->start, decoded, length) == 0;
    if (length != want->fields[i].length || memcmp(decoded, want->fields[i].text, length) != 0)
      return false;
    if (span->quoted != want->fields[i].quoted || span->doubled == plain)
      return false;
  }
  return true;
}

static bool same(const brim_csv_scan *scan, brim_csv_status status, const char *bytes, const record *want) {
  if (status != want->status)
    return false;
  if (status != BRIM_CSV_DONE)
    return scan->fault == want->fault;
  return scan->used == want->used && scan->lines == want->lines && same_fields(scan, bytes, want);
}

/* All records of an input, and for each of them every place where the bytes seen so far may end. */
static bool agrees(brim_csv_scan *scan, const char *bytes, size_t length, bool quoted) {
  brim_csv_status (*cut)(brim_csv_scan *, const char *, size_t, bool, char) = quoted ? brim_csv_scan_quoted : brim_csv_scan_plain;
  static record want;
  for (size_t at = 0; at < length; at += want.used) {
    size_t left = length - at;
    char *copy = malloc(left); /* so that AddressSanitizer sees a look past the end */
    memcpy(copy, bytes + at, left);
    parse(copy, left, quoted, scan->backslash, &want);
    bool good = same(scan, cut(scan, copy, left, true, ','), copy, &want);
    for (size_t seen = 1; seen <= left && good; seen++) {
      char *part = malloc(seen);
      memcpy(part, copy, seen);
      brim_csv_status status = cut(scan, part, seen, false, ',');
      if (status != BRIM_CSV_MORE)
        good = status != BRIM_CSV_OPEN && same(scan, status, part, &want);
      else
        good = want.status != BRIM_CSV_DONE ? seen <= want.fault || want.status == BRIM_CSV_OPEN : seen <= want.used;
      free(part);
    }
    free(copy);
    if (!good || want.status != BRIM_CSV_DONE)
      return good;
  }
  return true;
}

static void random_bytes(bool quoted, bool backslash) {
  static const char alphabet[] = "ab\"\",,\n\r x\\\\\xC3\xA9";
  brim_csv_scan scan = {.runtime = data_runtime, .backslash = backslash};
  int failed = 0;
  for (int round = 0; round < 20000 && !failed; round++) {
    char bytes[48];
    size_t length = 1 + below(round % 10 ? 12 : sizeof bytes);
    for (size_t i = 0; i < length; i++)
      bytes[i] = alphabet[below(sizeof alphabet - 1)];
    if (!agrees(&scan, bytes, length, quoted)) {
      failed++;
      printf("# differs:");
      for (size_t i = 0; i < length; i++)
        printf(" %02x", (unsigned char)bytes[i]);
      printf("\n");
    }
  }
  ok(failed == 0, "random bytes, cut anywhere (%s)", backslash ? "quoted, with backslashes" : quoted ? "quoted" : "plain");
  brim_csv_scan_free(&scan);
}

/* ---- tables through a pipe -------------------------------------------------------------------------------- */

typedef struct feed {
  const char *bytes;
  size_t length;
  int descriptor;
} feed;

static void *feed_pipe(void *context) {
  feed *f = context;
  for (size_t at = 0, piece; at < f->length; at += piece) {
    piece = 1 + (at * 2654435761u >> 7) % 23;
    if (piece > f->length - at)
      piece = f->length - at;
    if (write(f->descriptor, f->bytes + at, piece) != (ssize_t)piece)
      break;
  }
  close(f->descriptor);
  return NULL;
}

static void put_field(brim_text *csv, const char *text, size_t length, bool last, bool first) {
  bool must = memchr(text, ',', length) || memchr(text, '\n', length) || memchr(text, '\r', length) || (length && text[0] == '"');
  bool quote = must || (first && last && length == 0) || below(3) == 0;
  if (quote)
    brim_text_string(csv, "\"");
  for (size_t i = 0; i < length; i++) {
    brim_text_append(csv, &text[i], 1);
    if (quote && text[i] == '"')
      brim_text_append(csv, "\"", 1);
  }
  if (quote)
    brim_text_string(csv, "\"");
  brim_text_string(csv, !last ? "," : below(2) ? "\n" : "\r\n");
}

/* A random table with a text and a pair column; `want` gets what data_read should show, without line and byte. */
static void make_table(brim_text *csv, brim_text *want, int rows) {
  static const char alphabet[] = "abc \"\",\n\r\xC3\xA9";
  brim_text_string(csv, "text,x,text_pair\r\n");
  for (int row = 0; row < rows; row++) {
    brim_text_printf(want, "%d", row);
    for (int column = 0; column < 3; column++) {
      char text[128];
      size_t length = 0, most = below(row % 7 ? 12 : 100);
      while (length < most) {
        char c = alphabet[below(sizeof alphabet - 1)];
        if (c == '\xC3' || c == '\xA9') {
          memcpy(text + length, "\xC3\xA9", 2);
          length += 2;
        } else {
          text[length++] = c;
        }
      }
      put_field(csv, text, length, column == 2, column == 0);
      if (column != 1)
        data_show(want, text, length);
    }
    brim_text_string(want, "\n");
  }
}

static bool pipe_agrees(const brim_text *csv, const brim_text *want) {
  int ends[2];
  pthread_t thread;
  if (pipe(ends) != 0)
    return false;
  feed f = {.bytes = csv->data, .length = csv->length, .descriptor = ends[1]};
  pthread_create(&thread, NULL, feed_pipe, &f);
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  const char *paths[] = {path};
  brim_source_options options = {.format = BRIM_FORMAT_CSV};
  brim_reader *reader;
  brim_record got;
  brim_text seen;
  brim_text_init(&seen, data_runtime);
  int status = brim_reader_open(data_runtime, paths, 1, &options, &reader, NULL);
  while (status == BRIM_OK && (status = brim_reader_next(reader, &got, NULL)) == BRIM_OK) {
    brim_text_printf(&seen, "%d", (int)got.row);
    data_show(&seen, got.text, got.text_length);
    data_show(&seen, got.pair, got.pair_length);
    brim_text_string(&seen, "\n");
  }
  brim_reader_close(reader);
  close(ends[0]);
  pthread_join(thread, NULL);
  bool equal = status == BRIM_END && seen.length == want->length && memcmp(seen.data, want->data, seen.length) == 0;
  brim_text_free(&seen);
  return equal;
}

static void random_tables(void) {
  for (int round = 0; round < 20; round++) {
    brim_text csv, want;
    brim_text_init(&csv, data_runtime);
    brim_text_init(&want, data_runtime);
    make_table(&csv, &want, 1 + (int)below(round < 15 ? 40 : 600));
    ok(pipe_agrees(&csv, &want), "a random table of %zu bytes through a pipe", csv.length);
    brim_text_free(&csv);
    brim_text_free(&want);
  }
}

int main(void) {
  data_start(1);
  random_bytes(true, false);
  random_bytes(true, true);
  random_bytes(false, false);
  random_tables();
  brim_runtime_free(data_runtime);
  return tap_done();
}
