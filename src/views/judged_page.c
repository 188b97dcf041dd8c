/* judged_page.c: what a model makes of labelled rows, as part of a page: confusion or scatter, and where it is most wrong. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "report/event_log.h"
#include "report/page.h"
#include "views/views.h"

static const char missing[] =
    "(its text is not here: the file could not be read again. `brim report RUN --data FILE` reads it again)";
enum { MOST_LISTED = 200, MOST_CHARTS = 8, MOST_SETS_WITH_TEXTS = 4, CAPTION_SIZE = 640 };

/* ---- classes ---------------------------------------------------------------------------------------------- */

static int put_matrix(brim_page *page, const brim_judged *j, brim_error *err) {
  const size_t outputs = (size_t)j->outputs;
  uint64_t *counts = brim_alloc_array_zero(page->runtime, outputs * outputs, sizeof *counts);
  if (!counts)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < j->confused_count; i++)
    counts[(size_t)j->confused[i].label * outputs + (size_t)j->confused[i].predicted] += j->confused[i].rows;
  brim_page_confusion(
      page, (brim_caption){"Confusion", "Rows are labels, columns are predictions; the right ones are on the diagonal."},
      (const char *const *)j->names, counts, j->outputs);
  brim_release(page->runtime, counts);
  return BRIM_OK;
}

/* Of more classes than a matrix has room for. */
static void put_confused(brim_page *page, const brim_judged *j) {
  static const brim_column columns[] = {{"label", false}, {"predicted", false}, {"rows", true}};
  char text[BRIM_MOST_CONFUSED][32];
  const char *cells[3 * BRIM_MOST_CONFUSED];
  const int count = (int)(j->confused_count < BRIM_MOST_CONFUSED ? j->confused_count : BRIM_MOST_CONFUSED);
  for (int i = 0; i < count; i++) {
    brim_count_text((int64_t)j->confused[i].rows, text[i], sizeof text[i]);
    cells[3 * i] = j->names[j->confused[i].label], cells[3 * i + 1] = j->names[j->confused[i].predicted];
    cells[3 * i + 2] = text[i];
  }
  brim_page_table(page, "what is most often taken for what", columns, 3, cells, count);
}

/* Each class or label by itself, the first of very many. */
static int put_class_table(brim_page *page, const brim_judged *j, brim_error *err) {
  static const brim_column columns[] = {{"label", false}, {"rows", true}, {"predicted", true}, {"both", true}};
  const int32_t count = j->outputs < MOST_LISTED ? j->outputs : MOST_LISTED;
  const char **cells = brim_alloc_array(page->runtime, (size_t)count, 4 * sizeof *cells);
  char (*text)[32] = brim_alloc_array(page->runtime, (size_t)count, 3 * sizeof *text), caption[120];
  int status = cells && text ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t k = 0; !status && k < count; k++) {
    const uint64_t values[] = {j->classes[k].rows, j->classes[k].predicted, j->classes[k].both};
    cells[4 * k] = j->names[k];
    for (int i = 0; i < 3; i++) {
      brim_count_text((int64_t)values[i], text[3 * k + i], sizeof *text);
      cells[4 * k + 1 + i] = text[3 * k + i];
    }
  }
  snprintf(caption, sizeof caption, "rows with each label, in the data, predicted, and both");
  if (count < j->outputs)
    snprintf(caption + strlen(caption), sizeof caption - strlen(caption), ": the first %d of %d", (int)count, (int)j->outputs);
  if (!status)
    brim_page_table(page, caption, columns, 4, cells, count);
  brim_release(page->runtime, cells);
  brim_release(page->runtime, text);
  return status;
}

