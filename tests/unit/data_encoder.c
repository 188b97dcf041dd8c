/* The encoder: the same rows and the same first error for any number of threads. */
#include "base/hashmap.h"
#include "base/random.h"
#include "data/encoder.h"
#include "data/reader.h"
#include "data_tokenizer.h"

static uint64_t row_hash(const brim_encoded *row, uint64_t hash) {
  hash = brim_hash64(row->ids, row->length * sizeof *row->ids, hash);
  hash = brim_hash64(row->type_ids, row->length, hash);
  if (row->label)
    hash = brim_hash64(row->label, row->label_length, hash);
  uint64_t rest[] = {row->length, row->lost, row->row, (uint64_t)row->line, (uint64_t)row->byte, row->pair};
  return brim_hash64(rest, sizeof rest, hash);
}

/* Rows, a hash over them, and how it ended. */
static const char *encode(const char *path, int threads, int32_t max_length, uint64_t stop_after) {
  static char out[1400];
  brim_runtime *one = data_runtime;
  data_start(threads);
  brim_tokenizer *tokenizer = data_tokenizer();
  brim_source_options source = {0};
  brim_encode_options options = {.max_length = max_length};
  brim_reader *reader;
  brim_encoder *encoder = NULL;
  brim_encoded row;
  brim_error err;
  uint64_t rows = 0, hash = 0, consumed = 0, total = 0;
  int status = brim_reader_open(data_runtime, &path, 1, &source, &reader, &err);
  if (status == BRIM_OK)
    status = brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, &err);
  while (status == BRIM_OK && rows < stop_after && (status = brim_encoder_next(encoder, &row, &err)) == BRIM_OK) {
    rows++;
    hash = row_hash(&row, hash);
  }
  if (encoder)
    brim_encoder_progress(encoder, &consumed, &total);
  int at = snprintf(out, sizeof out, "%llu rows %016llx%s", (unsigned long long)rows, (unsigned long long)hash,
                    status == BRIM_END && consumed == total ? " all" : "");
  if (status != BRIM_OK && status != BRIM_END) {
    brim_error again;
    ok(brim_encoder_next(encoder, &row, &again) == status && strcmp(again.message, err.message) == 0, "a failure is final");
    snprintf(out + at, sizeof out - (size_t)at, " !%d line %lld byte %lld %s", status, (long long)err.line, (long long)err.byte,
             err.message);
  }
  brim_encoder_close(encoder);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  data_runtime = one;
  return out;
}

/* A table of several blocks: short and long texts, pairs, labels; one row `bad` is not UTF-8. */
static const char *make_table(const char *name, int rows, int bad) {
  brim_random random = brim_random_make(3, 0, BRIM_PURPOSE_SAMPLE);
  brim_text csv;
  brim_text_init(&csv, data_runtime);
  brim_text_string(&csv, "text,label,text_pair\n");
  for (int row = 0; row < rows; row++) {
    uint64_t words = brim_random_below(&random, (uint64_t)row, row % 100 ? 40 : 4000);
    for (uint64_t i = 0; i < words; i++)
      brim_text_printf(&csv, "%c%c ", (int)('a' + (i * 7 + (uint64_t)row) % 26), (int)('a' + i % 26));
    brim_text_printf(&csv, "%s,%d,b%c c\n", row == bad ? "\xE9" : "", row % 3, 'a' + row % 26);
  }
  const char *path = scratch_write_bytes(name, csv.data, csv.length);
  brim_text_free(&csv);
  return path;
}

