/* shared.h: the options that several commands have, written once. Each macro is a run of entries of an option table. */
#ifndef BRIM_CLI_SHARED_H
#define BRIM_CLI_SHARED_H

#include "options.h"

/* One entry of a table. Ranges of numbers are inclusive; what follows them is .help, .fallback, .shown, .letter, .aliases,
 * .required. */
#define HEADING(text)           {.kind = CLI_GROUP, .name = text}
#define FLAG(label, field, ...) {.kind = CLI_FLAG, .name = label, CLI_FIELD(field), __VA_ARGS__}
#define INTEGER(label, field, what, low, high, ...)                                                                              \
  {.kind = CLI_INTEGER, .name = label, CLI_FIELD(field), .value = what, .least = low, .most = high, __VA_ARGS__}
#define REAL(label, field, what, low, high, ...)                                                                                 \
  {.kind = CLI_REAL, .name = label, CLI_FIELD(field), .value = what, .least = low, .most = high, __VA_ARGS__}
#define TEXT(label, field, what, ...)    {.kind = CLI_TEXT, .name = label, CLI_FIELD(field), .value = what, __VA_ARGS__}
#define CHOICE(label, field, words, ...) {.kind = CLI_CHOICE, .name = label, CLI_FIELD(field), .value = words, __VA_ARGS__}
#define LIST(label, field, what, ...)    {.kind = CLI_LIST, .name = label, CLI_FIELD(field), .value = what, __VA_ARGS__}

#define CLI_MANY 1e18 /* no upper bound */

#define CLI_OPTIONS_GENERAL                                                                                                      \
  HEADING("General"),                                                                                                            \
      INTEGER("threads", threads, "N", 0, 1024, .letter = 'j', .aliases = "num-workers", .fallback = "0",                        \
              .shown = "the cores at hand", .help = "threads; results do not depend on it"),                                     \
      CHOICE("cpu", cpu, "auto|plain|avx2|avx512", .fallback = "auto", .help = "instructions to use"),                           \
      TEXT("config", config, "FILE", .help = "a JSON object of options, {\"batch-size\": 32}; the command line wins"),           \
      FLAG("quiet", quiet, .letter = 'q', .help = "no progress and no notes"),                                                   \
      FLAG("help", help, .letter = 'h', .help = "this text")

#define CLI_OPTIONS_SELECTION                                                                                                    \
  INTEGER("min-chars", min_chars, "N", 0, CLI_MANY, .fallback = "0",                                                             \
          .help = "leave out rows whose text has fewer characters, blanks around it not counted"),                               \
      LIST("where", where, "COLUMN=VALUE", .help = "read only rows whose column has that value; all of several must hold"),      \
      INTEGER("max-record", max_record, "BYTES", 1, CLI_MANY, .shown = "1 GiB",                                                  \
              .help = "refuse a record that is longer: as a rule a quote before it was never closed"),                           \
      FLAG("skip-damaged", skip_damaged,                                                                                         \
           .help = "leave out rows, and the rest of files, that cannot be read, and say so, instead of stopping")

#define CLI_OPTIONS_COLUMNS                                                                                                      \
  HEADING("Data files"),                                                                                                         \
      TEXT("text-column", text_column, "NAME", .shown = "text; 0 without a header", .help = "column of the text"),               \
      TEXT("pair-column", pair_column, "NAME", .shown = "text_pair, if there", .help = "column of the second text"),             \
      FLAG("no-header", no_header, .help = "csv, tsv: columns have numbers, from 0"),                                            \
      CHOICE("format", format, "csv|tsv|jsonl|txt", .shown = "by the file's name; standard input is txt",                        \
             .help = "format of the data"),                                                                                      \
      CHOICE("quote", quote, "csv|none", .shown = "csv: csv, tsv: none", .help = "whether \"...\" encloses fields"),             \
      CLI_OPTIONS_SELECTION

