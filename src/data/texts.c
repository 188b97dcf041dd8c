/* texts.c: a dataset from texts that the caller has in memory, encoded where they lie.
 *
 *   a range of rows (one at a time) -> encode (in parallel) -> the dataset, in order */
#include <string.h>

#include "base/memory.h"
#include "base/ordered.h"
#include "base/runtime.h"
#include "base/status.h"
#include "data/dataset.h"
#include "data/encoder.h"
#include "data/none_rows.h"
#include "data/source.h"
#include "task/task.h"
#include "text/encode.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define BLOCK_ROWS  4096
#define NO_LABEL    "row %llu has no label: fill it in, or leave such rows out (missing_label skip)"
#define FEW         8 /* texts that are encoded before a thread would have begun */

/* Excluded: places of the selection's reasons, of which there are no conditions. */
enum { TOO_SHORT = -1, UNLABELLED = -2, SAYS_NONE = -3 };

typedef struct row_range {
  int32_t length; /* or why it is excluded */
  size_t from, lost;
  size_t first_text;
  int32_t texts;
} row_range;

typedef struct block {
  uint64_t first;
  int count;
  int32_t *ids;
  uint8_t *type_ids;
  int32_t *words;          /* of each token the number of its word, where texts are lists of words */
  brim_text_lengths texts; /* of all rows */
  size_t used, id_capacity, type_capacity, word_capacity;
  row_range rows[BLOCK_ROWS];
} block;

typedef struct worker {
  brim_scratch *scratch;
  brim_encoding encoding;
  brim_word_numbers words;
} worker;

typedef struct texts {
  brim_runtime *runtime;
  const brim_tokenizer *tokenizer;
  const brim_dataset_options *options;
  brim_text_row_fn rows;
  void *context;
  uint64_t count, next;
  bool words;       /* texts are lists of them */
  bool empty_label; /* one without a character is a label */
  worker *workers;
  int worker_count;
  brim_selection selection;
  brim_label_taker taker;
  brim_none_rows none;
  int none_labels; /* BRIM_NONE_.. of the known mapping */
  brim_dataset *dataset;
} texts;

static void free_block(void *context, void *data) {
  const texts *t = context;
  block *b = data;
  if (!b)
    return;
  brim_release(t->runtime, b->ids);
  brim_release(t->runtime, b->type_ids);
  brim_release(t->runtime, b->words);
  brim_release(t->runtime, b->texts.at);
  brim_release(t->runtime, b);
}

/* The failure of one row: there is no file, so the message names it. */
static int row_failed(uint64_t row, int status, const brim_error *failure, brim_error *err) {
  return brim_error_set(err, status, "row %llu: %s", (unsigned long long)row, failure->message);
}

static int get_row(const texts *t, uint64_t row, brim_text_row *out, brim_error *err) {
  *out = (brim_text_row){0};
  BRIM_TRY(t->rows(t->context, row, out, err));
  if (out->label_length == 0 && !out->label_is_list && !t->empty_label)
    out->label = NULL;
  return BRIM_OK;
}

/* ---- blocks ----------------------------------------------------------------------------------------------- */

static int next_range(void *context, void **out, brim_error *err) {
  texts *t = context;
  size_t bytes = 0;
  if (t->next == t->count)
    return BRIM_END;
  block *b = brim_alloc_zero(t->runtime, sizeof *b);
  if (!b)
    return BRIM_NOMEM(err);
  b->first = t->next;
  while (t->next < t->count && b->count < BLOCK_ROWS && bytes < BLOCK_BYTES) {
    brim_text_row row;
    int status = get_row(t, t->next, &row, err);
    if (status != BRIM_OK) {
      free_block(t, b);
      return status;
    }
    bytes += row.text_length + row.pair_length;
    for (size_t i = 0; i < row.further_count; i++)
      bytes += row.further[i].length;
    t->next++;
    b->count++;
  }
  *out = b;
  return BRIM_OK;
}

static size_t item_count(const char *list, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++)
    count += list[i] == 0;
  return count;
}

