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

/* ---- blocks ----------------------------------------------------------------------------------------------- */

/* The label as it was before there were blocks. */
static void show_label(brim_batch *batch) {
  const bool of_rows = batch->shapes[BRIM_LABEL_BLOCK].per == BRIM_PER_ROW;
  batch->label_width = batch->shapes[BRIM_LABEL_BLOCK].width;
  batch->labels = of_rows ? batch->blocks[BRIM_LABEL_BLOCK] : NULL;
  batch->token_labels = of_rows ? NULL : batch->blocks[BRIM_LABEL_BLOCK];
}

uint64_t brim_blocks_memory(const brim_block_shape *shapes, int count, uint64_t rows, uint64_t texts, uint64_t tokens) {
  uint64_t bytes = 0;
  for (int b = 0; b < count; b++)
    bytes += brim_block_units(&shapes[b], (size_t)rows, (size_t)texts, (size_t)tokens) * brim_block_bytes(&shapes[b]);
  return bytes;
}

void brim_batch_skip(brim_batch *batch, int64_t rows, int64_t texts, int64_t tokens) {
  if (batch->labels)
    batch->labels += rows * batch->label_width;
  if (batch->token_labels)
    batch->token_labels += tokens;
  for (int b = 0; b < batch->block_count; b++) {
    const size_t units = brim_block_units(&batch->shapes[b], (size_t)rows, (size_t)texts, (size_t)tokens);
    batch->blocks[b] = (char *)batch->blocks[b] + units * brim_block_bytes(&batch->shapes[b]);
  }
}

/* The batch's blocks are these. None of anything are arrays too. */
static int reserve_blocks(brim_batch *batch, const brim_block_shape *shapes, int count, size_t rows, size_t texts, size_t tokens,
                          brim_error *err) {
  batch->block_count = count;
  for (int b = 0; b < count; b++) {
    const size_t units = brim_block_units(&shapes[b], rows, texts, tokens),
                 size = (units + !units) * brim_block_bytes(&shapes[b]);
    batch->shapes[b] = shapes[b];
    if (size <= batch->block_room[b])
      continue;
    BRIM_TRY(grow(batch->runtime, &batch->blocks[b], size, 1, err));
    batch->block_room[b] = size;
  }
  show_label(batch);
  return BRIM_OK;
}

/* A row's numbers: `units` of the `whole` that it has, from number `at` of the batch's on. A cut row keeps its last token's. */
static void copy_block(brim_batch *batch, const brim_dataset *dataset, int b, uint64_t row, size_t at, size_t units,
                       size_t whole) {
  const brim_block_shape *shape = &batch->shapes[b];
  const size_t size = brim_block_bytes(shape);
  const char *from = brim_dataset_block(dataset, b, row);
  char *to = (char *)batch->blocks[b] + at * size;
  if (!from) {
    brim_block_fill_none(shape, to, units);
    return;
  }
  memcpy(to, from, units * size);
  if (units < whole && units > 0)
    memcpy(to + (units - 1) * size, from + (whole - 1) * size, size);
}

/* ---- memory ----------------------------------------------------------------------------------------------- */

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

int brim_batch_reserve(brim_batch *batch, brim_runtime *runtime, int64_t tokens, int32_t texts, bool several,
                       const brim_block_shape *shapes, int block_count, brim_error *err) {
  batch->runtime = runtime;
  BRIM_TRY(reserve(batch, (size_t)tokens, (size_t)texts, (size_t)texts, err));
  if (several)
    BRIM_TRY(reserve_firsts(batch, (size_t)texts, err));
  return reserve_blocks(batch, shapes, block_count, (size_t)texts, (size_t)texts, (size_t)tokens, err);
}

/* ---- filling ---------------------------------------------------------------------------------------------- */

/* Copies the ids of one row; a cut row keeps its last token. */
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
    if (dataset->type_ids)
      copy_types(batch, dataset, row, at, length);
    batch->rows[i] = row;
    if (batch->firsts)
      batch->firsts[i] = text;
    const int32_t texts = fill_texts(batch, dataset, part, i, text, at, length);
    for (int b = 0; b < batch->block_count; b++) {
      const brim_block_shape *shape = &batch->shapes[b];
      copy_block(batch, dataset, b, row, brim_block_units(shape, i, (size_t)text, (size_t)at),
                 brim_block_units(shape, 1, (size_t)texts, (size_t)length),
                 brim_block_units(shape, 1, (size_t)texts, (size_t)dataset->lengths[row]));
    }
    text += texts;
  }
  if (batch->firsts)
    batch->firsts[part->count] = text;
  if (!dataset->type_ids && part->tokens)
    memset(batch->type_ids, 0, (size_t)part->tokens);
}

