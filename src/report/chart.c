/* chart.c: lines and points. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "report/downsample.h"
#include "report/page.h"
#include "report/scale.h"

enum {
  FEW = 24,           /* so many points of a line are marked one by one */
  LINE_COLUMNS = 300, /* about the width of the plot: one for each unit */
  DOT = 2,            /* points are two when they are so far from each other */
  DOTS_ACROSS = (PLOT_RIGHT - PLOT_LEFT) / DOT + 1,
  DOTS_DOWN = (PLOT_BOTTOM - PLOT_TOP) / DOT + 1,
  LEAST_SMOOTHED = 50
};

static const double LEAST_SPREAD = 5e-4; /* relative: five digits distinguish the ticks */

typedef struct range {
  double low, high;
  bool any;
} range;

static void widen(range *r, double value) {
  r->low = r->any ? fmin(r->low, value) : value;
  r->high = r->any ? fmax(r->high, value) : value;
  r->any = true;
}

static bool drawable(const brim_axis *axis, double value) {
  return isfinite(value) && (!axis->log || value > 0);
}

static void find_ranges(const brim_chart *chart, range *x, range *y) {
  for (int s = 0; s < chart->series_count; s++)
    for (size_t i = 0; i < chart->series[s].count; i++) {
      const double px = chart->series[s].x[i], py = chart->series[s].y[i];
      if (drawable(&chart->x, px) && drawable(&chart->y, py))
        widen(x, px), widen(y, py);
    }
  if (chart->x.zero && !chart->x.log)
    widen(x, 0);
  if (chart->y.zero && !chart->y.log)
    widen(y, 0);
  /* What differs by less than its axis could show is drawn as one value. */
  if (!chart->y.log && y->high - y->low < LEAST_SPREAD * fmax(fabs(y->low), fabs(y->high)))
    y->low = y->high = (y->low + y->high) / 2;
  if (chart->diagonal && x->any) {
    const range both = {fmin(x->low, y->low), fmax(x->high, y->high), true};
    *x = *y = both;
  }
}

static void put_line(brim_text *out, const brim_scale *x, const brim_scale *y, const double *px, const double *py, size_t count,
                     size_t *kept, const char *class, int color) {
  const size_t used = brim_downsample(px, py, count, x->low, x->high, LINE_COLUMNS, kept);
  brim_text_printf(out, "<path class=\"l c%d%s\" d=\"", color, class);
  bool begun = false;
  for (size_t i = 0; i < used; i++)
    if (brim_scale_holds(y, py[kept[i]]) && brim_scale_holds(x, px[kept[i]])) {
      brim_text_printf(out, "%s%.1f %.1f", begun ? " " : "M", brim_scale_at(x, px[kept[i]]), brim_scale_at(y, py[kept[i]]));
      begun = true;
    }
  brim_text_string(out, "\"/>\n");
}

static void put_dots(brim_text *out, const brim_scale *x, const brim_scale *y, const brim_series *series, int color) {
  bool taken[DOTS_ACROSS * DOTS_DOWN] = {0};
  brim_text_printf(out, "<path class=\"dots c%d\" d=\"", color);
  for (size_t i = 0; i < series->count; i++) {
    if (!brim_scale_holds(x, series->x[i]) || !brim_scale_holds(y, series->y[i]))
      continue;
    const int across = (int)lround(brim_scale_at(x, series->x[i]) - PLOT_LEFT) / DOT;
    const int down = (int)lround(brim_scale_at(y, series->y[i]) - PLOT_TOP) / DOT;
    const bool inside = across >= 0 && across < DOTS_ACROSS && down >= 0 && down < DOTS_DOWN;
    if (!inside || taken[across * DOTS_DOWN + down])
      continue;
    taken[across * DOTS_DOWN + down] = true;
    brim_text_printf(out, "M%d %dh0", PLOT_LEFT + across * DOT, PLOT_TOP + down * DOT);
  }
  brim_text_string(out, "\"/>\n");
}

/* An axis within what its values can be: rounding its ends may not lead out of it. */
static brim_scale bounded(const brim_axis *axis, const range *r, bool round_ends, int wanted, double from, double to) {
  const double none = (double)NAN;
  range in = *r;
  if (in.any && axis->least < axis->most && in.low == in.high) /* one value: the whole axis says how much it is */
    in.low = axis->least, in.high = axis->most;
  brim_scale scale = brim_scale_make(in.any ? in.low : none, in.any ? in.high : none, axis->log, round_ends, wanted, from, to);
  if (axis->least < axis->most)
    brim_scale_bound(&scale, axis->least, axis->most);
  return scale;
}