/* Each word has a tag. */
static int check_words(const texts *t, const brim_text_row *row, brim_error *err) {
  const size_t words = item_count(row->text, row->text_length);
  if (row->pair)
    return brim_error_set(err, BRIM_E_USAGE, "labels of words are for single texts: leave out the second");
  if (row->text_length > 0 && row->text[row->text_length - 1])
    return brim_error_set(err, BRIM_E_USAGE, "a list of words is expected, not a text");
  if (!t->options->source.need_label || !row->label)
    return BRIM_OK;
  if (!row->label_is_list)
    return brim_error_set(err, BRIM_E_FORMAT, "the label is no list: each word has a tag");
  const size_t tags = item_count(row->label, row->label_length);
  return words == tags ? BRIM_OK
                       : brim_error_set(err, BRIM_E_FORMAT, "%zu word%s and %zu tag%s: each word has one", words,
                                        words == 1 ? "" : "s", tags, tags == 1 ? "" : "s");
}

/* Numbers of tokens are kept where those of words are. */
static int keep_numbers(const texts *t, const worker *w, block *b, brim_error *err) {
  const brim_encoding *e = &w->encoding;
  BRIM_TRY(brim_grow(t->runtime, (void **)&b->words, &b->word_capacity, b->used + e->length, sizeof *b->words, err));
  if (e->length)
    memcpy(b->words + b->used, w->words.at, e->length * sizeof *b->words);
  return BRIM_OK;
}

static int encode_numbered(const texts *t, worker *w, block *b, const brim_text_row *row, brim_error *err) {
  BRIM_TRY(brim_number_tokens(t->tokenizer, w->scratch, (brim_string){row->text, row->text_length},
                              (brim_string){row->pair, row->pair_length}, &t->options->encode, &w->encoding, &w->words, &b->texts,
                              err));
  return keep_numbers(t, w, b, err);
}

static int encode_words(const texts *t, worker *w, block *b, const brim_text_row *row, brim_error *err) {
  BRIM_TRY(check_words(t, row, err));
  BRIM_TRY(brim_encode_words(t->tokenizer, w->scratch, (brim_string){row->text, row->text_length}, &t->options->encode,
                             &w->encoding, &w->words, &b->texts, err));
  return keep_numbers(t, w, b, err);
}

/* A label that says that there is none. */
static bool says_none(const texts *t, const brim_text_row *row) {
  if (!t->none_labels || !row->label || row->label_is_list)
    return false;
  const brim_label_text label = brim_label_read(row->label, row->label_length,
                                                row->label_forms ? *row->label_forms : BRIM_FORM_TEXT);
  return brim_label_none(&label) & t->none_labels;
}

static bool long_enough(const texts *t, const brim_text_row *row) {
  bool enough = row->text && !row->lacks_pair && brim_selection_long_enough(&t->selection, row->text, row->text_length) &&
                (!row->pair || brim_selection_long_enough(&t->selection, row->pair, row->pair_length));
  for (size_t i = 0; i < row->further_count; i++)
    enough = enough && brim_selection_long_enough(&t->selection, row->further[i].bytes, row->further[i].length);
  return enough;
}

static int encode_plain(const texts *t, worker *w, block *b, const brim_text_row *row, brim_error *err) {
  const int32_t most = t->options->source.most_texts;
  if (most > 0 && (int64_t)row->further_count + 1 > most)
    return brim_error_set(err, BRIM_E_USAGE, "it has %zu texts, more than most_texts %d: raise it, or give fewer",
                          row->further_count + 1, (int)most);
  return brim_encode_texts(t->tokenizer, w->scratch, (brim_string){row->text, row->text_length},
                           (brim_string){row->pair, row->pair_length}, row->further, row->further_count, false,
                           &t->options->encode, &w->encoding, &b->texts, err);
}

