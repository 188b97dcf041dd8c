/* folds.c: which rows are held out together. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/path.h"
#include "base/random.h"
#include "base/status.h"
#include "brim/study.h"
#include "data/facts.h"
#include "study/internal.h"
#include "task/task.h"

void brim_folds_free(brim_folds *folds) {
  if (!folds || !folds->runtime)
    return;
  brim_release(folds->runtime, folds->fold);
  brim_release(folds->runtime, folds->sizes);
  *folds = (brim_folds){0};
}

/* ---- making ----------------------------------------------------------------------------------------------- */

static int folds_new(brim_runtime *runtime, uint64_t rows, int32_t count, brim_folds *out, brim_error *err) {
  *out = (brim_folds){0};
  if (count < 2 || count > BRIM_MOST_FOLDS)
    return brim_error_set(err, BRIM_E_USAGE, "%d folds: from 2 to %d are possible", (int)count, BRIM_MOST_FOLDS);
  if ((uint64_t)count > rows)
    return brim_error_set(err, BRIM_E_USAGE, "%d folds of %llu rows: every fold needs a row, so use fewer folds", (int)count,
                          (unsigned long long)rows);
  *out = (brim_folds){.count = count, .rows = rows, .runtime = runtime};
  out->fold = brim_alloc_array(runtime, (size_t)rows, sizeof *out->fold);
  out->sizes = brim_alloc_array_zero(runtime, (size_t)count, sizeof *out->sizes);
  if (out->fold && out->sizes)
    return BRIM_OK;
  brim_folds_free(out);
  return BRIM_NOMEM(err);
}

static void folds_put(brim_folds *folds, uint64_t row, int32_t fold) {
  folds->fold[row] = fold;
  folds->sizes[fold]++;
}

/* Fisher-Yates over items[0..count); draw i uses index base + i. */
static void folds_shuffle(const brim_random *random, uint64_t base, uint64_t *items, uint64_t count) {
  for (uint64_t i = count; i > 1; i--) {
    uint64_t j = brim_random_below(random, base + i - 1, i), item = items[i - 1];
    items[i - 1] = items[j];
    items[j] = item;
  }
}

/* 0 .. rows-1 in random order, or NULL. */
static uint64_t *folds_order(brim_runtime *runtime, const brim_random *random, uint64_t rows) {
  uint64_t *order = brim_alloc_array(runtime, (size_t)rows, sizeof *order);
  for (uint64_t i = 0; order && i < rows; i++)
    order[i] = i;
  if (order)
    folds_shuffle(random, 0, order, rows);
  return order;
}

int brim_folds_shuffle(brim_runtime *runtime, uint64_t rows, int32_t count, uint64_t seed, brim_folds *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  BRIM_TRY(folds_new(runtime, rows, count, out, err));
  brim_random random = brim_random_make(seed, 0, BRIM_PURPOSE_FOLDS);
  uint64_t *order = folds_order(runtime, &random, rows);
  if (!order) {
    brim_folds_free(out);
    return BRIM_NOMEM(err);
  }
  uint64_t larger = rows % (uint64_t)count, at = 0; /* so many folds have one row more */
  for (int32_t fold = 0; fold < count; fold++)
    for (uint64_t i = rows / (uint64_t)count + ((uint64_t)fold < larger); i > 0; i--)
      folds_put(out, order[at++], fold);
  brim_release(runtime, order);
  return BRIM_OK;
}

/* ---- rows that stay together ------------------------------------------------------------------------------- */

typedef struct sized_group {
  uint64_t rows, drawn, group; /* drawn: its number in a random order, which decides among equals */
} sized_group;

/* The folds take turns at equal groups: the turn at which one gets what a shuffle of `groups` has at `place`, so that groups of
 * one size, and rows that are alone, go where brim_folds_shuffle puts them. */
static uint64_t turn_of(uint64_t place, uint64_t groups, uint64_t count) {
  const uint64_t least = groups / count, larger = groups % count, run = least + 1, head = larger * run;
  const bool in_head = place < head;
  const uint64_t fold = in_head ? place / run : larger + (place - head) / least,
                 at = in_head ? place % run : (place - head) % least;
  return at * count + fold;
}

static int compare_groups(const void *left, const void *right) {
  const sized_group *a = left, *b = right;
  return a->rows != b->rows ? (a->rows < b->rows) - (a->rows > b->rows) : (a->drawn > b->drawn) - (a->drawn < b->drawn);
}

