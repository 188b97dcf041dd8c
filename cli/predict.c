/* brim predict: labels and scores, in input order. */
#include <stdlib.h>
#include <string.h>

#include "columns.h"
#include "commands.h"
#include "fill.h"
#include "infer.h"
#include "ranks.h"

static const cli_option options[] = {
    HEADING("Trained model"),
    ROWS(cli_inference_options),
    HEADING("Output"),
    TEXT("output", output, "FILE", .letter = 'o', .path = CLI_WRITES_FILE, .endings = ".jsonl .json .ndjson ",
         .shown = "standard output", .help = "file to write; it is complete or absent"),
    FLAG("sort", sort,
         .help =
             "of a reranker: the documents of each query from the best to the worst, with their rank; queries come in the order "
             "of their first rows, and index still counts the records of DATA"),
    FLAG("unbuffered", unbuffered, .excludes = "output cache batch-size max-tokens padding sort",
         .help = "answer each row before the next one is read, for a program that writes a text into a pipe and waits for "
                 "its line; slower than all rows together"),
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
  brim_prediction_put(&l->text, l->in->model, l->in->dataset, row, brim_dataset_origin(l->in->dataset, row), logits, l->scores);
  return l->text.length < MOST_WAITING ? BRIM_OK : write_lines(l, err);
}

static int predict_all(cli_call *cli, cli_inference *in) {
  lines l = {.cli = cli, .in = in};
  int status = cli_inference_open(cli, in, false);
  if (status)
    return status;
  if (cli->masks)
    return cli_fill_masks(cli, in);
  l.scores = calloc((size_t)brim_model_outputs(in->model), sizeof *l.scores);
  if (!l.scores)
    return cli_no_memory(cli, "the predictions");
  brim_text_init(&l.text, cli->runtime);
  status = cli->values->sort ? brim_predict_sorted(cli->runtime, in->model, in->dataset, &in->options, &l.text, &cli->error)
                             : brim_predict_each(cli->runtime, in->model, in->dataset, &in->options, 0, put_row, &l, &cli->error);
  if (!status)
    status = write_lines(&l, &cli->error);
  if (!status && l.file)
    status = brim_file_commit(l.file, &cli->error);
  brim_file_free(l.file);
  brim_text_free(&l.text);
  free(l.scores);
  return status;
}

/* ---- row by row ------------------------------------------------------------------------------------------- */

/* Rows that are answered as they come. */
typedef struct answers {
  cli_call *cli;
  cli_inference *in;
  brim_dataset_options how;
  cli_columns columns;       /* of a reranker's rows */
  const brim_record *record; /* the one at hand */
  const brim_dataset *one;   /* and its tokens */
  brim_text text;
  double *scores;
  uint64_t rows, cut;
} answers;

static int give_record(void *context, uint64_t index, brim_text_row *out, brim_error *err) {
  const brim_record *r = ((const answers *)context)->record;
  (void)index, (void)err;
  *out = (brim_text_row){.text = r->text,
                         .text_length = r->text_length,
                         .pair = r->pair,
                         .pair_length = r->pair_length,
                         .further = r->further,
                         .further_count = r->further_count};
  return BRIM_OK;
}

static int put_answer(void *context, uint64_t row, const float *logits, brim_error *err) {
  answers *a = context;
  (void)err;
  brim_prediction_put(&a->text, a->in->model, a->one, row, a->record->row, logits, a->scores);
  return BRIM_OK;
}

/* Alone in its batch: what comes of a row does not depend on how fast others arrive. */
static int answer(answers *a, const brim_record *record) {
  brim_error *err = &a->cli->error;
  brim_dataset *one = NULL;
  a->record = record;
  int status = brim_dataset_from_texts(a->cli->runtime, give_record, a, 1, a->in->tokenizer, &a->how, &one, err);
  a->one = one;
  if (!status)
    status = brim_predict_each(a->cli->runtime, a->in->model, one, &a->in->options, 1, put_answer, a, err);
  if (!status)
    status = cli_write(a->cli, NULL, &a->text);
  a->rows++, a->cut += one ? brim_dataset_truncated(one) : 0;
  brim_text_clear(&a->text);
  brim_dataset_free(one);
  return status;
}

