/* run_page.c: what runs did, as a page: from their logs. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/status.h"
#include "report/event_log.h"
#include "report/page.h"
#include "views/views.h"

/* A run is on a page once, whatever it is named. */
static int refuse_again(const char *const *folders, int i, brim_error *err) {
  struct stat own, other;
  for (int k = 0; k < i && stat(folders[i], &own) == 0; k++)
    if (stat(folders[k], &other) == 0 && own.st_dev == other.st_dev && own.st_ino == other.st_ino)
      return brim_error_set(err, BRIM_E_USAGE, "the run %s is given twice (also as %s): leave one out", folders[i], folders[k]);
  return BRIM_OK;
}

int brim_runs_open(brim_runtime *runtime, const char *const *folders, int count, brim_runs *runs, brim_error *err) {
  BRIM_GIVEN(err, runtime, runs);
  BRIM_STRINGS(err, folders, count);
  char path[4096];
  if (count < 1 || count > BRIM_MOST_RUNS)
    return brim_error_set(err, BRIM_E_USAGE, "%d runs: at least one is needed, and at most %d fit a report", count,
                          (int)BRIM_MOST_RUNS);
  for (int i = 0; i < count; i++) {
    if ((size_t)snprintf(path, sizeof path, "%s/log.jsonl", folders[i]) >= sizeof path)
      return brim_error_set(err, BRIM_E_USAGE, "the name of a run is too long");
    BRIM_TRY(refuse_again(folders, i, err));
    BRIM_TRY(brim_event_log_read(runtime, path, &runs->logs[i], err));
    runs->names[i] = folders[i];
    runs->count++;
    if (brim_event_log_count(runs->logs[i], "folds"))
      return brim_error_at(err, BRIM_E_USAGE, path, 0, -1,
                           "this is a run in folds, whose page is its report.html; name folds: %s/fold-0 ..", folders[i]);
    if (!brim_event_log_count(runs->logs[i], "step"))
      return brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1, "there is no step in it: the run has not begun");
  }
  return BRIM_OK;
}

void brim_runs_close(brim_runs *runs) {
  for (int i = 0; runs && i < runs->count; i++)
    brim_event_log_free(runs->logs[i]);
  if (runs)
    runs->count = 0;
}

/* ---- key figures ------------------------------------------------------------------------------------------ */

enum { MOST_FIGURES = 8 };

static double last_of(const brim_event_log *log, const char *kind, const char *field) {
  const double *values = brim_event_log_numbers(log, kind, field);
  const size_t count = brim_event_log_count(log, kind);
  return values && count ? values[count - 1] : (double)NAN;
}

static double sum_of(const brim_event_log *log, const char *field) {
  const double *values = brim_event_log_numbers(log, "step", field);
  double sum = 0;
  for (size_t i = 0; values && i < brim_event_log_count(log, "step"); i++)
    sum += isfinite(values[i]) ? values[i] : 0;
  return sum;
}

static void put_figures(brim_page *page, const brim_event_log *log) {
  char text[MOST_FIGURES][48], best_name[160];
  const char *names[MOST_FIGURES], *values[MOST_FIGURES];
  const double tokens = sum_of(log, "tokens"), slots = sum_of(log, "slots"), seconds = last_of(log, "step", "seconds");
  const double loss = last_of(log, "epoch", "loss"), best = last_of(log, "end", "best_metric");
  int count = 0;
  names[count] = "steps";
  brim_count_text((int64_t)last_of(log, "step", "step"), text[count++], sizeof text[0]);
  names[count] = "rows";
  brim_count_text((int64_t)sum_of(log, "rows"), text[count++], sizeof text[0]);
  names[count] = "time";
  brim_duration_text(seconds, text[count++], sizeof text[0]);
  names[count] = "tokens/s";
  brim_count_text((int64_t)(seconds > 0 ? tokens / seconds : 0), text[count++], sizeof text[0]);
  names[count] = "padding computed";
  snprintf(text[count++], sizeof text[0], "%.1f %%", slots > 0 ? 100 * (1 - tokens / slots) : 0.0);
  names[count] = isfinite(loss) ? "loss of the last epoch" : "loss of the last step";
  brim_metric_text(isfinite(loss) ? loss : last_of(log, "step", "loss"), text[count++]);
  if (isfinite(best)) {
    const char *metric = brim_event_log_text(log, "start", 0, "options.best_metric");
    snprintf(best_name, sizeof best_name, "best %s, step %.0f", metric ? metric : "evaluation", last_of(log, "end", "best_step"));
    names[count] = best_name;
    brim_metric_text(best, text[count++]);
  }
  for (int i = 0; i < count; i++)
    values[i] = text[i];
  brim_page_figures(page, names, values, count);
}

