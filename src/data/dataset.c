#include "data/dataset.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/facts.h"
#include "data/source.h"
#include "task/task.h"
#include "text/encoding.h"
#include "text/prompt.h"

#define FIRST_CHUNK ((size_t)64 << 10)
#define LAST_CHUNK  ((size_t)16 << 20)

/* ---- making ----------------------------------------------------------------------------------------------- */

brim_dataset *brim_dataset_new(brim_runtime *runtime, brim_error *err) {
  brim_dataset *dataset = brim_alloc_zero(runtime, sizeof *dataset);
  if (!dataset) {
    brim_error_memory(err);
    return NULL;
  }
  dataset->runtime = dataset->excluded.runtime = runtime;
  dataset->highest_id = -1;
  dataset->most_texts = dataset->block_count = 1;
  dataset->shapes[BRIM_LABEL_BLOCK] = brim_row_label_shape(1);
  return dataset;
}

/* Of one prompt in several places they are counted once, and of rows that know them not again. */
static int count_prompts(brim_dataset *d, const brim_encode_options *encode, const brim_tokenizer *tokenizer, brim_error *err) {
  if (d->prompted)
    return BRIM_OK;
  for (int i = 0; i < BRIM_MOST_PROMPTS; i++) {
    const char *text = encode->prompts[i];
    int same = 0;
    while (same < i && !(text && encode->prompts[same] && strcmp(text, encode->prompts[same]) == 0))
      same++;
    d->prompt_tokens[i] = text && same < i ? d->prompt_tokens[same] : 0;
    if (text && same == i)
      BRIM_TRY(brim_prompt_tokens(d->runtime, tokenizer, text, encode->max_length, &d->prompt_tokens[i], err));
  }
  d->prompted = true;
  return BRIM_OK;
}

int brim_dataset_expect(brim_dataset *d, const brim_source_options *source, const brim_encode_options *encode,
                        const brim_tokenizer *tokenizer, brim_error *err) {
  const int32_t most = brim_source_most_texts(source);
  d->most_texts = most > d->most_texts ? most : d->most_texts;
  for (int b = 0; d->rows == 0 && b < source->block_count; b++)
    d->shapes[b + 1] = source->blocks[b].shape;
  if (d->rows == 0)
    d->block_count = 1 + source->block_count;
  d->windows = brim_makes_windows(encode) ? (brim_windowing){encode->max_windows, encode->window_overlap} : (brim_windowing){0};
  d->cutting = (brim_cutting){encode->truncation, encode->truncation_side};
  d->windows_are_rows = encode->numbering != BRIM_NUMBER_NOTHING;
  if (!d->windows_are_rows && d->windows.most > d->most_texts)
    d->most_texts = d->windows.most;
  return count_prompts(d, encode, tokenizer, err);
}

static void free_chunks(brim_runtime *runtime, brim_chunk *chunk) {
  while (chunk) {
    brim_chunk *before = chunk->before;
    brim_release(runtime, chunk);
    chunk = before;
  }
}

/* Of a data set whose rows are another's. */
static void free_lent(brim_dataset *dataset) {
  brim_runtime *runtime = dataset->runtime;
  brim_release(runtime, dataset->blocks[BRIM_LABEL_BLOCK].flat);
  brim_release(runtime, dataset->blocks[BRIM_LABEL_BLOCK].rows);
  brim_release(runtime, dataset->own_labels);
  if (dataset->own_ids) {
    brim_release(runtime, dataset->ids);
    brim_release(runtime, dataset->labelled_tokens);
    brim_release(runtime, dataset->own_ids);
  }
  brim_labels_free(&dataset->labels);
  brim_release(runtime, dataset);
}

