/* data_case.h: what a reader makes of some files, as text that a test can compare:
 *
 *   0 2 5 [a text] - [1]        row, line, byte, text, pair, label ("-": none)
 *   !5 name.csv: line 3, byte 17: message
 */
#ifndef BRIM_TESTS_DATA_CASE_H
#define BRIM_TESTS_DATA_CASE_H
#include "brim/data.h"
#include "scratch.h"
#include "tap.h"

static brim_runtime *data_runtime;

__attribute__((unused)) static void data_start(int threads) {
  brim_error err;
  brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &data_runtime, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
}

/* Control characters, and bytes that are not ASCII, as \xNN; the usual ones by name. */
static void data_show(brim_text *out, const char *bytes, size_t length) {
  if (!bytes) {
    brim_text_string(out, " -");
    return;
  }
  brim_text_string(out, " [");
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)bytes[i];
    if (c == '\n')
      brim_text_string(out, "\\n");
    else if (c == '\r')
      brim_text_string(out, "\\r");
    else if (c == '\t')
      brim_text_string(out, "\\t");
    else if (c < 32)
      brim_text_printf(out, "\\x%02x", c);
    else
      brim_text_append(out, &bytes[i], 1);
  }
  brim_text_string(out, "]");
}

/* "!CODE place: message", paths without the test's folder. */
static void data_show_error(brim_text *out, int status, const brim_error *err) {
  char words[1200];
  brim_error_text(err, words, sizeof words);
  size_t prefix = strlen(scratch_folder()) + 1;
  brim_text_printf(out, "!%d ", status);
  for (const char *p = words; *p;) {
    bool ours = strncmp(p, scratch_folder(), prefix - 1) == 0 && p[prefix - 1] == '/';
    if (ours) {
      p += prefix;
    } else {
      brim_text_append(out, p++, 1);
    }
  }
  brim_text_string(out, "\n");
}

static void data_show_record(brim_text *out, const brim_record *record) {
  brim_text_printf(out, "%llu %lld %lld", (unsigned long long)record->row, (long long)record->line, (long long)record->byte);
  data_show(out, record->text, record->text_length);
  data_show(out, record->pair, record->pair_length);
  data_show(out, record->label, record->label_length);
  brim_text_string(out, "\n");
}

/* Everything that a reader gives; the string is good until the next call. */
__attribute__((unused)) static const char *data_read(const char *const *paths, int count, const brim_source_options *options) {
  static brim_text out;
  brim_text_free(&out);
  brim_text_init(&out, data_runtime);
  brim_text_string(&out, "");
  static const brim_source_options none;
  brim_reader *reader;
  brim_record record;
  brim_error err;
  int status = brim_reader_open(data_runtime, paths, count, options ? options : &none, &reader, &err);
  while (status == BRIM_OK && (status = brim_reader_next(reader, &record, &err)) == BRIM_OK)
    data_show_record(&out, &record);
  if (status != BRIM_END)
    data_show_error(&out, status, &err);
  brim_reader_close(reader);
  return out.data ? out.data : "";
}

/* The same for one file that is made for it. */
__attribute__((unused)) static const char *data_read_bytes(const char *name, const void *bytes, size_t length,
                                                           const brim_source_options *options) {
  const char *path = scratch_write_bytes(name, bytes, length);
  return data_read(&path, 1, options);
}

__attribute__((unused)) static const char *data_read_text(const char *name, const char *text,
                                                          const brim_source_options *options) {
  return data_read_bytes(name, text, strlen(text), options);
}

#endif
