/* compare_page.c: several ways of batching and padding side by side: the table and the pictures of a comparison. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "report/page.h"
#include "task/task.h"
#include "views/views.h"

/* ---- curves ----------------------------------------------------------------------------------------------- */

static double number_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  if (!field || (field->kind != BRIM_VALUE_REAL && field->kind != BRIM_VALUE_INT))
    return (double)NAN;
  return field->kind == BRIM_VALUE_REAL ? field->real : (double)field->integer;
}

int brim_mode_curve_add(brim_runtime *runtime, brim_mode_curve *curve, const brim_event *event, brim_error *err) {
  BRIM_GIVEN(err, runtime, curve, event);
  curve->runtime = runtime;
  if (strcmp(event->kind, "start") == 0)
    curve->memory = number_of(event, "memory_planned");
  if (strcmp(event->kind, "step") != 0)
    return BRIM_OK;
  double **const columns[] = {&curve->samples, &curve->seconds, &curve->loss};
  for (size_t i = 0; i < 3; i++)
    BRIM_TRY(brim_grow(runtime, (void **)columns[i], &curve->room[i], curve->count + 1, sizeof **columns[i], err));
  const double before = curve->count ? curve->samples[curve->count - 1] : 0;
  curve->samples[curve->count] = before + number_of(event, "rows");
  curve->seconds[curve->count] = number_of(event, "seconds");
  curve->loss[curve->count++] = number_of(event, "loss");
  return BRIM_OK;
}

void brim_mode_curve_free(brim_mode_curve *curve) {
  if (!curve || !curve->runtime)
    return;
  brim_release(curve->runtime, curve->samples);
  brim_release(curve->runtime, curve->seconds);
  brim_release(curve->runtime, curve->loss);
  *curve = (brim_mode_curve){0};
}

/* ---- the table -------------------------------------------------------------------------------------------- */

/* An interval is shown where it says more than the number: where it is wider than the difference, or of few rounds. */
void brim_speed_text(const brim_mode_result *results, int index, char *text, size_t size) {
  enum { FEW_ROUNDS = 5 };
  const brim_mode_result *r = &results[index];
  const double low = r->speed_low, high = r->speed_high, difference = fabs(r->speed - 1);
  char range[32];
  snprintf(range, sizeof range, " (%.2f–%.2f)", low, high);
  if (index == 0)
    snprintf(text, size, "1.00 x");
  else if (isnan(low))
    snprintf(text, size, "too few rounds");
  else if ((low > 1 || high < 1) && difference >= 0.005)
    snprintf(text, size, "%.2f x%s", r->speed, high - low > difference || r->round_count < FEW_ROUNDS ? range : "");
  else
    snprintf(text, size, "%s%s", low > 0.9 && high < 1.1 ? "about the same" : "not clear", range);
}

const char *brim_comparison_metric(brim_task task, brim_similarity own, const brim_mode_result *results, int count) {
  const char *const best = own == BRIM_SIMILARITY_COSINE ? brim_task_best_metric(task) : brim_similarity_metric(own);
  const char *const wanted[] = {"ndcg", "average_precision", best, "mrr", "accuracy"};
  if (count == 0 || !results[0].evaluated)
    return best;
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
    const brim_metric *metric = brim_metric_find(task, wanted[i]);
    if (metric && isfinite(brim_metric_value(metric, &results[0].metrics)))
      return wanted[i];
  }
  return best;
}

/* NaN: there was no evaluation. */
static double score_of(const brim_comparison *c, int i) {
  const brim_metric *metric = brim_metric_find(BRIM_TASK_AUTO, c->metric);
  if (!c->results[i].evaluated)
    return (double)NAN;
  return c->scores ? c->scores[i] : metric ? brim_metric_value(metric, &c->results[i].metrics) : (double)NAN;
}

void brim_comparison_table(const brim_comparison *c, brim_comparison_cells *t) {
  static const brim_column columns[BRIM_COMPARISON_COLUMNS] = {{"method", false}, {"seconds", true}, {"tokens/s", true},
                                                               {"slots", true},   {"padding", true}, {"memory", true},
                                                               {"speed", true},   {"loss", true},    {"accuracy", true}};
  memcpy(t->columns, columns, sizeof columns);
  t->columns[BRIM_COMPARISON_COLUMNS - 1].title = c->metric;
  for (int i = 0; i < c->count; i++) {
    const brim_mode_result *r = &c->results[i];
    char (*text)[48] = t->text[i], number[BRIM_METRIC_TEXT];
    snprintf(text[1], sizeof *text, "%.1f", r->seconds);
    brim_count_text((int64_t)r->tokens_per_second, text[2], sizeof *text);
    brim_count_text((int64_t)r->slots, text[3], sizeof *text);
    snprintf(text[4], sizeof *text, "%.1f %%", 100.0 * r->padding_share);
    snprintf(text[5], sizeof *text, "%.1f MiB", c->curves[i].memory / (1 << 20));
    brim_speed_text(c->results, i, text[6], sizeof *text);
    brim_metric_text(r->loss, text[7]);
    snprintf(text[8], sizeof *text, "%s", r->evaluated ? brim_metric_text(score_of(c, i), number) : "-");
    t->cells[i * BRIM_COMPARISON_COLUMNS] = r->mode.name;
    for (int j = 1; j < BRIM_COMPARISON_COLUMNS; j++)
      t->cells[i * BRIM_COMPARISON_COLUMNS + j] = text[j];
  }
}