int brim_batch_fill(brim_batch *batch, brim_runtime *runtime, const brim_dataset *dataset, const brim_planned *part,
                    brim_error *err) {
  BRIM_GIVEN(err, batch, runtime, dataset, part);
  batch->runtime = runtime;
  BRIM_TRY(brim_dataset_intact(dataset, err));
  size_t texts = 0;
  BRIM_TRY(check_part(dataset, part, &texts, err));
  BRIM_TRY(reserve(batch, (size_t)part->tokens, texts, part->count, err));
  if (dataset->firsts)
    BRIM_TRY(reserve_firsts(batch, part->count, err));
  BRIM_TRY(reserve_blocks(batch, dataset->shapes, dataset->block_count, part->count, texts, (size_t)part->tokens, err));
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
  batch->prompted = dataset->prompted;
  memcpy(batch->prompt_tokens, dataset->prompt_tokens, sizeof batch->prompt_tokens);
  fill_rows(batch, dataset, part);
  return BRIM_OK;
}

/* Of a batch that nobody filled the label is all there is. */
static int copy_blocks(brim_batch *to, const brim_batch *from, brim_error *err) {
  const size_t rows = (size_t)from->row_count, texts = (size_t)from->count, tokens = (size_t)from->tokens;
  const brim_block_shape label = from->token_labels ? brim_token_label_shape() : brim_row_label_shape(from->label_width);
  const void *const only[] = {from->token_labels ? (const void *)from->token_labels : from->labels};
  const brim_block_shape *shapes = from->block_count ? from->shapes : &label;
  BRIM_TRY(reserve_blocks(to, shapes, from->block_count ? from->block_count : 1, rows, texts, tokens, err));
  for (int b = 0; b < to->block_count; b++) {
    const void *numbers = from->block_count ? from->blocks[b] : only[b];
    const size_t units = brim_block_units(&to->shapes[b], rows, texts, tokens);
    if (!numbers)
      brim_block_fill_none(&to->shapes[b], to->blocks[b], units);
    else if (units)
      memcpy(to->blocks[b], numbers, units * brim_block_bytes(&to->shapes[b]));
  }
  return BRIM_OK;
}

int brim_batch_copy(brim_batch *to, brim_runtime *runtime, const brim_batch *from, brim_error *err) {
  BRIM_GIVEN(err, to, runtime, from);
  const size_t texts = (size_t)from->count, rows = (size_t)from->row_count, tokens = (size_t)from->tokens;
  to->runtime = runtime;
  BRIM_TRY(reserve(to, tokens + 1, texts + 1, rows + 1, err)); /* none are arrays too */
  if (from->firsts)
    BRIM_TRY(reserve_firsts(to, rows, err));
  BRIM_TRY(copy_blocks(to, from, err));
  to->count = from->count, to->row_count = from->row_count, to->width = from->width;
  to->tokens = from->tokens, to->slots = from->slots;
  to->step = from->step, to->step_rows = from->step_rows, to->divisor = from->divisor;
  to->slices = from->slices ? to->slice_room : NULL;
  to->prompted = from->prompted;
  memcpy(to->prompt_tokens, from->prompt_tokens, sizeof to->prompt_tokens);
  to->firsts = from->firsts ? to->first_room : NULL;
  to->offsets[0] = 0;
  if (to->firsts)
    memcpy(to->firsts, from->firsts, (rows + 1) * sizeof *to->firsts);
  if (rows == 0)
    return BRIM_OK;
  memcpy(to->offsets, from->offsets, (texts + 1) * sizeof *to->offsets);
  memcpy(to->ids, from->ids, tokens * sizeof *to->ids);
  memcpy(to->type_ids, from->type_ids, tokens);
  memcpy(to->rows, from->rows, rows * sizeof *to->rows);
  memcpy(to->places, from->places, texts * sizeof *to->places);
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
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++)
    brim_release(batch->runtime, batch->blocks[b]);
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
