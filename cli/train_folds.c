/* train_folds.c: `brim train --folds`. */
#include "train_folds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "folds.h"
#include "infer.h"
#include "views.h"

/* ---- what is predicted besides ---------------------------------------------------------------------------- */

/* --eval, which the job has loaded, and --test. */
typedef struct fold_sets {
  brim_named_dataset sets[CLI_LIST_LIMIT];
  char names[CLI_LIST_LIMIT][64];
  int count, own; /* the first `own` are the job's */
} fold_sets;

static int load_sets(cli_call *cli, const cli_job *job, fold_sets *out) {
  const cli_list *test = &cli->values->test;
  if (job->eval_count + test->count > CLI_LIST_LIMIT)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--eval and --test: at most %d files", CLI_LIST_LIMIT);
  for (; out->count < job->eval_count; out->count++)
    out->sets[out->count] = job->evals[out->count];
  out->own = out->count;
  for (int i = 0; i < test->count; i++) {
    brim_dataset *dataset;
    char *name = out->names[out->count];
    const char *path = cli_cut_name("test", test->items[i], i, test->count, name, sizeof out->names[0]);
    const brim_task task = brim_model_task(job->model);
    const brim_shape *shape = brim_task_shape(task); /* of rows of texts the task says which columns they are in */
    const cli_dataset_request request = {.paths = &path,
                                         .path_count = 1,
                                         .tokenizer = job->tokenizer,
                                         .max_length = job->options.plan.max_length,
                                         .need_label = shape->bare, /* measured, since nothing is predicted */
                                         .task = shape->several_texts ? task : BRIM_TASK_AUTO};
    int status = cli_load_dataset(cli, &request, &dataset);
    if (status)
      return status;
    out->sets[out->count++] = (brim_named_dataset){.name = name, .dataset = dataset};
  }
  return BRIM_OK;
}

static void free_sets(fold_sets *sets) {
  for (int i = sets->own; i < sets->count; i++)
    brim_dataset_free((brim_dataset *)sets->sets[i].dataset);
}

/* ---- results ---------------------------------------------------------------------------------------------- */

enum { COLUMNS = 4 + BRIM_METRIC_FIELDS };

/* Rows of the result's table, growing. */
typedef struct fold_table {
  char (*cells)[COLUMNS][80];
  int count;
} fold_table;

static void add_row(fold_table *table, const char *name, const brim_fold_result *fold, uint64_t rows, const double *numbers,
                    int count) {
  char (*row)[80] = table->cells[table->count++], number[BRIM_METRIC_TEXT];
  snprintf(row[0], sizeof row[0], "%s", name);
  if (fold)
    brim_count_text((int64_t)fold->train_rows, row[1], sizeof row[1]);
  if (rows)
    brim_count_text((int64_t)rows, row[2], sizeof row[2]);
  if (fold)
    brim_duration_text(fold->run.seconds, row[3], sizeof row[3]);
  for (int i = 0; i < count; i++)
    snprintf(row[4 + i], sizeof row[4 + i], "%s", isfinite(numbers[i]) ? brim_metric_text(numbers[i], number) : "-");
}

static void add_metrics(fold_table *table, const char *name, const brim_fold_result *fold, const brim_metrics *metrics,
                        brim_task task) {
  brim_field numbers[BRIM_METRIC_FIELDS];
  double values[BRIM_METRIC_FIELDS];
  int count = brim_metrics_fields(task, metrics, numbers);
  for (int i = 0; i < count; i++)
    values[i] = numbers[i].real;
  add_row(table, name, fold, metrics->rows, values, count);
}

static void fill_table(fold_table *table, const brim_folds_result *result, brim_task task) {
  brim_field numbers[BRIM_METRIC_FIELDS];
  double mean[BRIM_METRIC_FIELDS], deviation[BRIM_METRIC_FIELDS];
  char name[80];
  for (int i = 0; i < result->count; i++) {
    snprintf(name, sizeof name, "%d", i);
    add_metrics(table, name, &result->folds[i], &result->folds[i].metrics, task);
  }
  const int count = brim_metrics_fields(task, &result->metrics, numbers);
  for (int i = 0; i < count; i++)
    brim_folds_spread(result, task, i, &mean[i], &deviation[i]);
  add_row(table, "mean", NULL, 0, mean, count);
  add_row(table, "deviation", NULL, 0, deviation, count);
  add_metrics(table, "out of fold", NULL, &result->metrics, task);
  for (int i = 0; i < result->average_count; i++)
    if (result->averages[i].evaluated) {
      snprintf(name, sizeof name, "%.60s, averaged", result->averages[i].name);
      add_metrics(table, name, NULL, &result->averages[i].metrics, task);
    }
}