void brim_dataset_free(brim_dataset *dataset) {
  if (!dataset)
    return;
  brim_runtime *runtime = dataset->runtime;
  if (dataset->lent) {
    free_lent(dataset);
    return;
  }
  free_chunks(runtime, dataset->tokens);
  free_chunks(runtime, dataset->types);
  free_chunks(runtime, dataset->spare);
  brim_release(runtime, dataset->ids);
  brim_release(runtime, dataset->type_ids);
  for (int b = 0; b < dataset->block_count; b++)
    brim_release(runtime, dataset->blocks[b].rows);
  brim_release(runtime, dataset->words);
  brim_release(runtime, dataset->labelled_tokens);
  if (!dataset->map) {
    brim_release(runtime, dataset->lengths);
    brim_release(runtime, dataset->firsts);
    brim_release(runtime, dataset->text_lengths);
    for (int b = 0; b < dataset->block_count; b++)
      brim_release(runtime, dataset->blocks[b].flat);
    brim_release(runtime, dataset->origins);
    brim_release(runtime, dataset->losses);
    brim_release(runtime, dataset->queries);
  } else if (dataset->map_file < 0) {
    brim_release(runtime, dataset->map);
  } else {
    munmap(dataset->map, dataset->map_size);
    close(dataset->map_file);
  }
  brim_labels_free(&dataset->labels);
  brim_exclusions_free(&dataset->excluded);
  brim_release(runtime, dataset);
}

int brim_dataset_intact(const brim_dataset *dataset, brim_error *err) {
  struct stat info;
  if (!dataset->map || dataset->map_file < 0 ||
      (fstat(dataset->map_file, &info) == 0 && (uint64_t)info.st_size >= dataset->map_size))
    return BRIM_OK;
  return brim_error_set(
      err, BRIM_E_IO,
      "the file of a cache was cut while its rows were in use: leave a cache alone as long as something reads it");
}

/* After the newest chunk: an unused one, if the row fits, or a new one. */
static brim_chunk *add_chunk(brim_dataset *d, brim_chunk *newest, size_t length) {
  brim_chunk *chunk = d->spare;
  if (chunk && chunk->size >= length) {
    d->spare = chunk->before;
    chunk->before = newest;
    chunk->used = 0;
    return chunk;
  }
  size_t size = !newest ? FIRST_CHUNK : newest->size < LAST_CHUNK ? 2 * newest->size : LAST_CHUNK;
  if (size < length)
    size = length;
  chunk = brim_alloc(d->runtime, sizeof *chunk + size);
  if (chunk)
    *chunk = (brim_chunk){.before = newest, .size = size};
  return chunk;
}

void brim_dataset_clear(brim_dataset *d) {
  free_chunks(d->runtime, d->types);
  free_chunks(d->runtime, d->spare);
  brim_release(d->runtime, d->type_ids);
  for (int b = 0; b < d->block_count; b++) {
    brim_release(d->runtime, d->blocks[b].rows);
    brim_release(d->runtime, d->blocks[b].flat);
  }
  brim_release(d->runtime, d->words);
  brim_release(d->runtime, d->origins);
  brim_release(d->runtime, d->losses);
  brim_release(d->runtime, d->queries);
  brim_release(d->runtime, d->firsts);
  brim_release(d->runtime, d->text_lengths);
  *d = (brim_dataset){.runtime = d->runtime,
                      .excluded.runtime = d->runtime,
                      .spare = d->tokens, /* the newest first, which is the largest */
                      .ids = d->ids,
                      .lengths = d->lengths,
                      .ids_room = d->ids_room,
                      .lengths_room = d->lengths_room,
                      .highest_id = -1,
                      .shapes[BRIM_LABEL_BLOCK] = brim_row_label_shape(1),
                      .block_count = 1,
                      .most_texts = 1};
}

/* A copy of some bytes in the newest chunk, or in another one. */
static void *keep(brim_dataset *d, brim_chunk **newest, const void *bytes, size_t length) {
  brim_chunk *chunk = *newest;
  if (!chunk || chunk->size - chunk->used < length) {
    chunk = add_chunk(d, chunk, length);
    if (!chunk)
      return NULL;
    *newest = chunk;
  }
  void *to = chunk->bytes + chunk->used;
  if (length > 0)
    memcpy(to, bytes, length);
  chunk->used += length;
  return to;
}

/* Nearly all rows have zeros only, which is seen faster than counted. */
static uint8_t highest_type(const brim_sample *sample) {
  const uint8_t *types = sample->type_ids;
  uint8_t highest = 0;
  if (!types || sample->length == 0 || (types[0] == 0 && memcmp(types, types + 1, (size_t)sample->length - 1) == 0))
    return 0;
  for (int32_t i = 0; i < sample->length; i++)
    if (sample->type_ids[i] > highest)
      highest = sample->type_ids[i];
  return highest;
}

