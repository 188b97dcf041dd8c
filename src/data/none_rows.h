/* none_rows.h: rows whose label may be none (-1, -100), which is known only when all labels are. */
#ifndef BRIM_DATA_NONE_ROWS_H
#define BRIM_DATA_NONE_ROWS_H
#include "data/dataset.h"
#include "data/labels.h"

typedef struct brim_none_row {
  uint64_t at, row, lost; /* at: in the dataset; lost: tokens that were cut */
  int64_t line;
  const char *file; /* borrowed until drop */
  int mark;         /* BRIM_NONE_1 or BRIM_NONE_100 */
} brim_none_row;

typedef struct brim_none_rows {
  brim_none_row *items;
  size_t count, capacity;
} brim_none_rows;

/* The row that comes next in the dataset, if its label is one that may be none; nothing where the taker's mapping is known. */
int brim_none_rows_note(brim_none_rows *rows, const brim_dataset *dataset, const brim_label_taker *taker,
                        const brim_label_source *label, uint64_t row, uint64_t lost, brim_error *err) BRIM_CHECK;
/* After brim_label_taker_finish: takes the rows whose label is none out of the dataset, and puts them among its excluded rows. */
int brim_none_rows_drop(const brim_none_rows *rows, brim_dataset *dataset, const brim_label_taker *taker,
                        brim_error *err) BRIM_CHECK;
void brim_none_rows_free(brim_runtime *runtime, brim_none_rows *rows);

#endif