static int encode_texts(const texts *t, worker *w, block *b, const brim_text_row *row, row_range *range, brim_error *err) {
  w->encoding.runtime = t->runtime, w->encoding.length = w->encoding.lost = 0;
  range->first_text = b->texts.count;
  BRIM_TRY((t->options->encode.numbering ? encode_numbered : t->words ? encode_words : encode_plain)(t, w, b, row, err));
  range->texts = (int32_t)(b->texts.count - range->first_text);
  return BRIM_OK;
}

static int encode_row(texts *t, worker *w, block *b, int index, brim_error *err) {
  brim_text_row row;
  BRIM_TRY(get_row(t, b->first + (uint64_t)index, &row, err));
  row_range *range = &b->rows[index];
  if ((!row.text || row.lacks_pair) && t->selection.min_chars == 0)
    return brim_error_set(err, BRIM_E_FORMAT, "there is no %stext: fill it in, or leave such rows out (min_chars 1)",
                          row.text ? "second " : "");
  if (!row.label && t->options->source.need_label && t->options->source.skip_unlabelled) {
    range->length = UNLABELLED;
    return BRIM_OK;
  }
  if (says_none(t, &row)) {
    range->length = SAYS_NONE;
    return BRIM_OK;
  }
  if (!long_enough(t, &row)) {
    range->length = TOO_SHORT;
    return BRIM_OK;
  }
  BRIM_TRY(encode_texts(t, w, b, &row, range, err));
  size_t length = w->encoding.length, needed = b->used + length;
  if (brim_lacks_tokens(length, b->texts.at + range->first_text, range->texts))
    return brim_error_set(err, BRIM_E_FORMAT,
                          "the text gives no token: leave such rows out (min_chars 1), or add the special tokens");
  BRIM_TRY(brim_grow(t->runtime, (void **)&b->ids, &b->id_capacity, needed, sizeof *b->ids, err));
  BRIM_TRY(brim_grow(t->runtime, (void **)&b->type_ids, &b->type_capacity, needed, 1, err));
  memcpy(b->ids + b->used, w->encoding.ids, length * sizeof *b->ids);
  memcpy(b->type_ids + b->used, w->encoding.type_ids, length);
  range->length = (int32_t)length;
  range->from = b->used;
  range->lost = w->encoding.lost;
  b->used = needed;
  return BRIM_OK;
}

static int encode_range(void *context, void *data, int number, brim_error *err) {
  texts *t = context;
  block *b = data;
  for (int i = 0; i < b->count; i++) {
    brim_error failure = {0};
    int status = encode_row(t, &t->workers[number], b, i, &failure);
    if (status != BRIM_OK)
      return row_failed(b->first + (uint64_t)i, status, &failure, err);
  }
  return BRIM_OK;
}

/* ---- into the dataset ------------------------------------------------------------------------------------- */

static brim_label_source label_of(const brim_text_row *row, uint64_t number) {
  return (brim_label_source){row->label, row->label_length, row->label_is_list, "texts", (int64_t)number + 1, row->label_forms};
}

static int add_words(texts *t, const brim_text_row *row, brim_sample *sample, size_t lost, brim_error *err) {
  const uint64_t number = sample->row;
  const brim_label_source tags = label_of(row, number);
  brim_error failure = {0};
  sample->word_text = row->text, sample->word_text_length = row->text_length;
  if (t->options->source.need_label && !row->label)
    return brim_error_set(err, BRIM_E_FORMAT, NO_LABEL, (unsigned long long)number);
  const int status = t->options->source.need_label ? brim_label_taker_words(&t->taker, &tags, sample, &failure) : BRIM_OK;
  return status ? row_failed(number, status, &failure, err) : brim_dataset_add(t->dataset, sample, lost, false, err);
}

static int add_label(texts *t, const brim_text_row *row, uint64_t number, brim_error *err) {
  brim_error failure = {0};
  if (!t->options->source.need_label)
    return BRIM_OK;
  if (!row->label)
    return brim_error_set(err, BRIM_E_FORMAT, NO_LABEL, (unsigned long long)number);
  const brim_label_source label = label_of(row, number);
  int status = brim_label_taker_add(&t->taker, &label, &failure);
  return status == BRIM_OK ? BRIM_OK : row_failed(number, status, &failure, err);
}

