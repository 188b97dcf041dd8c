/* encoder.c: records -> blocks -> ids. The reader fills blocks one after another, any thread encodes a block, and the caller
 * takes their rows in order:
 *
 *   fill_block (one at a time) -> encode_block (in parallel) -> brim_encoder_next
 *
 * A block holds whole records and the failure that comes after them, if any, so what the caller sees does not depend on threads.
 */
#include "data/encoder.h"

#include <pthread.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/ordered.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/blocks.h"
#include "data/position.h"
#include "data/reader.h"
#include "text/encode.h"

#define BLOCK_BYTES  ((size_t)128 << 10) /* text of a block; a longer record has one for itself */
#define BLOCK_ROWS   ((size_t)4096)
#define BLOCK_TOKENS ((size_t)BLOCK_BYTES / 4) /* a first guess */
#define NONE         SIZE_MAX

/* A row's value of a further block: a range of the block's bytes, then of its numbers. */
typedef struct coded_value {
  size_t text, length, first, count;
} coded_value;

/* In a brim_coded_row strings are ranges of the block's bytes, NONE if there is none, and further texts are entries of its lists;
 * then comes the range of its tokens. */
typedef struct block {
  struct block *next; /* in the list of free blocks */
  char *bytes;
  size_t byte_count, byte_capacity;
  brim_coded_row *rows;
  int32_t *lengths; /* [rows] in tokens */
  size_t row_count, row_capacity, length_capacity;
  /* Further texts of all rows: where each begins, how long it is, and the text itself as soon as the bytes stay where they are.
   */
  size_t *starts;
  brim_string *further;
  size_t further_count, start_capacity, further_capacity;
  brim_text_lengths texts; /* in tokens, of rows that may have several */
  brim_encoding tokens;    /* of all rows, one after the other */
  brim_word_numbers words; /* likewise, where texts are lists of words, or tokens are numbered */
  coded_value *values;     /* [rows * further] of blocks, if there are any */
  size_t value_capacity;
  brim_numbers numbers[BRIM_MOST_BLOCKS];
  bool alone; /* no row has a pair, further texts, a label or damage */
  uint64_t consumed;
  size_t encoded; /* rows that are ready: all, unless encoding failed */
  int failed;     /* after those rows */
  brim_error failure;
} block;

struct brim_encoder {
  brim_runtime *runtime;
  brim_reader *reader;
  const brim_tokenizer *tokenizer;
  brim_encode_options options;
  bool words;     /* texts are lists of them */
  size_t further; /* blocks besides the label */
  brim_block_shape shapes[BRIM_MOST_BLOCKS];
  brim_scratch **scratches; /* [scratch_count] one for each thread */
  int scratch_count;
  brim_ordered *map;
  pthread_mutex_t lock; /* of the free blocks */
  block *spare;
  bool read_all; /* the producing side: the reader has ended, or failed in a block already made */

  block *present; /* the consuming side */
  size_t at;
  bool ended;
  uint64_t consumed, total;
};

/* ---- blocks ----------------------------------------------------------------------------------------------- */

static void free_block(brim_runtime *runtime, block *b) {
  if (!b)
    return;
  brim_release(runtime, b->bytes);
  brim_release(runtime, b->rows);
  brim_release(runtime, b->lengths);
  brim_release(runtime, b->starts);
  brim_release(runtime, b->further);
  brim_release(runtime, b->texts.at);
  brim_release(runtime, b->words.at);
  brim_release(runtime, b->values);
  for (int i = 0; i < BRIM_MOST_BLOCKS; i++)
    brim_release(runtime, b->numbers[i].at);
  brim_encoding_free(&b->tokens);
  brim_release(runtime, b);
}

