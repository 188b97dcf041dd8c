/* brim plan: which rows go together, step by step, from texts or from lengths alone. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "commands.h"
#include "plan_text.h"
#include "shared.h"
#include "simulate.h"
#include "stream.h"

static const cli_option options[] = {
    HEADING("What to plan"),
    TEXT("lengths", lengths, "FILE", .path = CLI_READS_FILE,
         .excludes = "tokenizer task stream cache truncation truncation-side windows max-windows text-column pair-column columns "
                     "no-header format delimiter quote min-chars where max-record skip-damaged",
         .help = "lengths in tokens, one a line, instead of DATA and a tokenizer"),
    TEXT("tokenizer", tokenizer, "PATH", .letter = 't', .path = CLI_READS_MODEL,
         .help = "tokenizer.json, vocab.txt, or a folder that holds one; needed with DATA"),
    INTEGER("max-length", max_length, "N", 1, 1 << 30, .shown = "no limit", .to = {PLAN(max_length), ENCODE(max_length)},
            .help = "rows are cut to N tokens, special tokens included"),
    ROWS(cli_rows_option),
    INTEGER("epoch", epoch, "N", 0, CLI_MANY, .fallback = "0", .help = "which epoch to plan, from 0; each has its own order"),
    HEADING("Batches"),
    ROWS(cli_batch_options),
    ROWS(cli_stream_options),
    HEADING("Ranks"),
    INTEGER("world-size", world_size, "N", 1, 65536, .fallback = "1", .to = {PLAN(world_size)},
            .help = "number of processes that share each step"),
    INTEGER("rank", rank, "N", 0, 65535, .shown = "all", .help = "print only this rank's part"),
    FLAG("rank-slices", rank_slices, .needs = "stream", .to = {FEED(rank_slices)},
         .help = "with --stream: each process reads only a slice of the rows; --batch-size must be a multiple of "
                 "--world-size"),
    TEXT("simulate", simulate, "WISH", .excludes = "world-size rank epoch",
         .help = "print instead what a step would take on 1, 2, 4, .. ranks: "
                 "ranks=1000,bandwidth=GBIT/S,latency=MICROSECONDS,model=DIR; computing is measured here unless "
                 "speed=GFLOP/S and update=MILLISECONDS are given"),
    HEADING("Output"),
    FLAG("jsonl", jsonl, .help = "print every batch as a JSON line, then a summary, instead of a short table"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .endings = ".jsonl .json .ndjson ",
         .shown = "standard output", .help = "file to write; it is complete or absent"),
    ROWS_WITH("max-length", cli_windows_options),
    ROWS_WITH("max-length", cli_truncation_options),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    ROWS(cli_general_options),
    {0},
};

/* ---- lengths ---------------------------------------------------------------------------------------------- */

typedef struct length_list {
  int32_t *values;
  uint64_t count;
} length_list;

/* One whole number a line; a last line without its end counts. */
static int parse_lengths(cli_call *cli, const char *path, const char *bytes, size_t size, length_list *out) {
  size_t capacity = 1;
  for (size_t i = 0; i < size; i++)
    capacity += bytes[i] == '\n';
  out->values = malloc(capacity * sizeof *out->values);
  if (!out->values)
    return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for %zu lengths", capacity);
  for (size_t at = 0; at < size;) {
    const char *line = bytes + at, *end = memchr(line, '\n', size - at);
    size_t length = end ? (size_t)(end - line) : size - at;
    size_t digits = length && line[length - 1] == '\r' ? length - 1 : length;
    int64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
      value = line[i] >= '0' && line[i] <= '9' ? value * 10 + (line[i] - '0') : INT64_MAX;
      if (value > INT32_MAX)
        break;
    }
    if (digits == 0 || value < 1 || value > INT32_MAX)
      return brim_error_at(&cli->error, BRIM_E_FORMAT, path, (int64_t)out->count + 1, (int64_t)at,
                           "expected a length here: a whole number from 1");
    out->values[out->count++] = (int32_t)value;
    at += length + 1;
  }
  if (out->count == 0)
    return brim_error_at(&cli->error, BRIM_E_FORMAT, path, 0, -1, "there are no lengths in it");
  return BRIM_OK;
}

static int read_lengths(cli_call *cli, length_list *out) {
  char *bytes = NULL;
  size_t size = 0;
  int status = brim_file_read_all(cli->runtime, cli->values->lengths, 0, &bytes, &size, &cli->error);
  if (!status)
    status = parse_lengths(cli, cli->values->lengths, bytes, size, out);
  brim_runtime_release(cli->runtime, bytes);
  return status;
}