/* ---- sets that were evaluated ------------------------------------------------------------------------------ */

enum { MOST_SETS = 32, MOST_METRICS = 16 };

static const char *set_name(const brim_event_log *log, size_t index) {
  const char *name = brim_event_log_text(log, "eval", index, "name");
  return name ? name : "eval";
}

static bool is_metric(const brim_event_log *log, const char *field) {
  static const char *const others[] = {"step", "epoch", "rows", "tokens", "slots", "seconds", "averaged"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(field, others[i]) == 0)
      return false;
  return isfinite(last_of(log, "eval", field));
}

/* Evaluations of one set by one run. */
typedef struct eval_set {
  const brim_event_log *log;
  const char *set;
  char name[320]; /* with the run's, where there are several runs */
  double *x, *y;  /* room for all evaluations of the run */
} eval_set;

static int find_sets(const brim_runs *runs, eval_set *sets) {
  int used = 0;
  for (int r = 0; r < runs->count; r++)
    for (size_t i = 0, first = (size_t)used; i < brim_event_log_count(runs->logs[r], "eval"); i++) {
      const char *name = set_name(runs->logs[r], i);
      size_t at = first;
      while (at < (size_t)used && strcmp(sets[at].set, name) != 0)
        at++;
      if (at < (size_t)used || used == MOST_SETS)
        continue;
      sets[used] = (eval_set){.log = runs->logs[r], .set = name};
      if (runs->count > 1)
        snprintf(sets[used].name, sizeof sets->name, "%s: %s", runs->names[r], name);
      else
        snprintf(sets[used].name, sizeof sets->name, "%s", name);
      used++;
    }
  return used;
}

static brim_series eval_series(eval_set *set, const char *field) {
  const double *steps = brim_event_log_numbers(set->log, "eval", "step"),
               *values = brim_event_log_numbers(set->log, "eval", field);
  size_t count = 0;
  for (size_t i = 0; steps && values && i < brim_event_log_count(set->log, "eval"); i++)
    if (strcmp(set_name(set->log, i), set->set) == 0)
      set->x[count] = steps[i], set->y[count++] = values[i];
  return (brim_series){set->name, set->x, set->y, count};
}

/* All sets of all runs, with room for the evaluations of each. */
typedef struct eval_sets {
  eval_set *items;
  int count;
} eval_sets;

static void close_sets(brim_runtime *runtime, eval_sets *sets) {
  for (int i = 0; i < sets->count; i++) {
    brim_release(runtime, sets->items[i].x);
    brim_release(runtime, sets->items[i].y);
  }
  brim_release(runtime, sets->items);
}

static int open_sets(brim_runtime *runtime, const brim_runs *runs, eval_sets *sets, brim_error *err) {
  sets->items = brim_alloc_array_zero(runtime, MOST_SETS, sizeof *sets->items);
  if (!sets->items)
    return BRIM_NOMEM(err);
  sets->count = find_sets(runs, sets->items);
  for (int i = 0; i < sets->count; i++) {
    eval_set *set = &sets->items[i];
    const size_t all = brim_event_log_count(set->log, "eval");
    set->x = brim_alloc_array(runtime, all, sizeof *set->x);
    set->y = brim_alloc_array(runtime, all, sizeof *set->y);
    if (!set->x || !set->y)
      return BRIM_NOMEM(err);
  }
  return BRIM_OK;
}