/* Room for `count` more rows in every array that is in use. Types and origins, when they begin, are filled in for the rows so
 * far. */
static int make_room(brim_dataset *d, size_t count, bool types, bool origin, brim_error *err) {
  size_t rows = (size_t)d->rows, more = rows + count;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->ids, &d->ids_room, more, sizeof *d->ids, err));
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->lengths, &d->lengths_room, more, sizeof *d->lengths, err));
  if (types || d->type_ids) {
    bool first = !d->type_ids;
    BRIM_TRY(brim_grow(d->runtime, (void **)&d->type_ids, &d->types_room, more, sizeof *d->type_ids, err));
    for (size_t i = 0; first && i < rows; i++)
      d->type_ids[i] = NULL;
  }
  if (origin || d->origins) {
    bool first = !d->origins;
    BRIM_TRY(brim_grow(d->runtime, (void **)&d->origins, &d->origins_room, more, sizeof *d->origins, err));
    for (size_t i = 0; first && i < rows; i++)
      d->origins[i] = i;
  }
  return BRIM_OK;
}

/* Every row so far is one text. */
static int begin_texts(brim_dataset *d, brim_error *err) {
  const size_t rows = (size_t)d->rows;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->firsts, &d->firsts_room, rows + 1, sizeof *d->firsts, err));
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->text_lengths, &d->text_room, rows, sizeof *d->text_lengths, err));
  for (size_t i = 0; i <= rows; i++)
    d->firsts[i] = i;
  if (rows > 0)
    memcpy(d->text_lengths, d->lengths, rows * sizeof *d->lengths);
  return BRIM_OK;
}

/* The row's texts, where rows have several. */
static int add_texts(brim_dataset *d, const brim_sample *sample, brim_error *err) {
  const size_t rows = (size_t)d->rows, count = sample->text_lengths ? (size_t)sample->text_count : 1;
  const int32_t *lengths = sample->text_lengths ? sample->text_lengths : &sample->length;
  if (count == 1 && !d->firsts)
    return BRIM_OK;
  if (!d->firsts)
    BRIM_TRY(begin_texts(d, err));
  const size_t first = (size_t)d->firsts[rows];
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->firsts, &d->firsts_room, rows + 2, sizeof *d->firsts, err));
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->text_lengths, &d->text_room, first + count, sizeof *d->text_lengths, err));
  memcpy(d->text_lengths + first, lengths, count * sizeof *lengths);
  d->firsts[rows + 1] = first + count;
  d->most_texts = (int32_t)count > d->most_texts ? (int32_t)count : d->most_texts;
  return BRIM_OK;
}

/* Tokens of its longest text. */
static int32_t longest_text(const brim_sample *sample) {
  int32_t longest = sample->text_lengths ? 0 : sample->length;
  for (int32_t i = 0; sample->text_lengths && i < sample->text_count; i++)
    longest = sample->text_lengths[i] > longest ? sample->text_lengths[i] : longest;
  return longest;
}

/* The first row says what a label is. */
static brim_block_shape label_shape(const brim_sample *sample) {
  return sample->token_labels ? brim_token_label_shape() : brim_row_label_shape(sample->labels ? sample->label_width : 1);
}

/* Where the sample has a block's numbers. */
static const void *numbers_of(const brim_sample *sample, int b, bool labelled) {
  if (b != BRIM_LABEL_BLOCK)
    return sample->blocks[b];
  return sample->token_labels ? sample->token_labels
         : !labelled          ? NULL
         : sample->labels     ? sample->labels
                              : (const void *)&sample->label;
}

