/* event_log.h: how a log of events lies in memory. */
#ifndef BRIM_REPORT_EVENT_LOG_H
#define BRIM_REPORT_EVENT_LOG_H
#include "brim/report.h"

typedef struct log_cell {
  double number; /* NaN: none */
  char *text;    /* NULL: none */
} log_cell;
typedef struct log_column {
  char *name;
  log_cell *cells; /* [count] */
  size_t count, room;
  double *numbers; /* the numbers of the cells */
} log_column;
typedef struct log_table { /* the events of one kind */
  char *kind;
  log_column *columns;
  size_t column_count, column_room, count;
} log_table;
typedef struct log_row {
  size_t table, row;
} log_row;

struct brim_event_log {
  brim_runtime *runtime;
  log_table *tables;
  size_t table_count, table_room;
  log_row *order; /* [event_count] as in the file */
  size_t event_count, order_room;
};

/* NULL if there is none, or no table. */
const log_column *brim_log_column(const log_table *table, const char *name);

int brim_event_log_read(brim_runtime *runtime, const char *path, brim_event_log **out, brim_error *err) BRIM_CHECK;
void brim_event_log_free(brim_event_log *log);
/* Events of a kind; 0 if there are none. */
size_t brim_event_log_count(const brim_event_log *log, const char *kind);
/* Names of the fields that events of the kind have, in the order in which they came up; NULL after the last. */
const char *brim_event_log_field(const brim_event_log *log, const char *kind, size_t index);
/* A field of all events of the kind, in order: [count], NaN where it is absent or no number (true is 1); NULL if none has it. */
const double *brim_event_log_numbers(const brim_event_log *log, const char *kind, const char *field);
/* A string (decoded) or array (JSON) of event `index` of the kind; NULL if it is something else. */
const char *brim_event_log_text(const brim_event_log *log, const char *kind, size_t index, const char *field);

#endif
