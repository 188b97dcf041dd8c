/* csv.c: events as a table for other programs. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "report/event_log.h"

enum { MOST_COLUMNS = 256 };

static bool is_row(const log_table *table) {
  return strcmp(table->kind, "step") == 0 || strcmp(table->kind, "eval") == 0 || strcmp(table->kind, "epoch") == 0;
}

/* A field as RFC 4180 says: in quotes where it holds a comma, a quote or a line end. What a spreadsheet would take for a formula
 * begins with an apostrophe, which makes it a text there. */
static void put_field(brim_text *out, const char *text) {
  const bool formula = *text && strchr("=+-@\t\r", *text), quoted = text[strcspn(text, ",\"\r\n")] != 0;
  brim_text_string(out, quoted && formula ? "\"'" : quoted ? "\"" : formula ? "'" : "");
  for (; *text; text++)
    brim_text_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
  brim_text_string(out, quoted ? "\"" : "");
}

/* Names of all fields of all logs, each once, in the order in which they come up. */
static int collect_columns(const brim_event_log *const *logs, int count, const char **names) {
  int used = 0;
  for (int l = 0; l < count; l++)
    for (size_t t = 0; t < logs[l]->table_count; t++)
      for (size_t c = 0; is_row(&logs[l]->tables[t]) && c < logs[l]->tables[t].column_count; c++) {
        const char *name = logs[l]->tables[t].columns[c].name;
        int at = 0;
        while (at < used && strcmp(names[at], name) != 0)
          at++;
        if (at == used && used < MOST_COLUMNS)
          names[used++] = name;
      }
  return used;
}

static void put_event(brim_text *out, const log_table *table, size_t row, const char *run, const char *const *names, int count) {
  put_field(out, run);
  brim_text_string(out, ",");
  put_field(out, table->kind);
  for (int i = 0; i < count; i++) {
    const log_column *column = brim_log_column(table, names[i]);
    brim_text_string(out, ",");
    if (column && column->cells[row].text)
      put_field(out, column->cells[row].text);
    else if (column && isfinite(column->cells[row].number))
      brim_text_json_number(out, column->cells[row].number);
  }
  brim_text_string(out, "\n");
}

void brim_event_log_csv(const brim_event_log *const *logs, const char *const *names, int count, brim_text *out) {
  const char *columns[MOST_COLUMNS];
  const int used = collect_columns(logs, count, columns);
  brim_text_string(out, "run,event");
  for (int i = 0; i < used; i++) {
    brim_text_string(out, ",");
    put_field(out, columns[i]);
  }
  brim_text_string(out, "\n");
  for (int l = 0; l < count; l++)
    for (size_t i = 0; i < logs[l]->event_count; i++) {
      const log_row *row = &logs[l]->order[i];
      if (is_row(&logs[l]->tables[row->table]))
        put_event(out, &logs[l]->tables[row->table], row->row, names[l], columns, used);
    }
}