/* All rows have numbers of a block, or none has. */
static int add_block(brim_dataset *d, int b, const brim_sample *sample, bool labelled, brim_error *err) {
  brim_block *block = &d->blocks[b];
  const brim_block_shape *shape = &d->shapes[b];
  const size_t rows = (size_t)d->rows, texts = sample->text_lengths ? (size_t)sample->text_count : 1,
               units = brim_block_units(shape, 1, texts, (size_t)sample->length), size = brim_block_bytes(shape);
  const void *from = numbers_of(sample, b, labelled);
  void *to;
  if (rows > 0 && (from != NULL) != (block->flat || block->rows))
    return brim_error_set(err, BRIM_E_USAGE, "row %zu: either all rows have a %s, or none has", rows, shape->name);
  if (!from)
    return BRIM_OK;
  if (shape->per == BRIM_PER_ROW) {
    BRIM_TRY(brim_grow(d->runtime, &block->flat, &block->room, rows + 1, size, err));
    to = memcpy((char *)block->flat + rows * size, from, size);
  } else {
    BRIM_TRY(brim_grow(d->runtime, (void **)&block->rows, &block->room, rows + 1, sizeof *block->rows, err));
    block->rows[rows] = to = keep(d, &d->tokens, from, units * size);
  }
  if (!to)
    return BRIM_NOMEM(err);
  brim_block_one_nan(shape, to, units);
  return BRIM_OK;
}

static int add_blocks(brim_dataset *d, const brim_sample *sample, bool labelled, brim_error *err) {
  const brim_block *label = &d->blocks[BRIM_LABEL_BLOCK];
  if (d->rows == 0 && (sample->labels || sample->token_labels))
    d->shapes[BRIM_LABEL_BLOCK] = label_shape(sample);
  if (d->rows > 0 && (sample->token_labels != NULL) != (label->rows != NULL))
    return brim_error_set(err, BRIM_E_USAGE, "row %llu: either all rows have labels of tokens, or none has",
                          (unsigned long long)d->rows);
  for (int b = 0; b < d->block_count; b++)
    BRIM_TRY(add_block(d, b, sample, labelled, err));
  return BRIM_OK;
}

int brim_dataset_sample_of(brim_dataset *d, const brim_encoded *row, uint64_t name, brim_sample *out, brim_error *err) {
  brim_error why;
  *out = (brim_sample){.ids = row->ids,
                       .type_ids = row->type_ids,
                       .length = (int32_t)row->length,
                       .text_lengths = row->text_lengths,
                       .text_count = row->text_count,
                       .row = name,
                       .label = NAN,
                       .token_labels = row->numbers,
                       .query = row->query};
  if (brim_lacks_tokens(row->length, row->text_lengths, row->text_count))
    return brim_error_at(err, BRIM_E_FORMAT, row->file, row->line, row->byte,
                         "the text gives no token: leave such rows out (min_chars 1), or add the special tokens");
  const int status = brim_blocks_take(d->shapes, d->block_count, row->blocks, row->block_numbers, out, &why);
  return status ? brim_error_at(err, status, row->file, row->line, row->byte, "%s", why.message) : BRIM_OK;
}

void brim_dataset_take_labels(brim_dataset *d, float *values, int32_t width) {
  d->shapes[BRIM_LABEL_BLOCK].width = width;
  d->blocks[BRIM_LABEL_BLOCK].flat = values;
}

bool brim_words_fit(const int32_t *numbers, int32_t length, const char *text, size_t bytes) {
  int64_t words = 0;
  for (size_t i = 0; i < bytes; i++)
    words += text[i] == 0;
  bool fit = bytes == 0 || text[bytes - 1] == 0;
  for (int32_t i = 0; fit && i < length; i++)
    fit = numbers[i] >= -1 && numbers[i] < words;
  return fit;
}

/* The row's words, and which of them its tokens come from. All rows have them, or none. */
static int add_words(brim_dataset *d, const brim_sample *sample, brim_error *err) {
  const size_t rows = (size_t)d->rows, size = (size_t)sample->length * sizeof *sample->words;
  if (rows > 0 && !sample->words != !d->words)
    return brim_error_set(err, BRIM_E_USAGE, "row %zu: words are in all rows or in none", rows);
  if (!sample->words)
    return BRIM_OK;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->words, &d->words_room, rows + 1, sizeof *d->words, err));
  d->words[rows] = (struct brim_row_words){.numbers = keep(d, &d->tokens, sample->words, size),
                                           .text = keep(d, &d->types, sample->word_text, sample->word_text_length),
                                           .length = sample->word_text_length};
  return d->words[rows].numbers && d->words[rows].text ? BRIM_OK : BRIM_NOMEM(err);
}

