/* table.c: aligned text. */
#include "brim/report.h"
#include "report/width.h"

#include <string.h>

enum { GAP = 2 };

static void put_blanks(brim_text *out, int64_t count) {
  for (; count > 0; count--)
    brim_text_append(out, " ", 1);
}

static void put_cell(brim_text *out, const brim_column *column, const char *text, int32_t width, bool last) {
  const int32_t missing = width - brim_display_width(text);
  if (column->right)
    put_blanks(out, missing);
  brim_text_string(out, text);
  if (!column->right && !last)
    put_blanks(out, missing);
  if (last)
    brim_text_append(out, "\n", 1);
  else
    put_blanks(out, GAP);
}

/* The widest of a column's title and cells. */
static int32_t column_width(const brim_column *columns, int column_count, const char *const *cells, int row_count, int column) {
  int32_t widest = brim_display_width(columns[column].title);
  for (int row = 0; row < row_count; row++) {
    const int32_t width = brim_display_width(cells[row * column_count + column]);
    if (width > widest)
      widest = width;
  }
  return widest;
}

void brim_table_text(brim_text *out, const brim_column *columns, int column_count, const char *const *cells, int row_count) {
  for (int row = -1; row < row_count; row++) /* -1: the titles */
    for (int i = 0; i < column_count; i++)
      put_cell(out, &columns[i], row < 0 ? columns[i].title : cells[row * column_count + i],
               column_width(columns, column_count, cells, row_count, i), i == column_count - 1);
}
