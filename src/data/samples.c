/* samples.c: datasets from rows that are encoded already: the caller's, those of another dataset, or of a JSON batch. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/dataset.h"
#include "task/task.h"

#define MAX_FILE ((size_t)1 << 30)

/* ---- from the caller -------------------------------------------------------------------------------------- */

/* A label that is missing is for predictions. */
static int check_label(const brim_sample *sample, const brim_labels *labels, uint64_t row, brim_error *err) {
  const float *values = sample->labels ? sample->labels : &sample->label;
  const int32_t width = sample->labels ? sample->label_width : 1;
  const brim_row_name name = {.row = row};
  if (sample->token_labels)
    return brim_token_labels_fit(labels ? labels->task : brim_task_of_words(), labels ? labels->count : INT32_MAX,
                                 sample->token_labels, sample->length, name, err)
               ? BRIM_E_USAGE
               : BRIM_OK;
  return labels && brim_label_fits(labels->task, labels->count, values, width, true, name, err) ? BRIM_E_USAGE : BRIM_OK;
}

/* All rows have as many labels. */
static int check_width(const brim_sample *samples, uint64_t row, brim_error *err) {
  const int32_t first = samples[0].labels ? samples[0].label_width : 1;
  const int32_t here = samples[row].labels ? samples[row].label_width : 1;
  if (here == first && here > 0)
    return BRIM_OK;
  return brim_error_set(err, BRIM_E_USAGE, "row %llu has %d labels, but the first row has %d", (unsigned long long)row, (int)here,
                        (int)first);
}

static bool texts_fit(const brim_sample *sample) {
  int64_t tokens = 0;
  for (int32_t i = 0; sample->text_lengths && i < sample->text_count; i++) {
    if (sample->text_lengths[i] < 1)
      return false;
    tokens += sample->text_lengths[i];
  }
  return !sample->text_lengths || tokens == sample->length;
}

static int check_sample(const brim_sample *sample, uint64_t row, brim_error *err) {
  if (sample->length <= 0 || !sample->ids)
    return brim_error_set(err, BRIM_E_USAGE, "row %llu has no tokens", (unsigned long long)row);
  for (int32_t i = 0; i < sample->length; i++)
    if (sample->ids[i] < 0)
      return brim_error_set(err, BRIM_E_USAGE, "row %llu: token %d has the negative id %d", (unsigned long long)row, (int)i,
                            (int)sample->ids[i]);
  if (!texts_fit(sample))
    return brim_error_set(err, BRIM_E_USAGE, "row %llu: the lengths of its texts are not those of its %d tokens",
                          (unsigned long long)row, (int)sample->length);
  if (sample->words && !brim_words_fit(sample->words, sample->length, sample->word_text, sample->word_text_length))
    return brim_error_set(err, BRIM_E_USAGE, "row %llu: a token is of a word that the row does not have",
                          (unsigned long long)row);
  return BRIM_OK;
}

static int add_samples(brim_dataset *dataset, const brim_sample *samples, uint64_t count, const brim_labels *labels,
                       brim_error *err) {
  bool labelled = false;
  for (uint64_t i = 0; i < count; i++)
    labelled |= samples[i].labels || !isnan(samples[i].label);
  for (uint64_t i = 0; i < count; i++) {
    brim_sample sample = samples[i];
    sample.row = i;
    BRIM_TRY(check_sample(&sample, i, err));
    BRIM_TRY(check_width(samples, i, err));
    BRIM_TRY(check_label(&sample, labels, i, err));
    BRIM_TRY(brim_dataset_add(dataset, &sample, 0, labelled, err));
  }
  if (labels) {
    BRIM_TRY(brim_labels_copy(dataset->runtime, labels, &dataset->labels, err));
    dataset->mapped = true;
  }
  dataset->pairs = dataset->highest_type > 0;
  return brim_dataset_seal(dataset, err);
}

/* Widths are known, and every row has its numbers. */
static int check_blocks(const brim_block_shape *further, int count, const brim_sample *samples, uint64_t rows, brim_error *err) {
  BRIM_TRY(brim_blocks_check(further, count, err));
  for (int b = 0; b < count; b++) {
    if (further[b].width < 1)
      return brim_error_set(err, BRIM_E_USAGE, "block %s: say how many numbers it has", further[b].name);
    for (uint64_t row = 0; row < rows; row++)
      if (!samples[row].blocks[b + 1])
        return brim_error_set(err, BRIM_E_USAGE, "row %llu has no %s", (unsigned long long)row, further[b].name);
  }
  return BRIM_OK;
}