static block *take_block(brim_encoder *encoder) {
  pthread_mutex_lock(&encoder->lock);
  block *b = encoder->spare;
  if (b)
    encoder->spare = b->next;
  pthread_mutex_unlock(&encoder->lock);
  if (!b)
    b = brim_alloc_zero(encoder->runtime, sizeof *b);
  if (b) {
    b->byte_count = b->row_count = b->encoded = b->tokens.length = b->further_count = b->texts.count = 0;
    for (int i = 0; i < BRIM_MOST_BLOCKS; i++)
      b->numbers[i].count = 0;
    b->tokens.runtime = encoder->runtime;
    b->failed = BRIM_OK;
    b->alone = true;
  }
  return b;
}

/* A discarded or used-up block waits for its next use. */
static void spare_block(void *context, void *used) {
  brim_encoder *encoder = context;
  block *b = used;
  if (!b)
    return;
  pthread_mutex_lock(&encoder->lock);
  b->next = encoder->spare;
  encoder->spare = b;
  pthread_mutex_unlock(&encoder->lock);
}

/* ---- filling ---------------------------------------------------------------------------------------------- */

static size_t append(block *b, const char *bytes, size_t length) {
  size_t at = b->byte_count;
  if (!bytes)
    return NONE;
  if (length)
    memcpy(b->bytes + at, bytes, length);
  b->byte_count += length;
  return at;
}

/* One for the label, or one for each item of the list. */
static size_t form_count(const brim_record *record) {
  size_t count = !record->label_is_list;
  for (size_t i = 0; record->label_is_list && i < record->label_length; i++)
    count += record->label[i] == 0;
  return count;
}

/* Copies the row's further texts, for which there is room. */
static int add_further(brim_encoder *encoder, block *b, brim_coded_row *row, const brim_record *record, brim_error *err) {
  const size_t all = b->further_count + record->further_count;
  row->further = b->further_count;
  row->further_count = record->further_count;
  if (record->further_count == 0)
    return BRIM_OK;
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->starts, &b->start_capacity, all, sizeof *b->starts, err));
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->further, &b->further_capacity, all, sizeof *b->further, err));
  for (size_t i = 0; i < record->further_count; i++, b->further_count++) {
    b->starts[b->further_count] = append(b, record->further[i].bytes, record->further[i].length);
    b->further[b->further_count].length = record->further[i].length;
  }
  return BRIM_OK;
}

/* Copies what the row has of further blocks, for which there is room. */
static int add_values(brim_encoder *encoder, block *b, const brim_record *record, brim_error *err) {
  const size_t all = b->row_count * encoder->further;
  if (encoder->further == 0)
    return BRIM_OK;
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->values, &b->value_capacity, all, sizeof *b->values, err));
  coded_value *to = b->values + all - encoder->further;
  for (size_t i = 0; i < encoder->further; i++) {
    const brim_string *text = &record->blocks[i + 1];
    to[i] = (coded_value){.text = append(b, text->bytes, text->length), .length = text->length};
  }
  return BRIM_OK;
}

static int add_record(brim_encoder *encoder, block *b, const brim_record *record, brim_error *err) {
  size_t why = record->damage ? strlen(record->damage) + 1 : 0;
  size_t forms = record->label && record->label_forms ? form_count(record) : 0;
  size_t needed = b->byte_count + record->text_length + record->pair_length + record->label_length + forms + why;
  for (size_t i = 0; i < record->further_count; i++)
    needed += record->further[i].length;
  for (size_t i = 0; i < encoder->further; i++)
    needed += record->blocks[i + 1].length;
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->rows, &b->row_capacity, b->row_count + 1, sizeof *b->rows, err));
  BRIM_TRY(
      brim_grow(encoder->runtime, (void **)&b->bytes, &b->byte_capacity, needed < BLOCK_BYTES ? BLOCK_BYTES : needed, 1, err));
  brim_coded_row *row = &b->rows[b->row_count++];
  *row = (brim_coded_row){.text_length = record->text_length,
                          .pair_length = record->pair_length,
                          .label_length = record->label_length,
                          .label_is_list = record->label_is_list,
                          .row = record->row,
                          .file_row = record->file_row,
                          .file_number = record->file_number,
                          .line = record->line,
                          .byte = record->byte,
                          .file = record->file};
  row->text = append(b, record->text, record->text_length);
  row->pair = append(b, record->pair, record->pair_length);
  row->label = append(b, record->label, record->label_length);
  row->forms = append(b, forms ? record->label_forms : NULL, forms);
  row->damage = append(b, record->damage, why);
  b->alone &= !record->pair && !record->further_count && !record->label && !record->damage && !encoder->further;
  int status = add_values(encoder, b, record, err);
  if (status == BRIM_OK)
    status = add_further(encoder, b, row, record, err);
  b->row_count -= status != BRIM_OK; /* it is not whole */
  return status;
}