static int add_loss(brim_dataset *d, uint64_t lost, brim_error *err) {
  const size_t rows = (size_t)d->rows;
  if (!d->losses && lost == 0)
    return BRIM_OK;
  const size_t first = d->losses ? rows : 0;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->losses, &d->losses_room, rows + 1, sizeof *d->losses, err));
  memset(d->losses + first, 0, (rows + 1 - first) * sizeof *d->losses);
  d->losses[rows] = lost < UINT32_MAX ? (uint32_t)lost : UINT32_MAX;
  return BRIM_OK;
}

static int add_query(brim_dataset *d, uint64_t query, brim_error *err) {
  const size_t rows = (size_t)d->rows;
  if (!d->queries && query == 0)
    return BRIM_OK;
  const size_t first = d->queries ? rows : 0;
  BRIM_TRY(brim_grow(d->runtime, (void **)&d->queries, &d->queries_room, rows + 1, sizeof *d->queries, err));
  memset(d->queries + first, 0, (rows + 1 - first) * sizeof *d->queries);
  d->queries[rows] = query;
  return BRIM_OK;
}

bool brim_lacks_tokens(size_t length, const int32_t *lengths, int32_t count) {
  bool lacks = length == 0;
  for (int32_t i = 0; lengths && i < count; i++)
    lacks |= lengths[i] == 0;
  return lacks;
}

int brim_dataset_add(brim_dataset *d, const brim_sample *sample, uint64_t lost, bool labelled, brim_error *err) {
  uint8_t type = highest_type(sample);
  size_t length = (size_t)sample->length;
  BRIM_TRY(add_blocks(d, sample, labelled, err));
  BRIM_TRY(add_words(d, sample, err));
  BRIM_TRY(add_texts(d, sample, err));
  BRIM_TRY(add_loss(d, lost, err));
  BRIM_TRY(add_query(d, sample->query, err));
  BRIM_TRY(make_room(d, 1, type > 0, sample->row != d->rows, err));
  const int32_t *ids = keep(d, &d->tokens, sample->ids, length * sizeof *ids);
  const uint8_t *types = type > 0 ? keep(d, &d->types, sample->type_ids, length) : NULL;
  if (!ids || (type > 0 && !types))
    return BRIM_NOMEM(err);
  d->ids[d->rows] = ids;
  d->lengths[d->rows] = sample->length;
  if (d->type_ids)
    d->type_ids[d->rows] = types;
  if (d->origins)
    d->origins[d->rows] = sample->row;
  d->rows++;
  d->token_count += length;
  d->truncated += lost > 0;
  d->lost += lost;
  if (longest_text(sample) > d->longest)
    d->longest = longest_text(sample);
  if (type > d->highest_type)
    d->highest_type = type;
  return BRIM_OK;
}

int brim_dataset_add_run(brim_dataset *d, const int32_t *ids, const int32_t *lengths, size_t count, uint64_t truncated,
                         uint64_t lost, brim_error *err) {
  size_t tokens = 0;
  for (size_t i = 0; i < count; i++)
    tokens += (size_t)lengths[i];
  BRIM_TRY(make_room(d, count, false, false, err));
  if (d->firsts) {
    const size_t texts = (size_t)d->firsts[d->rows] + count;
    BRIM_TRY(brim_grow(d->runtime, (void **)&d->firsts, &d->firsts_room, (size_t)d->rows + count + 1, sizeof *d->firsts, err));
    BRIM_TRY(brim_grow(d->runtime, (void **)&d->text_lengths, &d->text_room, texts, sizeof *d->text_lengths, err));
  }
  if (!(ids = keep(d, &d->tokens, ids, tokens * sizeof *ids)))
    return BRIM_NOMEM(err);
  memcpy(d->lengths + d->rows, lengths, count * sizeof *lengths);
  for (size_t i = 0; i < count; i++, d->rows++) {
    d->ids[d->rows] = ids;
    ids += lengths[i];
    if (lengths[i] > d->longest)
      d->longest = lengths[i];
    if (d->type_ids)
      d->type_ids[d->rows] = NULL;
    if (d->origins)
      d->origins[d->rows] = d->rows;
    if (d->firsts)
      d->text_lengths[d->firsts[d->rows]] = lengths[i], d->firsts[d->rows + 1] = d->firsts[d->rows] + 1;
  }
  d->token_count += tokens;
  d->truncated += truncated;
  d->lost += lost;
  return BRIM_OK;
}

