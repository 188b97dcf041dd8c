#include "train/answers/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/facts.h"
#include "data/labels.h"
#include "data/relabel.h"
#include "model/run/ask.h"
#include "model/run/fits.h"
#include "target/target.h"
#include "task/task.h"

/* ---- tokenizers and pairs --------------------------------------------------------------------------------- */

int brim_tokenizers_fit(const brim_model *model, uint64_t rows, const char *name, brim_error *err) {
  const uint64_t own = brim_model_tokenizer(model);
  if (!rows || !own || rows == own)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "%s: another tokenizer encoded the rows (its content is %016llx) than the model's (%016llx): encode them "
                        "with the model's own",
                        name, (unsigned long long)rows, (unsigned long long)own);
}

int brim_model_take_tokenizer(brim_model *model, const brim_tokenizer *tokenizer, brim_error *err) {
  uint64_t content;
  if (!tokenizer)
    return BRIM_OK;
  if (brim_model_tokenizer(model))
    return brim_tokenizer_fits(model, tokenizer, err);
  BRIM_TRY(brim_tokenizer_content(tokenizer, brim_model_takes_words(model), &content, err));
  brim_model_set_tokenizer(model, content);
  return BRIM_OK;
}

int brim_pairs_fit(const brim_dataset *dataset, int pairs, const char *name, brim_error *err) {
  const int here = brim_dataset_pairs_known(dataset);
  if (here < 0 || pairs < 0 || here == pairs)
    return BRIM_OK;
  return brim_error_set(
      err, BRIM_E_MISMATCH,
      pairs ? "%s: the rows are single texts, and those of the training data are pairs of texts: give the "
              "second text too (pair_column)"
            : "%s: the rows are pairs of texts, and those of the training data are single texts: leave out the second "
              "text (pair_column)",
      name);
}

int brim_sets_check(const brim_named_dataset *sets, int count, brim_error *err) {
  for (int i = 0; i < count; i++)
    if (!sets[i].name || !sets[i].dataset)
      return brim_error_set(err, BRIM_E_USAGE, "evaluation set %d has no %s: give both", i, sets[i].name ? "rows" : "name");
  return BRIM_OK;
}

/* ---- labels ----------------------------------------------------------------------------------------------- */

/* "classification (neg, pos)", "regression of 2 values" */
static void describe(const brim_labels *labels, char *text, size_t size) {
  int used = snprintf(text, size, "%s", brim_task_name(labels->task));
  if (!labels->names && labels->count > 1)
    snprintf(text + used, size - (size_t)used, " of %d values", (int)labels->count);
  for (int32_t i = 0; labels->names && i < labels->count && i < 4; i++)
    used += snprintf(text + used, size - (size_t)used, "%s%.30s", i ? ", " : " (", labels->names[i]);
  if (labels->names)
    snprintf(text + used, size - (size_t)used, "%s", labels->count > 4 ? ", ..)" : ")");
}

static int refuse_labels(const brim_labels *rows, const brim_labels *model, const char *name, brim_error *err) {
  char have[256], takes[256];
  describe(rows, have, sizeof have);
  describe(model, takes, sizeof takes);
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "%s: the rows are labelled for %s, and the model is of %s: give it rows with its labels", name, have,
                        takes);
}

static bool same_names(const brim_labels *a, const brim_labels *b) {
  bool same = a->count == b->count;
  for (int32_t i = 0; same && i < a->count; i++)
    same = strcmp(a->names[i], b->names[i]) == 0;
  return same;
}

/* Evaluation is of rows that are masked. */
static int masks_fit(const brim_dataset *dataset, brim_task task, const char *name, brim_error *err) {
  if (brim_dataset_labels(dataset)->task == task && !brim_dataset_is_numbered(dataset))
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_MISMATCH, "%s: the model is of masked words, and the rows are not masked (brim_dataset_mask)",
                        name);
}