/* The lines of a run, as many as there is room for. */
static int add_run(brim_encoder *encoder, block *b, const brim_run *run, brim_error *err) {
  size_t at = 0, lines = 0;
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->bytes, &b->byte_capacity, BLOCK_BYTES, 1, err));
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->rows, &b->row_capacity, BLOCK_ROWS, sizeof *b->rows, err));
  while (at < run->length && lines < run->most && b->row_count < BLOCK_ROWS) {
    const char *line = run->bytes + at;
    size_t length = (size_t)((const char *)memchr(line, '\n', run->length - at) - line);
    b->rows[b->row_count++] = (brim_coded_row){.text = b->byte_count + at,
                                               .text_length = length - (length > 0 && line[length - 1] == '\r'),
                                               .pair = NONE,
                                               .label = NONE,
                                               .forms = NONE,
                                               .damage = NONE,
                                               .row = run->row + lines,
                                               .file_row = run->file_row + lines,
                                               .file_number = run->file_number,
                                               .line = run->line + (int64_t)lines,
                                               .byte = run->byte + (int64_t)at,
                                               .file = run->file};
    lines++;
    at += length + 1;
  }
  memcpy(b->bytes + b->byte_count, run->bytes, at);
  b->byte_count += at;
  brim_reader_pass(encoder->reader, at, lines);
  return BRIM_OK;
}

static int add_next(brim_encoder *encoder, block *b, brim_error *err) {
  brim_record record;
  brim_run run;
  if (brim_reader_run(encoder->reader, BLOCK_BYTES - b->byte_count, &run))
    return add_run(encoder, b, &run, err);
  BRIM_TRY(brim_reader_next(encoder->reader, &record, err));
  return add_record(encoder, b, &record, err);
}

/* Records until the block is full. A failure after some records stays in the block, so that they come first. */
static int fill_block(void *context, void **out, brim_error *err) {
  brim_encoder *encoder = context;
  if (encoder->read_all)
    return BRIM_END;
  block *b = take_block(encoder);
  if (!b)
    return BRIM_NOMEM(err);
  int status = BRIM_OK;
  while (status == BRIM_OK && b->byte_count < BLOCK_BYTES && b->row_count < BLOCK_ROWS)
    status = add_next(encoder, b, &b->failure);
  encoder->read_all = status != BRIM_OK;
  b->failed = status == BRIM_END ? BRIM_OK : status;
  if (b->row_count == 0 && b->failed == BRIM_OK) {
    spare_block(encoder, b);
    return BRIM_END;
  }
  uint64_t total;
  brim_reader_progress(encoder->reader, &b->consumed, &total);
  *out = b;
  return BRIM_OK;
}

static void interrupt_reader(void *context) {
  brim_encoder *encoder = context;
  brim_reader_interrupt(encoder->reader);
}

/* ---- encoding --------------------------------------------------------------------------------------------- */

static int encode_texts(brim_encoder *encoder, brim_scratch *scratch, block *b, brim_coded_row *row, brim_string text,
                        brim_string pair, brim_error *err) {
  const brim_encode_options *options = &encoder->options;
  if (options->numbering)
    return brim_number_tokens(encoder->tokenizer, scratch, text, pair, options, &b->tokens, &b->words, &b->texts, err);
  if (encoder->words)
    return brim_encode_words(encoder->tokenizer, scratch, text, options, &b->tokens, &b->words, &b->texts, err);
  return brim_encode_texts(encoder->tokenizer, scratch, text, pair, b->further + row->further, row->further_count, true, options,
                           &b->tokens, &b->texts, err);
}

