/* brim embed: a vector for each text, in input order. */
#include <stdio.h>
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
    FLAG("resume", resume, .needs = "output",
         .help = "continue where this command was killed, with the bytes that it would have written. Other texts, options or "
                 "weights are refused"),
    ROWS(cli_column_options),
    ROWS(cli_general_options),
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------------- */

typedef struct embedding {
  cli_call *cli;
  brim_embedder *embedder;
  brim_embed_file_options options;
} embedding;

static int pick_prompt(embedding *e) {
  const char *name = e->cli->values->prompt;
  const char *text = name && strcmp(name, "none") == 0 ? "" : brim_embedder_prompt(e->embedder, name);
  if (name && !text)
    return brim_error_set(&e->cli->error, BRIM_E_USAGE,
                          "--prompt %s: config_sentence_transformers.json of %s has no prompt of this name", name,
                          e->cli->values->model);
  e->options.embed.prompt = text;
  return BRIM_OK;
}

static int pick_options(embedding *e) {
  const cli_values *v = e->cli->values;
  brim_embed_options *o = &e->options.embed;
  const int32_t width = brim_embedder_width(e->embedder);
  if (v->max_length > 0) {
    const int32_t most = brim_model_max_length(brim_embedder_model(e->embedder));
    const int status = cli_pick_max_length(e->cli, most, NULL, &o->max_length);
    if (status)
      return status;
  }
  if (v->dimensions > width)
    return brim_error_set(&e->cli->error, BRIM_E_USAGE, "--dimensions %d: the model's vectors have %d numbers",
                          (int)v->dimensions, (int)width);
  o->batch_size = v->batch_size;
  o->max_tokens = v->max_tokens;
  o->dimensions = (int32_t)v->dimensions;
  o->normalize = v->normalize;
  e->options.resume = v->resume;
  return pick_prompt(e);
}

static int open_model(embedding *e) {
  cli_call *cli = e->cli;
  int status = cli_pick_precision(cli, &e->options.embed.precision);
  if (!status)
    status = brim_embedder_load(cli->runtime, cli->values->model, NULL, &e->embedder, &cli->error);
  if (!status)
    status = cli_check_vocabulary(cli, brim_embedder_tokenizer(e->embedder),
                                  brim_model_vocab_size(brim_embedder_model(e->embedder)));
  if (status)
    return status;
  if (!brim_embedder_has_modules(e->embedder))
    cli_note(cli, "%s has no modules.json: vectors are the mean of the encoder's tokens", cli->values->model);
  return pick_options(e);
}

/* ---- the vectors --------------------------------------------------------------------------------------------- */

static void note_cut(const embedding *e, const brim_embed_counts *c) {
  const int32_t own = brim_embedder_max_length(e->embedder), given = e->options.embed.max_length;
  char unread[96] = "";
  if (c->unread)
    snprintf(unread, sizeof unread, ", and %llu bytes of long texts after these not looked at", (unsigned long long)c->unread);
  if (c->cut)
    cli_note(e->cli, "%llu of %llu texts were cut at %d tokens, %llu tokens lost%s; --max-length changes it",
             (unsigned long long)c->cut, (unsigned long long)c->texts, (int)(given ? given : own), (unsigned long long)c->lost,
             unread);
}

static int embed_file(embedding *e, brim_reader *reader) {
  const char *path = e->cli->values->output;
  const size_t length = path ? strlen(path) : 0;
  brim_embed_file_result result;
  uint64_t excluded;
  e->options.form = length >= 4 && strcmp(path + length - 4, ".npy") == 0 ? BRIM_VECTORS_NUMPY : BRIM_VECTORS_JSON;
  const int status = brim_embed_file(e->embedder, reader, path ? path : "-", &e->options, &result, &e->cli->error);
  if (status && result.kept)
    cli_note(e->cli, "the vectors of %llu texts are in %s.partial: the same command with --resume continues",
             (unsigned long long)result.kept, path);
  if (status)
    return status;
  const brim_exclusion *first = brim_reader_excluded(reader, &excluded);
  cli_note_excluded(e->cli, first, excluded, result.counts.texts);
  if (result.resumed)
    cli_note(e->cli, "the vectors of %llu texts were there", (unsigned long long)result.resumed);
  note_cut(e, &result.counts);
  return BRIM_OK;
}

static int run(cli_call *cli) {
  embedding e = {.cli = cli};
  brim_source_options source;
  brim_reader *reader = NULL;
  int status = open_model(&e);
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = brim_reader_open(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &source, &reader, &cli->error);
  if (!status)
    status = embed_file(&e, reader);
  brim_reader_close(reader);
  brim_embedder_free(e.embedder);
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