/* ---- curves of training ----------------------------------------------------------------------------------- */

/* Numbers of steps that are not in the log as they are. */
typedef struct derived {
  double *rate, *padding; /* [steps] real tokens a second since the step before; share of slots without a token */
} derived;

static bool derive(brim_runtime *runtime, const brim_event_log *log, derived *out) {
  const size_t count = brim_event_log_count(log, "step");
  const double *tokens = brim_event_log_numbers(log, "step", "tokens"), *slots = brim_event_log_numbers(log, "step", "slots"),
               *seconds = brim_event_log_numbers(log, "step", "seconds");
  out->rate = brim_alloc_array(runtime, count, sizeof *out->rate);
  out->padding = brim_alloc_array(runtime, count, sizeof *out->padding);
  for (size_t i = 0; out->rate && out->padding && i < count; i++) {
    const double passed = seconds ? seconds[i] - (i ? seconds[i - 1] : 0) : 0;
    out->rate[i] = tokens && passed > 0 ? tokens[i] / passed : (double)NAN;
    out->padding[i] = tokens && slots && slots[i] > 0 ? 100 * (1 - tokens[i] / slots[i]) : (double)NAN;
  }
  return out->rate && out->padding;
}

typedef enum curve_source { FROM_LOG, FROM_RATE, FROM_PADDING } curve_source;

static const struct curve {
  const char *title, *description, *x, *field, *y_title;
  curve_source source;
  bool smooth, zero;
} curves[] = {
    {"Loss", "Mean loss of the rows of each step, its running mean, and the loss of each evaluation.", "step", "loss", "loss",
     FROM_LOG, true, false},
    {"Loss over time", "That of training over the seconds since the run began.", "seconds", "loss", "loss", FROM_LOG, true,
     false},
    {"Learning rate", "Learning rate of each step.", "step", "lr", "learning rate", FROM_LOG, false, true},
    {"Norm of the gradient", "Before clipping, and its running mean.", "step", "grad_norm", "norm", FROM_LOG, true, true},
    {"Throughput", "Real tokens a second, evaluations and checkpoints included.", "step", "", "tokens/s", FROM_RATE, true, true},
    {"Padding", "Share of what was computed that carried no text.", "step", "", "percent of slots", FROM_PADDING, true, true},
    {"Memory", "Largest resident memory of the process so far.", "step", "memory_peak", "bytes", FROM_LOG, false, true},
};

static void put_curve(brim_page *page, const brim_runs *runs, const eval_sets *sets, const derived *computed,
                      const struct curve *curve) {
  brim_series series[BRIM_MOST_RUNS + MOST_SETS];
  const bool beside = strcmp(curve->field, "loss") == 0 && strcmp(curve->x, "step") == 0; /* what evaluations have too */
  int used = 0;
  for (int i = 0; i < runs->count; i++) {
    const double *x = brim_event_log_numbers(runs->logs[i], "step", curve->x);
    const double *y = curve->source == FROM_RATE      ? computed[i].rate
                      : curve->source == FROM_PADDING ? computed[i].padding
                                                      : brim_event_log_numbers(runs->logs[i], "step", curve->field);
    if (x && y)
      series[used++] = (brim_series){runs->count > 1 ? runs->names[i] : "training", x, y,
                                     brim_event_log_count(runs->logs[i], "step")};
  }
  if (!used)
    return;
  for (int i = 0; beside && i < sets->count; i++)
    series[used++] = eval_series(&sets->items[i], curve->field);
  const brim_chart chart = {.x = {.title = curve->x},
                            .y = {.title = curve->y_title, .zero = curve->zero},
                            .series = series,
                            .series_count = used,
                            .smooth = curve->smooth};
  brim_page_chart(page, (brim_caption){curve->title, curve->description}, &chart);
}