static int map_labels(brim_runtime *runtime, const brim_dataset *dataset, const brim_labels *to, const char *name,
                      brim_dataset **mapped, brim_error *err) {
  const brim_labels *from = brim_dataset_labels(dataset);
  if (!from)
    return BRIM_OK;
  if (brim_task_shape(to->task)->made)
    return masks_fit(dataset, to->task, name, err);
  const bool counted = !to->names && !brim_label_type_of(to->task)->scores;
  if (from->task != to->task || (counted && from->count != to->count))
    return refuse_labels(from, to, name, err);
  return !to->names || same_names(from, to) ? BRIM_OK : brim_dataset_relabel(runtime, dataset, to, name, mapped, err);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

/* A list of labels has one for each document of its row, or fewer where all lists have as many. */
static int lists_fit(const brim_dataset *dataset, const char *name, brim_error *err) {
  for (uint64_t row = 0; brim_dataset_label_width(dataset) > 1 && row < brim_dataset_rows(dataset); row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    const int32_t texts = sample.text_lengths ? sample.text_count : 1;
    int32_t labels = sample.labels ? sample.label_width : 0; /* rows of fewer have NaN after them */
    while (labels > 0 && isnan(sample.labels[labels - 1]))
      labels--;
    if (labels > texts || (labels > 0 && labels < sample.label_width && labels != texts))
      return brim_row_error(err, BRIM_E_MISMATCH, (brim_row_name){name, brim_dataset_origin(dataset, row)},
                            "has %d label%s and %d document%s: give each document one", (int)labels, labels == 1 ? "" : "s",
                            (int)texts, texts == 1 ? "" : "s");
  }
  return BRIM_OK;
}

/* A score is of two texts that are encoded as one. */
static int joined_fit(const brim_model *model, const brim_dataset *dataset, const char *name, brim_error *err) {
  if (!brim_model_shape(model)->joins_pairs)
    return BRIM_OK;
  if (brim_dataset_pairs_known(dataset) != 0)
    return lists_fit(dataset, name, err);
  return brim_error_set(
      err, BRIM_E_MISMATCH, "%s: the rows are %s, and the model is of %s, which reads two texts as one: encode pairs", name,
      brim_dataset_firsts(dataset) ? "several texts, each by itself" : "single texts", brim_task_name(brim_model_task(model)));
}

/* A loss of the device compares each text with a label. */
static int texts_fit(const brim_model *model, const brim_dataset *dataset, const char *name, brim_error *err) {
  const brim_task task = brim_model_task(model);
  const brim_target *target = brim_target_of(task);
  if (brim_dataset_has_windows(dataset) && !brim_target_has_windows(task))
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "%s: the rows are windows, and the model is of %s, which has none: leave them out", name,
                          brim_task_name(task));
  if (brim_dataset_has_windows(dataset) || !brim_dataset_firsts(dataset) || !target || target->scope != BRIM_LOSS_ON_DEVICE)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_MISMATCH,
                        "%s: the rows have several texts, and the model is of %s, which has one: give it one "
                        "column of texts",
                        name, brim_task_name(task));
}

int brim_rows_fit(const brim_model *model, const brim_dataset *dataset, int32_t cut, bool labels, const char *name,
                  brim_error *err) {
  const uint64_t rows = brim_dataset_rows(dataset);
  for (uint64_t row = 0; row < rows; row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    const brim_row_name at = {name, brim_dataset_origin(dataset, row)};
    BRIM_TRY(brim_row_fits(model, &sample, cut, labels, at, err));
  }
  const uint64_t *labelled = labels ? brim_dataset_token_labels(dataset) : NULL;
  if (labelled && labelled[rows] == 0)
    return brim_error_set(err, BRIM_E_MISMATCH, "%s: no token has a label: rows need a larger max_length, or other labels", name);
  return BRIM_OK;
}

int brim_dataset_fit(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, int32_t cut, bool labels,
                     const char *name, brim_dataset **mapped, brim_error *err) {
  BRIM_OUT(err, mapped);
  BRIM_GIVEN(err, runtime, model, dataset, name);
  return brim_dataset_fit_of(runtime, model, dataset, brim_model_pairs(model), cut, labels, name, mapped, err);
}

int brim_dataset_fit_of(brim_runtime *runtime, const brim_model *model, const brim_dataset *dataset, int pairs, int32_t cut,
                        bool labels, const char *name, brim_dataset **mapped, brim_error *err) {
  *mapped = NULL;
  if (brim_dataset_rows(dataset) == 0)
    return brim_error_set(err, BRIM_E_USAGE, "%s: there are no rows", name);
  BRIM_TRY(brim_tokenizers_fit(model, brim_dataset_tokenizer(dataset), name, err));
  BRIM_TRY(texts_fit(model, dataset, name, err));
  BRIM_TRY(joined_fit(model, dataset, name, err));
  BRIM_TRY(brim_pairs_fit(dataset, pairs, name, err));
  if (labels)
    BRIM_TRY(map_labels(runtime, dataset, brim_model_labels(model), name, mapped, err));
  const int status = brim_rows_fit(model, *mapped ? *mapped : dataset, cut, labels, name, err);
  if (status) {
    brim_dataset_free(*mapped);
    *mapped = NULL;
  }
  return status;
}