/* The texts of row `row` become those of row `to`, which comes before it or is itself. */
static void move_texts(brim_dataset *d, uint64_t row, uint64_t to) {
  const uint64_t from = d->firsts[row], first = d->firsts[to], count = d->firsts[row + 1] - from;
  memmove(d->text_lengths + first, d->text_lengths + from, (size_t)count * sizeof *d->text_lengths);
  d->firsts[to + 1] = first + count;
}

/* The same of its numbers. */
static void move_block(brim_dataset *d, int b, uint64_t row, uint64_t to) {
  const brim_block *block = &d->blocks[b];
  const size_t size = brim_block_bytes(&d->shapes[b]);
  if (block->rows)
    block->rows[to] = block->rows[row];
  if (block->flat)
    memmove((char *)block->flat + to * size, (char *)block->flat + row * size, size);
}

static void find_longest(brim_dataset *d) {
  const int32_t *lengths = brim_dataset_text_lengths(d);
  d->longest = 0;
  for (uint64_t i = 0; i < brim_dataset_texts(d); i++)
    d->longest = lengths[i] > d->longest ? lengths[i] : d->longest;
}

int brim_dataset_drop(brim_dataset *d, const uint64_t *rows, size_t count, brim_error *err) {
  uint64_t to = 0;
  size_t next = 0;
  BRIM_TRY(make_room(d, 0, false, true, err));
  for (uint64_t row = 0; row < d->rows; row++) {
    if (next < count && rows[next] == row) {
      d->token_count -= (uint64_t)d->lengths[row];
      next++;
      continue;
    }
    d->ids[to] = d->ids[row];
    d->lengths[to] = d->lengths[row];
    d->origins[to] = d->origins[row];
    if (d->type_ids)
      d->type_ids[to] = d->type_ids[row];
    if (d->losses)
      d->losses[to] = d->losses[row];
    if (d->queries)
      d->queries[to] = d->queries[row];
    for (int b = 0; b < d->block_count; b++)
      move_block(d, b, row, to);
    if (d->firsts)
      move_texts(d, row, to);
    to++;
  }
  d->rows = to;
  find_longest(d);
  return BRIM_OK;
}

static int32_t highest_id(const brim_dataset *d) {
  int32_t highest = -1;
  for (uint64_t row = 0; row < d->rows; row++)
    for (int32_t i = 0; i < d->lengths[row]; i++)
      if (d->ids[row][i] > highest)
        highest = d->ids[row][i];
  return highest;
}

/* Lengths, ids, types and blocks, row by row; rows whose types are all 0 hash alike whether types were given or not. */
static uint64_t fingerprint(const brim_dataset *d) {
  uint64_t hash = brim_hash64(&d->rows, sizeof d->rows, 0);
  for (uint64_t i = 0; i < d->rows; i++) {
    size_t length = (size_t)d->lengths[i];
    const uint8_t *types = d->type_ids ? d->type_ids[i] : NULL;
    hash = brim_hash64(d->ids[i], length * sizeof *d->ids[i], hash);
    if (types)
      hash = brim_hash64(types, length, hash);
    for (int b = 0; b < d->block_count; b++)
      if (d->blocks[b].rows)
        hash = brim_hash64(d->blocks[b].rows[i], brim_dataset_units(d, b, i) * brim_block_bytes(&d->shapes[b]), hash);
  }
  if (d->most_texts > 1)
    hash = brim_hash64(&d->most_texts, sizeof d->most_texts, hash);
  if (d->firsts) {
    hash = brim_hash64(d->firsts, ((size_t)d->rows + 1) * sizeof *d->firsts, hash);
    hash = brim_hash64(d->text_lengths, (size_t)d->firsts[d->rows] * sizeof *d->text_lengths, hash);
  }
  for (int b = 0; b < d->block_count; b++) {
    if (b != BRIM_LABEL_BLOCK)
      hash = brim_block_hash(&d->shapes[b], hash);
    if (d->blocks[b].flat)
      hash = brim_hash64(d->blocks[b].flat, (size_t)d->rows * brim_block_bytes(&d->shapes[b]), hash);
  }
  return hash;
}

