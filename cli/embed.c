/* brim embed: a vector for each text, in input order. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("Model"),
    TEXT("model", model, "DIR", .letter = 'm', .path = CLI_READS_MODEL, .required = true,
         .help = "folder of sentence-transformers, or of an encoder, whose tokens are averaged then"),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "the model's",
            .help = "texts are cut to N tokens, special tokens included"),
    INTEGER("batch-size", batch_size, "N", 1, 1e9, .letter = 'b', .fallback = "32", .help = "texts computed at once"),
    ROWS(cli_max_tokens_option),
    CHOICE("precision", precision, "fp32|bf16|int8", .fallback = "fp32",
           .help = "int8 multiplies bytes in the layers: faster on processors with VNNI, and close to fp32, not equal. bf16 "
                   "multiplies 16-bit values: closer"),
    HEADING("Vectors"),
    TEXT("prompt", prompt, "NAME", .shown = "the model's default",
         .help = "begin each text with this one of the model's prompts, such as query or document; none: with nothing"),
    INTEGER("dimensions", dimensions, "N", 1, 1 << 20, .shown = "all", .help = "keep the first N numbers of each vector"),
    FLAG("normalize", normalize, .help = "bring vectors to length 1, after they were cut"),
    HEADING("Output"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .shown = "standard output",
         .help =
             "file to write; it is complete or absent. NAME.npy holds [texts, numbers] of float32 for numpy, any other name JSON "
             "lines"),
    ROWS(cli_column_options),
    ROWS(cli_general_options),
    {0},
};

enum { WINDOW_ROWS = 8192, WINDOW_BYTES = 16 << 20 }; /* texts that are read before they are computed */

/* Texts on their way to vectors, a window at a time. */
typedef struct embedding {
  cli_call *cli;
  brim_embedder *embedder;
  brim_tokenizer *tokenizer;
  brim_dataset_options how;
  brim_embed_options options;
  const char *prompt;
  brim_text bytes;                  /* texts of the window, each after the prompt */
  uint64_t starts[WINDOW_ROWS + 1]; /* where they begin */
  uint64_t numbers[WINDOW_ROWS];    /* of each in the input */
  uint64_t count, rows, cut, lost;  /* of the window; of all: texts, those that were cut, tokens that this took */
  float *vectors;                   /* [WINDOW_ROWS, width] */
  int32_t width;
  brim_file *file;
  bool npy;
  brim_text line;
} embedding;

static int give_text(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  const embedding *e = context;
  (void)err;
  *out = (brim_text_row){.text = e->bytes.data + e->starts[index], .text_length = e->starts[index + 1] - e->starts[index]};
  return BRIM_OK;
}

/* ---- output -------------------------------------------------------------------------------------------------- */

static void put_line(embedding *e, uint64_t i) {
  brim_json_writer json = {.out = &e->line};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "index", e->numbers[i]);
  brim_json_open_array(&json, "embedding");
  for (int32_t k = 0; k < e->width; k++)
    brim_json_put_printf(&json, NULL, "%.9g", (double)e->vectors[i * (uint64_t)e->width + (uint64_t)k]);
  brim_json_close_array(&json);
  brim_json_close_object(&json);
  brim_text_string(&e->line, "\n");
}

static int write_vectors(embedding *e) {
  brim_error *err = &e->cli->error;
  if (e->npy)
    return brim_file_write(e->file, e->vectors, (size_t)e->count * (size_t)e->width * sizeof *e->vectors, err);
  for (uint64_t i = 0; i < e->count; i++)
    put_line(e, i);
  int status = brim_text_status(&e->line, err);
  if (!status)
    status = brim_file_write(e->file, e->line.data, e->line.length, err);
  brim_text_clear(&e->line);
  return status;
}

/* numpy's format, version 1. The header is as long for any number of rows, and is written again when they are known. */
static int write_header(embedding *e, bool again) {
  enum { HEADER = 128, BEFORE = 10 };
  char header[HEADER + 1] = "\x93NUMPY\x01\x00\x76\x00", *text = header + BEFORE;
  memset(text, ' ', HEADER - BEFORE);
  const int used = snprintf(text, HEADER - BEFORE, "{'descr': '<f4', 'fortran_order': False, 'shape': (%llu, %d), }",
                            (unsigned long long)e->rows, (int)e->width);
  text[used] = ' ';
  header[HEADER - 1] = '\n';
  return again ? brim_file_rewrite(e->file, header, HEADER, &e->cli->error)
               : brim_file_write(e->file, header, HEADER, &e->cli->error);
}

