/* confusion.c: what was taken for what. */
#include "base/memory.h"
#include "report/page.h"

enum { MOST_DRAWN = 12, TOP = 34, LEFT = 78, RIGHT = 356, NAME_COLUMNS = 11 };

static uint64_t row_sum(const uint64_t *counts, int count, int row) {
  uint64_t sum = 0;
  for (int i = 0; i < count; i++)
    sum += counts[row * count + i];
  return sum;
}

/* A cell is as dark as its share of its row; the number is there in any case. */
static void put_cell(brim_text *out, const uint64_t *counts, int count, int row, int column, double side, double high) {
  const uint64_t value = counts[row * count + column], sum = row_sum(counts, count, row);
  const double share = sum ? (double)value / (double)sum : 0;
  const double x = LEFT + column * side, y = TOP + row * high;
  char text[32];
  brim_count_text((int64_t)value, text, sizeof text);
  brim_text_printf(out,
                   "<rect class=\"%s\" opacity=\"%.2f\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"
                   "<text class=\"mid%s\" x=\"%.1f\" y=\"%.1f\">%s</text>",
                   row == column ? "f0" : "f4", 0.06 + 0.94 * share, x + 1, y + 1, side - 2, high - 2, share > 0.5 ? " on" : "",
                   x + side / 2, y + high / 2 + 4, text);
}

static void put_names(brim_text *out, const char *const *names, int count, double side, double high) {
  const int columns = count <= 3 ? NAME_COLUMNS : (int)(side / 6.5);
  brim_text_printf(
      out, "<text class=\"soft end\" x=\"%d\" y=\"12\">predicted</text><text class=\"soft\" x=\"2\" y=\"12\">label</text>",
      RIGHT);
  for (int i = 0; i < count; i++) {
    brim_text_printf(out, "<text class=\"mid\" x=\"%.1f\" y=\"%d\">", LEFT + (i + 0.5) * side, TOP - 5);
    brim_markup_fitted(out, names[i], columns < 1 ? 1 : columns);
    brim_text_printf(out, "</text><text class=\"end\" x=\"%d\" y=\"%.1f\">", LEFT - 5, TOP + (i + 0.5) * high + 4);
    brim_markup_fitted(out, names[i], NAME_COLUMNS);
    brim_text_string(out, "</text>\n");
  }
}

static void put_numbers(brim_page *page, const char *const *names, const uint64_t *counts, int count) {
  const size_t width = (size_t)count + 1;
  brim_column *columns = brim_alloc_array_zero(page->runtime, width, sizeof *columns);
  const char **cells = brim_alloc_array_zero(page->runtime, width * (size_t)count, sizeof *cells);
  char (*text)[32] = brim_alloc_array_zero(page->runtime, (size_t)count * (size_t)count, sizeof *text);
  if (columns && cells && text) {
    columns[0] = (brim_column){"label", false};
    for (int i = 0; i < count; i++)
      columns[i + 1] = (brim_column){names[i], true};
    for (int row = 0; row < count; row++) {
      cells[(size_t)row * width] = names[row];
      for (int i = 0; i < count; i++) {
        brim_count_text((int64_t)counts[row * count + i], text[row * count + i], sizeof *text);
        cells[(size_t)row * width + 1 + (size_t)i] = text[row * count + i];
      }
    }
    brim_table_markup(&page->out, "rows are labels, columns are predictions", columns, count + 1, cells, count);
  } else {
    page->out.failed = true;
  }
  brim_release(page->runtime, columns);
  brim_release(page->runtime, cells);
  brim_release(page->runtime, text);
}

void brim_page_confusion(brim_page *page, brim_caption caption, const char *const *names, const uint64_t *counts, int count) {
  brim_text *out = &page->out;
  const bool drawn = count <= MOST_DRAWN;
  const double side = (double)(RIGHT - LEFT) / (count ? count : 1), high = count <= 4 ? 48 : side < 24 ? 24 : side;
  brim_picture_open(page, caption, drawn ? (int)(TOP + count * high + 4) : 40);
  if (drawn) {
    put_names(out, names, count, side, high);
    for (int row = 0; row < count; row++)
      for (int i = 0; i < count; i++)
        put_cell(out, counts, count, row, i, side, high);
  } else {
    brim_text_printf(out, "<text class=\"soft\" x=\"2\" y=\"24\">%d classes: see the numbers</text>", count);
  }
  brim_text_string(out, "</svg>\n");
  brim_picture_numbers(page);
  put_numbers(page, names, counts, count);
  brim_picture_close(page);
}