static int put_curves(brim_page *page, const brim_runs *runs, const eval_sets *sets, brim_error *err) {
  derived computed[BRIM_MOST_RUNS] = {0};
  bool room = true;
  for (int i = 0; i < runs->count && room; i++)
    room = derive(page->runtime, runs->logs[i], &computed[i]);
  brim_page_section(page, "Training");
  for (size_t i = 0; room && i < sizeof curves / sizeof *curves; i++)
    put_curve(page, runs, sets, computed, &curves[i]);
  for (int i = 0; i < runs->count; i++) {
    brim_release(page->runtime, computed[i].rate);
    brim_release(page->runtime, computed[i].padding);
  }
  return room ? BRIM_OK : BRIM_NOMEM(err);
}

/* ---- evaluations ------------------------------------------------------------------------------------------ */

/* What a metric can be at most: a share, a correlation, or anything. */
static brim_axis metric_axis(const char *field) {
  static const char *const shares[] = {"accuracy", "f1", "precision", "recall", "entity_"};
  static const char *const correlations[] = {"matthews", "pearson", "spearman"};
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    if (strncmp(field, shares[i], strlen(shares[i])) == 0)
      return (brim_axis){.title = field, .least = 0, .most = 1};
  for (size_t i = 0; i < sizeof correlations / sizeof *correlations; i++)
    if (strcmp(field, correlations[i]) == 0)
      return (brim_axis){.title = field, .least = -1, .most = 1};
  return (brim_axis){.title = field};
}

static void put_metric(brim_page *page, eval_set *sets, int count, const char *field) {
  brim_series series[MOST_SETS];
  size_t most = 0;
  for (int i = 0; i < count; i++) {
    series[i] = eval_series(&sets[i], field);
    most = series[i].count > most ? series[i].count : most;
  }
  if (most < 2) /* one evaluation is a number, which the table has */
    return;
  const brim_chart chart = {
      .x = {.title = "step", .zero = true}, .y = metric_axis(field), .series = series, .series_count = count};
  char title[160];
  snprintf(title, sizeof title, "Evaluation: %s", field);
  brim_page_chart(page, (brim_caption){title, "After each evaluation."}, &chart);
}

static void put_evaluation_table(brim_page *page, eval_set *sets, int count, const char *const *fields, int field_count) {
  brim_column columns[MOST_METRICS + 2] = {{"set", false}, {"step", true}};
  char text[MOST_SETS][MOST_METRICS + 1][32];
  const char *cells[MOST_SETS * (MOST_METRICS + 2)];
  const int width = field_count + 2;
  for (int i = 0; i < field_count; i++)
    columns[i + 2] = (brim_column){fields[i], true};
  for (int s = 0; s < count; s++) {
    cells[s * width] = sets[s].name;
    for (int i = -1; i < field_count; i++) {
      const brim_series series = eval_series(&sets[s], i < 0 ? "step" : fields[i]);
      const double value = series.count ? series.y[series.count - 1] : (double)NAN;
      if (isfinite(value) && i >= 0)
        brim_metric_text(value, text[s][i + 1]);
      else
        snprintf(text[s][i + 1], sizeof text[0][0], isfinite(value) ? "%.0f" : "-", value);
      cells[s * width + 2 + i] = text[s][i + 1];
    }
  }
  brim_page_table(page, "the last evaluation of each set", columns, width, cells, count);
}

/* ---- cosines ----------------------------------------------------------------------------------------------- */