static void exact_rows(void) {
  const char *path = scratch_write("a.jsonl",
                                   "{\"text\":\"ab c\",\"label\":1}\n{\"text\":\"abcd\",\"text_pair\":\"x\"}\n{\"text\":\"\"}\n");
  brim_tokenizer *tokenizer = data_tokenizer();
  brim_source_options source = {0};
  brim_encode_options options = {.max_length = 6};
  brim_reader *reader;
  brim_encoder *encoder;
  brim_encoded row;
  ok_int(brim_reader_open(data_runtime, &path, 1, &source, &reader, NULL), BRIM_OK, "open");
  ok_int(brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, NULL), BRIM_OK, "encoder");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_OK, "a row");
  ok(row.length == 5 && !memcmp(row.ids, (int32_t[]){2, 5, 32, 7, 3}, 20) && !memcmp(row.type_ids, "\0\0\0\0\0", 5), "its ids");
  ok(row.label_length == 1 && *row.label == '1' && *row.label_forms == BRIM_FORM_NUMBER && !row.pair && row.lost == 0,
     "its label");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_OK, "a pair");
  ok(row.length == 6 && !memcmp(row.ids, (int32_t[]){2, 5, 32, 3, 28, 3}, 24) && !memcmp(row.type_ids, "\0\0\0\0\1\1", 6),
     "its ids");
  ok(row.pair && row.lost == 2 && !row.label && row.row == 1 && row.line == 2 && row.byte == 26, "what is known of it");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_OK, "an empty text");
  ok(row.length == 2 && !memcmp(row.ids, (int32_t[]){2, 3}, 8), "its ids");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_END, "the end");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_END, "the end again");
  brim_encoder_close(encoder);

  options.max_length = 1;
  brim_error err;
  ok_int(brim_reader_open(data_runtime, &path, 1, &source, &reader, NULL), BRIM_OK, "open");
  ok_int(brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, &err), BRIM_E_USAGE,
         "no room for the special tokens");
  ok(encoder == NULL, "no encoder then");
  options.max_length = 2;
  ok_int(brim_reader_open(data_runtime, &path, 1, &source, &reader, NULL), BRIM_OK, "open");
  ok_int(brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, &err), BRIM_OK, "room for those of a single text");
  ok_int(brim_encoder_next(encoder, &row, &err), BRIM_OK, "the single text");
  ok_int(brim_encoder_next(encoder, &row, &err), BRIM_E_USAGE, "no room for those of a pair");
  ok(err.line == 2 && err.byte == 26 && strstr(err.file, "a.jsonl"), "with its place");
  brim_encoder_close(encoder);
  brim_tokenizer_free(tokenizer);
}

static void any_threads(void) {
  static const int threads[] = {2, 3, 8};
  char want[4][1400];
  const char *whole = make_table("whole.csv", 20000, -1);
  snprintf(want[0], sizeof want[0], "%s", encode(whole, 1, 50, UINT64_MAX));
  ok(strstr(want[0], "20000 rows ") == want[0] && strstr(want[0], " all"), "all rows: %s", want[0]);
  snprintf(want[1], sizeof want[1], "%s", encode(whole, 1, 50, 7777));
  const char *bad = make_table("bad.csv", 20000, 12345);
  snprintf(want[2], sizeof want[2], "%s", encode(bad, 1, 0, UINT64_MAX));
  ok(strstr(want[2], "12345 rows ") == want[2] && strstr(want[2], "!5 line 12347 "), "up to a bad row: %s", want[2]);
  snprintf(want[3], sizeof want[3], "%s", encode(whole, 1, 2, UINT64_MAX));
  ok(strstr(want[3], "0 rows ") == want[3] && strstr(want[3], "!2 line 2 "), "an error of encoding: %s", want[3]);
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    ok_string(encode(whole, threads[i], 50, UINT64_MAX), want[0], "the same rows");
    ok_string(encode(whole, threads[i], 50, 7777), want[1], "closed in the middle");
    ok_string(encode(bad, threads[i], 0, UINT64_MAX), want[2], "the same error of reading");
    ok_string(encode(whole, threads[i], 2, UINT64_MAX), want[3], "the same error of encoding");
  }
}

static void cancelled(void) {
  const char *path = make_table("whole.csv", 5000, -1);
  brim_runtime *one = data_runtime;
  data_start(2);
  brim_tokenizer *tokenizer = data_tokenizer();
  brim_source_options source = {0};
  brim_encode_options options = {0};
  brim_reader *reader;
  brim_encoder *encoder;
  brim_encoded row;
  brim_error err;
  ok_int(brim_reader_open(data_runtime, &path, 1, &source, &reader, NULL), BRIM_OK, "open");
  ok_int(brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, NULL), BRIM_OK, "encoder");
  ok_int(brim_encoder_next(encoder, &row, NULL), BRIM_OK, "a row");
  brim_runtime_cancel(data_runtime);
  int status;
  while ((status = brim_encoder_next(encoder, &row, &err)) == BRIM_OK)
    ;
  ok_int(status, BRIM_E_CANCELLED, "cancelled");
  brim_encoder_close(encoder);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  data_runtime = one;
}