/* ---- windows ------------------------------------------------------------------------------------------------- */

static int embed_window(embedding *e) {
  brim_dataset *dataset;
  brim_error *err = &e->cli->error;
  e->starts[e->count] = e->bytes.length;
  int status = brim_text_status(&e->bytes, err);
  if (status || e->count == 0)
    return status;
  status = brim_dataset_from_texts(e->cli->runtime, give_text, e, e->count, e->tokenizer, &e->how, &dataset, err);
  if (status)
    return status;
  status = brim_embedder_run(e->embedder, dataset, &e->options, e->vectors, err);
  e->cut += brim_dataset_truncated(dataset);
  e->lost += brim_dataset_lost(dataset);
  e->rows += e->count;
  brim_dataset_free(dataset);
  if (!status)
    status = write_vectors(e);
  brim_text_clear(&e->bytes);
  e->count = 0;
  return status;
}

static int take_record(embedding *e, const brim_record *record) {
  if (record->pair)
    return brim_error_set(&e->cli->error, BRIM_E_USAGE, "row %llu has two texts: embed one column at a time",
                          (unsigned long long)record->row);
  e->starts[e->count] = e->bytes.length;
  e->numbers[e->count++] = record->row;
  brim_text_string(&e->bytes, e->prompt);
  brim_text_append(&e->bytes, record->text, record->text_length);
  return e->count == WINDOW_ROWS || e->bytes.length >= WINDOW_BYTES ? embed_window(e) : BRIM_OK;
}

static int embed_records(embedding *e, brim_reader *reader) {
  brim_record record;
  uint64_t excluded;
  int status;
  while (!(status = brim_reader_next(reader, &record, &e->cli->error)))
    if ((status = take_record(e, &record)))
      return status;
  if (status != BRIM_END)
    return status;
  status = embed_window(e);
  const brim_exclusion *first = brim_reader_excluded(reader, &excluded);
  cli_note_excluded(e->cli, first, excluded, e->rows);
  if (e->cut)
    cli_note(e->cli, "%llu of %llu texts were cut at %d tokens, %llu tokens lost; --max-length changes it",
             (unsigned long long)e->cut, (unsigned long long)e->rows, (int)e->how.encode.max_length, (unsigned long long)e->lost);
  return status;
}

/* ---- opening ------------------------------------------------------------------------------------------------- */

/* Its tokens, special ones included, less the last if that is special: what the folder may want left out of the mean. */
static int count_prompt(embedding *e) {
  brim_dataset *one = NULL;
  brim_sample sample, empty;
  const brim_dataset_options how = {.task = e->how.task};
  e->options.prompt_tokens = 0;
  if (!*e->prompt)
    return BRIM_OK;
  e->starts[0] = 0;
  e->starts[1] = e->starts[2] = strlen(e->prompt);
  brim_text_string(&e->bytes, e->prompt);
  const int status = brim_dataset_from_texts(e->cli->runtime, give_text, e, 2, e->tokenizer, &how, &one, &e->cli->error);
  brim_text_clear(&e->bytes);
  if (status)
    return status;
  brim_dataset_sample(one, 0, &sample);
  brim_dataset_sample(one, 1, &empty);
  const bool ends = empty.length > 0 && sample.ids[sample.length - 1] == empty.ids[empty.length - 1];
  e->options.prompt_tokens = sample.length - ends;
  brim_dataset_free(one);
  return BRIM_OK;
}

static int pick_prompt(embedding *e) {
  const char *name = e->cli->values->prompt;
  const char *text = name && strcmp(name, "none") == 0 ? "" : brim_embedder_prompt(e->embedder, name);
  if (name && !text)
    return brim_error_set(&e->cli->error, BRIM_E_USAGE,
                          "--prompt %s: config_sentence_transformers.json of %s has no prompt of this name", name,
                          e->cli->values->model);
  e->prompt = text ? text : "";
  return count_prompt(e);
}