/* The largest first, each to the fold with the fewest rows so far. */
static void deal_groups(const brim_row_groups *groups, sized_group *sorted, uint64_t *fold_of, brim_folds *out) {
  uint64_t sizes[BRIM_MOST_FOLDS] = {0};
  qsort(sorted, (size_t)groups->count, sizeof *sorted, compare_groups);
  for (uint64_t i = 0; i < groups->count; i++) {
    int32_t least = 0;
    for (int32_t fold = 1; fold < out->count; fold++)
      least = sizes[fold] < sizes[least] ? fold : least;
    sizes[least] += sorted[i].rows;
    fold_of[sorted[i].group] = (uint64_t)least;
  }
  for (uint64_t row = 0; row < out->rows; row++)
    folds_put(out, row, (int32_t)fold_of[groups->of[row]]);
}

static int folds_of_groups(brim_runtime *runtime, const brim_row_groups *groups, uint64_t rows, int32_t count, uint64_t seed,
                           brim_folds *out, brim_error *err) {
  BRIM_TRY(folds_new(runtime, rows, count, out, err));
  if ((uint64_t)count > groups->count) {
    brim_folds_free(out);
    return brim_error_set(err, BRIM_E_USAGE,
                          "%d folds of rows with %llu queries, whose rows stay together: use fewer folds, or say which row is in "
                          "which (fold_column)",
                          (int)count, (unsigned long long)groups->count);
  }
  brim_random random = brim_random_make(seed, 0, BRIM_PURPOSE_FOLDS);
  uint64_t *order = folds_order(runtime, &random, groups->count);
  sized_group *sorted = brim_alloc_array_zero(runtime, (size_t)groups->count, sizeof *sorted);
  const int status = order && sorted ? BRIM_OK : BRIM_NOMEM(err);
  for (uint64_t row = 0; row < rows && !status; row++)
    sorted[groups->of[row]].rows++;
  for (uint64_t i = 0; i < groups->count && !status; i++)
    sorted[order[i]].drawn = turn_of(i, groups->count, (uint64_t)count), sorted[i].group = i;
  if (!status)
    deal_groups(groups, sorted, order, out);
  else
    brim_folds_free(out);
  brim_release(runtime, order);
  brim_release(runtime, sorted);
  return status;
}

int brim_folds_deal(brim_runtime *runtime, const brim_dataset *dataset, int32_t count, uint64_t seed, brim_folds *out,
                    brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset);
  const uint64_t rows = brim_dataset_rows(dataset);
  brim_row_groups groups;
  BRIM_TRY(brim_row_groups_find(runtime, dataset, &groups, err));
  const int status = groups.count == rows ? brim_folds_shuffle(runtime, rows, count, seed, out, err)
                                          : folds_of_groups(runtime, &groups, rows, count, seed, out, err);
  brim_release(runtime, groups.of);
  return status;
}

/* ---- stratified ------------------------------------------------------------------------------------------- */

typedef struct labelled_row {
  float label;
  uint64_t drawn, row; /* drawn: its number in a random order, which decides among equal labels */
} labelled_row;

/* The lowest of the ranks that a row's words have; `none` without a labelled word. */
static int32_t rarest_rank(const brim_sample *sample, const int32_t *ranks, int32_t none) {
  int32_t rank = none;
  for (int32_t i = 0; i < sample->length; i++)
    if (sample->token_labels[i] != BRIM_NO_LABEL && ranks[sample->token_labels[i]] < rank)
      rank = ranks[sample->token_labels[i]];
  return rank;
}

static int compare_rows(const void *left, const void *right) {
  const labelled_row *a = left, *b = right;
  if (a->label != b->label)
    return a->label < b->label ? -1 : 1;
  return (a->drawn > b->drawn) - (a->drawn < b->drawn);
}

