/* scan.c: the labels of a source, without its texts. */
#include "base/event.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/labels.h"
#include "data/position.h"
#include "data/reader.h"
#include "task/task.h"

enum { EVERY = 4096 }; /* records between two events */

static int report(const brim_reader *reader, uint64_t rows, brim_event_fn progress, void *context, brim_error *err) {
  uint64_t done, total;
  if (!progress)
    return BRIM_OK;
  brim_reader_progress(reader, &done, &total);
  const brim_field fields[] = {{.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "labels"},
                               {.name = "done", .kind = BRIM_VALUE_INT, .integer = (int64_t)done},
                               {.name = "total", .kind = BRIM_VALUE_INT, .integer = (int64_t)total},
                               {.name = "rows", .kind = BRIM_VALUE_INT, .integer = (int64_t)rows}};
  const brim_event event = {.kind = "progress", .fields = fields, .field_count = sizeof fields / sizeof *fields};
  return brim_tell(progress, context, &event, err);
}

/* Rows by class, or words, in the order of appearance. */
typedef struct tally {
  brim_runtime *runtime;
  uint64_t *rows, *last; /* of each class: rows, and the last one that was counted */
  size_t rows_capacity, last_capacity, count;
} tally;

/* The row that was taken last, which is the `row`-th from 1; a label that it names twice counts once. */
static int tally_row(tally *t, const brim_label_taker *taker, uint64_t row, brim_error *err) {
  const bool words = taker->type->words;
  for (size_t i = 0; i < taker->count && taker->type->named; i++) {
    if (words && taker->values[i] == (float)BRIM_NO_LABEL)
      continue;
    const size_t class = (size_t)taker->values[i];
    if (class >= t->count) {
      BRIM_TRY(brim_grow(t->runtime, (void **)&t->rows, &t->rows_capacity, class + 1, sizeof *t->rows, err));
      BRIM_TRY(brim_grow(t->runtime, (void **)&t->last, &t->last_capacity, class + 1, sizeof *t->last, err));
      for (; t->count <= class; t->count++)
        t->rows[t->count] = t->last[t->count] = 0;
    }
    t->rows[class] += words || t->last[class] != row;
    t->last[class] = row;
  }
  return BRIM_OK;
}

/* By the ranks of the finished mapping. *rows: those of a label that is none are no longer counted. */
static int tally_finish(const tally *t, const brim_label_taker *taker, uint64_t *rows, brim_labels *labels, brim_error *err) {
  uint64_t all = 0;
  if (!taker->type->named)
    return BRIM_OK;
  labels->rows = brim_alloc_array_zero(t->runtime, (size_t)labels->count + 1, sizeof *labels->rows);
  if (!labels->rows)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < t->count; i++) {
    const int32_t rank = taker->rank[i];
    if (rank >= 0)
      labels->rows[rank] += t->rows[i];
    else
      *rows -= t->rows[i], labels->none += t->rows[i];
    all += rank >= 0 ? t->rows[i] : 0;
  }
  labels->rows[labels->count] = taker->type->words ? all : *rows;
  return BRIM_OK;
}

static int scan(brim_reader *reader, brim_label_taker *taker, tally *t, bool counted, uint64_t *rows, brim_event_fn progress,
                void *context, brim_error *err) {
  brim_record record;
  int status;
  if (!counted && taker->task_given && !taker->type->named && !taker->type->ragged) /* the first says how many values all have */
    brim_reader_end_after(reader, 1);
  while ((status = brim_reader_next(reader, &record, err)) == BRIM_OK) {
    const brim_label_source label = {record.label, record.label_length, record.label_is_list,
                                     record.file,  record.line,         record.label_forms};
    BRIM_TRY(brim_label_taker_add(taker, &label, err));
    BRIM_TRY(tally_row(t, taker, ++*rows, err));
    brim_label_taker_forget(taker); /* the mapping is wanted, not the rows' numbers */
    if (*rows % EVERY == 0)
      BRIM_TRY(report(reader, *rows, progress, context, err));
  }
  if (status != BRIM_END)
    return status;
  if (*rows == 0)
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file(reader, 0), 0, -1, "there are no rows");
  return report(reader, *rows, progress, context, err);
}

int brim_labels_scan(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     brim_task task, brim_event_fn progress, void *context, brim_labels *out, uint64_t *rows, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, options);
  BRIM_STRINGS(err, paths, path_count);
  BRIM_TRY(brim_task_check(task, err));
  brim_source_options how = *options;
  brim_label_taker taker;
  brim_reader *reader;
  float *values = NULL;
  uint64_t count = 0;
  brim_label_type_read(task, &how);
  if (how.words)
    task = brim_task_of_words();
  how.need_label = true;
  BRIM_TRY(brim_reader_open(runtime, paths, path_count, &how, &reader, err));
  brim_label_taker_init(&taker, runtime, task, NULL);
  tally t = {.runtime = runtime};
  int status = scan(reader, &taker, &t, rows != NULL, &count, progress, context, err);
  if (status == BRIM_OK)
    status = brim_label_taker_finish(&taker, out, &values, err);
  if (status == BRIM_OK)
    status = tally_finish(&t, &taker, &count, out, err);
  out->none += taker.unlabelled;
  if (status != BRIM_OK)
    brim_labels_free(out);
  brim_release(runtime, t.rows);
  brim_release(runtime, t.last);
  brim_release(runtime, values);
  brim_label_taker_free(&taker);
  brim_reader_close(reader);
  if (rows)
    *rows = count;
  return status;
}
