/* load.c: a source into a dataset. */
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "base/memory.h"
#include "base/status.h"
#include "data/cache.h"
#include "data/dataset.h"
#include "data/encoder.h"
#include "data/none_rows.h"
#include "data/reader.h"
#include "data/source.h"
#include "task/task.h"

#define EVENT_SECONDS 0.1

typedef struct loader {
  brim_runtime *runtime;
  const brim_dataset_options *options;
  brim_dataset *dataset;
  brim_encoder *encoder;
  brim_label_taker taker;
  brim_none_rows none;
  double started, reported; /* seconds */
  uint64_t consumed;        /* when it was last looked at */
} loader;

/* ---- progress --------------------------------------------------------------------------------------------- */

static int report(loader *l, uint64_t done, uint64_t total, brim_error *err) {
  double seconds = brim_seconds_now() - l->started;
  l->reported = seconds;
  const brim_field fields[] = {
      {.name = "phase", .kind = BRIM_VALUE_TEXT, .text = "encode"},
      {.name = "done", .kind = BRIM_VALUE_INT, .integer = (int64_t)done},
      {.name = "total", .kind = BRIM_VALUE_INT, .integer = (int64_t)total},
      {.name = "rate", .kind = BRIM_VALUE_REAL, .real = seconds > 0 ? (double)l->dataset->token_count / seconds : 0},
      {.name = "unit", .kind = BRIM_VALUE_TEXT, .text = "tokens/s"},
      {.name = "rows", .kind = BRIM_VALUE_INT, .integer = (int64_t)l->dataset->rows},
      {.name = "tokens", .kind = BRIM_VALUE_INT, .integer = (int64_t)l->dataset->token_count},
      {.name = "seconds", .kind = BRIM_VALUE_REAL, .real = seconds}};
  const brim_event event = {.kind = "progress", .fields = fields, .field_count = sizeof fields / sizeof *fields};
  return brim_tell(l->options->progress, l->options->progress_context, &event, err);
}

/* An event now and then, when a block has come, and one at the end. */
static int progress(loader *l, bool finished, brim_error *err) {
  uint64_t consumed, total;
  if (!l->options->progress)
    return BRIM_OK;
  brim_encoder_progress(l->encoder, &consumed, &total);
  if (finished)
    return report(l, total ? total : consumed, total ? total : consumed, err);
  if (consumed == l->consumed)
    return BRIM_OK;
  l->consumed = consumed;
  return brim_seconds_now() - l->started - l->reported < EVENT_SECONDS ? BRIM_OK : report(l, consumed, total, err);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

static int add_words(loader *l, const brim_encoded *row, brim_sample *sample, brim_error *err) {
  const brim_label_source tags = {row->label, row->label_length, row->label_is_list, row->file, row->line, row->label_forms};
  sample->words = row->words;
  sample->word_text = row->text, sample->word_text_length = row->text_length;
  if (l->options->source.need_label)
    BRIM_TRY(brim_label_taker_words(&l->taker, &tags, sample, err));
  return brim_dataset_add(l->dataset, sample, row->lost, false, err);
}

static int add_masked(loader *l, const brim_encoded *record, brim_error *err) {
  for (int32_t i = 0; i < brim_masked_rows(record); i++) {
    brim_encoded own;
    const brim_encoded *row = brim_masked_row(record, i, &own);
    brim_sample sample;
    BRIM_TRY(brim_dataset_sample_of(l->dataset, row, row->row, &sample, err));
    BRIM_TRY(brim_dataset_add(l->dataset, &sample, row->lost, false, err));
  }
  l->dataset->pairs |= record->pair;
  return BRIM_OK;
}

static int add_row(loader *l, const brim_encoded *row, brim_error *err) {
  brim_sample sample;
  if (row->numbers)
    return add_masked(l, row, err);
  BRIM_TRY(brim_dataset_sample_of(l->dataset, row, row->row, &sample, err));
  if (row->words)
    return add_words(l, row, &sample, err);
  const brim_label_source label = {row->label, row->label_length, row->label_is_list, row->file, row->line, row->label_forms};
  if (l->options->source.need_label)
    BRIM_TRY(brim_none_rows_note(&l->none, l->dataset, &l->taker, &label, row->row, row->lost, err));
  BRIM_TRY(brim_dataset_add(l->dataset, &sample, row->lost, false, err));
  l->dataset->pairs |= row->pair;
  return l->options->source.need_label ? brim_label_taker_add(&l->taker, &label, err) : BRIM_OK;
}

static int no_rows(const loader *l, const char *path, brim_error *err) {
  if (l->dataset->excluded.count == 0)
    return brim_error_at(err, BRIM_E_FORMAT, strcmp(path, "-") == 0 ? "standard input" : path, 0, -1, "there are no rows");
  return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "no rows are left: %zu were excluded, the first because of: %s",
                       l->dataset->excluded.count, l->dataset->excluded.items[0].reason);
}