/* Rows by label, in random order among equals; or NULL. ranks: of each class, where labels are of words (below), else NULL. */
static labelled_row *rows_by_label(brim_runtime *runtime, const brim_random *random, const brim_dataset *dataset,
                                   const int32_t *ranks, brim_error *err) {
  uint64_t rows = brim_dataset_rows(dataset), *order = folds_order(runtime, random, rows);
  labelled_row *sorted = brim_alloc_array(runtime, (size_t)rows, sizeof *sorted);
  if (!order || !sorted) {
    brim_error_memory(err);
    brim_release(runtime, order);
    brim_release(runtime, sorted);
    return NULL;
  }
  for (uint64_t drawn = 0; drawn < rows; drawn++) {
    brim_sample sample;
    brim_dataset_sample(dataset, order[drawn], &sample);
    const float label = ranks ? (float)rarest_rank(&sample, ranks, brim_dataset_labels(dataset)->count) : sample.label;
    sorted[drawn] = (labelled_row){.label = label, .drawn = drawn, .row = order[drawn]};
  }
  brim_release(runtime, order);
  qsort(sorted, (size_t)rows, sizeof *sorted, compare_rows);
  return sorted;
}

static int refuse_small_class(const brim_dataset *dataset, float label, uint64_t rows, int32_t folds, brim_error *err) {
  const brim_labels *labels = brim_dataset_labels(dataset);
  char number[32];
  brim_number_format(number, sizeof number, "%g", (double)label);
  const char *name = labels && labels->names ? labels->names[(int32_t)label] : number;
  return brim_error_set(err, BRIM_E_USAGE,
                        "class \"%.100s\" has too few rows (%llu) for %d folds: a fold would be without it; take fewer folds, or "
                        "do not stratify",
                        name, (unsigned long long)rows, (int)folds);
}

/* One class after another, each dealt out one row a fold: where one stops the next continues, so that sizes stay even. */
static int deal_classes(const brim_dataset *dataset, const labelled_row *sorted, brim_folds *out, brim_error *err) {
  for (uint64_t i = 0, first = 0; i < out->rows; i++) {
    folds_put(out, sorted[i].row, (int32_t)(i % (uint64_t)out->count));
    if (i + 1 < out->rows && sorted[i + 1].label == sorted[i].label)
      continue;
    if (i + 1 - first < (uint64_t)out->count)
      return refuse_small_class(dataset, sorted[i].label, i + 1 - first, out->count, err);
    first = i + 1;
  }
  return BRIM_OK;
}

/* Bins of `count` rows next to each other in value, and one row of each for every fold; the last bin may have fewer. */
static void deal_values(const labelled_row *sorted, uint64_t seed, brim_folds *out) {
  brim_random random = brim_random_make(seed, 1, BRIM_PURPOSE_FOLDS);
  uint64_t deck[BRIM_MOST_FOLDS], count = (uint64_t)out->count;
  for (uint64_t bin = 0; bin < out->rows; bin += count) {
    for (uint64_t i = 0; i < count; i++)
      deck[i] = i;
    folds_shuffle(&random, bin, deck, count);
    for (uint64_t i = 0; i < count && bin + i < out->rows; i++)
      folds_put(out, sorted[bin + i].row, (int32_t)deck[i]);
  }
}

/* ---- stratified by labels of words -------------------------------------------------------------------------- */

typedef struct counted_class {
  uint64_t words;
  int32_t label;
} counted_class;

static int compare_classes(const void *left, const void *right) {
  const counted_class *a = left, *b = right;
  return a->words != b->words ? (a->words > b->words) - (a->words < b->words) : a->label - b->label;
}

/* Adds a row's words to the counts of their classes. */
static void count_words(const brim_dataset *dataset, uint64_t row, uint64_t *words) {
  brim_sample sample;
  brim_dataset_sample(dataset, row, &sample);
  for (int32_t i = 0; i < sample.length; i++)
    if (sample.token_labels[i] != BRIM_NO_LABEL)
      words[sample.token_labels[i]]++;
}

/* The class with the fewest words has rank 0. `words` is for use. */
static int rank_classes(brim_runtime *runtime, const brim_dataset *dataset, uint64_t *words, int32_t *ranks, brim_error *err) {
  const int32_t classes = brim_dataset_labels(dataset)->count;
  counted_class *sorted = brim_alloc_array(runtime, (size_t)classes, sizeof *sorted);
  if (!sorted)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < brim_dataset_rows(dataset); row++)
    count_words(dataset, row, words);
  for (int32_t c = 0; c < classes; c++)
    sorted[c] = (counted_class){words[c], c};
  qsort(sorted, (size_t)classes, sizeof *sorted, compare_classes);
  for (int32_t rank = 0; rank < classes; rank++)
    ranks[sorted[rank].label] = rank;
  brim_release(runtime, sorted);
  return BRIM_OK;
}

/* Of the folds with room, the one with the fewest words of this class, then with the fewest rows; of rows without a labelled word
 * (class -1) the latter alone. words: [folds][classes]. */
