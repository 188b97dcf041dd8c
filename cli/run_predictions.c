/* run_predictions.c: what a model makes of labelled rows: confusion or scatter, and where it is most wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "passages.h"
#include "run_report.h"

enum { MOST_WRONG = 20, CAPTION_SIZE = 512 };

/* The rows with the largest loss, most wrong first. */
typedef struct worst_rows {
  uint64_t row[MOST_WRONG];
  double loss[MOST_WRONG];
  int count;
} worst_rows;

static void note_loss(worst_rows *worst, uint64_t row, double loss) {
  int at = worst->count;
  if (!(loss > 0) || (at == MOST_WRONG && loss <= worst->loss[at - 1]))
    return;
  at = at == MOST_WRONG ? at - 1 : worst->count++;
  for (; at > 0 && worst->loss[at - 1] < loss; at--)
    worst->row[at] = worst->row[at - 1], worst->loss[at] = worst->loss[at - 1];
  worst->row[at] = row, worst->loss[at] = loss;
}

static int32_t largest(const double *values, int32_t count) {
  int32_t best = 0;
  for (int32_t i = 1; i < count; i++)
    best = values[i] > values[best] ? i : best;
  return best;
}

/* The row's label, or the k-th of several. */
static double label_of(const brim_dataset *dataset, uint64_t row, int32_t k) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  return (double)(sample.labels ? sample.labels[k] : sample.label);
}

/* ---- pictures --------------------------------------------------------------------------------------------- */

typedef struct judged {
  const cli_inference *in;
  const float *logits;
  double *scores; /* [outputs] */
  brim_task task;
  int32_t outputs;
  const brim_labels *labels;
  worst_rows worst;
} judged;

static int no_memory(cli_call *cli) {
  return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the report");
}

/* What the row costs, as training counts it; 0 for a row that is right. */
static double loss_of(const judged *j, uint64_t row) {
  const float *logits = j->logits + row * (uint64_t)j->outputs;
  double loss = 0;
  bool wrong = false;
  if (j->task == BRIM_TASK_CLASSIFICATION) {
    const int32_t label = (int32_t)label_of(j->in->dataset, row, 0);
    brim_softmax(logits, j->outputs, j->scores);
    return largest(j->scores, j->outputs) == label ? 0 : -log(fmax(j->scores[label], 1e-300));
  }
  for (int32_t k = 0; k < j->outputs; k++) {
    const double label = label_of(j->in->dataset, row, k), score = brim_sigmoid(logits[k]);
    if (j->task == BRIM_TASK_REGRESSION)
      loss += (label - (double)logits[k]) * (label - (double)logits[k]), wrong = true;
    else
      loss -= log(fmax(label > 0.5 ? score : 1 - score, 1e-300)), wrong = wrong || (label > 0.5) != (logits[k] > 0);
  }
  return wrong ? loss / j->outputs : 0;
}

/* Of many labels, each by itself. */
static void put_label_table(brim_page *page, const judged *j, const uint64_t *counts, const char **cells, char (*text)[32]) {
  static const brim_column columns[] = {{"label", false}, {"rows", true}, {"predicted", true}, {"both", true}};
  for (int32_t k = 0; k < j->outputs; k++) {
    const uint64_t *own = counts + 4 * (size_t)k, values[] = {own[2] + own[3], own[1] + own[3], own[3]};
    cells[4 * k] = j->labels->names[k];
    for (int i = 0; i < 3; i++) {
      brim_count_text((int64_t)values[i], text[3 * k + i], sizeof *text);
      cells[4 * k + 1 + i] = text[3 * k + i];
    }
  }
  brim_page_table(page, "rows with each label, in the data, predicted, and both", columns, 4, cells, j->outputs);
}

static int put_classes(cli_call *cli, brim_page *page, const judged *j) {
  const size_t outputs = (size_t)j->outputs;
  const bool many = j->task == BRIM_TASK_MULTI_LABEL;
  uint64_t *counts = calloc(many ? 4 * outputs : outputs * outputs, sizeof *counts);
  const char **cells = calloc(4 * outputs, sizeof *cells);
  char(*text)[32] = calloc(3 * outputs, sizeof *text);
  int status = counts && cells && text ? BRIM_OK : no_memory(cli);
  if (!status)
    status = brim_confusion_count(j->task, j->outputs, j->logits, j->in->dataset, counts, &cli->error);
  if (!status && many)
    put_label_table(page, j, counts, cells, text);
  else if (!status)
    brim_page_confusion(
        page, (brim_caption){"Confusion", "Rows are labels, columns are predictions; the right ones are on the diagonal."},
        (const char *const *)j->labels->names, counts, j->outputs);
  free(counts);
  free(cells);
  free(text);
  return status;
}

static int put_values(cli_call *cli, brim_page *page, const judged *j) {
  const uint64_t rows = brim_dataset_rows(j->in->dataset);
  double *x = malloc(rows * sizeof *x), *y = malloc(rows * sizeof *y);
  const bool room = x && y;
  for (int32_t k = 0; room && k < j->outputs; k++) {
    char title[64] = "Predictions";
    for (uint64_t row = 0; row < rows; row++)
      x[row] = label_of(j->in->dataset, row, k), y[row] = (double)j->logits[row * (uint64_t)j->outputs + (uint64_t)k];
    if (j->outputs > 1)
      snprintf(title, sizeof title, "Predictions: value %d", (int)k + 1);
    const brim_series series = {"rows", x, y, rows};
    brim_page_chart(page, (brim_caption){title, "Each row's predicted value over its label; right ones are on the line."},
                    &(brim_chart){.x = {"label", false, false},
                                  .y = {"predicted", false, false},
                                  .series = &series,
                                  .series_count = 1,
                                  .points = true,
                                  .diagonal = true});
  }
  free(x);
  free(y);
  return room ? BRIM_OK : no_memory(cli);
}