#define CLI_OPTION_CACHE                                                                                                         \
  TEXT("cache", cache, "DIR",                                                                                                    \
       .help = "keep the encoded rows in this folder and take them from there the next time; rows of files "                     \
               "that have changed are encoded anew")

#define CLI_OPTION_LABEL TEXT("label-column", label_column, "NAME", .shown = "label", .help = "column of the label")

#define CLI_OPTION_TOKENIZER(is_required)                                                                                        \
  TEXT("tokenizer", tokenizer, "PATH", .letter = 't', .shown = "the model's folder", .required = is_required,                    \
       .help = "tokenizer.json, vocab.txt, or a folder that holds one")

#define CLI_OPTIONS_TRUNCATION                                                                                                   \
  CHOICE("truncation", truncation, "longest_first|only_first|only_second", .fallback = "longest_first",                          \
         .help = "which text of a pair is cut"),                                                                                 \
      CHOICE("truncation-side", truncation_side, "right|left", .fallback = "right", .help = "which end is cut")

#define CLI_OPTION_BATCHING CHOICE("batching", batching, CLI_BATCHINGS, .fallback = "random", .help = "which rows go together")
#define CLI_OPTION_PADDING                                                                                                       \
  CHOICE("padding", padding, "none|longest|max_length", .fallback = "none",                                                      \
         .help = "what is computed: only tokens, up to the batch's longest row, or up to --max-length")
#define CLI_BATCHINGS "sequential|random|uniform|sorted|bucketed|packed"

#define CLI_OPTION_BATCH_SIZE                                                                                                    \
  INTEGER("batch-size", batch_size, "N", 1, CLI_MANY, .letter = 'b', .fallback = "16", .help = "rows of an optimizer step")
#define CLI_OPTION_MAX_TOKENS                                                                                                    \
  INTEGER("max-tokens", max_tokens, "N", 1, CLI_MANY, .shown = "no limit",                                                       \
          .help = "tokens (with padding: slots) computed at once; with --batch-size it only cuts a step into parts, which "      \
                  "changes no result")
#define CLI_OPTION_SEED                                                                                                          \
  INTEGER("seed", seed, "N", 0, CLI_MANY, .fallback = "42", .help = "decides order, dropout and new weights")

#define CLI_OPTIONS_PLAN                                                                                                         \
  CLI_OPTION_BATCHING, CLI_OPTION_PADDING, CLI_OPTION_BATCH_SIZE, CLI_OPTION_MAX_TOKENS,                                         \
      INTEGER("accumulate", accumulate, "N", 1, 1e6, .aliases = "gradient-accumulation-steps", .shown = "one a rank",            \
              .help = "with --max-tokens alone: batches of a step; with --batch-size: parts that the step, which keeps its "     \
                      "rows, is cut into: the batch is not multiplied by it"),                                                   \
      INTEGER("max-rows", max_rows, "N", 1, CLI_MANY, .shown = "no limit", .help = "most rows computed at once"),                \
      INTEGER("read-ahead", read_ahead, "N", 1, CLI_MANY, .aliases = "buffer-size", .shown = "all",                              \
              .help = "bucketed and packed: rows that are looked at together"),                                                  \
      INTEGER("pad-to-multiple-of", pad_to_multiple_of, "N", 1, 65536, .shown = "1", .help = "widths are rounded up to it"),     \
      INTEGER("required-batch-size-multiple", required_multiple, "N", 1, 65536, .shown = "1",                                    \
              .help = "rows computed at once are a multiple of it where they can be"),                                           \
      CHOICE("oversize", oversize, "error|truncate|alone", .fallback = "error",                                                  \
             .help = "a row longer than --max-tokens: stop, cut it, or compute it alone"),                                       \
      CHOICE("tail", tail, "resplit|fill|drop", .fallback = "resplit",                                                           \
             .help = "batches of a step that do not fall evenly on the ranks: cut them anew, leave some ranks idle, or drop "    \
                     "the last step"),                                                                                           \
      FLAG("drop-last", drop_last, .help = "leave out what falls short of a full step"), CLI_OPTION_SEED

#endif