static int32_t fold_in_need(const brim_folds *folds, const uint64_t *words, int32_t classes, int32_t class) {
  const uint64_t least = folds->rows / (uint64_t)folds->count, larger = folds->rows % (uint64_t)folds->count;
  int32_t best = -1;
  uint64_t best_words = 0;
  for (int32_t fold = 0; fold < folds->count; fold++) {
    const uint64_t has = class < 0 ? 0 : words[(size_t)fold * (size_t)classes + (size_t)class];
    if (folds->sizes[fold] == least + ((uint64_t)fold < larger))
      continue;
    if (best < 0 || has < best_words || (has == best_words && folds->sizes[fold] < folds->sizes[best]))
      best = fold, best_words = has;
  }
  return best;
}

/* Rows with the rarest classes come first, while there is room in all folds; each goes where its rarest class lacks most. */
static int deal_words(brim_runtime *runtime, const brim_dataset *dataset, const brim_random *random, brim_folds *out,
                      brim_error *err) {
  const int32_t classes = brim_dataset_labels(dataset)->count;
  int32_t *ranks = brim_alloc_array(runtime, (size_t)classes, 2 * sizeof *ranks), *of_rank = ranks ? ranks + classes : NULL;
  uint64_t *words = brim_alloc_array_zero(runtime, ((size_t)out->count + 1) * (size_t)classes, sizeof *words);
  labelled_row *sorted = NULL;
  int status = ranks && words ? BRIM_OK : BRIM_NOMEM(err);
  if (!status) /* counted after the folds */
    status = rank_classes(runtime, dataset, words + (size_t)out->count * (size_t)classes, ranks, err);
  if (!status) {
    sorted = rows_by_label(runtime, random, dataset, ranks, err);
    status = sorted ? BRIM_OK : BRIM_E_MEMORY;
    for (int32_t c = 0; c < classes; c++)
      of_rank[ranks[c]] = c;
  }
  for (uint64_t i = 0; i < out->rows && !status; i++) {
    const int32_t rank = (int32_t)sorted[i].label, fold = fold_in_need(out, words, classes, rank < classes ? of_rank[rank] : -1);
    folds_put(out, sorted[i].row, fold);
    count_words(dataset, sorted[i].row, words + (size_t)fold * (size_t)classes);
  }
  brim_release(runtime, sorted);
  brim_release(runtime, words);
  brim_release(runtime, ranks);
  return status;
}

int brim_folds_stratify(brim_runtime *runtime, const brim_dataset *dataset, int32_t count, uint64_t seed, brim_folds *out,
                        brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset);
  const brim_labels *labels = brim_dataset_labels(dataset);
  if (brim_rows_have_queries(dataset))
    return brim_error_set(
        err, BRIM_E_USAGE,
        "folds cannot be stratified (stratify) of a reranker's rows: those of one query stay together, whatever "
        "their labels are; leave it out, or give the folds (fold_column)");
  if (brim_dataset_label_width(dataset) > 1 || (labels && brim_task_has_lists(labels->task)))
    return brim_error_set(err, BRIM_E_USAGE,
                          "folds cannot be stratified by several labels a row: leave it out, or give the folds");
  const bool of_words = brim_dataset_token_labels(dataset) && labels;
  if (brim_dataset_token_labels(dataset) && !labels)
    return brim_error_set(err, BRIM_E_USAGE, "folds cannot be stratified: nothing says which classes of words there are");
  if (!of_words && !brim_dataset_has_labels(dataset))
    return brim_error_set(err, BRIM_E_USAGE, "folds cannot be stratified: not every row has a label");
  BRIM_TRY(folds_new(runtime, brim_dataset_rows(dataset), count, out, err));
  brim_random random = brim_random_make(seed, 0, BRIM_PURPOSE_FOLDS);
  labelled_row *sorted = of_words ? NULL : rows_by_label(runtime, &random, dataset, NULL, err);
  int status = sorted || of_words ? BRIM_OK : BRIM_E_MEMORY;
  if (of_words)
    status = deal_words(runtime, dataset, &random, out, err);
  else if (!status && labels && !labels->names)
    deal_values(sorted, seed, out);
  else if (!status)
    status = deal_classes(dataset, sorted, out, err);
  brim_release(runtime, sorted);
  if (status)
    brim_folds_free(out);
  return status;
}

