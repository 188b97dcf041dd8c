/* bars.c: horizontal bars, and histograms. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "report/page.h"
#include "report/scale.h"

/* ---- bars ------------------------------------------------------------------------------------------------- */

enum { ROW = 34, BAR = 14, BARS_LEFT = 2, BARS_RIGHT = 262, LABEL_ROOM = 14, NAME_ROOM = 54 };

static double sum_of(const brim_bars *bars, int index) {
  double sum = 0;
  for (int part = 0; part < bars->parts; part++)
    sum += fmax(bars->values[index * bars->parts + part], 0);
  return isfinite(sum) ? sum : 0;
}

static void put_bar(brim_text *out, const brim_bars *bars, int index, double most) {
  const int y = index * ROW;
  double from = BARS_LEFT;
  brim_text_printf(out, "<text x=\"%d\" y=\"%d\">", BARS_LEFT, y + 12);
  brim_markup_fitted(out, bars->names[index], NAME_ROOM);
  brim_text_string(out, "</text>");
  for (int part = 0; part < bars->parts; part++) {
    const double value = fmax(bars->values[index * bars->parts + part], 0);
    const double width = most > 0 && isfinite(value) ? value / most * (BARS_RIGHT - BARS_LEFT) : 0;
    if (part == 1) /* what is computed for nothing */
      brim_text_printf(out, "<rect class=\"waste\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", from, y + 16, width, BAR);
    else
      brim_text_printf(out, "<rect class=\"f%d\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", brim_picture_color(part),
                       from, y + 16, width, BAR);
    from += width;
  }
  brim_text_printf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%d\">", from + 5, y + 27);
  brim_markup_fitted(out, bars->labels[index], LABEL_ROOM);
  brim_text_string(out, "</text>\n");
}

/* A row for each bar: its name, its parts and its label. */
static void put_bar_numbers(brim_page *page, const brim_bars *bars) {
  const int columns_count = bars->parts + 2;
  brim_column *columns = brim_alloc_array_zero(page->runtime, (size_t)columns_count, sizeof *columns);
  const char **cells = brim_alloc_array_zero(page->runtime, (size_t)(columns_count * bars->count), sizeof *cells);
  char (*text)[32] = brim_alloc_array_zero(page->runtime, (size_t)(bars->parts * bars->count), sizeof *text);
  if (columns && cells && text) {
    columns[0] = (brim_column){"name", false};
    for (int part = 0; part < bars->parts; part++)
      columns[1 + part] = (brim_column){bars->parts > 1 ? bars->part_names[part] : "value", true};
    columns[columns_count - 1] = (brim_column){"shown", true};
    for (int i = 0; i < bars->count; i++) {
      const char **row = cells + i * columns_count;
      row[0] = bars->names[i], row[columns_count - 1] = bars->labels[i];
      for (int part = 0; part < bars->parts; part++) {
        const int at = i * bars->parts + part;
        brim_number_format(text[at], sizeof text[at], "%.9g", bars->values[at]);
        row[1 + part] = text[at];
      }
    }
    brim_table_markup(&page->out, NULL, columns, columns_count, cells, bars->count);
  } else {
    page->out.failed = true;
  }
  brim_release(page->runtime, columns);
  brim_release(page->runtime, cells);
  brim_release(page->runtime, text);
}

static void put_part_legend(brim_page *page, const brim_bars *bars) {
  brim_text *out = &page->out;
  brim_text_string(out, "<ul class=\"legend\">");
  for (int part = 0; part < bars->parts; part++) {
    brim_text_string(out, "<li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><rect class=\"");
    if (part == 1)
      brim_text_string(out, "waste");
    else
      brim_text_printf(out, "f%d", brim_picture_color(part));
    brim_text_string(out, "\" width=\"24\" height=\"8\"/></svg> <bdi>");
    brim_markup_string(out, bars->part_names[part]);
    brim_text_string(out, "</bdi></li>");
  }
  brim_text_string(out, "</ul>\n");
}

void brim_page_bars(brim_page *page, brim_caption caption, const brim_bars *bars) {
  double most = 0;
  for (int i = 0; i < bars->count; i++)
    most = fmax(most, sum_of(bars, i));
  brim_picture_open(page, caption, bars->count * ROW + 4);
  for (int i = 0; i < bars->count; i++)
    put_bar(&page->out, bars, i, most);
  brim_text_string(&page->out, "</svg>\n");
  if (bars->parts > 1)
    put_part_legend(page, bars);
  brim_picture_numbers(page);
  put_bar_numbers(page, bars);
  brim_picture_close(page);
}