static int put_table(cli_call *cli, brim_text *out, const brim_folds_result *result, brim_task task) {
  size_t most = (size_t)(result->count + 3 + result->average_count);
  fold_table table = {.cells = calloc(most, sizeof *table.cells)};
  const char **cells = calloc(most * COLUMNS, sizeof *cells);
  brim_column columns[COLUMNS] = {{"fold", false}, {"train rows", true}, {"valid rows", true}, {"time", true}};
  brim_field numbers[BRIM_METRIC_FIELDS];
  int status = table.cells && cells ? BRIM_OK : cli_no_memory(cli, "the table");
  if (!status) {
    const int used = 4 + brim_metrics_fields(task, &result->metrics, numbers);
    for (int i = 0; i + 4 < used; i++)
      columns[4 + i] = (brim_column){numbers[i].name, true};
    fill_table(&table, result, task);
    for (int i = 0; i < table.count * used; i++)
      cells[i] = table.cells[i / used][i % used];
    brim_table_text(out, columns, used, cells, table.count);
    brim_text_printf(out, "the models are in %s/fold-0 to fold-%d", cli->values->output, result->count - 1);
    if (!brim_task_shape(task)->bare)
      brim_text_printf(out, ", predictions of held-out rows in %s/predictions.jsonl", cli->values->output);
    brim_text_string(out, "\n");
  }
  free(table.cells);
  free(cells);
  return status;
}

/* The folds side by side, as many as fit. A run is worth keeping also without its page. */
static void write_page(cli_call *cli, int count) {
  static char folders[BRIM_MOST_RUNS][4096]; /* the stack may be short */
  const char *names[BRIM_MOST_RUNS];
  int shown = count < BRIM_MOST_RUNS ? count : BRIM_MOST_RUNS;
  brim_error kept = cli->error;
  for (int i = 0; i < shown; i++) {
    snprintf(folders[i], sizeof folders[i], "%s/fold-%d", cli->values->output, i);
    names[i] = folders[i];
  }
  if (brim_report_write(cli->runtime, names, shown, cli->values->output, &cli->error))
    cli_note(cli, "no report: %s", cli->error.message);
  cli->error = kept;
}

static int show(cli_call *cli, const cli_job *job, const fold_sets *sets, const brim_folds_result *result) {
  const brim_task task = brim_model_task(job->model);
  brim_text out;
  brim_text_init(&out, cli->runtime);
  int status = BRIM_OK;
  if (cli->group.rank == 0) /* the first of several ranks writes for all */
    status = brim_folds_write(cli->runtime, cli->values->output, job->model, job->train, sets->sets, result, &cli->error);
  if (!status && cli->values->json)
    brim_folds_json(&out, result, task);
  else if (!status)
    status = put_table(cli, &out, result, task);
  if (!status)
    write_page(cli, result->count);
  if (!status && !cli_reader_gone())
    status = cli->values->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  brim_text_free(&out);
  return status;
}

static int train(cli_call *cli, cli_job *job, const brim_folds *folds, fold_sets *sets) {
  brim_folds_result result = {0};
  int status = brim_train_folds(cli->runtime, job->model, job->tokenizer, job->train, folds, sets->sets, sets->count,
                                &job->options, &result, &cli->error);
  if (status == BRIM_E_CANCELLED)
    brim_runtime_resume(cli->runtime); /* what the run keeps is still to be written */
  const bool begun = result.folds && (result.done == result.count || result.folds[result.done].run.steps > 0);
  cli_views_close(cli, !status || (status == BRIM_E_CANCELLED && (begun || cli->values->resume)));
  if (status == BRIM_E_CANCELLED && result.done == 0 && !begun && !cli->values->resume)
    cli_job_hint_no_step(cli);
  else if (status == BRIM_E_CANCELLED || status == BRIM_E_IO)
    snprintf(cli->hint, sizeof cli->hint, "; %d of %d folds are done, and --resume continues after them", (int)result.done,
             (int)folds->count);
  if (!status)
    status = show(cli, job, sets, &result);
  brim_folds_result_free(&result);
  return status;
}

int cli_train_folds(cli_call *cli, cli_job *job) {
  fold_sets sets = {0};
  brim_folds folds = {0};
  int status = load_sets(cli, job, &sets);
  if (!status)
    status = cli_folds_make(cli, cli->values->train.items, cli->values->train.count, job->train, brim_model_task(job->model),
                            &folds);
  folds.tests = sets.count - sets.own;
  if (!status)
    status = train(cli, job, &folds, &sets);
  brim_folds_free(&folds);
  free_sets(&sets);
  return status;
}
