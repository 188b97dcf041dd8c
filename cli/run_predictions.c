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

static double label_of(const brim_dataset *dataset, uint64_t row) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  return (double)sample.label;
}

/* ---- pictures --------------------------------------------------------------------------------------------- */

typedef struct judged {
  const cli_inference *in;
  const float *logits;
  double *scores; /* [outputs] */
  worst_rows worst;
} judged;

static int put_classes(cli_call *cli, brim_page *page, judged *j) {
  const int32_t outputs = brim_model_outputs(j->in->model);
  const brim_labels *labels = brim_model_labels(j->in->model);
  uint64_t *counts = calloc((size_t)outputs * (size_t)outputs, sizeof *counts);
  if (!counts)
    return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the report");
  for (uint64_t row = 0; row < brim_dataset_rows(j->in->dataset); row++) {
    const int32_t label = (int32_t)label_of(j->in->dataset, row);
    brim_softmax(j->logits + row * (uint64_t)outputs, outputs, j->scores);
    const int32_t best = largest(j->scores, outputs);
    counts[label * outputs + best]++;
    if (best != label)
      note_loss(&j->worst, row, -log(fmax(j->scores[label], 1e-300)));
  }
  brim_page_confusion(
      page, (brim_caption){"Confusion", "Rows are labels, columns are predictions; the right ones are on the diagonal."},
      (const char *const *)labels->names, counts, outputs);
  free(counts);
  return BRIM_OK;
}

static int put_values(cli_call *cli, brim_page *page, judged *j) {
  const uint64_t rows = brim_dataset_rows(j->in->dataset);
  double *x = malloc(rows * sizeof *x), *y = malloc(rows * sizeof *y);
  if (x && y) {
    for (uint64_t row = 0; row < rows; row++) {
      x[row] = label_of(j->in->dataset, row), y[row] = (double)j->logits[row];
      note_loss(&j->worst, row, (x[row] - y[row]) * (x[row] - y[row]));
    }
    const brim_series series = {"rows", x, y, rows};
    brim_page_chart(page, (brim_caption){"Predictions", "Each row's predicted value over its label; right ones are on the line."},
                    &(brim_chart){.x = {"label", false, false},
                                  .y = {"predicted", false, false},
                                  .series = &series,
                                  .series_count = 1,
                                  .points = true,
                                  .diagonal = true});
  }
  const bool room = x && y;
  free(x);
  free(y);
  return room ? BRIM_OK : brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the report");
}

/* ---- the most wrong --------------------------------------------------------------------------------------- */

static void describe(const judged *j, int index, uint64_t origin, char *text) {
  const uint64_t row = j->worst.row[index];
  const double label = label_of(j->in->dataset, row);
  const int32_t outputs = brim_model_outputs(j->in->model);
  if (brim_model_task(j->in->model) == BRIM_TASK_REGRESSION) {
    snprintf(text, CAPTION_SIZE, "row %llu: label %.4g, predicted %.4g", (unsigned long long)origin, label,
             (double)j->logits[row]);
    return;
  }
  const brim_labels *labels = brim_model_labels(j->in->model);
  brim_softmax(j->logits + row * (uint64_t)outputs, outputs, j->scores);
  const int32_t best = largest(j->scores, outputs);
  snprintf(text, CAPTION_SIZE, "row %llu: label %.100s, predicted %.100s with %.1f %% (the label has %.2g %%)",
           (unsigned long long)origin, labels->names[(int32_t)label], labels->names[best], 100 * j->scores[best],
           100 * j->scores[(int32_t)label]);
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

static void put_metrics(brim_page *page, const brim_metrics *m, bool regression) {
  const char *names[] = {"rows", "loss", regression ? "rmse" : "accuracy", regression ? "pearson" : "f1",
                         regression ? "spearman" : "matthews"};
  const double values[] = {m->loss, regression ? m->rmse : m->accuracy, regression ? m->pearson : m->f1,
                           regression ? m->spearman : m->matthews};
  char text[5][32];
  const char *shown[5] = {text[0], text[1], text[2], text[3], text[4]};
  brim_count_text((int64_t)m->rows, text[0], sizeof text[0]);
  for (int i = 0; i < 4; i++)
    snprintf(text[i + 1], sizeof text[0], isfinite(values[i]) ? "%.4f" : "-", values[i]);
  brim_page_figures(page, names, shown, 5);
}

int cli_page_predictions(cli_call *cli, brim_page *page, const cli_inference *in, const char *const *paths, int path_count) {
  const uint64_t rows = brim_dataset_rows(in->dataset), outputs = (uint64_t)brim_model_outputs(in->model);
  const bool regression = brim_model_task(in->model) == BRIM_TASK_REGRESSION;
  float *logits = calloc(rows * outputs, sizeof *logits);
  judged j = {.in = in, .logits = logits, .scores = calloc(outputs, sizeof *j.scores)};
  brim_metrics metrics;
  int status = logits && j.scores ? BRIM_OK : brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the predictions");
  if (!status)
    status = brim_predict(cli->runtime, in->model, in->dataset, &in->options, logits, &cli->error);
  if (!status)
    status = brim_metrics_compute(cli->runtime, brim_model_task(in->model), (int32_t)outputs, logits, in->dataset, &metrics,
                                  &cli->error);
  if (!status) {
    brim_page_section(page, "Predictions");
    put_metrics(page, &metrics, regression);
    status = regression ? put_values(cli, page, &j) : put_classes(cli, page, &j);
  }
  if (!status)
    status = put_most_wrong(cli, page, &j, paths, path_count);
  free(logits);
  free(j.scores);
  return status;
}