/* Lines of all series, the smooth ones over what they smooth. False: no memory. */
static bool put_lines(brim_page *page, const brim_chart *chart, const brim_scale *x, const brim_scale *y) {
  size_t longest = 1;
  for (int s = 0; s < chart->series_count; s++)
    longest = chart->series[s].count > longest ? chart->series[s].count : longest;
  size_t *kept = brim_alloc_array(page->runtime, 4 * LINE_COLUMNS, sizeof *kept);
  double *mean = chart->smooth ? brim_alloc_array(page->runtime, longest, sizeof *mean) : NULL;
  const bool room = kept && (mean || !chart->smooth);
  for (int s = 0; room && s < chart->series_count; s++) {
    const brim_series *series = &chart->series[s];
    const bool smooth = chart->smooth && series->count >= LEAST_SMOOTHED;
    const int color = brim_picture_color(s);
    put_line(&page->out, x, y, series->x, series->y, series->count, kept, smooth ? " faint" : "", color);
    if (series->count <= FEW)
      put_dots(&page->out, x, y, series, color);
    if (smooth) {
      brim_running_mean(series->y, series->count, (double)series->count / 50, mean);
      put_line(&page->out, x, y, series->x, mean, series->count, kept, "", color);
    }
  }
  brim_release(page->runtime, mean);
  brim_release(page->runtime, kept);
  return room;
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

enum { NUMBER_COLUMNS = 6, NUMBER_ROWS = 64 };

typedef struct summary {
  size_t points;
  double first, least, greatest, last;
} summary;

static summary summarize(const brim_series *series) {
  summary s = {0, (double)NAN, HUGE_VAL, -HUGE_VAL, (double)NAN};
  for (size_t i = 0; i < series->count; i++) {
    const double value = series->y[i];
    if (!isfinite(value) || !isfinite(series->x[i]))
      continue;
    s.first = s.points++ ? s.first : value;
    s.least = fmin(s.least, value), s.greatest = fmax(s.greatest, value);
    s.last = value;
  }
  return s;
}

static void put_numbers(brim_page *page, const brim_chart *chart) {
  static const brim_column columns[NUMBER_COLUMNS] = {{"series", false}, {"points", true},  {"first", true},
                                                      {"lowest", true},  {"highest", true}, {"last", true}};
  char text[NUMBER_ROWS][NUMBER_COLUMNS][32];
  const char *cells[NUMBER_ROWS * NUMBER_COLUMNS];
  const int rows = chart->series_count < NUMBER_ROWS ? chart->series_count : NUMBER_ROWS;
  for (int s = 0; s < rows; s++) {
    const summary sum = summarize(&chart->series[s]);
    const double values[] = {sum.first, sum.least, sum.greatest, sum.last};
    cells[s * NUMBER_COLUMNS] = chart->series[s].name;
    brim_count_text((int64_t)sum.points, text[s][1], sizeof text[s][1]);
    for (int i = 0; i < 4; i++)
      brim_number_format(text[s][2 + i], sizeof text[s][2 + i], sum.points ? "%.6g" : "-", values[i]);
    for (int i = 1; i < NUMBER_COLUMNS; i++)
      cells[s * NUMBER_COLUMNS + i] = text[s][i];
  }
  brim_table_markup(&page->out, chart->y.title, columns, NUMBER_COLUMNS, cells, rows);
}

void brim_page_chart(brim_page *page, brim_caption caption, const brim_chart *chart) {
  range rx = {0}, ry = {0};
  const char *names[NUMBER_ROWS];
  find_ranges(chart, &rx, &ry);
  const brim_scale x = bounded(&chart->x, &rx, chart->diagonal, 4, PLOT_LEFT, PLOT_RIGHT);
  const brim_scale y = bounded(&chart->y, &ry, true, 5, PLOT_BOTTOM, PLOT_TOP);
  brim_picture_open(page, caption, PLOT_HEIGHT);
  brim_axes_draw(&page->out, &x, &y, chart->x.title, chart->y.title);
  if (chart->diagonal)
    brim_text_printf(&page->out, "<path class=\"grid-line\" d=\"M%d %dL%d %d\"/>", PLOT_LEFT, PLOT_BOTTOM, PLOT_RIGHT, PLOT_TOP);
  for (int s = 0; chart->points && s < chart->series_count; s++)
    put_dots(&page->out, &x, &y, &chart->series[s], brim_picture_color(s));
  if (!chart->points && !put_lines(page, chart, &x, &y))
    page->out.failed = true;
  brim_text_string(&page->out, "</svg>\n");
  for (int s = 0; s < chart->series_count && s < NUMBER_ROWS; s++)
    names[s] = chart->series[s].name;
  if (chart->series_count > 1)
    brim_picture_legend(page, names, chart->series_count < NUMBER_ROWS ? chart->series_count : NUMBER_ROWS);
  brim_picture_numbers(page);
  put_numbers(page, chart);
  brim_picture_close(page);
}