/* ---- given ------------------------------------------------------------------------------------------------ */

static int folds_take(brim_folds *folds, const int32_t *given, brim_error *err) {
  for (uint64_t row = 0; row < folds->rows; row++) {
    if (given[row] < 0 || given[row] >= folds->count)
      return brim_error_set(err, BRIM_E_USAGE, "row %llu is in fold %d, but folds are numbered from 0 to %d",
                            (unsigned long long)row, (int)given[row], (int)folds->count - 1);
    folds_put(folds, row, given[row]);
  }
  for (int32_t fold = 0; fold < folds->count; fold++)
    if (folds->sizes[fold] == 0)
      return brim_error_set(err, BRIM_E_USAGE, "no row is in fold %d: folds are numbered from 0 to %d, without gaps", (int)fold,
                            (int)folds->count - 1);
  return BRIM_OK;
}

int brim_folds_given(brim_runtime *runtime, const int32_t *fold, uint64_t rows, int32_t count, brim_folds *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  BRIM_ARRAY(err, fold, rows);
  int32_t most = 0;
  for (uint64_t row = 0; row < rows; row++)
    most = fold[row] > most ? fold[row] : most;
  if (most >= BRIM_MOST_FOLDS)
    return brim_error_set(err, BRIM_E_USAGE, "fold %d: at most %d folds are possible", (int)most, BRIM_MOST_FOLDS);
  BRIM_TRY(folds_new(runtime, rows, count ? count : most + 1, out, err));
  int status = folds_take(out, fold, err);
  if (status)
    brim_folds_free(out);
  return status;
}

/* ---- a column --------------------------------------------------------------------------------------------- */

static int column_number(const brim_record *record, const char *column, int32_t *fold, brim_error *err) {
  int64_t number;
  size_t length = record->label_length;
  if (!record->label)
    return brim_error_at(err, BRIM_E_FORMAT, record->file, record->line, record->byte,
                         "column \"%.100s\" is empty here: every row needs the number of its fold", column);
  if (length > 0 && record->label[length - 1] == 0) /* labels of words come as a list: here of one */
    length--;
  if (brim_number_integer(record->label, length, &number) && number >= 0 && number < BRIM_MOST_FOLDS) {
    *fold = (int32_t)number;
    return BRIM_OK;
  }
  return brim_error_at(err, BRIM_E_FORMAT, record->file, record->line, record->byte,
                       "column \"%.100s\" has \"%.*s\": a fold is a whole number from 0 to %d", column,
                       (int)(length < 40 ? length : 40), record->label, BRIM_MOST_FOLDS - 1);
}

/* One number for every row of the data set, which has been read from the same records. */
static int column_read(brim_reader *reader, const char *column, const brim_dataset *dataset, bool unlabelled, int32_t *fold,
                       brim_error *err) {
  uint64_t row = 0, rows = brim_dataset_rows(dataset);
  brim_record record, lowest = {0};
  int32_t least = BRIM_MOST_FOLDS;
  for (int status; (status = brim_reader_next(reader, &record, err)) != BRIM_END;) {
    BRIM_TRY(status);
    if (unlabelled && (row == rows || record.row < brim_dataset_origin(dataset, row)))
      continue; /* it has no label: the data set left it out */
    if (row == rows || record.row != brim_dataset_origin(dataset, row))
      return brim_error_at(err, BRIM_E_MISMATCH, record.file, record.line, record.byte,
                           "the rows are not those that were read before: the file has changed");
    BRIM_TRY(column_number(&record, column, &fold[row], err));
    if (fold[row] < least)
      lowest = record, least = fold[row];
    row++;
  }
  if (row == rows && rows > 0 && least > 0)
    return brim_error_at(err, BRIM_E_USAGE, lowest.file, lowest.line, lowest.byte,
                         "column \"%.100s\" has %d here and nothing lower: folds are numbered from 0, without gaps", column,
                         (int)least);
  return row == rows ? BRIM_OK : brim_error_set(err, BRIM_E_MISMATCH, "the data has fewer rows than before: a file has changed");
}

