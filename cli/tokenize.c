/* brim tokenize: texts to ids, one JSON line a record. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("Texts"),
    ROWS(cli_needed_tokenizer_option),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "no limit", .to = {ENCODE(max_length)},
            .help = "cut each row to N tokens, special tokens included"),
    ROWS(cli_words_option),
    CHOICE("words", words, "tokenizer|wordpiece", .excludes = "task", .shown = "type ids",
           .help = "in place of type ids the number of each token's word, -1 of special tokens: as the tokenizer cuts words"),
    FLAG("no-special-tokens", no_special_tokens, .to = {ENCODE(no_special_tokens)},
         .help = "leave out [CLS], [SEP] and their like"),
    ROWS_WITH("max-length", cli_truncation_options),
    HEADING("Output"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .endings = ".jsonl .json .ndjson ",
         .shown = "standard output", .help = "file to write; it is complete or absent"),
    ROWS(cli_single_column_options),
    ROWS(cli_general_options),
    {0},
};

/* Lines are put together here and written in large pieces. */
typedef struct line_writer {
  brim_file *file;
  size_t used;
  char bytes[1 << 13]; /* the file has a larger one */
} line_writer;

enum { LONGEST_NUMBER = 12 };

static int flush(line_writer *out, brim_error *err) {
  int status = brim_file_write(out->file, out->bytes, out->used, err);
  out->used = 0;
  return status;
}

/* Numbers below 10 and 100 are most type ids and many ids; the general case fills from the end. */
static void put_number(line_writer *out, uint32_t value) {
  char digits[LONGEST_NUMBER];
  int at = LONGEST_NUMBER;
  do {
    digits[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  memcpy(out->bytes + out->used, digits + at, (size_t)(LONGEST_NUMBER - at));
  out->used += (size_t)(LONGEST_NUMBER - at);
}

static void put(line_writer *out, const char *text, size_t length) {
  memcpy(out->bytes + out->used, text, length);
  out->used += length;
}

static int reserve(line_writer *out, size_t length, brim_error *err) {
  return out->used + length > sizeof out->bytes ? flush(out, err) : BRIM_OK;
}

/* {"ids":[1,2 */
static int put_ids(line_writer *out, const brim_encoded *row, brim_error *err) {
  int status = reserve(out, 32, err);
  put(out, "{\"ids\":[", 8);
  for (size_t i = 0; !status && i < row->length; i++) {
    if (i)
      out->bytes[out->used++] = ',';
    put_number(out, (uint32_t)row->ids[i]);
    status = reserve(out, 32, err);
  }
  return status;
}

/* {"ids":[1,2],"words":[0,-1]} */
static int write_words(line_writer *out, const brim_encoded *row, brim_error *err) {
  int status = put_ids(out, row, err);
  put(out, "],\"words\":[", 11);
  for (size_t i = 0; !status && i < row->length; i++) {
    if (i)
      out->bytes[out->used++] = ',';
    if (row->numbers[i] == BRIM_NO_LABEL)
      put(out, "-1", 2);
    else
      put_number(out, (uint32_t)row->numbers[i]);
    status = reserve(out, 32, err);
  }
  put(out, "]}\n", 3);
  return status;
}

/* {"ids":[1,2],"type_ids":[0,0]} */
static int write_row(line_writer *out, const brim_encoded *row, brim_error *err) {
  if (row->numbers)
    return write_words(out, row, err);
  int status = put_ids(out, row, err);
  put(out, "],\"type_ids\":[", 14);
  for (size_t i = 0; !status && i < row->length; i++) {
    if (i)
      out->bytes[out->used++] = ',';
    put_number(out, row->type_ids[i]);
    status = reserve(out, 32, err);
  }
  put(out, "]}\n", 3);
  return status;
}

/* Shows the progress display now and then how much of the input is read. */
static int tell(cli_call *cli, const brim_encoder *encoder, uint64_t rows) {
  if (rows % 1024)
    return BRIM_OK;
  uint64_t done, total;
  brim_encoder_progress(encoder, &done, &total);
  const brim_field fields[] = {{.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "tokenize"},
                               {.name = "done", .kind = BRIM_VALUE_INT, .integer = (int64_t)done},
                               {.name = "total", .kind = BRIM_VALUE_INT, .integer = (int64_t)total},
                               {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "bytes"}};
  return cli_progress(cli, &(brim_event){.kind = "progress", .fields = fields, .field_count = 4});
}

static int write_rows(cli_call *cli, brim_encoder *encoder, line_writer *out) {
  for (uint64_t rows = 1;; rows++) {
    brim_encoded row;
    int status = brim_encoder_next(encoder, &row, &cli->error);
    if (status == BRIM_END) {
      uint64_t excluded;
      const brim_exclusion *first = brim_encoder_excluded(encoder, &excluded);
      cli_note_excluded(cli, first, excluded, rows - 1);
      return flush(out, &cli->error);
    }
    if (!status)
      status = write_row(out, &row, &cli->error);
    if (!status)
      status = tell(cli, encoder, rows);
    if (status)
      return status;
  }
}

static int tokenize(cli_call *cli, const brim_tokenizer *tokenizer, line_writer *out) {
  brim_source_options source;
  brim_encode_options encode;
  brim_reader *reader = NULL;
  brim_encoder *encoder = NULL;
  int status = cli_encode_options(cli, (int32_t)cli->values->max_length, &encode);
  if (cli->values->words)
    encode.numbering = BRIM_NUMBER_WORDS;
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = cli_note_passed_over(cli, cli->arguments.operands, cli->arguments.operand_count);
  if (!status)
    status = brim_encode_options_check(tokenizer, &encode, false, &cli->error);
  if (!status)
    status = brim_reader_open(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &source, &reader, &cli->error);
  if (!status)
    status = brim_encoder_new(cli->runtime, reader, tokenizer, &encode, &encoder, &cli->error);
  if (!status)
    status = brim_file_create(cli->runtime, cli->values->output ? cli->values->output : "-", &out->file, &cli->error);
  if (!status)
    status = write_rows(cli, encoder, out);
  if (!status)
    status = brim_file_commit(out->file, &cli->error);
  brim_file_free(out->file);
  brim_encoder_close(encoder); /* and the reader that it took */
  return status;
}

static int run(cli_call *cli) {
  line_writer out = {0};
  brim_tokenizer *tokenizer = NULL;
  int status = cli_load_tokenizer(cli, &tokenizer);
  if (!status)
    status = tokenize(cli, tokenizer, &out);
  brim_tokenizer_free(tokenizer);
  return status;
}

const cli_command cli_tokenize = {
    .name = "tokenize",
    .summary = "turn texts into token ids, one JSON line a record",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Writes {\"ids\":[..],\"type_ids\":[..]} for every record, in input order. The ids are those of Hugging Face "
                   "tokenizers. Padding and truncation settings inside a tokenizer file are ignored.",
    .options = options,
    .example = "brim tokenize -t bert-base-uncased/tokenizer.json --max-length 128 reviews.csv -o ids.jsonl",
    .run = run,
};
