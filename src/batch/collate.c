/* Collation: rows of a dataset into one ragged batch, and its padded view. */
#include "batch/collate.h"
#include "base/memory.h"
#include "base/status.h"
#include "batch/weight.h"
#include "brim/batch.h"
#include "data/dataset.h"
#include <math.h>
#include <string.h>

enum { CACHE_LINE_IDS = 64 / sizeof(int32_t) };

static uint64_t texts_of(const brim_dataset *dataset, uint64_t row) {
  return dataset->firsts ? dataset->firsts[row + 1] - dataset->firsts[row] : 1;
}

/* The rows of a part lie anywhere in memory: they are called for here, and come while the rest is looked at. *out: their texts.
 */
static int check_part(const brim_dataset *dataset, const brim_planned *part, size_t *out, brim_error *err) {
  int64_t tokens = 0;
  uint64_t texts = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    uint64_t row = part->rows[i];
    if (row >= dataset->rows)
      return brim_error_set(err, BRIM_E_MISMATCH, "the plan has row %llu but the data has %llu rows: plan these data again",
                            (unsigned long long)row, (unsigned long long)dataset->rows);
    tokens += brim_planned_length(part, dataset->lengths[row]);
    texts += texts_of(dataset, row);
    __builtin_prefetch(dataset->ids[row]);
    if (dataset->lengths[row] > CACHE_LINE_IDS)
      __builtin_prefetch(dataset->ids[row] + CACHE_LINE_IDS);
  }
  if (tokens != part->tokens)
    return brim_error_set(err, BRIM_E_MISMATCH, "the plan counts %lld tokens where the data has %lld: plan these data again",
                          (long long)part->tokens, (long long)tokens);
  if (dataset->firsts && texts != part->texts)
    return brim_error_set(err, BRIM_E_MISMATCH, "the plan counts %u texts where the data has %llu: plan these data again",
                          (unsigned)part->texts, (unsigned long long)texts);
  if ((uint64_t)part->step_rows * (uint64_t)dataset->most_texts > UINT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a step of %u rows of up to %d texts is too large: take fewer rows",
                          (unsigned)part->step_rows, (int)dataset->most_texts);
  if (tokens > INT32_MAX || texts > INT32_MAX - 1)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a batch of %lld tokens is too large: set max_tokens below 2147483648",
                          (long long)tokens);
  *out = (size_t)texts;
  return BRIM_OK;
}

/* Grows one array; a batch that could not grow stays valid with what it had. */
static int grow(brim_runtime *runtime, void *array, size_t count, size_t size, brim_error *err) {
  void *more = brim_resize_array(runtime, *(void **)array, count, size);
  if (!more)
    return BRIM_NOMEM(err);
  *(void **)array = more;
  return BRIM_OK;
}

static int reserve_labels(brim_batch *batch, size_t rows, int32_t width, brim_error *err) {
  batch->label_width = width;
  if (rows * (size_t)width <= batch->label_capacity)
    return BRIM_OK;
  BRIM_TRY(grow(batch->runtime, &batch->labels, rows, (size_t)width * sizeof *batch->labels, err));
  batch->label_capacity = rows * (size_t)width;
  return BRIM_OK;
}

static int reserve_token_labels(brim_batch *batch, size_t tokens, brim_error *err) {
  if (tokens <= batch->token_label_capacity)
    return BRIM_OK;
  BRIM_TRY(grow(batch->runtime, &batch->token_label_room, tokens, sizeof *batch->token_label_room, err));
  batch->token_label_capacity = tokens;
  return BRIM_OK;
}

static int reserve_firsts(brim_batch *batch, size_t rows, brim_error *err) {
  if (rows + 1 <= batch->first_capacity)
    return BRIM_OK;
  BRIM_TRY(grow(batch->runtime, &batch->first_room, rows + 1, sizeof *batch->first_room, err));
  batch->first_capacity = rows + 1;
  return BRIM_OK;
}

static int reserve(brim_batch *batch, size_t tokens, size_t texts, size_t rows, brim_error *err) {
  brim_runtime *runtime = batch->runtime;
  if (tokens > batch->token_capacity) {
    BRIM_TRY(grow(runtime, &batch->ids, tokens, sizeof *batch->ids, err));
    BRIM_TRY(grow(runtime, &batch->type_ids, tokens, sizeof *batch->type_ids, err));
    batch->token_capacity = tokens;
  }
  if (texts > batch->text_capacity || !batch->offsets) {
    texts = texts > 0 ? texts : 1;
    BRIM_TRY(grow(runtime, &batch->offsets, texts + 1, sizeof *batch->offsets, err));
    BRIM_TRY(grow(runtime, &batch->places, texts, sizeof *batch->places, err));
    BRIM_TRY(grow(runtime, &batch->slice_room, texts, sizeof *batch->slice_room, err));
    batch->text_capacity = texts;
  }
  if (rows > batch->row_capacity || !batch->rows) {
    rows = rows > 0 ? rows : 1;
    BRIM_TRY(grow(runtime, &batch->rows, rows, sizeof *batch->rows, err));
    batch->row_capacity = rows;
  }
  return BRIM_OK;
}