static int put_classes(brim_page *page, const brim_judged *j, brim_error *err) {
  const brim_shape *shape = brim_task_shape(j->task);
  const bool of_rows = shape->one_class && shape->outputs == BRIM_OUTPUTS_OF_TEXTS;
  if (of_rows && j->outputs <= BRIM_MOST_CLASSES)
    return put_matrix(page, j, err);
  if (of_rows && j->confused_count)
    put_confused(page, j);
  return put_class_table(page, j, err);
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static int put_values(brim_page *page, const brim_judged *j, brim_error *err) {
  const size_t outputs = (size_t)j->outputs;
  double *x = brim_alloc_array(page->runtime, j->points + 1, sizeof *x);
  double *y = brim_alloc_array(page->runtime, j->points + 1, sizeof *y);
  const bool room = x && y;
  char description[160] = "Each row's predicted value over its label; right ones are on the line.";
  if (j->points < j->rows)
    snprintf(description, sizeof description,
             "The predicted value over the label of %zu of %llu rows; right ones are on the line.", j->points,
             (unsigned long long)j->rows);
  for (size_t k = 0; room && k < outputs && k < MOST_CHARTS; k++) {
    char title[64] = "Predictions";
    for (size_t i = 0; i < j->points; i++)
      x[i] = j->labels[i * outputs + k], y[i] = j->values[i * outputs + k];
    if (outputs > 1)
      snprintf(title, sizeof title, "Predictions: value %d", (int)k + 1);
    const brim_series series = {"rows", x, y, j->points};
    brim_page_chart(page, (brim_caption){title, description},
                    &(brim_chart){.x = {"label", false, false},
                                  .y = {"predicted", false, false},
                                  .series = &series,
                                  .series_count = 1,
                                  .points = true,
                                  .diagonal = true});
  }
  brim_release(page->runtime, x);
  brim_release(page->runtime, y);
  return room ? BRIM_OK : BRIM_NOMEM(err);
}

/* ---- what lies apart -------------------------------------------------------------------------------------- */

enum { BINS = 40 };

/* Values of points with this label, in bins from the least to the greatest of all. */
static void put_side(brim_page *page, const brim_judged *j, double label, double least, double most, const char *title) {
  uint64_t counts[BINS] = {0}, all = 0;
  const double width = (most - least) / BINS;
  char description[120];
  for (size_t i = 0; i < j->points; i++) {
    if (j->labels[i] != label)
      continue;
    const int bin = (int)((j->values[i] - least) / width);
    counts[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    all++;
  }
  if (all == 0)
    return;
  snprintf(description, sizeof description, "Number of rows, of %llu that were looked at.", (unsigned long long)all);
  brim_page_histogram(page, (brim_caption){title, description},
                      &(brim_bins){least, width, false, counts, BINS, j->near_count ? "similarity" : "score", "rows"});
}

static void put_apart(brim_page *page, const brim_judged *j) {
  const bool vectors = j->near_count > 0; /* which scores have not */
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (size_t i = 0; i < j->points; i++)
    least = fmin(least, j->values[i]), most = fmax(most, j->values[i]);
  if (!(most > least))
    return;
  put_side(page, j, 1, least, most, vectors ? "Similarities of what belongs together" : "Scores of what is relevant");
  put_side(page, j, 0, least, most,
           vectors ? "Similarities of what does not, the best of each row" : "Scores of what is not, the best of each row");
}

/* The texts that are most like those of a few rows. */
static void put_near(brim_page *page, const brim_judged *j, const char *of) {
  char title[512], caption[CAPTION_SIZE];
  if (j->near_count == 0)
    return;
  snprintf(title, sizeof title, "Nearest neighbours%s%s", *of ? ": " : "", of);
  brim_page_section(page, title);
  brim_page_text(page, "A few rows, and the rows whose second texts are most like the first text of each.");
  for (int i = 0; i < j->near_count; i++) {
    const brim_near_row *n = &j->near[i];
    if (i == 0 || n->row != n[-1].row) {
      snprintf(caption, sizeof caption, "row %llu", (unsigned long long)n->row);
      brim_page_passage(page, caption, n->text ? n->text : missing, n->text ? n->length : strlen(missing));
    }
    snprintf(caption, sizeof caption, "similarity %.4f: %srow %llu", n->similarity, n->other == n->row ? "its own, " : "",
             (unsigned long long)n->other);
    brim_page_passage(page, caption, n->other_text ? n->other_text : missing, n->other_text ? n->other_length : strlen(missing));
  }
}

/* ---- the most wrong --------------------------------------------------------------------------------------- */

static void put_wrong(brim_page *page, const brim_wrong_row *w) {
  char caption[CAPTION_SIZE];
  char where[160] = "";
  if (w->word >= 0)
    snprintf(where, sizeof where, w->word_text[0] ? ", word %d, %s" : ", token %d%s", (int)w->word, w->word_text);
  int used = snprintf(caption, sizeof caption, "row %llu%s: label %s, predicted %s", (unsigned long long)w->row, where, w->label,
                      w->predicted);
  if (isfinite(w->score) && isfinite(w->label_score) && used > 0 && (size_t)used < sizeof caption)
    snprintf(caption + used, sizeof caption - (size_t)used, " with %.1f %% (the label has %.2g %%)", 100 * w->score,
             100 * w->label_score);
  brim_page_passage(page, caption, w->text ? w->text : missing, w->text ? w->length : strlen(missing));
}

static void put_most_wrong(brim_page *page, const brim_judged *j, const char *title) {
  const bool words = j->wrong_count > 0 && j->wrong[0].word >= 0;
  brim_page_section(page, title);
  brim_page_text(page, words ? "The words with the largest loss, most wrong first. A label that is itself wrong shows here too."
                       : j->wrong_count
                           ? "The rows with the largest loss, most wrong first. A label that is itself wrong shows here too."
                           : "Nothing was wrong.");
  for (int i = 0; i < j->wrong_count; i++)
    put_wrong(page, &j->wrong[i]);
}

static void put_metrics(brim_page *page, const brim_judged *j) {
  brim_field fields[BRIM_METRIC_FIELDS];
  char text[1 + BRIM_METRIC_FIELDS][32];
  const char *names[1 + BRIM_METRIC_FIELDS] = {"rows"}, *shown[1 + BRIM_METRIC_FIELDS] = {text[0]};
  brim_count_text((int64_t)j->rows, text[0], sizeof text[0]);
  const int count = brim_metrics_fields(j->task, &(brim_metrics){0}, fields);
  for (int i = 0; i < count; i++) {
    names[i + 1] = fields[i].name;
    shown[i + 1] = isfinite(j->metrics[i]) ? brim_metric_text(j->metrics[i], text[i + 1]) : "-";
  }
  brim_page_figures(page, names, shown, count + 1);
}

/* ---- sets ------------------------------------------------------------------------------------------------- */

int brim_page_judged(brim_page *page, const brim_judged *j, const char *of, bool texts, brim_error *err) {
  BRIM_GIVEN_AS(err, "page, judged, of", page, j, of);
  char title[512];
  snprintf(title, sizeof title, "Predictions%s%s", *of ? ": " : "", of);
  brim_page_section(page, title);
  put_metrics(page, j);
  if (j->apart)
    put_apart(page, j);
  else
    BRIM_TRY((j->names ? put_classes : put_values)(page, j, err));
  snprintf(title, sizeof title, "Most wrong%s%s", *of ? ": " : "", of);
  if (texts)
    put_most_wrong(page, j, title), put_near(page, j, of);
  return BRIM_OK;
}

static bool has_metrics(const brim_event_log *log, size_t at, const brim_judged *j) {
  brim_field fields[BRIM_METRIC_FIELDS];
  const int count = brim_metrics_fields(j->task, &(brim_metrics){0}, fields);
  bool same = true;
  for (int i = 0; i < count; i++) {
    const double *values = brim_event_log_numbers(log, "eval", fields[i].name);
    const double value = values ? values[at] : (double)NAN;
    same = same && (value == j->metrics[i] || (isnan(value) && isnan(j->metrics[i])));
  }
  return same;
}

/* Whether the log has the evaluation: a file of an earlier run in the same folder is not this one's. */
static bool is_of_run(const brim_event_log *log, const brim_judged *j) {
  const double *steps = brim_event_log_numbers(log, "eval", "step");
  for (size_t i = 0; steps && i < brim_event_log_count(log, "eval"); i++) {
    const char *name = brim_event_log_text(log, "eval", i, "name");
    if (name && strcmp(name, j->name) == 0 && steps[i] == (double)j->step && has_metrics(log, i, j))
      return true;
  }
  return false;
}

static int put_run(brim_page *page, const brim_runs *runs, int run, bool *any, brim_error *err) {
  brim_judged *sets;
  int count, texts = 0, status = brim_judged_read(page->runtime, runs->names[run], &sets, &count, err);
  for (int i = 0; !status && i < count; i++) {
    char of[400];
    if (!is_of_run(runs->logs[run], &sets[i]))
      continue;
    if (runs->count > 1)
      snprintf(of, sizeof of, "%.300s, %s", runs->names[run], sets[i].name);
    else
      snprintf(of, sizeof of, "%s", sets[i].name);
    status = brim_page_judged(page, &sets[i], of, runs->count == 1 && texts++ < MOST_SETS_WITH_TEXTS, err);
    *any = true;
  }
  brim_judged_free_all(page->runtime, sets, count);
  return status;
}

int brim_page_kept(brim_page *page, const brim_runs *runs, brim_error *err) {
  BRIM_GIVEN(err, page, runs);
  bool any = false, evaluated = false;
  int status = BRIM_OK;
  for (int i = 0; i < runs->count && !status; i++) {
    status = put_run(page, runs, i, &any, err);
    evaluated = evaluated || brim_event_log_count(runs->logs[i], "eval");
  }
  if (status || any)
    return status;
  brim_page_section(page, "Predictions");
  brim_page_text(page, evaluated
                           ? "No predictions were kept of these evaluations: a run keeps them when it ends or is interrupted. "
                             "`brim report RUN --data FILE` makes them again."
                           : "There was no evaluation: `brim train --eval FILE` has one after each epoch, and "
                             "`brim report RUN --data FILE` shows what the model makes of labelled rows.");
  return BRIM_OK;
}