/* A reader that waits for a pipe does not keep close from returning. */
static void waiting(void) {
  int ends[2];
  ok(pipe(ends) == 0, "a pipe");
  brim_runtime *one = data_runtime;
  data_start(2);
  brim_tokenizer *tokenizer = data_tokenizer();
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
  const char *paths[] = {path};
  brim_source_options source = {.format = BRIM_FORMAT_TXT};
  brim_encode_options options = {0};
  brim_reader *reader;
  brim_encoder *encoder;
  ok_int(write(ends[1], "first\nsec", 9), 9, "some text");
  ok_int(brim_reader_open(data_runtime, paths, 1, &source, &reader, NULL), BRIM_OK, "open");
  ok_int(brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, NULL), BRIM_OK, "encoder");
  usleep(20000);
  brim_encoder_close(encoder);
  ok(true, "closed while a thread waits for the pipe");
  close(ends[0]);
  close(ends[1]);
  brim_tokenizer_free(tokenizer);
  brim_runtime_free(data_runtime);
  data_runtime = one;
}

/* Lines of every kind: short, empty, with CRLF, longer than a block, and one that is not UTF-8. */
static const char *make_lines(const char *name, int lines, int bad, const char *end) {
  brim_text txt;
  brim_text_init(&txt, data_runtime);
  for (int line = 0; line < lines; line++) {
    int words = line % 5000 == 100 ? 10000 : line % 5000 == 1700 ? 100000 : line % 97;
    for (int i = 0; i < words; i++)
      brim_text_printf(&txt, "%c%c ", 'a' + (i * 7 + line) % 26, 'a' + i % 26);
    brim_text_printf(&txt, "%s%s", line == bad ? "\xE9" : "", line + 1 == lines ? end : line % 3 ? "\n" : "\r\n");
  }
  const char *path = scratch_write_bytes(name, txt.data, txt.length);
  brim_text_free(&txt);
  return path;
}

static bool same_row(const brim_record *record, const brim_encoded *row, const brim_encoding *ids) {
  return record->row == row->row && record->file_row == row->file_row && record->file_number == row->file_number &&
         record->line == row->line && record->byte == row->byte && strcmp(record->file, row->file) == 0 && !row->pair &&
         !row->label && !row->damage && ids->length == row->length &&
         (row->length == 0 || memcmp(ids->ids, row->ids, row->length * sizeof *row->ids) == 0);
}

/* A tokenizer of bytes, to which a space and a CR are tokens as a letter is. */
static brim_tokenizer *byte_tokenizer(void) {
  char json[1024] = "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false},\"model\":{\"type\":\"BPE\","
                    "\"merges\":[],\"vocab\":{\"\\u0120\":0,\"\\u010d\":1";
  for (int i = 0; i < 26; i++)
    sprintf(json + strlen(json), ",\"%c\":%d", 'a' + i, 2 + i);
  strcat(json, "}}}");
  brim_tokenizer *tokenizer;
  brim_error err;
  if (brim_tokenizer_load(data_runtime, scratch_write("tokenizer.json", json), &tokenizer, &err) != BRIM_OK) {
    printf("Bail out! %s\n", err.message);
    exit(99);
  }
  return tokenizer;
}

/* The encoder takes lines many at a time: each is what the reader alone says of it. */
static void lines_as_records(uint64_t most, int64_t max_record, uint64_t lines, uint64_t expected) {
  const char *paths[] = {make_lines("one.txt", 9000, 4321, "\n"), make_lines("two.txt", 900, -1, "")};
  brim_source_options source = {.skip_damaged = true, .max_record = max_record};
  brim_encode_options options = {.max_length = 40};
  brim_tokenizer *tokenizer = byte_tokenizer();
  brim_reader *alone, *reader;
  brim_encoder *encoder;
  brim_scratch *scratch;
  brim_encoding ids = {0};
  brim_record record;
  brim_encoded row;
  brim_error err;
  uint64_t rows = 0, damaged, known;
  int status, other;
  if (brim_reader_open(data_runtime, paths, 2, &source, &alone, &err) ||
      brim_reader_open(data_runtime, paths, 2, &source, &reader, &err) ||
      brim_scratch_new(data_runtime, tokenizer, &scratch, &err))
    exit(99);
  brim_reader_end_after(reader, most);
  if (brim_encoder_new(data_runtime, reader, tokenizer, &options, &encoder, &err))
    exit(99);
  while ((status = brim_encoder_next(encoder, &row, &err)) == BRIM_OK) {
    other = brim_reader_next(alone, &record, &err);
    if (other || brim_tokenizer_encode(tokenizer, scratch, record.text, record.text_length, NULL, 0, &options, &ids, &err) ||
        !same_row(&record, &row, &ids))
      break;
    rows++;
  }
  ok_int(status, BRIM_END, "every line is as the reader gives it");
  ok_int(rows, lines, "as many lines as there are, or as were asked for");
  brim_encoder_excluded(encoder, &damaged);
  ok_int(damaged, expected, "and those that are damaged");
  ok(rows == most ||
         (brim_reader_next(alone, &record, &err) == BRIM_END && brim_reader_excluded(alone, &known) && known == expected),
     "both have ended");
  brim_encoder_close(encoder);
  brim_reader_close(alone);
  brim_encoding_free(&ids);
  brim_scratch_free(scratch);
  brim_tokenizer_free(tokenizer);
}

