/* brim evaluate: how good a model is on labelled rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "infer.h"
#include "ranks.h"
#include "vectors.h"

static const cli_option options[] = {
    HEADING("Trained model"),
    ROWS(cli_inference_options),
    ROWS(cli_label_option),
    ROWS(cli_missing_label_option),
    ROWS(cli_retrieval_options),
    HEADING("Output"),
    FLAG("json", json, .help = "one JSON object instead of a table"),
    ROWS(cli_column_options),
    ROWS(cli_cache_option),
    ROWS(cli_rank_options),
    ROWS(cli_general_options),
    {0},
};

/* ---- numbers ---------------------------------------------------------------------------------------------- */

/* NaN where undefined. */
static double ratio(double above, double below) {
  return below > 0 ? above / below : (double)NAN;
}

enum { MOST_OF_MATRIX = 512 }; /* classes whose confusion is printed in full */

/* What a model made of the rows. */
typedef struct verdict {
  const brim_labels *labels;
  const char *counted;    /* what labels are called that are counted besides rows; NULL: there is one a row */
  uint64_t count;         /* rows, or labelled tokens */
  brim_outcome *outcomes; /* classification, of rows or tokens; NULL: labels are lists, or values */
  uint64_t *counts; /* brim_confusion_count's; NULL for very many classes, whose most frequent confusions there are instead */
  brim_confused *confused;
  size_t confused_count;
  brim_class_count *scores; /* [labels->count]; NULL: outputs have no names */
} verdict;

static void score_classes(verdict *v) {
  for (uint64_t i = 0; v->outcomes && i < v->count; i++) {
    const brim_outcome *o = &v->outcomes[i];
    v->scores[o->label].rows++;
    v->scores[o->predicted].predicted++;
    v->scores[o->label].both += o->label == o->predicted;
  }
  for (int32_t c = 0; !v->outcomes && c < v->labels->count; c++) {
    const uint64_t *own = v->counts + 4 * (size_t)c;
    v->scores[c] = (brim_class_count){.rows = own[2] + own[3], .predicted = own[1] + own[3], .both = own[3]};
  }
}

typedef struct named_number {
  const char *name;
  double value;
} named_number;

static void numbers_of(const brim_class_count *s, named_number out[3]) {
  out[0] = (named_number){"precision", ratio((double)s->both, (double)s->predicted)};
  out[1] = (named_number){"recall", ratio((double)s->both, (double)s->rows)};
  out[2] = (named_number){"f1", ratio(2 * (double)s->both, (double)(s->rows + s->predicted))};
}

/* ---- as JSON ---------------------------------------------------------------------------------------------- */

static void put_matrix_json(brim_json_writer *json, const char *name, const uint64_t *counts, int32_t rows, int32_t columns) {
  brim_json_open_array(json, name);
  for (int32_t i = 0; i < rows; i++) {
    brim_json_open_array(json, NULL);
    for (int32_t k = 0; k < columns; k++)
      brim_json_put_count(json, NULL, counts[(size_t)i * (size_t)columns + (size_t)k]);
    brim_json_close_array(json);
  }
  brim_json_close_array(json);
}

/* Of very many classes: no matrix, but the pairs that are most often confused. */
static void put_confused_json(brim_json_writer *json, const verdict *v) {
  brim_json_put_string(json, "confusion", NULL);
  brim_json_open_array(json, "confused");
  for (size_t i = 0; i < v->confused_count; i++) {
    const brim_confused *c = &v->confused[i];
    brim_json_open_object(json, NULL);
    brim_json_put_string(json, "label", v->labels->names[c->label]);
    brim_json_put_string(json, "predicted", v->labels->names[c->predicted]);
    brim_json_put_count(json, "rows", c->rows);
    brim_json_close_object(json);
  }
  brim_json_close_array(json);
}

static void put_class_json(brim_json_writer *json, const char *name, const brim_class_count *score) {
  named_number numbers[3];
  numbers_of(score, numbers);
  brim_json_open_object(json, NULL);
  brim_json_put_string(json, "name", name);
  brim_json_put_count(json, "rows", score->rows);
  brim_json_put_count(json, "predicted", score->predicted);
  for (int i = 0; i < 3; i++)
    brim_json_put_number(json, numbers[i].name, numbers[i].value);
  brim_json_close_object(json);
}

/* "classes": of each its name, rows, predicted, precision, recall and F1; then the confusion matrix, of lists of labels one each.
 */