/* Makes an array that is in use as large as its rows. */
static int trim(brim_dataset *d, void **items, size_t count, size_t size, brim_error *err) {
  void *exact = *items ? brim_resize_array(d->runtime, *items, count, size) : NULL;
  if (*items && !exact)
    return BRIM_NOMEM(err);
  *items = exact;
  return BRIM_OK;
}

void brim_dataset_finish(brim_dataset *d) {
  const brim_block *label = &d->blocks[BRIM_LABEL_BLOCK];
  const float *values = label->flat;
  d->labelled = values || label->rows;
  for (uint64_t i = 0; values && i < d->rows * (uint64_t)d->shapes[BRIM_LABEL_BLOCK].width && d->labelled; i++)
    d->labelled = !isnan(values[i]);
  d->fingerprint = fingerprint(d);
}

void brim_dataset_renumber(brim_dataset *d, const int32_t *to) {
  const brim_block *label = &d->blocks[BRIM_LABEL_BLOCK];
  for (uint64_t row = 0; label->rows && row < d->rows; row++) {
    int32_t *labels = (int32_t *)label->rows[row]; /* they lie in the data set's own chunks */
    for (int32_t i = 0; i < d->lengths[row]; i++)
      labels[i] = labels[i] < 0 ? labels[i] : to[labels[i]];
  }
}

int brim_dataset_count_labels(brim_dataset *d, brim_error *err) {
  const int32_t *const *labels = brim_dataset_labels_of_tokens(d);
  if (!labels)
    return BRIM_OK;
  d->labelled_tokens = brim_alloc_array_zero(d->runtime, (size_t)d->rows + 1, sizeof *d->labelled_tokens);
  if (!d->labelled_tokens)
    return BRIM_NOMEM(err);
  for (uint64_t i = 0; i < d->rows; i++) {
    const int32_t length = d->lengths[i];
    d->labelled_tokens[i + 1] = d->labelled_tokens[i] + (uint64_t)brim_token_labels_count(labels[i], length, length);
  }
  return BRIM_OK;
}

int brim_dataset_seal(brim_dataset *d, brim_error *err) {
  const size_t rows = (size_t)d->rows;
  BRIM_TRY(brim_dataset_count_labels(d, err));
  BRIM_TRY(trim(d, (void **)&d->ids, rows, sizeof *d->ids, err));
  BRIM_TRY(trim(d, (void **)&d->lengths, rows, sizeof *d->lengths, err));
  BRIM_TRY(trim(d, (void **)&d->type_ids, rows, sizeof *d->type_ids, err));
  for (int b = 0; b < d->block_count; b++) {
    BRIM_TRY(trim(d, (void **)&d->blocks[b].rows, rows, sizeof *d->blocks[b].rows, err));
    BRIM_TRY(trim(d, &d->blocks[b].flat, rows, brim_block_bytes(&d->shapes[b]), err));
  }
  BRIM_TRY(trim(d, (void **)&d->words, rows, sizeof *d->words, err));
  BRIM_TRY(trim(d, (void **)&d->origins, rows, sizeof *d->origins, err));
  BRIM_TRY(trim(d, (void **)&d->losses, rows, sizeof *d->losses, err));
  BRIM_TRY(trim(d, (void **)&d->queries, rows, sizeof *d->queries, err));
  BRIM_TRY(trim(d, (void **)&d->text_lengths, d->firsts ? (size_t)d->firsts[rows] : 0, sizeof *d->text_lengths, err));
  BRIM_TRY(trim(d, (void **)&d->firsts, rows + 1, sizeof *d->firsts, err));
  d->highest_id = highest_id(d);
  brim_dataset_finish(d);
  return BRIM_OK;
}