int brim_batch_reserve(brim_batch *batch, brim_runtime *runtime, int64_t tokens, int32_t texts, bool several, int32_t label_width,
                       brim_error *err) {
  batch->runtime = runtime;
  BRIM_TRY(reserve(batch, (size_t)tokens, (size_t)texts, (size_t)texts, err));
  if (several)
    BRIM_TRY(reserve_firsts(batch, (size_t)texts, err));
  return reserve_labels(batch, (size_t)texts, label_width, err);
}

/* Copies the ids of one row, or the labels of its tokens; a cut row keeps its last token. */
static void copy_tokens(int32_t *to, const int32_t *from, int32_t length, int32_t whole) {
  memcpy(to, from, (size_t)length * sizeof *to);
  if (length < whole && length > 0)
    to[length - 1] = from[whole - 1];
}

/* The same for types; rows of zeros only keep none. */
static void copy_types(brim_batch *batch, const brim_dataset *dataset, uint64_t row, int32_t at, int32_t length) {
  const uint8_t *types = dataset->type_ids[row];
  const int32_t whole = dataset->lengths[row];
  if (types)
    memcpy(batch->type_ids + at, types, (size_t)length);
  else
    memset(batch->type_ids + at, 0, (size_t)length);
  if (types && length < whole && length > 0)
    batch->type_ids[at + length - 1] = types[whole - 1];
}

/* Without labels: NaN. */
static void copy_label(brim_batch *batch, const brim_dataset *dataset, uint64_t row, uint32_t at) {
  const size_t width = (size_t)batch->label_width;
  if (dataset->values)
    memcpy(batch->labels + at * width, dataset->values + row * width, width * sizeof *batch->labels);
  for (size_t i = 0; !dataset->values && i < width; i++)
    batch->labels[at * width + i] = NAN;
}

/* The texts of the part's row i, which begins at token `at`, from batch text `first` on. Returns their number. */
static int32_t fill_texts(brim_batch *batch, const brim_dataset *dataset, const brim_planned *part, uint32_t i, int32_t first,
                          int32_t at, int32_t length) {
  const uint64_t row = part->rows[i];
  const int32_t count = (int32_t)texts_of(dataset, row);
  const int32_t *lengths = dataset->firsts ? dataset->text_lengths + dataset->firsts[row] : &length;
  for (int32_t t = 0; t < count; t++, first++) {
    at += lengths[t];
    batch->offsets[first + 1] = at;
    batch->places[first] = part->places[i] * (uint32_t)dataset->most_texts + (uint32_t)t;
    if (part->slices)
      batch->slices[first] = part->slices[i];
  }
  return count;
}

static void fill_rows(brim_batch *batch, const brim_dataset *dataset, const brim_planned *part) {
  int32_t text = 0;
  batch->offsets[0] = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    const uint64_t row = part->rows[i];
    const int32_t at = batch->offsets[text], length = brim_planned_length(part, dataset->lengths[row]);
    copy_tokens(batch->ids + at, dataset->ids[row], length, dataset->lengths[row]);
    if (dataset->token_labels)
      copy_tokens(batch->token_labels + at, dataset->token_labels[row], length, dataset->lengths[row]);
    if (dataset->type_ids)
      copy_types(batch, dataset, row, at, length);
    copy_label(batch, dataset, row, i);
    batch->rows[i] = row;
    if (batch->firsts)
      batch->firsts[i] = text;
    text += fill_texts(batch, dataset, part, i, text, at, length);
  }
  if (batch->firsts)
    batch->firsts[part->count] = text;
  if (!dataset->type_ids && part->tokens)
    memset(batch->type_ids, 0, (size_t)part->tokens);
}