/* ---- pictures --------------------------------------------------------------------------------------------- */

static void put_loss(brim_page *page, const brim_comparison *c, bool over_time) {
  brim_series series[BRIM_MOST_MODES];
  for (int i = 0; i < c->count; i++)
    series[i] = (brim_series){c->results[i].mode.name, over_time ? c->curves[i].seconds : c->curves[i].samples, c->curves[i].loss,
                              c->curves[i].count};
  const brim_chart chart = {.x = {over_time ? "seconds" : "samples", true, false},
                            .y = {"loss", false, false},
                            .series = series,
                            .series_count = c->count,
                            .smooth = true};
  brim_page_chart(page,
                  over_time ? (brim_caption){"Loss over seconds", "What each mode had learnt when, by the time of its turns."}
                            : (brim_caption){"Loss over samples", "Modes that learn the same lie on each other here."},
                  &chart);
}

/* One number of each mode as bars; `format` NULL: a metric. */
static void put_bars(brim_page *page, const brim_comparison *c, brim_caption caption, const double *values, const char *format,
                     double scale) {
  const char *names[BRIM_MOST_MODES], *labels[BRIM_MOST_MODES];
  char text[BRIM_MOST_MODES][32];
  bool known = true;
  for (int i = 0; i < c->count; i++) {
    known = known && isfinite(values[i]);
    if (format)
      snprintf(text[i], sizeof text[i], format, values[i] / scale);
    else
      brim_metric_text(values[i], text[i]);
    names[i] = c->results[i].mode.name, labels[i] = text[i];
  }
  if (known)
    brim_page_bars(page, caption,
                   &(brim_bars){.names = names, .labels = labels, .values = values, .count = c->count, .parts = 1});
}

static void put_slots(brim_page *page, const brim_comparison *c) {
  static const char *const parts[] = {"tokens", "padding"};
  const char *names[BRIM_MOST_MODES], *labels[BRIM_MOST_MODES];
  char text[BRIM_MOST_MODES][32];
  double values[2 * BRIM_MOST_MODES];
  for (int i = 0; i < c->count; i++) {
    const brim_mode_result *r = &c->results[i];
    values[2 * i] = (double)r->tokens, values[2 * i + 1] = (double)(r->slots - r->tokens);
    snprintf(text[i], sizeof text[i], "%.1f %% padding", 100 * r->padding_share);
    names[i] = r->mode.name, labels[i] = text[i];
  }
  brim_page_bars(page, (brim_caption){"What was computed", "Slots: those with a token, and those without."},
                 &(brim_bars){names, labels, values, c->count, parts, 2});
}

static const char *metric_title(const char *metric) {
  return strcmp(metric, "rmse") == 0 ? "Root mean square error" : strcmp(metric, "accuracy") == 0 ? "Accuracy" : metric;
}

int brim_page_comparison(brim_page *page, const brim_comparison *c, brim_error *err) {
  BRIM_GIVEN_AS(err, "page, comparison", page, c);
  double seconds[BRIM_MOST_MODES], rate[BRIM_MOST_MODES], memory[BRIM_MOST_MODES], score[BRIM_MOST_MODES];
  for (int i = 0; i < c->count; i++) {
    const brim_mode_result *r = &c->results[i];
    seconds[i] = r->seconds, rate[i] = r->tokens_per_second, memory[i] = c->curves[i].memory;
    score[i] = score_of(c, i);
  }
  brim_comparison_cells *table = brim_alloc(page->runtime, sizeof *table);
  if (!table)
    return BRIM_NOMEM(err);
  brim_comparison_table(c, table);
  brim_page_text(
      page, "Every mode began with identical weights, head and seed, and they took turns. Tokens/s counts real tokens; speed "
            "is against the first mode: the median of the rounds, and where it says more the range that they agree on. "
            "Seconds and tokens/s follow from it.");
  brim_page_table(page, NULL, table->columns, BRIM_COMPARISON_COLUMNS, table->cells, c->count);
  brim_release(page->runtime, table);
  brim_page_section(page, "Side by side");
  put_bars(page, c, (brim_caption){"Seconds of training", "At the pace of the median round. Fewer are better."}, seconds,
           "%.1f s", 1);
  put_bars(page, c, (brim_caption){"Tokens a second", "Real tokens, padding not counted."}, rate, "%.0f", 1);
  put_slots(page, c);
  put_bars(page, c, (brim_caption){"Memory", "Weights, gradients, moments and activations that training plans for."}, memory,
           "%.1f MiB", 1 << 20);
  put_bars(page, c, (brim_caption){metric_title(c->metric), "On the rows of --eval."}, score, NULL, 1);
  brim_page_section(page, "Loss");
  put_loss(page, c, false);
  put_loss(page, c, true);
  return BRIM_OK;
}