/* Whether the rows of a run are those that come one by one; the last of them stays in *row. */
static bool same_rows(const brim_coded_run *run, brim_encoder *alone, brim_encoded *row) {
  size_t tokens = 0;
  for (size_t i = 0; i < run->count; i++) {
    const brim_coded_row *coded = &run->rows[i];
    if (brim_encoder_next(alone, row, NULL) != BRIM_OK || coded->row != row->row || coded->file_row != row->file_row ||
        coded->byte != row->byte || coded->line != row->line || coded->file_number != row->file_number ||
        coded->lost != row->lost || (size_t)run->lengths[i] != row->length ||
        memcmp(run->ids + tokens, row->ids, row->length * sizeof *row->ids) != 0)
      return false;
    tokens += row->length;
  }
  return run->tokens == tokens;
}

/* A file taken in runs of at most `most` rows of at most `longest` tokens, with single rows between. */
static void runs_as_rows(const char *path, uint64_t most, int64_t longest, uint64_t least_runs) {
  brim_source_options source = {.skip_damaged = true};
  brim_encode_options options = {.max_length = 40};
  brim_tokenizer *tokenizer = byte_tokenizer();
  brim_reader *readers[2];
  brim_encoder *encoders[2] = {NULL, NULL};
  brim_encoded row, other;
  brim_error err;
  uint64_t runs = 0;
  bool same = true;
  for (int i = 0; i < 2; i++)
    if (brim_reader_open(data_runtime, &path, 1, &source, &readers[i], &err) ||
        brim_encoder_new(data_runtime, readers[i], tokenizer, &options, &encoders[i], &err))
      exit(99);
  while (same && brim_encoder_next(encoders[0], &row, &err) == BRIM_OK) {
    brim_coded_run run;
    brim_encoder_run(encoders[0], most, longest, &run);
    bool alone = row.damage || row.pair || row.label || row.length == 0 || (int64_t)row.length > longest;
    same = run.count <= most && alone == (run.count == 0) &&
           (run.count ? same_rows(&run, encoders[1], &other) : brim_encoder_next(encoders[1], &other, &err) == BRIM_OK);
    runs += run.count > 1;
    if (run.count > 0)
      brim_encoder_pass(encoders[0], &run);
  }
  ok(same && brim_encoder_next(encoders[1], &other, &err) == BRIM_END, "runs hold the rows that come one by one");
  ok(runs >= least_runs, "and most of them");
  brim_encoder_close(encoders[0]);
  brim_encoder_close(encoders[1]);
  brim_tokenizer_free(tokenizer);
}

int main(void) {
  data_start(1);
  exact_rows();
  lines_as_records(UINT64_MAX, 1 << 20, 9899, 1);
  lines_as_records(5000, 1 << 20, 5000, 1);
  lines_as_records(UINT64_MAX, 20000, 200, 2); /* after such a line the rest of a file is left out */
  runs_as_rows(make_lines("one.txt", 9000, 4321, "\n"), 100, INT64_MAX, 90);
  runs_as_rows(make_lines("one.txt", 9000, 4321, "\n"), UINT64_MAX, 39, 40);
  runs_as_rows(make_table("pairs.csv", 300, 123), UINT64_MAX, INT64_MAX, 0);
  any_threads();
  cancelled();
  waiting();
  brim_runtime_free(data_runtime);
  return tap_done();
}