uint64_t brim_query_of(brim_string text, brim_string pair) {
  return pair.bytes ? brim_hash64(text.bytes, text.length, 0) : 0;
}

/* The numbers of the row's further blocks. */
static int read_values(brim_encoder *encoder, block *b, size_t row, brim_error *err) {
  for (size_t i = 0; i < encoder->further; i++) {
    coded_value *value = &b->values[row * encoder->further + i];
    const brim_string text = {b->bytes + value->text, value->length};
    value->first = b->numbers[i + 1].count;
    BRIM_TRY(brim_numbers_read(&b->numbers[i + 1], encoder->runtime, &encoder->shapes[i + 1], text, err));
    value->count = b->numbers[i + 1].count - value->first;
  }
  return BRIM_OK;
}

static int encode_row(brim_encoder *encoder, brim_scratch *scratch, block *b, brim_coded_row *row, brim_error *err) {
  const brim_string text = {b->bytes + row->text, row->text_length};
  const brim_string pair = {row->pair == NONE ? NULL : b->bytes + row->pair, row->pair_length};
  int32_t *length = &b->lengths[row - b->rows];
  row->ids = b->tokens.length;
  *length = 0;
  if (row->damage != NONE)
    return BRIM_OK;
  BRIM_TRY(brim_encoding_reserve(&b->tokens, BLOCK_TOKENS, err));
  const brim_encode_options *options = &encoder->options;
  row->first_text = b->texts.count;
  if (options->numbering || encoder->words || row->further_count > 0 || brim_makes_windows(options) || options->prompts[0])
    BRIM_TRY(encode_texts(encoder, scratch, b, row, text, pair, err));
  else
    BRIM_TRY(brim_encode_valid(encoder->tokenizer, scratch, text, pair, &encoder->options, &b->tokens, err));
  row->texts = b->texts.count - row->first_text;
  *length = (int32_t)(b->tokens.length - row->ids);
  row->lost = b->tokens.lost;
  row->query = brim_query_of(text, pair);
  return encoder->further > 0 ? read_values(encoder, b, (size_t)(row - b->rows), err) : BRIM_OK;
}

/* A failure stays in the block, after the rows that came first. */
static int encode_block(void *context, void *data, int number, brim_error *err) {
  brim_encoder *encoder = context;
  block *b = data;
  BRIM_TRY(brim_grow(encoder->runtime, (void **)&b->lengths, &b->length_capacity, b->row_count, sizeof *b->lengths, err));
  for (size_t i = 0; i < b->further_count; i++)
    b->further[i].bytes = b->bytes + b->starts[i];
  for (; b->encoded < b->row_count; b->encoded++) {
    brim_coded_row *row = &b->rows[b->encoded];
    brim_error failure;
    int status = encode_row(encoder, encoder->scratches[number], b, row, &failure);
    if (status == BRIM_OK)
      continue;
    b->failed = brim_error_at(&b->failure, status, row->file, row->line, row->byte, "%s", failure.message);
    break;
  }
  return BRIM_OK;
}

/* ---- the encoder ------------------------------------------------------------------------------------------ */

static int make_scratches(brim_encoder *encoder, brim_error *err) {
  int threads = brim_runtime_threads(encoder->runtime);
  BRIM_TRY(brim_encode_options_check(encoder->tokenizer, &encoder->options, false, err));
  if (brim_makes_windows(&encoder->options))
    BRIM_TRY(brim_blocks_allow_windows(encoder->reader->shapes + 1, encoder->reader->block_count, err));
  encoder->scratches = brim_alloc_array_zero(encoder->runtime, (size_t)threads, sizeof *encoder->scratches);
  if (!encoder->scratches)
    return BRIM_NOMEM(err);
  for (; encoder->scratch_count < threads; encoder->scratch_count++)
    BRIM_TRY(brim_scratch_new(encoder->runtime, encoder->tokenizer, &encoder->scratches[encoder->scratch_count], err));
  return BRIM_OK;
}