/* ---- the most wrong --------------------------------------------------------------------------------------- */

/* "good, warm", "0.25 1.5": what one side says of a row with several labels or values. */
static void join(const judged *j, uint64_t row, bool predicted, char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  for (int32_t k = 0; k < j->outputs && used < size; k++) {
    const double label = label_of(j->in->dataset, row, k), logit = (double)j->logits[row * (uint64_t)j->outputs + (uint64_t)k];
    if (j->task == BRIM_TASK_REGRESSION)
      used += (size_t)snprintf(text + used, size - used, "%s%.4g", used ? " " : "", predicted ? logit : label);
    else if (predicted ? logit > 0 : label > 0.5)
      used += (size_t)snprintf(text + used, size - used, "%s%.100s", used ? ", " : "", j->labels->names[k]);
  }
  if (!text[0])
    snprintf(text, size, "none");
}

static void describe(const judged *j, int index, uint64_t origin, char *text) {
  const uint64_t row = j->worst.row[index];
  char label[200], predicted[200];
  if (j->task != BRIM_TASK_CLASSIFICATION) {
    join(j, row, false, label, sizeof label);
    join(j, row, true, predicted, sizeof predicted);
    snprintf(text, CAPTION_SIZE, "row %llu: label %s, predicted %s", (unsigned long long)origin, label, predicted);
    return;
  }
  const int32_t truth = (int32_t)label_of(j->in->dataset, row, 0);
  brim_softmax(j->logits + row * (uint64_t)j->outputs, j->outputs, j->scores);
  const int32_t best = largest(j->scores, j->outputs);
  snprintf(text, CAPTION_SIZE, "row %llu: label %.100s, predicted %.100s with %.1f %% (the label has %.2g %%)",
           (unsigned long long)origin, j->labels->names[truth], j->labels->names[best], 100 * j->scores[best],
           100 * j->scores[truth]);
}

static int put_most_wrong(cli_call *cli, brim_page *page, const judged *j, const char *const *paths, int path_count) {
  cli_passage passages[MOST_WRONG] = {0};
  char caption[CAPTION_SIZE];
  const int count = j->worst.count;
  for (int i = 0; i < count; i++)
    passages[i].row = brim_dataset_origin(j->in->dataset, j->worst.row[i]);
  int status = count ? cli_passages_read(cli, paths, path_count, passages, count) : BRIM_OK;
  brim_page_section(page, "Most wrong");
  brim_page_text(page, count ? "The rows with the largest loss, most wrong first. A label that is itself wrong shows here too."
                             : "No row was wrong.");
  for (int i = 0; i < count && !status; i++) {
    describe(j, i, passages[i].row, caption);
    const bool here = passages[i].text != NULL;
    const char *text = here ? passages[i].text : "(standard input cannot be read again for its text)";
    brim_page_passage(page, caption, text, here ? passages[i].length : strlen(text));
  }
  cli_passages_free(passages, MOST_WRONG);
  return status;
}

static void put_metrics(brim_page *page, const brim_metrics *m, brim_task task) {
  static const char *const names[][5] = {[BRIM_TASK_CLASSIFICATION] = {"rows", "loss", "accuracy", "f1", "matthews"},
                                         [BRIM_TASK_REGRESSION] = {"rows", "loss", "rmse", "pearson", "spearman"},
                                         [BRIM_TASK_MULTI_LABEL] = {"rows", "loss", "accuracy", "f1 micro", "f1 macro"}};
  const bool values = task == BRIM_TASK_REGRESSION, many = task == BRIM_TASK_MULTI_LABEL;
  const double numbers[] = {m->loss, values ? m->rmse : m->accuracy,
                            values ? m->pearson
                            : many ? m->f1_micro
                                   : m->f1,
                            values ? m->spearman
                            : many ? m->f1_macro
                                   : m->matthews};
  char text[5][32];
  const char *shown[5] = {text[0], text[1], text[2], text[3], text[4]};
  brim_count_text((int64_t)m->rows, text[0], sizeof text[0]);
  for (int i = 0; i < 4; i++)
    snprintf(text[i + 1], sizeof text[0], isfinite(numbers[i]) ? "%.4f" : "-", numbers[i]);
  brim_page_figures(page, names[task], shown, 5);
}

int cli_page_predictions(cli_call *cli, brim_page *page, const cli_inference *in, const char *const *paths, int path_count) {
  const uint64_t rows = brim_dataset_rows(in->dataset), outputs = (uint64_t)brim_model_outputs(in->model);
  float *logits = calloc(rows * outputs, sizeof *logits);
  judged j = {.in = in,
              .logits = logits,
              .scores = calloc(outputs, sizeof *j.scores),
              .task = brim_model_task(in->model),
              .outputs = (int32_t)outputs,
              .labels = brim_model_labels(in->model)};
  brim_metrics metrics;
  int status = logits && j.scores ? BRIM_OK : no_memory(cli);
  if (!status)
    status = brim_predict(cli->runtime, in->model, in->dataset, &in->options, logits, &cli->error);
  if (!status)
    status = brim_metrics_compute(cli->runtime, j.task, j.outputs, logits, in->dataset, &metrics, &cli->error);
  if (!status) {
    for (uint64_t row = 0; row < rows; row++)
      note_loss(&j.worst, row, loss_of(&j, row));
    brim_page_section(page, "Predictions");
    put_metrics(page, &metrics, j.task);
    status = (j.task == BRIM_TASK_REGRESSION ? put_values : put_classes)(cli, page, &j);
  }
  if (!status)
    status = put_most_wrong(cli, page, &j, paths, path_count);
  free(logits);
  free(j.scores);
  return status;
}
