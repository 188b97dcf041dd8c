/* brim shard: data files cut into compressed files of so many records each. */
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "shared.h"

static const cli_option options[] = {
    HEADING("What to write"),
    TEXT("output", output, "DIR", .letter = 'o', .required = true, .help = "a new or empty folder; it is complete or absent"),
    INTEGER("records", records, "N", 1, CLI_MANY, .letter = 'n', .fallback = "10000", .help = "records of a shard"),
    CHOICE("format", shard_format, "gz|zst", .fallback = "gz", .help = "how the shards are compressed"),
    HEADING("Data files"),
    CHOICE("input-format", format, "csv|tsv|jsonl|txt", .said = "format", .shown = "by the file's name; standard input is txt",
           .to = {SOURCE(format)}, .parse = cli_parse_format, .help = "format of the data"),
    TEXT("delimiter", delimiter, "C", .shown = "a comma in csv, a tab in tsv",
         .to = {PARSED(CLI_SOURCE, brim_source_options, delimiter)}, .parse = cli_parse_delimiter,
         .expected = "one character such as ';', or tab",
         .help = "csv, tsv: the character between columns, where quotes open; the word tab is accepted"),
    CHOICE("quote", quote, "csv|none|backslash", .shown = "csv: csv, tsv: none", .to = {SOURCE(quote)}, .parse = cli_parse_quote,
           .help = "whether \"...\" encloses fields"),
    FLAG("no-header", no_header, .to = {SOURCE(no_header)}, .help = "csv, tsv: the first line is a record too"),
    TEXT("text-column", text_column, "NAME", .needs = "min-chars", .shown = "text; 0 without a header",
         .to = {SOURCE(text_column)}, .help = "column that --min-chars looks at"),
    ROWS(cli_selection_options),
    ROWS(cli_general_options),
    {0},
};

static int run(cli_call *cli) {
  const cli_values *v = cli->values;
  brim_shard_options how = {.format = strcmp(v->shard_format, "zst") == 0 ? BRIM_SHARD_ZSTD : BRIM_SHARD_GZIP,
                            .records = (uint64_t)v->records,
                            .progress = cli_progress,
                            .progress_context = cli};
  brim_shard_result result;
  int status = cli_source_options(cli, false, &how.source);
  if (!status)
    status = cli_note_passed_over(cli, cli->arguments.operands, cli->arguments.operand_count);
  if (!status)
    status = brim_shard(cli->runtime, cli->arguments.operands, cli->arguments.operand_count, &how, v->output, &result,
                        &cli->error);
  if (status)
    return status;
  char records[32], shards[32], excluded[32];
  brim_count_text((int64_t)result.records, records, sizeof records);
  brim_count_text((int64_t)result.shards, shards, sizeof shards);
  brim_count_text((int64_t)result.excluded, excluded, sizeof excluded);
  cli_note(cli, "%s: %s records in %s shard%s%s%s%s", v->output, records, shards, result.shards == 1 ? "" : "s",
           result.excluded ? ", " : "", result.excluded ? excluded : "", result.excluded ? " left out" : "");
  return BRIM_OK;
}

const cli_command cli_shard = {
    .name = "shard",
    .summary = "cut data files into compressed shards of whole records",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Copies the records, byte for byte and in order, into shard-000000.csv.gz, shard-000001.csv.gz, .. (or .tsv, "
                   ".jsonl, .txt; .zst). Line ends inside quotes stay inside their record, and each csv or tsv shard has the "
                   "header. The same data give the same bytes.",
    .options = options,
    .example = "brim shard reviews.csv --records 10000 -o shards",
    .run = run,
};
