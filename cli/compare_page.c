#include "compare_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODES = 16 };

static double number_of(const brim_event *event, const char *name) {
  const brim_field *field = brim_event_field(event, name);
  if (!field || (field->kind != BRIM_VALUE_REAL && field->kind != BRIM_VALUE_INT))
    return (double)NAN;
  return field->kind == BRIM_VALUE_REAL ? field->real : (double)field->integer;
}

static bool grow(double **values, size_t room) {
  double *grown = realloc(*values, room * sizeof *grown);
  *values = grown ? grown : *values;
  return grown != NULL;
}

int cli_mode_curve_add(cli_call *cli, cli_mode_curve *curve, const brim_event *event) {
  if (strcmp(event->kind, "start") == 0)
    curve->memory = number_of(event, "memory_planned");
  if (strcmp(event->kind, "step") != 0)
    return BRIM_OK;
  if (curve->count == curve->room) {
    curve->room = curve->room ? 2 * curve->room : 256;
    if (!grow(&curve->samples, curve->room) || !grow(&curve->seconds, curve->room) || !grow(&curve->loss, curve->room))
      return cli_no_memory(cli, "the curves");
  }
  const double before = curve->count ? curve->samples[curve->count - 1] : 0;
  curve->samples[curve->count] = before + number_of(event, "rows");
  curve->seconds[curve->count] = number_of(event, "seconds");
  curve->loss[curve->count++] = number_of(event, "loss");
  return BRIM_OK;
}

void cli_mode_curve_free(cli_mode_curve *curve) {
  free(curve->samples);
  free(curve->seconds);
  free(curve->loss);
  *curve = (cli_mode_curve){0};
}

static void put_loss(brim_page *page, const cli_comparison *c, bool over_time) {
  brim_series series[MOST_MODES];
  for (int i = 0; i < c->count; i++)
    series[i] = (brim_series){c->results[i].mode.name, over_time ? c->curves[i].seconds : c->curves[i].samples, c->curves[i].loss,
                              c->curves[i].count};
  const brim_chart chart = {.x = {over_time ? "seconds" : "samples", true, false},
                            .y = {"loss", false, false},
                            .series = series,
                            .series_count = c->count,
                            .smooth = true};
  brim_page_chart(page,
                  over_time ? (brim_caption){"Loss over seconds", "What each mode had learnt when."}
                            : (brim_caption){"Loss over samples", "Modes that learn the same lie on each other here."},
                  &chart);
}

/* One number of each mode as bars. */
static void put_bars(brim_page *page, const cli_comparison *c, brim_caption caption, const double *values, const char *format,
                     double scale) {
  const char *names[MOST_MODES], *labels[MOST_MODES];
  char text[MOST_MODES][32];
  bool known = true;
  for (int i = 0; i < c->count; i++) {
    known = known && isfinite(values[i]);
    snprintf(text[i], sizeof text[i], format, values[i] / scale);
    names[i] = c->results[i].mode.name, labels[i] = text[i];
  }
  if (known)
    brim_page_bars(page, caption,
                   &(brim_bars){.names = names, .labels = labels, .values = values, .count = c->count, .parts = 1});
}

static void put_slots(brim_page *page, const cli_comparison *c) {
  static const char *const parts[] = {"tokens", "padding"};
  const char *names[MOST_MODES], *labels[MOST_MODES];
  char text[MOST_MODES][32];
  double values[2 * MOST_MODES];
  for (int i = 0; i < c->count; i++) {
    const brim_mode_result *r = &c->results[i];
    values[2 * i] = (double)r->tokens, values[2 * i + 1] = (double)(r->slots - r->tokens);
    snprintf(text[i], sizeof text[i], "%.1f %% padding", 100 * r->padding_share);
    names[i] = r->mode.name, labels[i] = text[i];
  }
  brim_page_bars(page, (brim_caption){"What was computed", "Slots: those with a token, and those without."},
                 &(brim_bars){names, labels, values, c->count, parts, 2});
}

static void fill_page(brim_page *page, const cli_comparison *c) {
  double seconds[MOST_MODES], rate[MOST_MODES], memory[MOST_MODES], score[MOST_MODES];
  for (int i = 0; i < c->count; i++) {
    const brim_mode_result *r = &c->results[i];
    seconds[i] = r->seconds, rate[i] = r->tokens_per_second, memory[i] = c->curves[i].memory;
    score[i] = !r->evaluated ? (double)NAN : c->regression ? r->metrics.rmse : r->metrics.accuracy;
  }
  brim_page_text(page,
                 "Every mode began with identical weights, head and seed. Tokens/s counts real tokens; speed is against the "
                 "first mode.");
  brim_page_table(page, NULL, c->columns, c->column_count, c->cells, c->count);
  brim_page_section(page, "Side by side");
  put_bars(page, c, (brim_caption){"Seconds of training", "Fewer are better."}, seconds, "%.1f s", 1);
  put_bars(page, c, (brim_caption){"Tokens a second", "Real tokens, padding not counted."}, rate, "%.0f", 1);
  put_slots(page, c);
  put_bars(page, c, (brim_caption){"Memory", "Weights, gradients, moments and activations that training plans for."}, memory,
           "%.1f MiB", 1 << 20);
  put_bars(page, c, (brim_caption){c->regression ? "Root mean square error" : "Accuracy", "On the rows of --eval."}, score,
           "%.4f", 1);
  brim_page_section(page, "Loss");
  put_loss(page, c, false);
  put_loss(page, c, true);
}

int cli_write_compare_page(cli_call *cli, const cli_comparison *comparison) {
  brim_page *page = NULL;
  char title[512];
  snprintf(title, sizeof title, "The same job in %d ways: %s", comparison->count, cli->values->train.items[0]);
  int status = brim_page_new(cli->runtime, title, &page, &cli->error);
  if (!status) {
    fill_page(page, comparison);
    status = brim_page_write(page, cli->values->html, &cli->error);
  }
  if (!status)
    cli_note(cli, "the report is in %s", cli->values->html);
  brim_page_free(page);
  return status;
}