int brim_dataset_from_samples(brim_runtime *runtime, const brim_sample *samples, uint64_t count, const brim_labels *labels,
                              brim_dataset **out, brim_error *err) {
  return brim_dataset_from_rows(runtime, samples, count, labels, NULL, 0, out, err);
}

int brim_dataset_from_rows(brim_runtime *runtime, const brim_sample *samples, uint64_t count, const brim_labels *labels,
                           const brim_block_shape *further, int further_count, brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  BRIM_ARRAY(err, samples, count);
  BRIM_ARRAY(err, further, further_count);
  if (count == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows");
  BRIM_TRY(check_blocks(further, further_count, samples, count, err));
  brim_dataset *dataset = brim_dataset_new(runtime, err);
  if (!dataset)
    return BRIM_E_MEMORY;
  for (int b = 0; b < further_count; b++)
    dataset->shapes[b + 1] = further[b];
  dataset->block_count += further_count;
  int status = add_samples(dataset, samples, count, labels, err);
  if (status != BRIM_OK) {
    brim_dataset_free(dataset);
    return status;
  }
  *out = dataset;
  return BRIM_OK;
}

/* ---- from another data set -------------------------------------------------------------------------------- */

static int add_subset(brim_dataset *out, const brim_dataset *from, const uint64_t *rows, uint64_t count, brim_error *err) {
  const bool labelled = brim_dataset_row_labels(from) != NULL;
  memcpy(out->shapes, from->shapes, sizeof out->shapes);
  out->block_count = from->block_count;
  for (uint64_t i = 0; i < count; i++) {
    brim_sample sample;
    if (rows[i] >= from->rows)
      return brim_error_set(err, BRIM_E_USAGE, "there is no row %llu among %llu", (unsigned long long)rows[i],
                            (unsigned long long)from->rows);
    brim_dataset_sample(from, rows[i], &sample);
    sample.row = brim_dataset_origin(from, rows[i]);
    BRIM_TRY(brim_dataset_add(out, &sample, 0, labelled, err));
  }
  if (from->mapped)
    BRIM_TRY(brim_labels_copy(out->runtime, &from->labels, &out->labels, err));
  out->mapped = from->mapped;
  out->numbered = from->numbered;
  out->pairs = from->pairs;
  out->from_texts = from->from_texts;
  out->most_texts = from->most_texts;
  out->cutting = from->cutting;
  out->windows = from->windows;
  out->windows_are_rows = from->windows_are_rows;
  out->tokenizer = from->tokenizer;
  out->prompted = from->prompted;
  memcpy(out->prompt_tokens, from->prompt_tokens, sizeof out->prompt_tokens);
  out->stamp = from->stamp;
  return brim_dataset_seal(out, err);
}

int brim_dataset_subset(brim_runtime *runtime, const brim_dataset *dataset, const uint64_t *rows, uint64_t count,
                        brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, dataset);
  BRIM_ARRAY(err, rows, count);
  if (count == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows");
  brim_dataset *subset = brim_dataset_new(runtime, err);
  if (!subset)
    return BRIM_E_MEMORY;
  int status = add_subset(subset, dataset, rows, count, err);
  if (status != BRIM_OK) {
    brim_dataset_free(subset);
    return status;
  }
  *out = subset;
  return BRIM_OK;
}

/* ---- from JSON -------------------------------------------------------------------------------------------- */

/* One row's arrays, reused from row to row. */
typedef struct json_row {
  int32_t *ids, *token_labels;
  uint8_t *types;
  float *labels;
  int32_t *lengths; /* of texts */
  size_t id_room, token_label_room, type_room, label_room, length_room;
} json_row;

typedef struct json_batch {
  const brim_json_document *document;
  brim_dataset *dataset;
  json_row row;
} json_batch;

static int bad(const json_batch *batch, const brim_json_value *value, brim_error *err, const char *what) {
  return brim_json_error(batch->document, value, err, BRIM_E_FORMAT, "%s, not %s", what, brim_json_kind_name(value->kind));
}

/* After the ids that the row has, `at` of them. */
static int read_ids(json_batch *batch, const brim_json_value *list, size_t at, brim_error *err) {
  if (list->kind != BRIM_JSON_ARRAY)
    return bad(batch, list, err, "\"ids\" is an array of token ids");
  if (list->length == 0 || list->length > INT32_MAX)
    return brim_json_error(batch->document, list, err, BRIM_E_FORMAT, "a row has at least one token");
  BRIM_TRY(
      brim_grow(batch->dataset->runtime, (void **)&batch->row.ids, &batch->row.id_room, at + list->length, sizeof(int32_t), err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    if (v->kind != BRIM_JSON_INT || v->as.integer < 0 || v->as.integer >= INT32_MAX)
      return brim_json_error(batch->document, v, err, BRIM_E_FORMAT, "a token id is an integer from 0 up");
    batch->row.ids[at++] = (int32_t)v->as.integer;
  }
  return BRIM_OK;
}

/* After the types that the row has, `at` of them. */
static int read_types(json_batch *batch, const brim_json_value *list, size_t at, uint32_t length, brim_error *err) {
  if (list->kind != BRIM_JSON_ARRAY)
    return bad(batch, list, err, "\"type_ids\" is an array of integers");
  if (list->length != length)
    return brim_json_error(batch->document, list, err, BRIM_E_FORMAT, "%u type_ids for %u ids", (unsigned)list->length,
                           (unsigned)length);
  BRIM_TRY(brim_grow(batch->dataset->runtime, (void **)&batch->row.types, &batch->row.type_room, at + length, 1, err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    if (v->kind != BRIM_JSON_INT || v->as.integer < 0 || v->as.integer > 255)
      return brim_json_error(batch->document, v, err, BRIM_E_FORMAT, "a type id is an integer from 0 to 255");
    batch->row.types[at++] = (uint8_t)v->as.integer;
  }
  return BRIM_OK;
}

static int read_number(const json_batch *batch, const brim_json_value *value, float *label, brim_error *err) {
  if (value->kind != BRIM_JSON_INT && value->kind != BRIM_JSON_REAL)
    return bad(batch, value, err, "\"label\" is a class id or a number, or a list of them");
  *label = (float)brim_json_number(value);
  return isfinite(*label) ? BRIM_OK : brim_json_error(batch->document, value, err, BRIM_E_FORMAT, "the label is too large");
}

static int read_labels(json_batch *batch, const brim_json_value *list, brim_sample *sample, brim_error *err) {
  const brim_dataset *dataset = batch->dataset;
  if (list->length == 0 || list->length > INT32_MAX ||
      (dataset->rows > 0 && (int32_t)list->length != dataset->shapes[BRIM_LABEL_BLOCK].width))
    return brim_json_error(batch->document, list, err, BRIM_E_FORMAT,
                           "\"label\" lists at least one number, as many in every row");
  BRIM_TRY(brim_grow(dataset->runtime, (void **)&batch->row.labels, &batch->row.label_room, list->length, sizeof(float), err));
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v))
    BRIM_TRY(read_number(batch, v, &batch->row.labels[sample->label_width++], err));
  sample->labels = batch->row.labels;
  return BRIM_OK;
}

static int read_label(json_batch *batch, const brim_json_value *value, brim_sample *sample, brim_error *err) {
  sample->label = NAN;
  if (value && value->kind == BRIM_JSON_ARRAY)
    return read_labels(batch, value, sample, err);
  if (batch->dataset->shapes[BRIM_LABEL_BLOCK].width > 1)
    return brim_json_error(batch->document, value, err, BRIM_E_FORMAT, "the first row's \"label\" is a list, this row's is not");
  return !value || value->kind == BRIM_JSON_NULL ? BRIM_OK : read_number(batch, value, &sample->label, err);
}

static int read_token_labels(json_batch *batch, const brim_json_value *list, uint32_t length, brim_error *err) {
  json_row *row = &batch->row;
  if (list->kind != BRIM_JSON_ARRAY || list->length != length)
    return brim_json_error(batch->document, list, err, BRIM_E_FORMAT, "\"labels\" is an array of classes, one for each of %u ids",
                           (unsigned)length);
  BRIM_TRY(brim_grow(batch->dataset->runtime, (void **)&row->token_labels, &row->token_label_room, length, sizeof(int32_t), err));
  size_t at = 0;
  for (const brim_json_value *v = brim_json_first(list); v; v = brim_json_after(list, v)) {
    const bool whole = v->kind == BRIM_JSON_INT;
    if (!whole || v->as.integer >= INT32_MAX || (v->as.integer < 0 && v->as.integer != BRIM_NO_LABEL))
      return brim_json_error(batch->document, v, err, BRIM_E_FORMAT, "the label of a token is a class from 0 up, or %d for none",
                             BRIM_NO_LABEL);
    row->token_labels[at++] = (int32_t)v->as.integer;
  }
  return BRIM_OK;
}

/* Another text of the row, whose ids come after those that it has. */
static int add_text(json_batch *batch, brim_sample *sample, const brim_json_value *ids, const brim_json_value *types,
                    brim_error *err) {
  json_row *row = &batch->row;
  const size_t before = (size_t)sample->length;
  BRIM_TRY(read_ids(batch, ids, (size_t)sample->length, err));
  BRIM_TRY(brim_grow(batch->dataset->runtime, (void **)&row->lengths, &row->length_room, (size_t)sample->text_count + 1,
                     sizeof *row->lengths, err));
  BRIM_TRY(brim_grow(batch->dataset->runtime, (void **)&row->types, &row->type_room, before + ids->length, 1, err));
  memset(row->types + before, 0, ids->length);
  if (types && types->kind != BRIM_JSON_NULL)
    BRIM_TRY(read_types(batch, types, before, ids->length, err));
  row->lengths[sample->text_count++] = (int32_t)ids->length;
  sample->length += (int32_t)ids->length;
  sample->ids = row->ids;
  sample->type_ids = row->types;
  sample->text_lengths = row->lengths;
  return BRIM_OK;
}

/* {"columns": [[ids of a text], ..], "label": ..} */
static int read_columns(json_batch *batch, const brim_json_value *value, const brim_json_value *columns, brim_error *err) {
  brim_sample sample = {.row = batch->dataset->rows};
  if (columns->kind != BRIM_JSON_ARRAY || columns->length == 0)
    return bad(batch, columns, err, "\"columns\" lists the ids of each of the row's texts");
  for (const brim_json_value *v = brim_json_first(columns); v; v = brim_json_after(columns, v))
    BRIM_TRY(add_text(batch, &sample, v, NULL, err));
  BRIM_TRY(read_label(batch, brim_json_get(value, "label"), &sample, err));
  return brim_dataset_add(batch->dataset, &sample, 0, true, err);
}

static int64_t query_of(const brim_json_value *value) {
  const brim_json_value *query = value && value->kind == BRIM_JSON_OBJECT ? brim_json_get(value, "query") : NULL;
  return query && query->kind == BRIM_JSON_INT ? query->as.integer : -1;
}

/* Objects that follow each other and name one query are the texts of one row, with a label each. */
static int64_t group_size(const brim_json_value *root, const brim_json_value *first) {
  int64_t size = 0;
  for (const brim_json_value *v = first; v && query_of(v) == query_of(first); v = brim_json_after(root, v))
    size++;
  return size;
}

/* *value: the last of the group. `most`: of the largest group, whose labels all have room for. */
static int read_group(json_batch *batch, const brim_json_value *root, const brim_json_value **value, int64_t most,
                      brim_error *err) {
  brim_sample sample = {.row = batch->dataset->rows, .label_width = (int32_t)most};
  json_row *row = &batch->row;
  const int64_t size = group_size(root, *value);
  BRIM_TRY(brim_grow(batch->dataset->runtime, (void **)&row->labels, &row->label_room, (size_t)most, sizeof *row->labels, err));
  for (int64_t i = 0; i < most; i++)
    row->labels[i] = NAN;
  for (int64_t i = 0; i < size; i++) {
    const brim_json_value *ids = brim_json_get(*value, "ids"), *label = brim_json_get(*value, "label");
    if (!ids)
      return brim_json_error(batch->document, *value, err, BRIM_E_FORMAT, "the row has no \"ids\"");
    BRIM_TRY(add_text(batch, &sample, ids, brim_json_get(*value, "type_ids"), err));
    if (label && label->kind != BRIM_JSON_NULL)
      BRIM_TRY(read_number(batch, label, &row->labels[i], err));
    *value = i + 1 < size ? brim_json_after(root, *value) : *value;
  }
  sample.labels = row->labels;
  return brim_dataset_add(batch->dataset, &sample, 0, true, err);
}

static int read_row(json_batch *batch, const brim_json_value *value, brim_error *err) {
  if (value->kind != BRIM_JSON_OBJECT)
    return bad(batch, value, err, "a row is an object {\"ids\": [..]}");
  const brim_json_value *columns = brim_json_get(value, "columns");
  if (columns)
    return read_columns(batch, value, columns, err);
  const brim_json_value *ids = brim_json_get(value, "ids"), *types = brim_json_get(value, "type_ids");
  if (!ids)
    return brim_json_error(batch->document, value, err, BRIM_E_FORMAT, "the row has no \"ids\"");
  brim_sample sample = {.length = (int32_t)ids->length, .row = batch->dataset->rows};
  BRIM_TRY(read_ids(batch, ids, 0, err));
  if (types && types->kind != BRIM_JSON_NULL) {
    BRIM_TRY(read_types(batch, types, 0, ids->length, err));
    sample.type_ids = batch->row.types;
  }
  BRIM_TRY(read_label(batch, brim_json_get(value, "label"), &sample, err));
  const brim_json_value *labels = brim_json_get(value, "labels");
  if (labels && labels->kind != BRIM_JSON_NULL) {
    BRIM_TRY(read_token_labels(batch, labels, ids->length, err));
    sample.token_labels = batch->row.token_labels;
  }
  sample.ids = batch->row.ids;
  return brim_dataset_add(batch->dataset, &sample, 0, true, err);
}

static int read_batch(json_batch *batch, brim_error *err) {
  const brim_json_value *root = brim_json_root(batch->document);
  if (root->kind != BRIM_JSON_ARRAY)
    return bad(batch, root, err, "a batch is an array of rows");
  if (root->length == 0)
    return brim_json_error(batch->document, root, err, BRIM_E_FORMAT, "the batch has no rows");
  int64_t most = 1;
  for (const brim_json_value *v = brim_json_first(root); v; v = brim_json_after(root, v))
    most = query_of(v) >= 0 && group_size(root, v) > most ? group_size(root, v) : most;
  for (const brim_json_value *v = brim_json_first(root); v; v = brim_json_after(root, v))
    BRIM_TRY(query_of(v) >= 0 ? read_group(batch, root, &v, most, err) : read_row(batch, v, err));
  batch->dataset->pairs = batch->dataset->highest_type > 0;
  return brim_dataset_seal(batch->dataset, err);
}

int brim_dataset_read_json(brim_runtime *runtime, const char *path, brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, path);
  brim_json_document *document = NULL;
  BRIM_TRY(brim_json_load_named(runtime, path, MAX_FILE, &document, err));
  json_batch batch = {.document = document, .dataset = brim_dataset_new(runtime, err)};
  int status = batch.dataset ? read_batch(&batch, err) : BRIM_E_MEMORY;
  brim_release(runtime, batch.row.ids);
  brim_release(runtime, batch.row.types);
  brim_release(runtime, batch.row.token_labels);
  brim_release(runtime, batch.row.labels);
  brim_release(runtime, batch.row.lengths);
  brim_json_free(document);
  if (status != BRIM_OK) {
    brim_dataset_free(batch.dataset);
    return status;
  }
  *out = batch.dataset;
  return BRIM_OK;
}

int brim_dataset_name_classes(brim_dataset *dataset, const char *const *names, int32_t count, brim_error *err) {
  BRIM_GIVEN(err, dataset);
  BRIM_STRINGS(err, names, count);
  brim_labels named;
  if (!dataset->mapped || !dataset->labels.names || dataset->labels.count != count)
    return brim_error_set(err, BRIM_E_USAGE, "%d names for %d classes", (int)count,
                          dataset->mapped && dataset->labels.names ? (int)dataset->labels.count : 0);
  BRIM_TRY(brim_labels_make(dataset->labels.runtime, dataset->labels.task, names, count, &named, err));
  brim_labels_set_strings(&named, true);
  brim_labels_free(&dataset->labels);
  dataset->labels = named;
  return BRIM_OK;
}