static int take_blocks(texts *t, const brim_text_row *row, brim_sample *sample, brim_error *err) {
  brim_dataset *d = t->dataset;
  brim_error failure = {0};
  const int status = brim_blocks_take(d->shapes, d->block_count, row->blocks, row->block_numbers, sample, &failure);
  return status ? row_failed(sample->row, status, &failure, err) : BRIM_OK;
}

/* Each window is a row. */
static int add_masked(texts *t, const block *b, const row_range *range, brim_sample *sample, brim_error *err) {
  const int32_t *numbers = b->words + range->from;
  for (int32_t i = 0; i < range->texts; i++) {
    sample->length = b->texts.at[range->first_text + (size_t)i];
    sample->token_labels = numbers;
    BRIM_TRY(brim_dataset_add(t->dataset, sample, i == 0 ? range->lost : 0, false, err));
    sample->ids += sample->length, sample->type_ids += sample->length, numbers += sample->length;
  }
  return BRIM_OK;
}

static int add_plain(texts *t, const brim_text_row *row, brim_sample *sample, size_t lost, brim_error *err) {
  if (t->options->source.need_label && row->label) {
    const brim_label_source label = label_of(row, sample->row);
    BRIM_TRY(brim_none_rows_note(&t->none, t->dataset, &t->taker, &label, sample->row, lost, err));
  }
  BRIM_TRY(brim_dataset_add(t->dataset, sample, lost, false, err));
  return add_label(t, row, sample->row, err);
}

static int add_row(texts *t, const block *b, const row_range *range, uint64_t number, brim_error *err) {
  brim_sample sample = {
      .ids = b->ids + range->from, .type_ids = b->type_ids + range->from, .length = range->length, .row = number};
  brim_text_row row;
  BRIM_TRY(get_row(t, number, &row, err));
  sample.query = brim_query_of((brim_string){row.text, row.text_length}, (brim_string){row.pair, row.pair_length});
  t->dataset->pairs |= row.pair != NULL;
  const bool masked = t->options->encode.numbering != BRIM_NUMBER_NOTHING;
  if (range->texts > 1 && !masked)
    sample.text_lengths = b->texts.at + range->first_text, sample.text_count = range->texts;
  BRIM_TRY(take_blocks(t, &row, &sample, err));
  if (masked)
    return add_masked(t, b, range, &sample, err);
  sample.words = t->words ? b->words + range->from : NULL;
  return t->words ? add_words(t, &row, &sample, range->lost, err) : add_plain(t, &row, &sample, range->lost, err);
}

static int add_block(texts *t, const block *b, brim_error *err) {
  for (int i = 0; i < b->count; i++) {
    const row_range *range = &b->rows[i];
    const uint64_t number = b->first + (uint64_t)i;
    BRIM_TRY(range->length < 0 ? brim_selection_exclude(&t->selection, -1 - range->length, number, 0, "texts", err)
                               : add_row(t, b, range, number, err));
  }
  return BRIM_OK;
}

static int add_all(texts *t, brim_error *err) {
  brim_ordered *map;
  int threads = t->worker_count, status;
  BRIM_TRY(brim_ordered_new(
      t->runtime,
      &(brim_ordered_options){
          .threads = threads > 1 ? threads : 0, .produce = next_range, .work = encode_range, .discard = free_block, .context = t},
      &map, err));
  void *data;
  while ((status = brim_ordered_next(map, &data, err)) == BRIM_OK) {
    status = add_block(t, data, err);
    free_block(t, data);
    if (status != BRIM_OK)
      break;
  }
  brim_ordered_free(map);
  return status == BRIM_END ? BRIM_OK : status;
}