static void put_classes_json(brim_json_writer *json, const verdict *v) {
  const brim_labels *labels = v->labels;
  brim_json_open_array(json, "classes");
  for (int32_t c = 0; c < labels->count; c++)
    put_class_json(json, labels->names[c], &v->scores[c]);
  brim_json_close_array(json);
  if (!v->counts) {
    put_confused_json(json, v);
  } else if (v->outcomes) {
    put_matrix_json(json, "confusion", v->counts, labels->count, labels->count);
  } else {
    brim_json_open_array(json, "confusion");
    for (int32_t c = 0; c < labels->count; c++)
      put_matrix_json(json, NULL, v->counts + 4 * (size_t)c, 2, 2);
    brim_json_close_array(json);
  }
}

static void put_json(brim_text *out, const verdict *v, const brim_metrics *m) {
  brim_field fields[BRIM_METRIC_FIELDS];
  int count = brim_metrics_fields(v->labels->task, m, fields);
  brim_json_writer json = {.out = out};
  brim_json_open_object(&json, NULL);
  brim_json_put_count(&json, "rows", m->rows);
  if (v->counted)
    brim_json_put_count(&json, v->counted, v->count);
  for (int i = 0; i < count; i++)
    brim_json_put_number(&json, fields[i].name, fields[i].real);
  if (v->scores)
    put_classes_json(&json, v);
  brim_json_put_count(&json, "tokens", m->tokens);
  brim_json_put_count(&json, "slots", m->slots);
  brim_json_put_number(&json, "seconds", m->seconds);
  brim_json_close_object(&json);
  brim_text_string(out, "\n");
}

/* ---- as a table ------------------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 12 }; /* classes of a matrix that fits a screen */

/* A name in a table: one line of what a terminal may have, cut to the column. */
static const char *shown(const brim_labels *labels, int32_t c, char name[64]) {
  snprintf(name, 64, "%s", labels->names[c]);
  brim_shown(name, strlen(name), false);
  return name;
}

/* Whose F1 the metric is. */
static const char *of_class(const brim_labels *labels, char text[96]) {
  char name[64];
  if (labels->count != 2 || !labels->names)
    return "";
  snprintf(text, 96, " (of %s)", shown(labels, 1, name));
  return text;
}

/* What has labels. */
static const char *items_of(const verdict *v) {
  return v->counted ? "tokens" : "rows";
}

/* The longest name, within reason. */
static int name_width(const brim_labels *labels) {
  size_t width = 5;
  for (int32_t c = 0; c < labels->count; c++)
    if (strlen(labels->names[c]) > width)
      width = strlen(labels->names[c]);
  return width < 24 ? (int)width : 24;
}

static void put_class_rows(brim_text *out, const verdict *v, int width) {
  const brim_labels *labels = v->labels;
  char name[64];
  brim_text_printf(out, "\n%-*s %9s %9s %9s %9s %9s\n", width, v->outcomes ? "class" : "label", items_of(v), "predicted",
                   "precision", "recall", "f1");
  for (int32_t c = 0; c < labels->count; c++) {
    const brim_class_count score = v->scores[c];
    named_number numbers[3];
    numbers_of(&score, numbers);
    brim_text_printf(out, "%-*.*s %9llu %9llu", width, width, shown(labels, c, name), (unsigned long long)score.rows,
                     (unsigned long long)score.predicted);
    for (int i = 0; i < 3; i++)
      if (isfinite(numbers[i].value))
        brim_text_printf(out, " %9.4f", numbers[i].value);
      else
        brim_text_printf(out, " %9s", "-");
    brim_text_string(out, "\n");
  }
}

/* Rows are what the data say, columns what the model says. */
static void put_matrix(brim_text *out, const verdict *v, int width) {
  const brim_labels *labels = v->labels;
  int32_t n = labels->count;
  char name[64];
  snprintf(name, sizeof name, "%s of", items_of(v));
  brim_text_printf(out, "\n%-*s predicted as\n%-*s", width, name, width, "");
  for (int32_t c = 0; c < n; c++)
    brim_text_printf(out, " %9.9s", shown(labels, c, name));
  for (int32_t i = 0; i < n; i++) {
    brim_text_printf(out, "\n%-*.*s", width, width, shown(labels, i, name));
    for (int32_t k = 0; k < n; k++)
      brim_text_printf(out, " %9llu", (unsigned long long)v->counts[(size_t)i * (size_t)n + (size_t)k]);
  }
  brim_text_string(out, "\n");
}