/* ---- histograms ------------------------------------------------------------------------------------------- */

enum { MOST_BINS = 60 };

/* How many given bins are joined to one drawn. */
static int64_t joined(int64_t count) {
  static const int64_t steps[] = {1, 2, 5};
  for (int64_t tens = 1;; tens *= 10)
    for (int i = 0; i < 3; i++)
      if ((count + tens * steps[i] - 1) / (tens * steps[i]) <= MOST_BINS)
        return tens * steps[i];
}

static uint64_t bin_sum(const brim_bins *bins, int64_t from, int64_t size) {
  uint64_t sum = 0;
  for (int64_t i = from; i < from + size && i < bins->count; i++)
    sum += bins->counts[i];
  return sum;
}

static void bin_name(const brim_bins *bins, int64_t from, int64_t size, char *buffer, size_t buffer_size) {
  const double low = bins->first + (double)from * bins->width, high = low + (double)size * bins->width;
  if (!bins->whole)
    brim_number_format(buffer, buffer_size, "%.4g to %.4g", low, high);
  else if (size == 1)
    brim_number_format(buffer, buffer_size, "%.0f", low);
  else
    brim_number_format(buffer, buffer_size, "%.0f-%.0f", low, fmin(high, bins->first + (double)bins->count) - 1);
}

/* `begin` is a multiple of `size`: the first bin that is drawn. */
static void put_bins(brim_text *out, const brim_bins *bins, int64_t begin, int64_t size, const brim_scale *x,
                     const brim_scale *y) {
  brim_text_string(out, "<path class=\"f0\" d=\"");
  for (int64_t from = begin; from < bins->count; from += size) {
    const uint64_t sum = bin_sum(bins, from, size);
    if (!sum)
      continue;
    const double left = brim_scale_at(x, bins->first + (double)from * bins->width);
    const double right = brim_scale_at(x, bins->first + (double)(from + size) * bins->width);
    /* What is there shows. */
    const double top = fmin(brim_scale_at(y, (double)sum), PLOT_BOTTOM - 0.7);
    brim_text_printf(out, "M%.1f %dV%.1fH%.1fV%dz", left, PLOT_BOTTOM, top, fmax(right - 0.7, left + 0.7), PLOT_BOTTOM);
  }
  brim_text_string(out, "\"/></svg>\n");
}

static void put_bin_numbers(brim_page *page, const brim_bins *bins, int64_t begin, int64_t size) {
  const brim_column columns[] = {{bins->title, false}, {bins->counted, true}};
  char text[MOST_BINS + 1][2][64];
  const char *cells[2 * (MOST_BINS + 1)];
  int rows = 0;
  for (int64_t from = begin; from < bins->count && rows <= MOST_BINS; from += size, rows++) {
    bin_name(bins, from, size, text[rows][0], sizeof text[rows][0]);
    brim_count_text((int64_t)bin_sum(bins, from, size), text[rows][1], sizeof text[rows][1]);
    cells[2 * rows] = text[rows][0], cells[2 * rows + 1] = text[rows][1];
  }
  brim_table_markup(&page->out, NULL, columns, 2, cells, rows);
}

void brim_page_histogram(brim_page *page, brim_caption caption, const brim_bins *bins) {
  int64_t begin = 0;
  uint64_t most = 0;
  while (begin < bins->count && bins->counts[begin] == 0)
    begin++;
  const int64_t size = joined(bins->count - begin > 0 ? bins->count - begin : 1);
  begin -= begin % size;
  for (int64_t from = begin; from < bins->count; from += size) {
    const uint64_t sum = bin_sum(bins, from, size);
    most = sum > most ? sum : most;
  }
  const double low = bins->first + (double)begin * bins->width;
  const int64_t drawn = (bins->count - begin + size - 1) / size * size;
  const brim_scale x = brim_scale_make(low, low + (double)(drawn ? drawn : 1) * bins->width, false, false, 5, PLOT_LEFT,
                                       PLOT_RIGHT);
  const brim_scale y = brim_scale_make(0, (double)(most ? most : 1), false, true, 4, PLOT_BOTTOM, PLOT_TOP);
  brim_picture_open(page, caption, PLOT_HEIGHT);
  brim_axes_draw(&page->out, &x, &y, bins->title, bins->counted);
  put_bins(&page->out, bins, begin, size, &x, &y);
  brim_picture_numbers(page);
  put_bin_numbers(page, bins, begin, size);
  brim_picture_close(page);
}
