/* overlap.c: tokens of each fold's held-out part that its training part never shows. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "brim/study.h"
#include "data/facts.h"

/* Occurrences of every id: in all rows, and in those that a fold holds out. */
typedef struct token_counts {
  size_t ids;
  uint64_t *total, *held_out; /* [ids] */
} token_counts;

static void count_row(const brim_dataset *dataset, uint64_t row, uint64_t *counts) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  for (int32_t i = 0; i < sample.length; i++)
    counts[sample.ids[i]]++;
}

static bool is_unseen(const token_counts *counts, int32_t id) {
  return counts->held_out[id] > 0 && counts->held_out[id] == counts->total[id];
}

static bool row_has_unseen(const brim_dataset *dataset, uint64_t row, const token_counts *counts) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  for (int32_t i = 0; i < sample.length; i++)
    if (is_unseen(counts, sample.ids[i]))
      return true;
  return false;
}

static int compare_counts(const void *left, const void *right) {
  const brim_token_count *a = left, *b = right;
  if (a->count != b->count)
    return a->count > b->count ? -1 : 1;
  return (a->id > b->id) - (a->id < b->id);
}

static void count_types(const token_counts *counts, brim_fold_overlap *out) {
  for (size_t id = 0; id < counts->ids; id++) {
    uint64_t held_out = counts->held_out[id], train = counts->total[id] - held_out;
    out->train_tokens += train, out->valid_tokens += held_out;
    out->train_types += train > 0, out->valid_types += held_out > 0;
    out->both_types += train > 0 && held_out > 0;
    if (held_out > 0 && train == 0)
      out->unseen_types++, out->unseen_tokens += held_out;
  }
}

static int overlap_fold(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, int32_t fold,
                        token_counts *counts, brim_fold_overlap *out, brim_error *err) {
  for (size_t id = 0; id < counts->ids; id++)
    counts->held_out[id] = 0;
  for (uint64_t row = 0; row < folds->rows; row++)
    if (folds->fold[row] == fold)
      count_row(dataset, row, counts->held_out);
  out->valid_rows = folds->sizes[fold], out->train_rows = folds->rows - folds->sizes[fold];
  count_types(counts, out);
  out->unseen = brim_alloc_array(runtime, (size_t)out->unseen_types, sizeof *out->unseen);
  if (!out->unseen)
    return BRIM_NOMEM(err);
  size_t found = 0;
  for (size_t id = 0; id < counts->ids; id++)
    if (is_unseen(counts, (int32_t)id))
      out->unseen[found++] = (brim_token_count){.id = (int32_t)id, .count = counts->held_out[id]};
  qsort(out->unseen, found, sizeof *out->unseen, compare_counts);
  for (uint64_t row = 0; row < folds->rows && found > 0; row++)
    out->unseen_rows += folds->fold[row] == fold && row_has_unseen(dataset, row, counts);
  return BRIM_OK;
}

static int overlap_all(const brim_dataset *dataset, const brim_folds *folds, brim_overlap *out, brim_error *err) {
  brim_runtime *runtime = out->runtime;
  token_counts counts = {.ids = (size_t)brim_dataset_highest_id(dataset) + 1};
  counts.total = brim_alloc_array_zero(runtime, counts.ids, sizeof *counts.total);
  counts.held_out = brim_alloc_array(runtime, counts.ids, sizeof *counts.held_out);
  out->folds = brim_alloc_array_zero(runtime, (size_t)folds->count, sizeof *out->folds);
  int status = counts.total && counts.held_out && out->folds ? BRIM_OK : BRIM_NOMEM(err);
  for (uint64_t row = 0; row < folds->rows && !status; row++)
    count_row(dataset, row, counts.total);
  for (; out->count < folds->count && !status; out->count++)
    status = overlap_fold(runtime, dataset, folds, out->count, &counts, &out->folds[out->count], err);
  brim_release(runtime, counts.total);
  brim_release(runtime, counts.held_out);
  return status;
}

int brim_study_folds(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, brim_overlap *out,
                     brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset, folds);
  *out = (brim_overlap){.runtime = runtime};
  if (folds->rows != brim_dataset_rows(dataset))
    return brim_error_set(err, BRIM_E_USAGE, "folds over %llu rows do not fit a data set of %llu rows",
                          (unsigned long long)folds->rows, (unsigned long long)brim_dataset_rows(dataset));
  int status = overlap_all(dataset, folds, out, err);
  if (status)
    brim_overlap_free(out);
  return status;
}

void brim_overlap_free(brim_overlap *overlap) {
  if (!overlap || !overlap->runtime)
    return;
  for (int32_t fold = 0; fold < overlap->count; fold++)
    brim_release(overlap->runtime, overlap->folds[fold].unseen);
  brim_release(overlap->runtime, overlap->folds);
  *overlap = (brim_overlap){0};
}
