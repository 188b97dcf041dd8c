/* groups.c: which rows stay together where rows are divided: those of one query, and windows of one record. */
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/facts.h"
#include "study/internal.h"
#include "task/task.h"
#include "train/answers/evaluate.h"

bool brim_rows_have_queries(const brim_dataset *dataset) {
  const brim_labels *labels = brim_dataset_labels(dataset);
  const bool lists = brim_dataset_firsts(dataset) && brim_dataset_has_pairs(dataset);
  return lists || (labels && brim_task_shape(labels->task)->joins_pairs);
}

static int by_query(const brim_dataset *dataset, brim_hashmap *ids, brim_row_groups *out, brim_error *err) {
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    const uint64_t query = brim_row_query(&sample);
    int32_t id = brim_hashmap_get(ids, (const char *)&query, sizeof query, -1);
    if (id < 0) {
      id = (int32_t)out->count++;
      BRIM_TRY(brim_hashmap_put(ids, (const char *)&query, sizeof query, id, NULL, NULL, err));
    }
    out->of[row] = (uint64_t)id;
  }
  return BRIM_OK;
}

/* Windows of masked words are rows of one record, one after another. */
static void by_record(const brim_dataset *dataset, brim_row_groups *out) {
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++) {
    out->count += row == 0 || brim_dataset_origin(dataset, row) != brim_dataset_origin(dataset, row - 1);
    out->of[row] = out->count - 1;
  }
}

int brim_row_groups_find(brim_runtime *runtime, const brim_dataset *dataset, brim_row_groups *out, brim_error *err) {
  int status = BRIM_OK;
  brim_hashmap ids;
  *out = (brim_row_groups){.of = brim_alloc_array(runtime, (size_t)brim_dataset_rows(dataset) + 1, sizeof *out->of)};
  if (!out->of)
    return BRIM_NOMEM(err);
  brim_hashmap_init(&ids, runtime);
  if (brim_rows_have_queries(dataset))
    status = by_query(dataset, &ids, out, err);
  else
    by_record(dataset, out);
  brim_hashmap_free(&ids);
  for (uint64_t row = 0; row < brim_dataset_rows(dataset) && out->count < 2; row++)
    out->of[row] = row;
  if (out->count < 2)
    out->count = brim_dataset_rows(dataset);
  if (status)
    brim_release(runtime, out->of);
  return status;
}