/* Of one run and its first set: others would be one heap of lines. */
static int put_cosines(brim_page *page, const brim_event_log *log, brim_error *err) {
  static const struct {
    const char *field, *name;
  } lines[] = {{"positive", "together, median"},
               {"positive_low", "together, lower quartile"},
               {"negative", "not together, median"},
               {"negative_high", "not together, upper quartile"}};
  enum { LINES = sizeof lines / sizeof *lines };
  const size_t count = brim_event_log_count(log, "cosines");
  const double *steps = brim_event_log_numbers(log, "cosines", "step");
  const char *first = count ? brim_event_log_text(log, "cosines", 0, "name") : NULL;
  if (!first || !steps)
    return BRIM_OK;
  double *numbers = brim_alloc_array(page->runtime, count, (LINES + 1) * sizeof *numbers);
  brim_series series[LINES];
  size_t used = 0;
  if (!numbers)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++) {
    const char *name = brim_event_log_text(log, "cosines", i, "name");
    if (!name || strcmp(name, first) != 0)
      continue;
    numbers[used] = steps[i];
    for (size_t k = 0; k < LINES; k++) {
      const double *values = brim_event_log_numbers(log, "cosines", lines[k].field);
      numbers[(k + 1) * count + used] = values ? values[i] : (double)NAN;
    }
    used++;
  }
  for (size_t k = 0; k < LINES; k++)
    series[k] = (brim_series){lines[k].name, numbers, numbers + (k + 1) * count, used};
  if (used > 1)
    brim_page_chart(
        page, (brim_caption){"Similarities", "Of what belongs together, and of the best of the others, after each evaluation."},
        &(brim_chart){
            .x = {.title = "step", .zero = true}, .y = {.title = "similarity"}, .series = series, .series_count = LINES});
  brim_release(page->runtime, numbers);
  return BRIM_OK;
}

static int put_evaluations(brim_page *page, const eval_sets *sets, brim_error *err) {
  const char *fields[MOST_METRICS], *field;
  int used = 0;
  if (!sets->count)
    return BRIM_OK;
  for (size_t i = 0; used < MOST_METRICS && (field = brim_event_log_field(sets->items[0].log, "eval", i)) != NULL; i++)
    if (is_metric(sets->items[0].log, field))
      fields[used++] = field;
  brim_page_section(page, "Evaluation");
  put_evaluation_table(page, sets->items, sets->count, fields, used);
  for (int i = 0; i < used; i++)
    put_metric(page, sets->items, sets->count, fields[i]);
  return put_cosines(page, sets->items[0].log, err);
}

/* ---- options and environment ------------------------------------------------------------------------------ */

enum { MOST_OPTIONS = 256 };

/* The fields of the start event that begin with `prefix`, or, with "", those that are in no object. */
static bool belongs(const char *field, const char *prefix) {
  return *prefix ? strncmp(field, prefix, strlen(prefix)) == 0 : strchr(field, '.') == NULL;
}

static void option_text(const brim_event_log *log, const char *field, char *text, size_t size) {
  const double *numbers = brim_event_log_numbers(log, "start", field);
  const char *string = brim_event_log_text(log, "start", 0, field);
  if (string)
    snprintf(text, size, "%s", string);
  else if (numbers && isfinite(numbers[0]))
    snprintf(text, size, "%.9g", numbers[0]);
  else
    snprintf(text, size, "-");
}

/* Where the fields of all runs' starts are read, each once. */
typedef struct place {
  int run;
  size_t field;
} place;

static bool has_field(const brim_event_log *log, const char *name) {
  const char *field;
  for (size_t i = 0; (field = brim_event_log_field(log, "start", i)) != NULL; i++)
    if (strcmp(field, name) == 0)
      return true;
  return false;
}

/* The next field that no run before has; NULL at the end. */
static const char *next_field(const brim_runs *runs, place *at) {
  for (; at->run < runs->count; at->run++, at->field = 0)
    for (const char *field; (field = brim_event_log_field(runs->logs[at->run], "start", at->field)) != NULL;) {
      bool known = false;
      at->field++;
      for (int r = 0; r < at->run && !known; r++)
        known = has_field(runs->logs[r], field);
      if (!known)
        return field;
    }
  return NULL;
}

