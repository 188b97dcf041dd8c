/* brim embed: a vector for each text, in input order. */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"
#include "vectors.h"

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
    INTEGER("dimensions", dimensions, "N", 1, 1 << 20, .shown = "the folder's truncate_dim, or all",
            .help = "keep the first N numbers of each vector"),
    FLAG("normalize", normalize, .help = "bring vectors to length 1, after they were cut"),
    HEADING("Output"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_RESUMABLE, .endings = ".jsonl .json .ndjson .npy ",
         .shown = "standard output",
         .help =
             "file to write; it is complete or absent. NAME.npy holds [texts, numbers] of float32 for numpy, any other name JSON "
             "lines"),
    FLAG("resume", resume, .needs = "output",
         .help = "continue where this command was killed, with the bytes that it would have written. Other texts, options or "
                 "weights are refused"),
    ROWS(cli_text_options),
    ROWS(cli_general_options),
    {0},
};

/* ---- the model ----------------------------------------------------------------------------------------------- */

int cli_pick_prompt(cli_call *cli, brim_embedder *embedder, const char *option, const char *name, const char **text) {
  if (!name)
    return BRIM_OK;
  *text = strcmp(name, BRIM_NO_PROMPT) == 0 ? "" : brim_embedder_prompt(embedder, name);
  return *text ? BRIM_OK
               : brim_error_set(&cli->error, BRIM_E_USAGE,
                                "--%s %s: config_sentence_transformers.json of %s has no prompt of this name", option, name,
                                cli->values->model);
}

static int fill_options(cli_call *cli, brim_embedder *embedder, brim_embed_options *out) {
  const cli_values *v = cli->values;
  const int32_t width = brim_embedder_width(embedder);
  if (v->dimensions > width)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--dimensions %d: the model's vectors have %d numbers", (int)v->dimensions,
                          (int)width);
  out->batch_size = v->batch_size;
  out->max_tokens = v->max_tokens;
  out->dimensions = (int32_t)v->dimensions;
  out->normalize = v->normalize;
  return v->max_length > 0 ? cli_pick_max_length(cli, brim_model_max_length(brim_embedder_model(embedder)), &out->max_length)
                           : BRIM_OK;
}

int cli_embedder_open(cli_call *cli, brim_embedder **embedder, brim_embed_options *how) {
  int status = cli_pick_precision(cli, &how->precision);
  if (!status)
    status = brim_embedder_load(cli->runtime, cli->values->model, NULL, embedder, &cli->error);
  if (!status)
    status = cli_check_vocabulary(cli, brim_embedder_tokenizer(*embedder), brim_model_vocab_size(brim_embedder_model(*embedder)));
  if (status)
    return status;
  if (brim_embedder_is_of_reranker(*embedder))
    cli_note(
        cli,
        "%s is a reranker (CrossEncoder): brim predict gives its scores of pairs; vectors are the mean of its encoder's tokens, "
        "as sentence-transformers makes them",
        cli->values->model);
  else if (!brim_embedder_has_modules(*embedder))
    cli_note(cli, "%s has no modules.json: vectors are the mean of the encoder's tokens", cli->values->model);
  return fill_options(cli, *embedder, how);
}

void cli_note_cut_texts(cli_call *cli, const brim_embedder *embedder, const brim_embed_options *how, const brim_embed_counts *c) {
  const int32_t length = how->max_length ? how->max_length : brim_embedder_max_length(embedder);
  char unread[96] = "";
  if (c->unread)
    snprintf(unread, sizeof unread, ", and %llu bytes of long texts after these not looked at", (unsigned long long)c->unread);
  if (c->cut)
    cli_note(cli, "%llu of %llu texts were cut at %d tokens, %llu tokens lost%s; --max-length changes it",
             (unsigned long long)c->cut, (unsigned long long)c->texts, (int)length, (unsigned long long)c->lost, unread);
}

/* ---- the vectors --------------------------------------------------------------------------------------------- */

static int embed_file(cli_call *cli, brim_embedder *embedder, brim_reader *reader, brim_embed_file_options *how) {
  const char *path = cli->values->output;
  const size_t length = path ? strlen(path) : 0;
  brim_embed_file_result result;
  uint64_t excluded;
  how->form = length >= 4 && strcmp(path + length - 4, ".npy") == 0 ? BRIM_VECTORS_NUMPY : BRIM_VECTORS_JSON;
  how->resume = cli->values->resume;
  const int status = brim_embed_file(embedder, reader, path ? path : "-", how, &result, &cli->error);
  if (status && result.kept)
    cli_note(cli, "the vectors of %llu texts are in %s.partial: the same command with --resume continues",
             (unsigned long long)result.kept, path);
  if (status)
    return status;
  const brim_exclusion *first = brim_reader_excluded(reader, &excluded);
  cli_note_excluded(cli, first, excluded, result.counts.texts);
  if (result.resumed)
    cli_note(cli, "the vectors of %llu texts were there", (unsigned long long)result.resumed);
  cli_note_cut_texts(cli, embedder, &how->embed, &result.counts);
  return BRIM_OK;
}

static int run(cli_call *cli) {
  brim_embed_file_options how = {0};
  brim_embedder *embedder = NULL;
  brim_source_options source;
  brim_reader *reader = NULL;
  int status = cli_embedder_open(cli, &embedder, &how.embed);
  if (!status) {
    how.embed.prompt = brim_embedder_prompt(embedder, NULL);
    status = cli_pick_prompt(cli, embedder, "prompt", cli->values->prompt, &how.embed.prompt);
  }
  if (!status)
    status = cli_source_options(cli, false, &source);
  if (!status)
    status = brim_reader_open(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &source, &reader, &cli->error);
  if (!status)
    status = embed_file(cli, embedder, reader, &how);
  brim_reader_close(reader);
  brim_embedder_free(embedder);
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