int brim_folds_read(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *source,
                    const char *column, const brim_dataset *dataset, int32_t count, brim_folds *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, source, column, dataset);
  BRIM_STRINGS(err, paths, path_count);
  brim_source_options options = *source;
  brim_reader *reader;
  options.label_column = column;
  options.need_label = false; /* a missing value is reported here, as what it is */
  for (int i = 0; i < path_count; i++)
    if (brim_path_is_read_once(paths[i]))
      return brim_error_set(err, BRIM_E_USAGE, "a column of folds cannot be read from standard input or a pipe: name a file");
  BRIM_TRY(brim_reader_open(runtime, paths, path_count, &options, &reader, err));
  int32_t *fold = brim_alloc_array(runtime, (size_t)brim_dataset_rows(dataset), sizeof *fold);
  int status = fold ? column_read(reader, column, dataset, source->skip_unlabelled, fold, err) : BRIM_NOMEM(err);
  brim_reader_close(reader);
  if (!status)
    status = brim_folds_given(runtime, fold, brim_dataset_rows(dataset), count, out, err);
  brim_release(runtime, fold);
  return status;
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

int brim_folds_part(brim_runtime *runtime, const brim_dataset *dataset, const brim_folds *folds, int32_t index, bool held_out,
                    brim_dataset **out, brim_error *err) {
  *out = NULL;
  if (folds->rows != brim_dataset_rows(dataset) || index < 0 || index >= folds->count)
    return brim_error_set(err, BRIM_E_USAGE, "fold %d of %d over %llu rows does not fit a data set of %llu rows", (int)index,
                          (int)folds->count, (unsigned long long)folds->rows, (unsigned long long)brim_dataset_rows(dataset));
  uint64_t *rows = brim_alloc_array(runtime, (size_t)folds->rows, sizeof *rows), count = 0;
  if (!rows)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < folds->rows; row++)
    if ((folds->fold[row] == index) == held_out)
      rows[count++] = row;
  int status = brim_dataset_subset(runtime, dataset, rows, count, out, err);
  brim_release(runtime, rows);
  return status;
}

/* ---- a share ---------------------------------------------------------------------------------------------- */

/* The rows of the groups that are held out, or of the others. */
static int subset_of(brim_runtime *runtime, const brim_dataset *dataset, const bool *taken, const brim_row_groups *groups,
                     bool held, brim_dataset **out, brim_error *err) {
  const uint64_t rows = brim_dataset_rows(dataset);
  uint64_t *own = brim_alloc_array(runtime, (size_t)rows, sizeof *own), count = 0;
  if (!own)
    return BRIM_NOMEM(err);
  for (uint64_t row = 0; row < rows; row++)
    if (taken[groups->of[row]] == held)
      own[count++] = row;
  const int status = brim_dataset_subset(runtime, dataset, own, count, out, err);
  brim_release(runtime, own);
  return status;
}

int brim_hold_out(brim_runtime *runtime, const brim_dataset *dataset, double share, uint64_t seed, brim_dataset **kept,
                  brim_dataset **held, brim_error *err) {
  BRIM_OUT(err, kept);
  BRIM_OUT(err, held);
  BRIM_GIVEN(err, runtime, dataset);
  if (!(share > 0.0 && share < 1.0))
    return brim_error_set(err, BRIM_E_USAGE, "a share of the rows lies between 0 and 1, and %g does not", share);
  if (brim_dataset_rows(dataset) < 2)
    return brim_error_set(err, BRIM_E_USAGE, "a share of the rows can be held out of two or more, and there is %llu",
                          (unsigned long long)brim_dataset_rows(dataset));
  brim_row_groups groups;
  BRIM_TRY(brim_row_groups_find(runtime, dataset, &groups, err));
  const uint64_t records = groups.count;
  uint64_t count = (uint64_t)llround(share * (double)records);
  count = count < 1 ? 1 : count == records ? records - 1 : count;
  brim_random random = brim_random_make(seed, 0, BRIM_PURPOSE_HOLD_OUT);
  uint64_t *order = folds_order(runtime, &random, records);
  bool *taken = brim_alloc_array_zero(runtime, (size_t)records, sizeof *taken);
  int status = order && taken ? BRIM_OK : BRIM_NOMEM(err);
  for (uint64_t i = 0; i < count && !status; i++)
    taken[order[i]] = true;
  if (!status)
    status = subset_of(runtime, dataset, taken, &groups, true, held, err);
  if (!status)
    status = subset_of(runtime, dataset, taken, &groups, false, kept, err);
  if (status) {
    brim_dataset_free(*held);
    *held = NULL;
  }
  brim_release(runtime, order);
  brim_release(runtime, taken);
  brim_release(runtime, groups.of);
  return status;
}