static int answer_all(answers *a, brim_reader *reader) {
  brim_record record;
  uint64_t excluded;
  int status;
  while (!(status = brim_reader_next(reader, &record, &a->cli->error)))
    if ((status = answer(a, &record)))
      return status;
  const brim_exclusion *first = brim_reader_excluded(reader, &excluded);
  cli_note_excluded(a->cli, first, excluded, a->rows);
  if (a->cut)
    cli_note(a->cli, "%llu of %llu rows were cut at %d tokens; --max-length changes it", (unsigned long long)a->cut,
             (unsigned long long)a->rows, (int)a->how.encode.max_length);
  return status == BRIM_END ? BRIM_OK : status;
}

static int open_answers(answers *a, brim_reader **reader) {
  cli_call *cli = a->cli;
  const char *const *paths = cli->arguments.operands;
  const int path_count = cli->arguments.operand_count;
  brim_source_options source;
  int32_t max_length = 0;
  int status = cli_inference_open_model(cli, a->in, &max_length);
  if (!status && cli->masks)
    status = brim_error_set(&cli->error, BRIM_E_USAGE, "--unbuffered is not for a model of masked words: leave it out");
  if (!status)
    a->how.task = brim_model_task(a->in->model);
  if (!status)
    status = cli_encode_options(cli, max_length, &a->how.encode);
  if (!status)
    status = cli_source_options(cli, false, &source);
  source.aligned = true;
  if (!status)
    status = cli_note_passed_over(cli, paths, path_count);
  if (!status)
    status = cli_columns_find(cli, paths, path_count, a->how.task, &a->columns, &source);
  if (!status)
    cli_leave_out_pairs(cli, a->in->model, paths, path_count, &source);
  a->in->options.event = NULL; /* no bar for a row */
  if (!status && !(a->scores = calloc((size_t)brim_model_outputs(a->in->model), sizeof *a->scores)))
    status = cli_no_memory(cli, "the predictions");
  return status ? status : brim_reader_open(cli->runtime, paths, path_count, &source, reader, &cli->error);
}

static int predict_as_they_come(cli_call *cli, cli_inference *in) {
  answers a = {.cli = cli, .in = in};
  brim_reader *reader = NULL;
  if (cli->group.world_size > 1)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "--unbuffered is for one process: leave it out, or start one");
  brim_text_init(&a.text, cli->runtime);
  int status = open_answers(&a, &reader);
  if (!status)
    status = answer_all(&a, reader);
  brim_reader_close(reader);
  cli_columns_free(&a.columns);
  brim_text_free(&a.text);
  free(a.scores);
  return status;
}

static int run(cli_call *cli) {
  cli_inference in = {0};
  const int status = cli->values->unbuffered ? predict_as_they_come(cli, &in) : predict_all(cli, &in);
  cli_inference_close(&in);
  return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "label texts with a fine-tuned model, in input order",
    .operands = "DATA...",
    .least_operands = 1,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description =
        "Writes {\"index\":0,\"label\":..,\"scores\":[..]} for every record. Scores are the probability of each "
        "class; with many labels, the probability of each label by itself (label lists those above one half); "
        "with a regression, the values; of a reranker, the score, and of a row of several documents the scores and ranks of "
        "them. Of classes and labels they are in the order that the model has for them, which `brim inspect model` says. "
        "A model that labels tokens gives "
        "{\"index\":0,\"tokens\":[..],\"labels\":[..],\"scores\":[..]}: a label and its probability for each "
        "word. A model of masked words gives {\"index\":0,\"masks\":[..],\"best\":[[..]]}: the places of a text's mask tokens, "
        "and the five best tokens for each. No label column is needed. The index counts all records, also those that --min-chars "
        "and --where "
        "leave out.",
    .options = options,
    .example = "brim predict --model run new.csv -o predictions.jsonl",
    .run = run,
};