/* ---- output ----------------------------------------------------------------------------------------------- */

/* What is planned: rows of a dataset, which are named by their place in the source, or lengths alone (dataset NULL). */
static uint64_t row_name(const brim_dataset *dataset, uint64_t row) {
  return dataset ? brim_dataset_origin(dataset, row) : row;
}

static void put_part(brim_text *out, uint64_t index, const brim_planned *part, const brim_dataset *dataset) {
  brim_json_writer json = {.out = out};
  cli_plan_open_batch(&json, index, part->step, part->rank);
  for (uint32_t i = 0; i < part->count; i++)
    brim_json_put_count(&json, NULL, row_name(dataset, part->rows[i]));
  cli_plan_close_batch(&json, part->width, part->tokens, part->slots);
}

/* [{"row":3,"reason":"fewer than 2 characters"},..]: with the rows planned and dropped, every row of the source. */
static void put_excluded(brim_json_writer *json, const brim_dataset *dataset) {
  uint64_t count = 0;
  const brim_exclusion *excluded = dataset ? brim_dataset_excluded(dataset, &count) : NULL;
  brim_json_open_array(json, "excluded");
  for (uint64_t i = 0; i < count; i++) {
    brim_json_open_object(json, NULL);
    brim_json_put_count(json, "row", excluded[i].row);
    brim_json_put_string(json, "reason", excluded[i].reason);
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

static void put_summary_json(brim_text *out, const cli_plan_totals *t, const brim_ledger *ledger, const brim_dataset *dataset) {
  brim_json_writer json = {.out = out};
  cli_plan_open_summary(&json, t);
  const uint64_t before = dataset ? brim_dataset_truncated(dataset) : 0; /* the plan cuts those rows too, if it cuts any */
  cli_plan_put_counts(&json, ledger->rows_truncated ? ledger->rows_truncated : before,
                      ledger->tokens_lost + (dataset ? brim_dataset_lost(dataset) : 0), ledger->tokens_repeated);
  brim_json_open_array(&json, "dropped");
  for (uint64_t i = 0; i < ledger->dropped; i++)
    brim_json_put_count(&json, NULL, row_name(dataset, ledger->drops[i].row));
  brim_json_close_array(&json);
  put_excluded(&json, dataset);
  cli_plan_close_summary(&json, ledger->hash);
}

static void put_summary_table(brim_text *out, const cli_plan_totals *t, const brim_ledger *ledger) {
  char cells[8][40];
  const int64_t counts[] = {(int64_t)ledger->steps,  (int64_t)t->batches, (int64_t)t->rows, t->tokens, t->slots,
                            (int64_t)ledger->dropped};
  for (int i = 0; i < 6; i++)
    brim_count_text(counts[i], cells[i], sizeof cells[i]);
  snprintf(cells[6], sizeof cells[6], "%.2f %%", 100.0 * cli_plan_padding(t));
  snprintf(cells[7], sizeof cells[7], "%016llx", (unsigned long long)ledger->hash);
  const brim_column columns[] = {{"steps", true}, {"batches", true}, {"rows", true},    {"tokens", true},
                                 {"slots", true}, {"padding", true}, {"dropped", true}, {"hash", false}};
  const char *row[] = {cells[0], cells[1], cells[2], cells[3], cells[4], cells[6], cells[5], cells[7]};
  brim_table_text(out, columns, 8, row, 1);
}

/* The wanted ranks' parts, in order. */
static int write_plan(cli_call *cli, const brim_plan *plan, const brim_dataset *dataset, brim_file *file) {
  const cli_values *v = cli->values;
  bool one_rank = cli_given(&cli->arguments, "rank");
  int32_t first = one_rank ? (int32_t)v->rank : 0, last = one_rank ? first : (int32_t)v->world_size - 1;
  cli_plan_totals t = {0};
  brim_text out;
  brim_text_init(&out, cli->runtime);
  int status = BRIM_OK;
  for (uint64_t i = 0; !status && i < brim_plan_parts(plan); i++) {
    for (int32_t rank = first; rank <= last; rank++) {
      brim_planned part;
      brim_plan_part(plan, rank, i, &part);
      t.batches++, t.rows += part.count, t.tokens += part.tokens, t.slots += part.slots;
      if (v->jsonl)
        put_part(&out, i, &part, dataset);
    }
    status = cli_plan_flush(cli, &out, file, false);
  }
  brim_ledger ledger;
  brim_plan_ledger(plan, &ledger);
  if (ledger.steps == 0)
    cli_note(cli, "the epoch has no step: --drop-last, or --tail drop, drops all of its rows, which are fewer than a step takes");
  if (v->jsonl)
    put_summary_json(&out, &t, &ledger, dataset);
  else
    put_summary_table(&out, &t, &ledger);
  if (!status)
    status = cli_plan_flush(cli, &out, file, true);
  brim_text_free(&out);
  return status;
}

/* `dataset` is NULL when there are lengths alone. */
static int plan_lengths(cli_call *cli, brim_lengths lengths, const brim_dataset *dataset) {
  brim_plan_options how;
  brim_plan *plan = NULL;
  brim_file *file = NULL;
  if (cli->values->simulate)
    return cli_simulate(cli, lengths);
  int status = cli_plan_options(cli, &how);
  if (!status)
    status = brim_plan_new_of(cli->runtime, &lengths, &how, (uint64_t)cli->values->epoch, &plan, &cli->error);
  if (!status)
    status = brim_file_create(cli->runtime, cli->values->output ? cli->values->output : "-", &file, &cli->error);
  if (!status)
    status = write_plan(cli, plan, dataset, file);
  if (!status)
    status = brim_file_commit(file, &cli->error);
  brim_file_free(file);
  brim_plan_free(plan);
  return status;
}

/* ---- the command ------------------------------------------------------------------------------------------ */

static int plan_data(cli_call *cli) {
  brim_tokenizer *tokenizer = NULL;
  brim_dataset *dataset = NULL;
  int status = cli_load_tokenizer(cli, &tokenizer);
  if (!status) {
    cli_dataset_request request = {.paths = cli->arguments.operands,
                                   .path_count = cli->arguments.operand_count,
                                   .tokenizer = tokenizer,
                                   .task = cli_task(cli),
                                   .max_length = (int32_t)cli->values->max_length};
    status = cli_load_dataset(cli, &request, &dataset);
  }
  if (!status)
    status = plan_lengths(cli, brim_lengths_of(dataset), dataset);
  brim_dataset_free(dataset);
  brim_tokenizer_free(tokenizer);
  return status;
}

static int run(cli_call *cli) {
  const cli_values *v = cli->values;
  const brim_launch launch = brim_launch_find();
  if (launch.world_size > 1 && !cli_given(&cli->arguments, "world-size"))
    cli->arguments.values.world_size = launch.world_size; /* the plan of the ranks that mpirun would start */
  bool data = cli->arguments.operand_count > 0;
  if (v->rank >= v->world_size)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--rank %lld: with --world-size %lld ranks go from 0 to %lld",
                          (long long)v->rank, (long long)v->world_size, (long long)v->world_size - 1);
  if (data == (v->lengths != NULL))
    return brim_error_set(&cli->error, BRIM_E_USAGE, "give either DATA with --tokenizer, or --lengths FILE");
  if (data && !v->tokenizer)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "DATA needs --tokenizer PATH");
  const char *random = cli_says(&cli->arguments, "seed") ? "seed" : cli_says(&cli->arguments, "epoch") ? "epoch" : NULL;
  if (random && strcmp(v->batching, "sequential") == 0 && !v->weight.count)
    cli_note(cli, "--%s has no effect with --batching sequential, whose order is that of the file", random);
  if (v->stream && v->cache)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--cache has no effect on a stream: leave it out");
  if (v->stream && v->simulate)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--simulate looks at all lengths: leave --stream out");
  if (data)
    return v->stream ? cli_plan_stream(cli) : plan_data(cli);
  length_list lengths = {0};
  int status = read_lengths(cli, &lengths);
  if (!status)
    status = plan_lengths(cli, (brim_lengths){.rows = lengths.count, .lengths = lengths.values}, NULL);
  free(lengths.values);
  return status;
}

const cli_command cli_plan = {
    .name = "plan",
    .summary = "print which rows go together in each step, without training",
    .operands = "[DATA...]",
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Prints the batches of one epoch, which depend only on the lengths, the options, the seed and the epoch. "
                   "With --jsonl each batch is "
                   "{\"batch\":0,\"step\":0,\"rank\":0,\"rows\":[..],\"width\":W,\"tokens\":T,\"slots\":S}. The last line "
                   "is a summary: the share of padding (1 - tokens/slots), the rows that --drop-last dropped, those that "
                   "--min-chars and --where excluded, and a hash of the whole plan. Rows are numbered as in DATA, excluded "
                   "ones too.\n"
                   "With --stream a row is [file, record], the summary names the files, and rows that are left out are "
                   "counted, not listed. With --rank-slices the counts and the hash are of this process's slice.",
    .options = options,
    .example = "brim plan --lengths lengths.txt --max-length 400 --batching uniform --padding longest --batch-size 16 --jsonl",
    .run = run,
};