static bool all_alike(const char *const *cells, int count) {
  for (int i = 1; i < count; i++)
    if (strcmp(cells[i], cells[0]) != 0)
      return false;
  return true;
}

static int put_settings(brim_page *page, const brim_runs *runs, const char *caption, const char *prefix, brim_error *err) {
  brim_column columns[BRIM_MOST_RUNS + 2] = {{"name", false}};
  const bool several = runs->count > 1;
  const int width = runs->count + 1 + several;
  const char *field, *cells[MOST_OPTIONS * 2];
  int rows = 0;
  for (int r = 0; r < runs->count; r++)
    columns[r + 1] = (brim_column){several ? runs->names[r] : "value", false};
  columns[runs->count + 1] = (brim_column){"differs", false};
  char (*text)[256] = brim_alloc_array_zero(page->runtime, MOST_OPTIONS * 2, sizeof *text);
  if (!text)
    return BRIM_NOMEM(err);
  for (place at = {0, 0}; (rows + 1) * width <= MOST_OPTIONS * 2 && (field = next_field(runs, &at));) {
    if (!belongs(field, prefix))
      continue;
    cells[rows * width] = field + strlen(prefix);
    for (int r = 0; r < runs->count; r++) {
      option_text(runs->logs[r], field, text[rows * width + r + 1], sizeof *text);
      cells[rows * width + r + 1] = text[rows * width + r + 1];
    }
    if (several)
      cells[rows * width + width - 1] = all_alike(cells + rows * width + 1, runs->count) ? "" : "differs";
    rows++;
  }
  if (rows)
    brim_page_table(page, caption, columns, width, cells, rows);
  brim_release(page->runtime, text);
  return BRIM_OK;
}

/* ---- in order --------------------------------------------------------------------------------------------- */

int brim_page_runs(brim_page *page, const brim_runs *runs, brim_error *err) {
  BRIM_GIVEN(err, page, runs);
  for (int i = 0; i < runs->count; i++) {
    const char *failure = brim_event_log_text(runs->logs[i], "end", brim_event_log_count(runs->logs[i], "end") - 1, "failure");
    if (runs->count > 1)
      brim_page_section(page, runs->names[i]);
    put_figures(page, runs->logs[i]);
    if (failure)
      brim_page_advice(page, failure);
  }
  eval_sets sets = {0};
  int status = open_sets(page->runtime, runs, &sets, err);
  if (!status)
    status = put_curves(page, runs, &sets, err);
  if (!status)
    status = put_evaluations(page, &sets, err);
  close_sets(page->runtime, &sets);
  return status;
}

int brim_page_settings(brim_page *page, const brim_runs *runs, brim_error *err) {
  BRIM_GIVEN(err, page, runs);
  brim_page_section(page, "Options and environment");
  BRIM_TRY(put_settings(page, runs, "what was given", "given.", err));
  BRIM_TRY(put_settings(page, runs, "what training used", "options.", err));
  return put_settings(page, runs, "model, data and machine", "", err);
}

static int write_report(brim_runtime *runtime, const brim_runs *runs, const char *folder, brim_error *err) {
  char path[4096];
  brim_page *page;
  snprintf(path, sizeof path, "%s/report.html", folder);
  BRIM_TRY(brim_page_new(runtime, folder, &page, err));
  int status = brim_page_runs(page, runs, err);
  if (!status)
    status = brim_page_kept(page, runs, err);
  if (!status)
    status = brim_page_settings(page, runs, err);
  if (!status)
    status = brim_page_write_own(page, path, err);
  brim_page_free(page);
  return status;
}

int brim_report_write(brim_runtime *runtime, const char *const *folders, int count, const char *folder, brim_error *err) {
  BRIM_GIVEN(err, runtime, folder);
  BRIM_STRINGS(err, folders, count);
  brim_runs runs = {0};
  int status = brim_runs_open(runtime, folders, count, &runs, err);
  if (!status)
    status = write_report(runtime, &runs, folder, err);
  brim_runs_close(&runs);
  return status;
}
