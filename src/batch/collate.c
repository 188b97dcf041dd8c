/* Collation: rows of a dataset into one ragged batch, and its padded view. */
#include "base/memory.h"
#include "base/status.h"
#include "brim/batch.h"
#include <string.h>

/* A plan's lengths are those of the dataset, cut. */
static int32_t planned_length(const brim_planned *part, const brim_sample *sample) {
  return part->cut && part->cut < sample->length ? part->cut : sample->length;
}

static int check_part(const brim_dataset *dataset, const brim_planned *part, brim_error *err) {
  uint64_t rows = brim_dataset_rows(dataset);
  int64_t tokens = 0;
  brim_sample sample;
  for (uint32_t i = 0; i < part->count; i++) {
    if (part->rows[i] >= rows)
      return brim_error_set(err, BRIM_E_MISMATCH, "the plan has row %llu but the data has %llu rows: plan these data again",
                            (unsigned long long)part->rows[i], (unsigned long long)rows);
    brim_dataset_sample(dataset, part->rows[i], &sample);
    tokens += planned_length(part, &sample);
  }
  if (tokens != part->tokens)
    return brim_error_set(err, BRIM_E_MISMATCH, "the plan counts %lld tokens where the data has %lld: plan these data again",
                          (long long)part->tokens, (long long)tokens);
  if (tokens > INT32_MAX || part->count > INT32_MAX - 1)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a batch of %lld tokens is too large: set max_tokens below 2147483648",
                          (long long)tokens);
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

static int reserve(brim_batch *batch, size_t tokens, size_t rows, brim_error *err) {
  brim_runtime *runtime = batch->runtime;
  if (tokens > batch->token_capacity) {
    BRIM_TRY(grow(runtime, &batch->ids, tokens, sizeof *batch->ids, err));
    BRIM_TRY(grow(runtime, &batch->type_ids, tokens, sizeof *batch->type_ids, err));
    batch->token_capacity = tokens;
  }
  if (rows > batch->row_capacity || !batch->offsets) {
    if (rows == 0)
      rows = 1;
    BRIM_TRY(grow(runtime, &batch->offsets, rows + 1, sizeof *batch->offsets, err));
    BRIM_TRY(grow(runtime, &batch->rows, rows, sizeof *batch->rows, err));
    BRIM_TRY(grow(runtime, &batch->places, rows, sizeof *batch->places, err));
    batch->row_capacity = rows;
  }
  return BRIM_OK;
}

int brim_batch_reserve(brim_batch *batch, brim_runtime *runtime, int64_t tokens, int32_t rows, int32_t label_width,
                       brim_error *err) {
  batch->runtime = runtime;
  BRIM_TRY(reserve(batch, (size_t)tokens, (size_t)rows, err));
  return reserve_labels(batch, (size_t)rows, label_width, err);
}

/* Copies one row to `at`; a cut row keeps its last token. */
static void copy_tokens(brim_batch *batch, const brim_sample *sample, int32_t at, int32_t length) {
  if (length == 0)
    return;
  size_t head = (size_t)length - 1, last = (size_t)sample->length - 1;
  memcpy(batch->ids + at, sample->ids, head * sizeof *batch->ids);
  batch->ids[at + length - 1] = sample->ids[last];
  if (sample->type_ids) {
    memcpy(batch->type_ids + at, sample->type_ids, head);
    batch->type_ids[at + length - 1] = sample->type_ids[last];
  } else {
    memset(batch->type_ids + at, 0, (size_t)length);
  }
}

/* Without labels: NaN. */
static void copy_label(brim_batch *batch, const brim_sample *sample, uint32_t at) {
  const size_t width = (size_t)batch->label_width;
  if (sample->labels)
    memcpy(batch->labels + at * width, sample->labels, width * sizeof *batch->labels);
  for (size_t i = 0; !sample->labels && i < width; i++)
    batch->labels[at * width + i] = sample->label;
}

int brim_batch_fill(brim_batch *batch, brim_runtime *runtime, const brim_dataset *dataset, const brim_planned *part,
                    brim_error *err) {
  batch->runtime = runtime;
  BRIM_TRY(check_part(dataset, part, err));
  BRIM_TRY(reserve(batch, (size_t)part->tokens, part->count, err));
  BRIM_TRY(reserve_labels(batch, part->count, brim_dataset_label_width(dataset), err));
  batch->count = (int32_t)part->count;
  batch->width = part->width;
  batch->tokens = part->tokens;
  batch->slots = part->slots;
  batch->step = part->step;
  batch->step_rows = part->step_rows;
  batch->divisor = 0;
  batch->offsets[0] = 0;
  for (uint32_t i = 0; i < part->count; i++) {
    brim_sample sample;
    brim_dataset_sample(dataset, part->rows[i], &sample);
    int32_t length = planned_length(part, &sample);
    copy_tokens(batch, &sample, batch->offsets[i], length);
    batch->offsets[i + 1] = batch->offsets[i] + length;
    copy_label(batch, &sample, i);
    batch->rows[i] = part->rows[i];
    batch->places[i] = part->places[i];
  }
  return BRIM_OK;
}

void brim_batch_free(brim_batch *batch) {
  if (!batch || !batch->runtime)
    return;
  brim_release(batch->runtime, batch->ids);
  brim_release(batch->runtime, batch->type_ids);
  brim_release(batch->runtime, batch->offsets);
  brim_release(batch->runtime, batch->labels);
  brim_release(batch->runtime, batch->rows);
  brim_release(batch->runtime, batch->places);
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