static int make(texts *t, brim_error *err) {
  const int threads = t->count > FEW ? brim_runtime_threads(t->runtime) : 1;
  BRIM_TRY(brim_encode_options_check(t->tokenizer, &t->options->encode, false, err));
  BRIM_TRY(brim_source_options_check(&t->options->source, err));
  BRIM_TRY(brim_selection_init(&t->selection, t->runtime, &t->options->source, err));
  t->dataset = brim_dataset_new(t->runtime, err);
  if (!t->dataset)
    return BRIM_E_MEMORY;
  t->dataset->from_texts = true;
  BRIM_TRY(brim_dataset_expect(t->dataset, &t->options->source, &t->options->encode, t->tokenizer, err));
  if (brim_makes_windows(&t->options->encode))
    BRIM_TRY(brim_blocks_allow_windows(t->dataset->shapes + 1, t->dataset->block_count - 1, err));
  BRIM_TRY(brim_tokenizer_content(t->tokenizer, t->words, &t->dataset->tokenizer, err));
  t->workers = brim_alloc_array_zero(t->runtime, (size_t)threads, sizeof *t->workers);
  if (!t->workers)
    return BRIM_NOMEM(err);
  for (; t->worker_count < threads; t->worker_count++)
    BRIM_TRY(brim_scratch_new(t->runtime, t->tokenizer, &t->workers[t->worker_count].scratch, err));
  BRIM_TRY(add_all(t, err));
  if (t->dataset->rows == 0)
    return brim_error_set(err, BRIM_E_FORMAT, "no rows are left: %zu were excluded", t->selection.excluded.count);
  t->dataset->excluded = t->selection.excluded;
  t->selection.excluded = (brim_exclusions){.runtime = t->runtime};
  if (t->options->source.need_label) {
    float *values = NULL;
    BRIM_TRY(brim_label_taker_finish(&t->taker, &t->dataset->labels, &values, err));
    brim_dataset_take_labels(t->dataset, values, brim_labels_width(&t->dataset->labels));
    t->dataset->mapped = true;
    if (t->taker.rank)
      brim_dataset_renumber(t->dataset, t->taker.rank);
    t->dataset->unlabelled_words = t->taker.unlabelled;
    BRIM_TRY(brim_none_rows_drop(&t->none, t->dataset, &t->taker, err));
  }
  if (t->options->encode.numbering)
    BRIM_TRY(brim_dataset_set_numbered(t->dataset, err));
  return brim_dataset_seal(t->dataset, err);
}

int brim_dataset_from_texts(brim_runtime *runtime, brim_text_row_fn rows, void *context, uint64_t count,
                            const brim_tokenizer *tokenizer, const brim_dataset_options *options, brim_dataset **out,
                            brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, tokenizer, options);
  if (!rows)
    return brim_not_given(err, "rows");
  BRIM_TRY(brim_task_check(options->task, err));
  if (count == 0)
    return brim_error_set(err, BRIM_E_USAGE, "there are no rows");
  if (options->source.where_count)
    return brim_error_set(err, BRIM_E_USAGE, "where: texts in memory have no columns; leave it out");
  BRIM_TRY(brim_block_columns_check(&options->source, false, err));
  texts t = {.runtime = runtime, .tokenizer = tokenizer, .options = options, .rows = rows, .context = context, .count = count};
  t.selection.excluded.runtime = runtime;
  brim_label_taker_init_of_rows(&t.taker, runtime, options->task, options->labels);
  t.none_labels = options->source.need_label && options->labels ? brim_labels_none(options->labels) : 0;
  t.words = options->source.words || t.taker.type->words;
  t.empty_label = options->source.empty_label || t.taker.type->empty;
  int status = make(&t, err);
  for (int i = 0; i < t.worker_count; i++) {
    brim_scratch_free(t.workers[i].scratch);
    brim_encoding_free(&t.workers[i].encoding);
    brim_release(runtime, t.workers[i].words.at);
  }
  brim_release(runtime, t.workers);
  brim_selection_free(&t.selection);
  brim_label_taker_free(&t.taker);
  brim_none_rows_free(runtime, &t.none);
  if (status != BRIM_OK) {
    brim_dataset_free(t.dataset);
    return status;
  }
  *out = t.dataset;
  return BRIM_OK;
}