static int open_model(embedding *e) {
  cli_call *cli = e->cli;
  const cli_values *v = cli->values;
  int32_t max_length = 0;
  int status = cli_pick_precision(cli, &e->options.precision);
  if (!status)
    status = brim_embedder_load(cli->runtime, v->model, NULL, &e->embedder, &cli->error);
  if (!status)
    status = brim_tokenizer_load(cli->runtime, brim_embedder_encoder(e->embedder), &e->tokenizer, &cli->error);
  if (!status)
    status = cli_check_vocabulary(cli, e->tokenizer, brim_model_vocab_size(brim_embedder_model(e->embedder)));
  if (!status && v->max_length > 0)
    status = cli_pick_max_length(cli, brim_model_max_length(brim_embedder_model(e->embedder)), NULL, &max_length);
  if (status)
    return status;
  if (!brim_embedder_has_modules(e->embedder))
    cli_note(cli, "%s has no modules.json: vectors are the mean of the encoder's tokens", v->model);
  e->how.encode.max_length = max_length ? max_length : brim_embedder_max_length(e->embedder);
  e->how.task = brim_model_task(brim_embedder_model(e->embedder));
  e->options.batch_size = v->batch_size;
  e->options.max_tokens = v->max_tokens;
  e->options.dimensions = (int32_t)v->dimensions;
  e->options.normalize = v->normalize;
  e->width = v->dimensions > 0 ? (int32_t)v->dimensions : brim_embedder_width(e->embedder);
  if (e->width > brim_embedder_width(e->embedder))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--dimensions %d: the model's vectors have %d numbers", (int)e->width,
                          (int)brim_embedder_width(e->embedder));
  return pick_prompt(e);
}

static int open_output(embedding *e) {
  const char *path = e->cli->values->output;
  const size_t length = path ? strlen(path) : 0;
  e->npy = length >= 4 && strcmp(path + length - 4, ".npy") == 0;
  e->vectors = malloc((size_t)WINDOW_ROWS * (size_t)e->width * sizeof *e->vectors);
  if (!e->vectors)
    return cli_no_memory(e->cli, "the vectors");
  const int status = brim_file_create(e->cli->runtime, path ? path : "-", &e->file, &e->cli->error);
  return status || !e->npy ? status : write_header(e, false);
}

static int embed(embedding *e) {
  cli_call *cli = e->cli;
  brim_source_options source;
  brim_reader *reader = NULL;
  int status = open_model(e);
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = brim_reader_open(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &source, &reader, &cli->error);
  if (!status)
    status = open_output(e);
  if (!status)
    status = embed_records(e, reader);
  if (!status && e->npy)
    status = write_header(e, true);
  if (!status)
    status = brim_file_commit(e->file, &cli->error);
  brim_reader_close(reader);
  return status;
}

static int run(cli_call *cli) {
  embedding *e = calloc(1, sizeof *e);
  if (!e)
    return cli_no_memory(cli, "the texts");
  e->cli = cli;
  brim_text_init(&e->bytes, cli->runtime);
  brim_text_init(&e->line, cli->runtime);
  const int status = embed(e);
  brim_file_free(e->file);
  brim_text_free(&e->bytes);
  brim_text_free(&e->line);
  brim_tokenizer_free(e->tokenizer);
  brim_embedder_free(e->embedder);
  free(e->vectors);
  free(e);
  return status;
}

const cli_command cli_embed = {
    .name = "embed",
    .summary = "make a vector for each text, in input order",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Writes {\"index\":0,\"embedding\":[..]} for every text, or with -o NAME.npy an array for numpy. What follows "
                   "the encoder is "
                   "read from the folder, as sentence-transformers writes it: pooling, dense layers, a norm, prompts. Texts are "
                   "computed sorted by length, a few thousand at a time, so that memory does not grow with their number; a "
                   "text's vector does not depend on its company.",
    .options = options,
    .example = "brim embed --model all-MiniLM-L6-v2 documents.jsonl -o documents.npy",
    .run = run,
};