static int read_rows(loader *l, brim_error *err) {
  brim_encoded row;
  int status;
  while ((status = brim_encoder_next(l->encoder, &row, err)) == BRIM_OK) {
    BRIM_TRY(add_row(l, &row, err));
    BRIM_TRY(progress(l, false, err));
  }
  return status == BRIM_END ? BRIM_OK : status;
}

static int finish(loader *l, brim_error *err) {
  brim_dataset *dataset = l->dataset;
  BRIM_TRY(progress(l, true, err));
  if (l->options->source.need_label) {
    float *values = NULL;
    BRIM_TRY(brim_label_taker_finish(&l->taker, &dataset->labels, &values, err));
    brim_dataset_take_labels(dataset, values, brim_labels_width(&dataset->labels));
    dataset->mapped = true;
    if (l->taker.rank)
      brim_dataset_renumber(dataset, l->taker.rank);
    dataset->unlabelled_words = l->taker.unlabelled;
    BRIM_TRY(brim_none_rows_drop(&l->none, dataset, &l->taker, err));
  }
  if (l->options->encode.numbering)
    BRIM_TRY(brim_dataset_set_numbered(dataset, err));
  return brim_dataset_seal(dataset, err);
}

static int load(loader *l, const char *const *paths, int path_count, const brim_tokenizer *tokenizer, brim_error *err) {
  brim_reader *reader;
  brim_source_options source = l->options->source;
  brim_label_type_read(l->taker.task, &source);
  source.none_labels |= l->taker.known ? brim_labels_none(l->taker.known) : 0;
  BRIM_TRY(brim_reader_open(l->runtime, paths, path_count, &source, &reader, err));
  const uint64_t stamp = brim_source_stamp(&reader->source);
  BRIM_TRY(brim_encoder_new(l->runtime, reader, tokenizer, &l->options->encode, &l->encoder, err));
  l->dataset = brim_dataset_new(l->runtime, err);
  if (!l->dataset)
    return BRIM_E_MEMORY;
  l->dataset->from_texts = true;
  l->dataset->stamp = stamp;
  BRIM_TRY(brim_dataset_expect(l->dataset, &source, &l->options->encode, tokenizer, err));
  BRIM_TRY(brim_tokenizer_content(tokenizer, source.words, &l->dataset->tokenizer, err));
  BRIM_TRY(read_rows(l, err));
  if (source.seen_columns)
    BRIM_TRY(brim_encoder_check_seen(l->encoder, err));
  brim_encoder_take_excluded(l->encoder, &l->dataset->excluded);
  if (l->dataset->rows == 0)
    return no_rows(l, paths[0], err);
  return finish(l, err);
}

int brim_dataset_encode(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                        const brim_dataset_options *options, brim_dataset **out, brim_error *err) {
  *out = NULL;
  loader l = {.runtime = runtime, .options = options, .started = brim_seconds_now()};
  brim_label_taker_init_of_rows(&l.taker, runtime, options->task, options->labels);
  int status = load(&l, paths, path_count, tokenizer, err);
  brim_encoder_close(l.encoder);
  brim_label_taker_free(&l.taker);
  brim_none_rows_free(runtime, &l.none);
  if (status != BRIM_OK) {
    brim_dataset_free(l.dataset);
    return status;
  }
  *out = l.dataset;
  return BRIM_OK;
}

int brim_dataset_load(brim_runtime *runtime, const char *const *paths, int path_count, const brim_tokenizer *tokenizer,
                      const brim_dataset_options *options, brim_dataset **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, tokenizer, options);
  BRIM_STRINGS(err, paths, path_count);
  BRIM_TRY(brim_task_check(options->task, err));
  BRIM_TRY((options->cache ? brim_cache_load : brim_dataset_encode)(runtime, paths, path_count, tokenizer, options, out, err));
  const int status = brim_dataset_expect(*out, &options->source, &options->encode, tokenizer, err);
  if (status) {
    brim_dataset_free(*out);
    *out = NULL;
  }
  return status;
}
