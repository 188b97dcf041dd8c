/* brim report: what runs did, as a page or a table. */
#include "columns.h"
#include "commands.h"
#include "infer.h"
#include "stream.h"
#include "views.h"

static const cli_option options[] = {
    HEADING("The page"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .endings = ".html .htm ",
         .shown = "RUN/report.html of a single run",
         .help = "the page, one file that needs no network; it is complete or absent"),
    LIST("data", data, "DATA", .path = CLI_READS_DATA,
         .help = "labelled rows for the run's model to predict; the page then shows confusion or scatter, and the most "
                 "wrong rows with their texts. May be given several times"),
    TEXT("csv", csv, "FILE", .path = CLI_WRITES_FILE, .endings = ".csv ",
         .help = "write the steps, evaluations and epochs of all runs as one table; - is standard output"),
    ROWS_WITH("data", cli_label_option),
    ROWS_WITH("data", cli_missing_label_option),
    ROWS_WITH("data", cli_column_options),
    ROWS(cli_general_options),
    {0},
};

static int write_csv(cli_call *cli, const brim_runs *runs) {
  brim_text out;
  brim_text_init(&out, cli->runtime);
  brim_event_log_csv((const brim_event_log *const *)runs->logs, runs->names, runs->count, &out);
  int status = cli_write(cli, cli->values->csv, &out);
  brim_text_free(&out);
  return status;
}

/* Rows of a pipe have no texts, nor has what is not the file that was read before. */
static int read_texts(cli_call *cli, const cli_inference *in, cli_columns *columns, brim_judged *judged) {
  brim_source_options source;
  if (cli_any_pipe(in->paths, in->path_count))
    return BRIM_OK;
  int status = cli_source_options(cli, false, &source);
  if (!status)
    status = cli_columns_find(cli, in->paths, in->path_count, brim_model_task(in->model), columns, &source);
  if (!status)
    status = brim_judged_read_texts(judged, in->paths, in->path_count, &source, &cli->error);
  if (status != BRIM_E_MISMATCH)
    return status;
  cli_no_texts(cli, &cli->error);
  return BRIM_OK;
}

static int page_predictions(cli_call *cli, brim_page *page, const cli_inference *in) {
  brim_judged judged;
  cli_columns columns = {0};
  int status = brim_judge_dataset(cli->runtime, in->model, in->dataset, &in->options, NULL, &judged, &cli->error);
  if (!status)
    status = read_texts(cli, in, &columns, &judged);
  if (!status)
    status = brim_page_judged(page, &judged, "", true, &cli->error);
  cli_columns_free(&columns);
  brim_judged_free(&judged);
  return status;
}

/* The rows of --data, predicted by the model in the run's folder. */
static int add_predictions(cli_call *cli, brim_page *page) {
  const cli_list *data = &cli->values->data;
  cli_inference in = {.paths = data->items, .path_count = data->count};
  cli->arguments.values.model = cli->arguments.operands[0];
  int status = cli_inference_open(cli, &in, true);
  if (!status)
    status = page_predictions(cli, page, &in);
  cli_inference_close(&in);
  return status;
}

static int write_page(cli_call *cli, const brim_runs *runs) {
  brim_page *page = NULL;
  char path[4096];
  const char *given = cli->values->output;
  snprintf(path, sizeof path, "%s/report.html", runs->names[0]);
  int status = brim_page_new(cli->runtime, runs->count == 1 ? runs->names[0] : "Runs side by side", &page, &cli->error);
  if (!status)
    status = brim_page_runs(page, runs, &cli->error);
  if (!status)
    status = cli->values->data.count ? add_predictions(cli, page) : brim_page_kept(page, runs, &cli->error);
  if (!status)
    status = brim_page_settings(page, runs, &cli->error);
  if (!status && cli->values->csv) /* when all that is read has been read */
    status = write_csv(cli, runs);
  if (!status)
    status = given ? brim_page_write(page, given, &cli->error) : brim_page_write_own(page, path, &cli->error);
  if (!status)
    cli_note(cli, "the report is in %s", given ? given : path);
  brim_page_free(page);
  return status;
}

static int run(cli_call *cli) {
  const cli_values *v = cli->values;
  const int count = cli->arguments.operand_count;
  brim_runs runs = {0};
  if (count > 1 && v->data.count)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--data is for the report of one run, but %d runs are named: name one",
                          count);
  if (count > 1 && !v->output && !v->csv)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "a report of %d runs needs --output FILE, the page to write", count);
  if (v->data.count && v->csv && !v->output)
    return brim_error_set(&cli->error, BRIM_E_USAGE,
                          "--data is for the page, and --csv alone writes none: add --output FILE, or leave out --data");
  int status = brim_runs_open(cli->runtime, cli->arguments.operands, count, &runs, &cli->error);
  if (!status)
    status = v->csv && !v->output ? write_csv(cli, &runs) : write_page(cli, &runs);
  brim_runs_close(&runs);
  return status;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "a page about one or several runs: curves, evaluations, the most wrong examples",
    .operands = "RUN...",
    .least_operands = 1,
    .most_operands = BRIM_MOST_RUNS,
    .operands_are = CLI_READS_MODEL,
    .description = "Reads RUN/log.jsonl and writes one HTML file: the curves of all runs side by side, their evaluations, "
                   "options and environment, the confusion (or values over labels) of the last evaluation, and the texts "
                   "that the model is most wrong about. `brim train` ends with the same page in RUN/report.html. With "
                   "--data the run's model predicts these rows instead.",
    .options = options,
    .example = "brim report run --data test.csv -o report.html",
    .run = run,
};