static void put_table(brim_text *out, const verdict *v, const brim_metrics *m) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const brim_labels *labels = v->labels;
  int count = brim_metrics_fields(labels->task, m, fields);
  char rows[32], number[BRIM_METRIC_TEXT], name[96];
  int width = 9;
  for (int i = 0; i < count; i++)
    width = (int)strlen(fields[i].name) > width ? (int)strlen(fields[i].name) : width;
  brim_count_text((int64_t)m->rows, rows, sizeof rows);
  brim_text_printf(out, "%-*s %s\n", width, "rows", rows);
  brim_count_text((int64_t)v->count, rows, sizeof rows);
  if (v->counted)
    brim_text_printf(out, "%-*s %s\n", width, v->counted, rows);
  for (int i = 0; i < count; i++)
    brim_text_printf(out, "%-*s %s%s\n", width, fields[i].name,
                     isfinite(fields[i].real) ? brim_metric_text(fields[i].real, number) : "undefined",
                     strcmp(fields[i].name, "f1") == 0 ? of_class(labels, name) : "");
  if (!v->scores)
    return;
  put_class_rows(out, v, name_width(labels));
  if (v->outcomes && labels->count <= MOST_SHOWN)
    put_matrix(out, v, name_width(labels));
}

/* ---- running ---------------------------------------------------------------------------------------------- */

static int verdict_new(cli_call *cli, verdict *v) {
  const size_t classes = (size_t)v->labels->count;
  const bool one = brim_task_shape(v->labels->task)->one_class, matrix = !one || classes <= MOST_OF_MATRIX;
  if (!v->labels->names)
    return BRIM_OK;
  v->scores = calloc(classes, sizeof *v->scores);
  v->outcomes = one ? calloc(v->count + 1, sizeof *v->outcomes) : NULL;
  v->counts = matrix ? calloc(one ? classes * classes : 4 * classes, sizeof *v->counts) : NULL;
  if (v->scores && (!one || v->outcomes) && (!matrix || v->counts))
    return BRIM_OK;
  return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the confusion of classes: evaluate on a machine with more");
}

static void verdict_free(cli_call *cli, verdict *v) {
  free(v->scores);
  free(v->outcomes);
  free(v->counts);
  brim_runtime_release(cli->runtime, v->confused);
}

static int evaluate(cli_call *cli, cli_inference *in) {
  const uint64_t rows = brim_dataset_rows(in->dataset), *firsts = brim_dataset_token_labels(in->dataset);
  verdict v = {.labels = brim_model_labels(in->model),
               .counted = brim_model_shape(in->model)->counted,
               .count = firsts ? firsts[rows] : rows};
  brim_metrics metrics;
  brim_text out;
  int status = verdict_new(cli, &v);
  cli_note_entities(cli, v.labels);
  in->options.confusion = v.counts, in->options.outcomes = v.outcomes;
  if (!status)
    status = brim_evaluate(cli->runtime, in->model, in->dataset, &in->options, &metrics, &cli->error);
  if (!status && v.outcomes && !v.counts)
    status = brim_confused_make(cli->runtime, v.outcomes, v.count, BRIM_MOST_CONFUSED, &v.confused, &v.confused_count,
                                &cli->error);
  brim_text_init(&out, cli->runtime);
  if (!status && v.scores)
    score_classes(&v);
  if (!status) {
    (cli->values->json ? put_json : put_table)(&out, &v, &metrics);
    status = cli->values->json ? cli_write(cli, NULL, &out) : cli_show(cli, &out);
  }
  brim_text_free(&out);
  verdict_free(cli, &v);
  return status;
}

static int run(cli_call *cli) {
  cli_inference in = {0};
  if (cli_evaluates_vectors(cli))
    return cli_evaluate_vectors(cli);
  if (cli->arguments.operand_count == 0)
    return brim_error_set(&cli->error, BRIM_E_USAGE, "DATA... is missing: labelled texts, or give --corpus or --scored-pairs");
  int status = cli_inference_open(cli, &in, true);
  if (!status)
    status = evaluate(cli, &in);
  cli_inference_close(&in);
  return status;
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .summary = "measure a model on labelled texts",
    .operands = "[DATA...]",
    .least_operands = 0,
    .most_operands = 1000,
    .operands_are = CLI_READS_DATA,
    .description = "Prints the loss and the metrics of the model's task. Classes: accuracy, F1 (of two that of the "
                   "second, of more their mean) and Matthews correlation, "
                   "precision, recall and F1 of each class, and the confusion matrix (with --json up to 512 classes; beyond "
                   "that the pairs most often confused). Many labels: the share of rows with every label right, and F1 "
                   "(micro, macro). Values: RMSE, Pearson and Spearman correlation. The loss is the mean over rows, without "
                   "class weights or label smoothing. With --corpus, --queries and --relevant: how well vectors of texts find "
                   "documents (accuracy, precision, recall, MRR, nDCG, MAP of the first k; all documents are looked through, and "
                   "those of one score are ordered by id). With --scored-pairs: Pearson and Spearman correlation of the vectors' "
                   "cosine, dot product and distances.",
    .options = options,
    .example = "brim evaluate --model run test.csv --json",
    .run = run,
};