void brim_encoder_rest(brim_encoder *encoder) {
  brim_ordered_free(encoder->map);
  spare_block(encoder, encoder->present);
  while (encoder->spare) {
    block *b = encoder->spare;
    encoder->spare = b->next;
    free_block(encoder->runtime, b);
  }
  brim_reader_close(encoder->reader);
  encoder->map = NULL;
  encoder->present = NULL;
  encoder->reader = NULL;
  encoder->ended = true;
}

int brim_encoder_restart(brim_encoder *encoder, brim_reader *reader, brim_error *err) {
  brim_encoder_rest(encoder);
  int threads = brim_runtime_threads(encoder->runtime);
  encoder->reader = reader;
  encoder->words = reader->words;
  encoder->further = (size_t)reader->block_count;
  memcpy(encoder->shapes, reader->shapes, sizeof encoder->shapes);
  encoder->at = 0;
  encoder->read_all = encoder->ended = false;
  brim_reader_progress(reader, &encoder->consumed, &encoder->total);
  encoder->consumed = 0;
  if (threads > 1)
    BRIM_TRY(brim_reader_look_ahead(reader, err));
  return brim_ordered_new(encoder->runtime,
                          &(brim_ordered_options){.threads = threads > 1 ? threads : 0,
                                                  .queue = 4 * threads + 4, /* for as long as a window is planned */
                                                  .produce = fill_block,
                                                  .work = encode_block,
                                                  .discard = spare_block,
                                                  .interrupt = interrupt_reader,
                                                  .context = encoder},
                          &encoder->map, err);
}

static int check_given(brim_runtime *runtime, brim_reader *reader, const brim_tokenizer *tokenizer,
                       const brim_encode_options *options, brim_encoder **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, reader, tokenizer, options);
  return BRIM_OK;
}

int brim_encoder_new(brim_runtime *runtime, brim_reader *reader, const brim_tokenizer *tokenizer,
                     const brim_encode_options *options, brim_encoder **out, brim_error *err) {
  const int given = check_given(runtime, reader, tokenizer, options, out, err);
  brim_encoder *encoder = given ? NULL : brim_alloc_zero(runtime, sizeof *encoder);
  if (!encoder) {
    brim_reader_close(reader);
    return given ? given : BRIM_NOMEM(err);
  }
  *encoder = (brim_encoder){.runtime = runtime, .tokenizer = tokenizer, .options = *options, .reader = reader};
  pthread_mutex_init(&encoder->lock, NULL);
  int status = make_scratches(encoder, err);
  if (status == BRIM_OK) {
    encoder->reader = NULL;
    status = brim_encoder_restart(encoder, reader, err);
  }
  if (status != BRIM_OK) {
    brim_encoder_close(encoder);
    return status;
  }
  *out = encoder;
  return BRIM_OK;
}

void brim_encoder_close(brim_encoder *encoder) {
  if (!encoder)
    return;
  brim_encoder_rest(encoder);
  for (int i = 0; i < encoder->scratch_count; i++)
    brim_scratch_free(encoder->scratches[i]);
  brim_release(encoder->runtime, encoder->scratches);
  pthread_mutex_destroy(&encoder->lock);
  brim_release(encoder->runtime, encoder);
}

/* Makes `present` a block with a row that was not handed out. */
static int find_row(brim_encoder *encoder, brim_error *err) {
  while (!encoder->present || encoder->at == encoder->present->encoded) {
    block *b = encoder->present;
    if (b && b->failed != BRIM_OK) {
      if (err)
        *err = b->failure;
      return b->failed;
    }
    spare_block(encoder, b);
    encoder->present = NULL;
    encoder->at = 0;
    void *next = NULL;
    int status = brim_ordered_next(encoder->map, &next, err);
    if (status == BRIM_END)
      encoder->ended = true;
    if (status != BRIM_OK)
      return status;
    encoder->present = next;
    encoder->consumed = encoder->present->consumed;
  }
  return BRIM_OK;
}

