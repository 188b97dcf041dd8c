/* brim predict: labels and scores, in input order. */
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "infer.h"
#include "ranks.h"

static const cli_option options[] = {
    HEADING("What to predict"),
    ROWS(cli_inference_options),
    TEXT("output", output, "FILE", .letter = 'o', .shown = "standard output",
         .help = "where the lines go; the file is complete or absent"),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    ROWS(cli_rank_options),
    ROWS(cli_general_options),
    {0},
};

/* Lines on their way out: memory does not grow with the rows, nor with the rows times the classes. */
typedef struct lines {
  cli_call *cli;
  const cli_inference *in;
  brim_file *file; /* made with the first lines */
  brim_text text;
  double *scores;
} lines;

enum { MOST_WAITING = 1 << 16 }; /* bytes of lines */

static int write_lines(lines *l, brim_error *err) {
  cli_call *cli = l->cli;
  int status = brim_text_status(&l->text, err);
  if (!status && cli->group.rank == 0 && !l->file)
    status = brim_file_create(cli->runtime, cli->values->output ? cli->values->output : "-", &l->file, err);
  if (!status && cli->progress)
    brim_progress_clear(cli->progress);
  if (!status && l->file) /* the first of several ranks writes for all */
    status = brim_file_write(l->file, l->text.data, l->text.length, err);
  brim_text_clear(&l->text);
  return status;
}

static int put_row(void *context, uint64_t row, const float *logits, brim_error *err) {
  lines *l = context;
  brim_prediction_put(&l->text, l->in->model, brim_dataset_origin(l->in->dataset, row), logits, l->scores);
  return l->text.length < MOST_WAITING ? BRIM_OK : write_lines(l, err);
}

static int predict(cli_call *cli, cli_inference *in) {
  lines l = {.cli = cli, .in = in, .scores = calloc((size_t)brim_model_outputs(in->model), sizeof *l.scores)};
  if (!l.scores)
    return cli_no_memory(cli, "the predictions");
  brim_text_init(&l.text, cli->runtime);
  int status = brim_predict_each(cli->runtime, in->model, in->dataset, &in->options, 0, put_row, &l, &cli->error);
  if (!status)
    status = write_lines(&l, &cli->error);
  if (!status && l.file)
    status = brim_file_commit(l.file, &cli->error);
  brim_file_free(l.file);
  brim_text_free(&l.text);
  free(l.scores);
  return status;
}

static int run(cli_call *cli) {
  cli_inference in = {0};
  int status = cli_inference_open(cli, &in, false);
  if (!status)
    status = predict(cli, &in);
  cli_inference_close(&in);
  return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "label texts with a fine-tuned model, in input order",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .description =
        "Writes {\"index\":0,\"label\":..,\"scores\":[..]} for every record: the probability of each class, of each of "
        "many labels by itself (label lists those above one half), or the values themselves for a regression. No label column is "
        "needed. The index counts all records, those that --min-chars and --where "
        "leave out too.",
    .options = options,
    .example = "brim predict --model run new.csv -o predictions.jsonl",
    .run = run,
};
