#include "data/none_rows.h"

#include "base/memory.h"
#include "base/status.h"

int brim_none_rows_note(brim_none_rows *rows, const brim_dataset *dataset, const brim_label_taker *taker,
                        const brim_label_source *label, uint64_t row, uint64_t lost, brim_error *err) {
  if (taker->known || label->list || label->length > 8)
    return BRIM_OK;
  const brim_label_text text = brim_label_read(label->text, label->length, label->forms ? *label->forms : BRIM_FORM_TEXT);
  const int mark = brim_label_none(&text);
  if (!mark)
    return BRIM_OK;
  BRIM_TRY(brim_grow(dataset->runtime, (void **)&rows->items, &rows->capacity, rows->count + 1, sizeof *rows->items, err));
  rows->items[rows->count++] = (brim_none_row){
      .at = dataset->rows, .row = row, .lost = lost, .line = label->line, .file = label->file, .mark = mark};
  return BRIM_OK;
}

int brim_none_rows_drop(const brim_none_rows *rows, brim_dataset *dataset, const brim_label_taker *taker, brim_error *err) {
  uint64_t *dropped = rows->count ? brim_alloc_array(dataset->runtime, rows->count, sizeof *dropped) : NULL;
  size_t count = 0;
  int status = rows->count && !dropped ? BRIM_NOMEM(err) : BRIM_OK;
  for (size_t i = 0; i < rows->count && !status; i++) {
    const brim_none_row *one = &rows->items[i];
    if (!(one->mark & taker->none))
      continue;
    dropped[count++] = one->at;
    dataset->truncated -= one->lost > 0;
    dataset->lost -= one->lost;
    status = brim_exclusions_add_none(&dataset->excluded, one->row, one->line, one->file, err);
  }
  if (count && !status)
    status = brim_dataset_drop(dataset, dropped, count, err);
  brim_exclusions_sort(&dataset->excluded);
  brim_release(dataset->runtime, dropped);
  return status;
}

void brim_none_rows_free(brim_runtime *runtime, brim_none_rows *rows) {
  brim_release(runtime, rows->items);
  *rows = (brim_none_rows){0};
}
