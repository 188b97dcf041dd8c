/* event_log.c: a file of events as columns of numbers and texts. */
#include "report/event_log.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"

enum { NAME_SIZE = 128 };

typedef struct reading {
  brim_event_log *log;
  brim_json_reader json;
  log_table *table;
  size_t row;
} reading;

/* ---- growing ---------------------------------------------------------------------------------------------- */

static int add_table(brim_event_log *log, const char *kind, size_t length, log_table **out, brim_error *err) {
  for (size_t i = 0; i < log->table_count; i++)
    if (strlen(log->tables[i].kind) == length && memcmp(log->tables[i].kind, kind, length) == 0) {
      *out = &log->tables[i];
      return BRIM_OK;
    }
  BRIM_TRY(brim_grow(log->runtime, (void **)&log->tables, &log->table_room, log->table_count + 1, sizeof *log->tables, err));
  log_table *table = &log->tables[log->table_count];
  *table = (log_table){.kind = brim_copy_string(log->runtime, kind, length)};
  if (!table->kind)
    return BRIM_NOMEM(err);
  log->table_count++;
  *out = table;
  return BRIM_OK;
}

/* The column up to and with this row; a new one, or one that rows left out, is filled up. */
static int add_cell(brim_event_log *log, log_table *table, const char *name, size_t row, log_column **out, brim_error *err) {
  log_column *column = NULL;
  for (size_t i = 0; i < table->column_count && !column; i++)
    if (strcmp(table->columns[i].name, name) == 0)
      column = &table->columns[i];
  if (!column) {
    BRIM_TRY(
        brim_grow(log->runtime, (void **)&table->columns, &table->column_room, table->column_count + 1, sizeof *column, err));
    column = &table->columns[table->column_count];
    *column = (log_column){.name = brim_copy_string(log->runtime, name, strlen(name))};
    if (!column->name)
      return BRIM_NOMEM(err);
    table->column_count++;
  }
  BRIM_TRY(brim_grow(log->runtime, (void **)&column->cells, &column->room, row + 1, sizeof *column->cells, err));
  for (; column->count <= row; column->count++)
    column->cells[column->count] = (log_cell){.number = (double)NAN};
  *out = column;
  return BRIM_OK;
}

/* ---- one event -------------------------------------------------------------------------------------------- */

static int read_value(reading *r, const char *name, int depth, brim_error *err);

/* After an OBJECT token: its members, under "prefix.name". */
static int read_members(reading *r, const char *prefix, int depth, brim_error *err) {
  brim_json_token token;
  char name[NAME_SIZE];
  for (;;) {
    BRIM_TRY(brim_json_next(&r->json, &token, err));
    if (token.kind == BRIM_JSON_OBJECT_END)
      return BRIM_OK;
    snprintf(name, sizeof name, "%s%s%.*s", prefix, *prefix ? "." : "",
             (int)(token.length < NAME_SIZE ? token.length : NAME_SIZE), token.text);
    BRIM_TRY(read_value(r, name, depth + 1, err));
  }
}

static int put_value(reading *r, const char *name, double number, const char *text, size_t length, brim_error *err) {
  log_column *column;
  BRIM_TRY(add_cell(r->log, r->table, name, r->row, &column, err));
  log_cell *cell = &column->cells[r->row];
  cell->number = number;
  brim_release(r->log->runtime, cell->text); /* of a name that comes twice */
  cell->text = NULL;
  if (!text)
    return BRIM_OK;
  cell->text = brim_copy_string(r->log->runtime, text, length);
  return cell->text ? BRIM_OK : BRIM_NOMEM(err);
}

static int read_value(reading *r, const char *name, int depth, brim_error *err) {
  brim_json_token token;
  const double none = (double)NAN;
  BRIM_TRY(brim_json_next(&r->json, &token, err));
  switch (token.kind) {
  case BRIM_JSON_INT:
  case BRIM_JSON_REAL:
    return put_value(r, name, token.real, NULL, 0, err);
  case BRIM_JSON_BOOL:
    return put_value(r, name, (double)token.integer, NULL, 0, err);
  case BRIM_JSON_STRING:
    return depth == 0 && strcmp(name, "event") == 0 ? BRIM_OK : put_value(r, name, none, token.text, token.length, err);
  case BRIM_JSON_OBJECT:
    return read_members(r, name, depth, err);
  case BRIM_JSON_ARRAY: {
    const size_t from = token.byte;
    BRIM_TRY(brim_json_skip(&r->json, err));
    return put_value(r, name, none, r->json.bytes + from, r->json.at - from, err);
  }
  default: /* null */
    return put_value(r, name, none, NULL, 0, err);
  }
}

/* Finds the value of "event", which may be anywhere. */
static int find_kind(reading *r, brim_error *err) {
  brim_json_token token;
  BRIM_TRY(brim_json_next(&r->json, &token, err));
  if (token.kind != BRIM_JSON_OBJECT)
    return brim_json_reader_error(&r->json, token.byte, err, BRIM_E_FORMAT,
                                  "%s is not an event: expected an object with \"event\"", brim_json_kind_name(token.kind));
  for (;;) {
    BRIM_TRY(brim_json_next(&r->json, &token, err));
    if (token.kind == BRIM_JSON_OBJECT_END)
      return brim_json_reader_error(&r->json, token.byte, err, BRIM_E_FORMAT, "an event without \"event\"");
    const bool here = token.length == 5 && memcmp(token.text, "event", 5) == 0;
    if (!here) {
      BRIM_TRY(brim_json_skip(&r->json, err));
      continue;
    }
    BRIM_TRY(brim_json_next(&r->json, &token, err));
    if (token.kind != BRIM_JSON_STRING)
      return brim_json_reader_error(&r->json, token.byte, err, BRIM_E_FORMAT, "\"event\" is %s, not a name",
                                    brim_json_kind_name(token.kind));
    return add_table(r->log, token.text, token.length, &r->table, err);
  }
}