int brim_encoder_next(brim_encoder *encoder, brim_encoded *out, brim_error *err) {
  BRIM_GIVEN_AS(err, "encoder, row", encoder, out);
  if (encoder->ended)
    return BRIM_END;
  BRIM_TRY(find_row(encoder, err));
  const block *b = encoder->present;
  const brim_coded_row *row = &b->rows[encoder->at];
  const size_t at = encoder->at++;
  const bool several = row->texts > 1;
  *out = (brim_encoded){.ids = b->tokens.ids + row->ids,
                        .type_ids = b->tokens.type_ids + row->ids,
                        .words = encoder->words ? b->words.at + row->ids : NULL,
                        .numbers = encoder->options.numbering ? b->words.at + row->ids : NULL,
                        .text = encoder->words ? b->bytes + row->text : NULL,
                        .text_length = encoder->words ? row->text_length : 0,
                        .text_lengths = several ? b->texts.at + row->first_text : NULL,
                        .text_count = several ? (int32_t)row->texts : 0,
                        .length = (size_t)b->lengths[at],
                        .lost = row->lost,
                        .query = row->query,
                        .row = row->row,
                        .file_row = row->file_row,
                        .file_number = row->file_number,
                        .line = row->line,
                        .byte = row->byte,
                        .file = row->file,
                        .pair = row->pair != NONE,
                        .label = row->label == NONE ? NULL : b->bytes + row->label,
                        .label_length = row->label_length,
                        .label_forms = row->forms == NONE ? NULL : b->bytes + row->forms,
                        .label_is_list = row->label_is_list,
                        .damage = row->damage == NONE ? NULL : b->bytes + row->damage};
  for (size_t i = 0; i < encoder->further && row->damage == NONE; i++) {
    const coded_value *value = &b->values[at * encoder->further + i];
    out->blocks[i + 1] = (const char *)b->numbers[i + 1].at + value->first * BRIM_NUMBER;
    out->block_numbers[i + 1] = value->count;
  }
  return BRIM_OK;
}

void brim_encoder_run(const brim_encoder *encoder, uint64_t most, int64_t longest, brim_coded_run *out) {
  const block *b = encoder->present;
  *out = (brim_coded_run){0};
  if (!b || encoder->at == 0 || encoder->further > 0 || brim_makes_windows(&encoder->options))
    return;
  const size_t first = encoder->at - 1, left = b->encoded - first;
  out->rows = b->rows + first;
  out->lengths = b->lengths + first;
  out->ids = b->tokens.ids + out->rows->ids;
  for (; out->count < left && out->count < most; out->count++) {
    const brim_coded_row *row = &out->rows[out->count];
    const int32_t length = out->lengths[out->count];
    const bool bare = b->alone || (row->pair == NONE && row->further_count == 0 && row->label == NONE && row->damage == NONE);
    if (length == 0 || length > longest || encoder->options.numbering || !bare)
      break;
    out->tokens += (size_t)length;
  }
}

void brim_encoder_pass(brim_encoder *encoder, const brim_coded_run *run) {
  encoder->at += run->count - 1;
}

void brim_encoder_progress(const brim_encoder *encoder, uint64_t *consumed, uint64_t *total) {
  *consumed = encoder->consumed;
  *total = encoder->total;
}

const brim_exclusion *brim_encoder_excluded(const brim_encoder *encoder, uint64_t *count) {
  *count = 0;
  return encoder->ended ? brim_reader_excluded(encoder->reader, count) : NULL;
}

int brim_encoder_check_seen(const brim_encoder *encoder, brim_error *err) {
  return brim_reader_check_seen(encoder->reader, err);
}

void brim_encoder_take_excluded(brim_encoder *encoder, brim_exclusions *out) {
  brim_exclusions *list = &encoder->reader->selection.excluded;
  *out = *list;
  *list = (brim_exclusions){.runtime = encoder->runtime};
}

uint64_t brim_encoder_rows(const brim_encoder *encoder) {
  return encoder->reader->row;
}
