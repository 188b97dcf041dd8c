/* Readers on any bytes. The first byte says how: c csv, s csv with semicolons, b with backslashes, t tsv, q tsv with quotes, j
 * JSON lines or an array, x text; in capitals without a header; the rest is the file. Records must be valid text in order, and
 * from the place before any of them a second reader must continue the same way. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/utf8.h"
#include "brim/data.h"
#include "data/position.h"
#include "fuzz.h"

static bool good_text(const char *text, size_t length) {
  return !text || brim_utf8_valid(text, length) == length;
}

static void check_record(const brim_record *record, const brim_record *before, uint64_t row) {
  MUST(record->row >= row);
  MUST(record->text && record->line >= 1 && record->byte >= 0);
  MUST(record->line >= before->line && (record->byte > before->byte || before->line == 0));
  MUST(good_text(record->text, record->text_length) && good_text(record->pair, record->pair_length));
  MUST(good_text(record->label, record->label_length));
}

/* A number for the whole of what is read from `place` on (NULL: the beginning), and the place before record `at`. */
static uint64_t read_all(brim_runtime *runtime, const char *path, const brim_source_options *options,
                         const brim_position *position, uint64_t at, brim_position *found) {
  brim_reader *reader;
  brim_record record, before = {0};
  brim_error err = {0};
  uint64_t rows = 0, sum = 0;
  int status = brim_reader_open(runtime, &path, 1, options, &reader, &err);
  if (status == BRIM_OK && position)
    MUST(brim_reader_seek(reader, position, &err) == BRIM_OK);
  while (status == BRIM_OK) {
    if (found && rows == at)
      brim_reader_tell(reader, found);
    status = brim_reader_next(reader, &record, &err);
    if (status != BRIM_OK)
      break;
    check_record(&record, &before, rows++);
    before = record;
    if (rows > at || position)
      sum = sum * 31 + record.row * 7 + (uint64_t)record.line * 3 + (uint64_t)record.byte + record.text_length +
            record.label_length;
  }
  if (status != BRIM_END)
    fuzz_check_error(status, &err, INT32_MAX);
  brim_reader_close(reader);
  return sum * 31 + (uint64_t)status + (uint64_t)err.line + (uint64_t)err.byte;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  brim_runtime *runtime = fuzz_runtime();
  int file = memfd_create("input", 0);
  MUST(file >= 0 && write(file, data + 1, size - 1) == (ssize_t)(size - 1));
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", file);
  char kind = (char)(data[0] | 0x20);
  brim_source_options options = {.format = kind == 'j'                                 ? BRIM_FORMAT_JSONL
                                           : kind == 'x'                               ? BRIM_FORMAT_TXT
                                           : kind == 'c' || kind == 's' || kind == 'b' ? BRIM_FORMAT_CSV
                                                                                       : BRIM_FORMAT_TSV,
                                 .delimiter = kind == 's' ? ';' : 0,
                                 .quote = kind == 'q'   ? BRIM_QUOTE_CSV
                                          : kind == 'b' ? BRIM_QUOTE_BACKSLASH
                                                        : BRIM_QUOTE_AUTO,
                                 .no_header = data[0] >= 'A' && data[0] <= 'Z',
                                 .max_record = 1 << 16};
  if (options.no_header)
    options.label_column = "1";
  else
    options.min_chars = size % 3 == 0;
  uint64_t at = size % 5;
  brim_position position = {.file = -1};
  uint64_t sum = read_all(runtime, path, &options, NULL, at, &position);
  if (position.file >= 0)
    MUST(read_all(runtime, path, &options, &position, 0, NULL) == sum);
  close(file);
  return 0;
}