static int read_event(reading *r, const char *line, size_t length, int64_t byte, int64_t number, brim_error *err) {
  brim_json_token token;
  brim_json_reader_start(&r->json, line, length, byte, number);
  BRIM_TRY(find_kind(r, err));
  r->row = r->table->count;
  brim_json_reader_start(&r->json, line, length, byte, number);
  BRIM_TRY(brim_json_next(&r->json, &token, err));
  BRIM_TRY(read_members(r, "", -1, err));
  BRIM_TRY(brim_json_next(&r->json, &token, err)); /* nothing after it */
  brim_event_log *log = r->log;
  BRIM_TRY(brim_grow(log->runtime, (void **)&log->order, &log->order_room, log->event_count + 1, sizeof *log->order, err));
  log->order[log->event_count++] = (log_row){(size_t)(r->table - log->tables), r->row};
  r->table->count++;
  return BRIM_OK;
}

/* ---- the file --------------------------------------------------------------------------------------------- */

/* Rows after the last cell of a column are as empty as those before its first. */
static int fill_up(brim_event_log *log, brim_error *err) {
  for (size_t t = 0; t < log->table_count; t++)
    for (size_t c = 0; log->tables[t].count && c < log->tables[t].column_count; c++) {
      log_table *table = &log->tables[t];
      log_column *column;
      BRIM_TRY(add_cell(log, table, table->columns[c].name, table->count - 1, &column, err));
      column->numbers = brim_alloc_array(log->runtime, table->count, sizeof *column->numbers);
      if (!column->numbers)
        return BRIM_NOMEM(err);
      for (size_t i = 0; i < table->count; i++)
        column->numbers[i] = column->cells[i].number;
    }
  return BRIM_OK;
}

static int read_lines(reading *r, const char *bytes, size_t length, brim_error *err) {
  int64_t number = 0;
  for (size_t at = 0; at < length;) {
    const char *end = memchr(bytes + at, '\n', length - at);
    if (!end)
      break;
    const size_t size = (size_t)(end - bytes) - at;
    number++;
    if (size)
      BRIM_TRY(read_event(r, bytes + at, size, (int64_t)at, number, err));
    at += size + 1;
  }
  return fill_up(r->log, err);
}

int brim_event_log_read(brim_runtime *runtime, const char *path, brim_event_log **out, brim_error *err) {
  char *bytes = NULL;
  size_t length = 0;
  *out = NULL;
  BRIM_TRY(brim_file_read_plain(runtime, path, 0, &bytes, &length, err));
  reading r = {.log = brim_alloc_zero(runtime, sizeof *r.log)};
  int status = r.log ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) {
    r.log->runtime = runtime;
    brim_json_reader_init(&r.json, runtime, path);
    status = read_lines(&r, bytes, length, err);
    brim_json_reader_free(&r.json);
  }
  brim_runtime_release(runtime, bytes);
  if (status)
    brim_event_log_free(r.log);
  else
    *out = r.log;
  return status;
}

void brim_event_log_free(brim_event_log *log) {
  if (!log)
    return;
  for (size_t t = 0; t < log->table_count; t++) {
    log_table *table = &log->tables[t];
    for (size_t c = 0; c < table->column_count; c++) {
      for (size_t i = 0; i < table->columns[c].count; i++)
        brim_release(log->runtime, table->columns[c].cells[i].text);
      brim_release(log->runtime, table->columns[c].cells);
      brim_release(log->runtime, table->columns[c].numbers);
      brim_release(log->runtime, table->columns[c].name);
    }
    brim_release(log->runtime, table->columns);
    brim_release(log->runtime, table->kind);
  }
  brim_release(log->runtime, log->tables);
  brim_release(log->runtime, log->order);
  brim_release(log->runtime, log);
}

/* ---- asking ----------------------------------------------------------------------------------------------- */

static const log_table *table_of(const brim_event_log *log, const char *kind) {
  for (size_t i = 0; i < log->table_count; i++)
    if (strcmp(log->tables[i].kind, kind) == 0)
      return &log->tables[i];
  return NULL;
}

const log_column *brim_log_column(const log_table *table, const char *name) {
  for (size_t i = 0; table && i < table->column_count; i++)
    if (strcmp(table->columns[i].name, name) == 0)
      return &table->columns[i];
  return NULL;
}

size_t brim_event_log_count(const brim_event_log *log, const char *kind) {
  const log_table *table = table_of(log, kind);
  return table ? table->count : 0;
}

const char *brim_event_log_field(const brim_event_log *log, const char *kind, size_t index) {
  const log_table *table = table_of(log, kind);
  return table && index < table->column_count ? table->columns[index].name : NULL;
}

const double *brim_event_log_numbers(const brim_event_log *log, const char *kind, const char *field) {
  const log_column *column = brim_log_column(table_of(log, kind), field);
  return column ? column->numbers : NULL;
}

const char *brim_event_log_text(const brim_event_log *log, const char *kind, size_t index, const char *field) {
  const log_column *column = brim_log_column(table_of(log, kind), field);
  return column && index < column->count ? column->cells[index].text : NULL;
}