int brim_batch_fill(brim_batch *batch, brim_runtime *runtime, const brim_dataset *dataset, const brim_planned *part,
                    brim_error *err) {
  batch->runtime = runtime;
  BRIM_TRY(brim_dataset_intact(dataset, err));
  size_t texts = 0;
  BRIM_TRY(check_part(dataset, part, &texts, err));
  BRIM_TRY(reserve(batch, (size_t)part->tokens, texts, part->count, err));
  if (dataset->firsts)
    BRIM_TRY(reserve_firsts(batch, part->count, err));
  BRIM_TRY(reserve_labels(batch, part->count, dataset->label_width, err));
  if (dataset->token_labels)
    BRIM_TRY(reserve_token_labels(batch, (size_t)part->tokens + 1, err)); /* of no rows they are there too */
  batch->token_labels = dataset->token_labels ? batch->token_label_room : NULL;
  batch->count = (int32_t)texts;
  batch->row_count = (int32_t)part->count;
  batch->firsts = dataset->firsts ? batch->first_room : NULL;
  batch->width = part->width;
  batch->tokens = part->tokens;
  batch->slots = part->slots;
  batch->slices = part->slices ? batch->slice_room : NULL;
  batch->step = part->step;
  batch->step_rows = part->step_rows;
  batch->divisor = 0;
  fill_rows(batch, dataset, part);
  return BRIM_OK;
}

int brim_batch_copy(brim_batch *to, brim_runtime *runtime, const brim_batch *from, brim_error *err) {
  const size_t texts = (size_t)from->count, rows = (size_t)from->row_count, tokens = (size_t)from->tokens;
  to->runtime = runtime;
  BRIM_TRY(reserve(to, tokens + 1, texts + 1, rows + 1, err)); /* none are arrays too */
  if (from->firsts)
    BRIM_TRY(reserve_firsts(to, rows, err));
  BRIM_TRY(reserve_labels(to, rows + 1, from->label_width, err));
  if (from->token_labels)
    BRIM_TRY(reserve_token_labels(to, tokens + 1, err));
  to->count = from->count, to->row_count = from->row_count, to->width = from->width;
  to->tokens = from->tokens, to->slots = from->slots;
  to->step = from->step, to->step_rows = from->step_rows, to->divisor = from->divisor;
  to->token_labels = from->token_labels ? to->token_label_room : NULL;
  to->slices = from->slices ? to->slice_room : NULL;
  to->firsts = from->firsts ? to->first_room : NULL;
  to->offsets[0] = 0;
  if (to->firsts)
    memcpy(to->firsts, from->firsts, (rows + 1) * sizeof *to->firsts);
  if (rows == 0)
    return BRIM_OK;
  memcpy(to->offsets, from->offsets, (texts + 1) * sizeof *to->offsets);
  memcpy(to->ids, from->ids, tokens * sizeof *to->ids);
  memcpy(to->type_ids, from->type_ids, tokens);
  memcpy(to->labels, from->labels, rows * (size_t)from->label_width * sizeof *to->labels);
  memcpy(to->rows, from->rows, rows * sizeof *to->rows);
  memcpy(to->places, from->places, texts * sizeof *to->places);
  if (to->token_labels)
    memcpy(to->token_labels, from->token_labels, tokens * sizeof *to->token_labels);
  if (to->slices)
    memcpy(to->slices, from->slices, texts);
  return BRIM_OK;
}

void brim_batch_free(brim_batch *batch) {
  if (!batch || !batch->runtime)
    return;
  brim_release(batch->runtime, batch->ids);
  brim_release(batch->runtime, batch->type_ids);
  brim_release(batch->runtime, batch->offsets);
  brim_release(batch->runtime, batch->first_room);
  brim_release(batch->runtime, batch->labels);
  brim_release(batch->runtime, batch->token_label_room);
  brim_release(batch->runtime, batch->rows);
  brim_release(batch->runtime, batch->places);
  brim_release(batch->runtime, batch->slice_room);
  memset(batch, 0, sizeof *batch);
}

int32_t brim_batch_width(const brim_batch *batch) {
  int32_t width = batch->width;
  for (int32_t i = 0; i < batch->count && batch->width == 0; i++) {
    int32_t length = batch->offsets[i + 1] - batch->offsets[i];
    if (length > width)
      width = length;
  }
  return width;
}

void brim_batch_pad(const brim_batch *batch, int32_t width, int32_t pad_id, int32_t *ids, uint8_t *type_ids, uint8_t *mask) {
  for (int32_t i = 0; i < batch->count; i++) {
    int32_t begin = batch->offsets[i], length = batch->offsets[i + 1] - begin;
    size_t at = (size_t)i * (size_t)width, used = (size_t)length, rest = (size_t)(width - length);
    if (ids) {
      memcpy(ids + at, batch->ids + begin, used * sizeof *ids);
      for (size_t k = used; k < used + rest; k++)
        ids[at + k] = pad_id;
    }
    if (type_ids) {
      memcpy(type_ids + at, batch->type_ids + begin, used);
      memset(type_ids + at + used, 0, rest);
    }
    if (mask) {
      memset(mask + at, 1, used);
      memset(mask + at + used, 0, rest);
    }
  }
}
