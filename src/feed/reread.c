/* reread.c: a feed that continues in another process encodes the rows that waited once more. */
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/encoder.h"
#include "data/reader.h"
#include "feed/feed.h"
#include "text/encode.h"

/* One row to find, and where it is in the list. */
typedef struct wanted {
  const brim_waiting *waiting;
  size_t at;
} wanted;

typedef struct rereading {
  brim_producer *producer;
  brim_reader *reader;
  brim_scratch *scratch;
  brim_encoding encoding;
  brim_word_numbers words;
  brim_text_lengths lengths; /* of the row's texts */
  brim_numbers numbers[BRIM_MOST_BLOCKS];
  brim_dataset *found; /* in order of position */
  wanted *order;       /* [waiting] */
  size_t *found_at;    /* [waiting] */
} rereading;

static int by_position(const void *a, const void *b) {
  const brim_waiting *x = ((const wanted *)a)->waiting, *y = ((const wanted *)b)->waiting;
  return x->row != y->row ? (x->row > y->row) - (x->row < y->row)
                          : (x->spot.number > y->spot.number) - (x->spot.number < y->spot.number);
}

static int not_there(const rereading *r, const brim_waiting *waiting, brim_error *err) {
  size_t file = (size_t)brim_feed_file(waiting->row);
  return brim_error_at(err, BRIM_E_MISMATCH, r->producer->shards->paths[file], waiting->spot.line, waiting->spot.byte,
                       "no row begins here, as the state says: the file is not the one that was read then");
}

static int encode_text(rereading *r, const brim_record *record, brim_error *err) {
  const brim_producer *p = r->producer;
  const brim_string text = {record->text, record->text_length}, pair = {record->pair, record->pair_length};
  r->encoding.length = r->encoding.lost = 0;
  r->lengths.count = 0;
  if (p->options->encode.numbering)
    return brim_number_tokens(p->tokenizer, r->scratch, text, pair, &p->options->encode, &r->encoding, &r->words, &r->lengths,
                              err);
  if (p->options->source.words)
    return brim_encode_words(p->tokenizer, r->scratch, text, &p->options->encode, &r->encoding, &r->words, &r->lengths, err);
  return brim_encode_texts(p->tokenizer, r->scratch, text, pair, record->further, record->further_count, false,
                           &p->options->encode, &r->encoding, &r->lengths, err);
}

/* Of a further block. */
static int read_numbers(rereading *r, const brim_record *record, int b, brim_encoded *row, brim_error *err) {
  brim_numbers *numbers = &r->numbers[b];
  brim_error why;
  numbers->count = 0;
  const int status = brim_numbers_read(numbers, r->producer->runtime, &r->found->shapes[b], record->blocks[b], &why);
  row->blocks[b] = numbers->at;
  row->block_numbers[b] = numbers->count;
  return status ? brim_error_at(err, status, record->file, record->line, record->byte, "%s", why.message) : BRIM_OK;
}

/* All rows that the record gives. */
static int encode_record(rereading *r, const brim_record *record, brim_encoded *row, brim_error *err) {
  const brim_producer *p = r->producer;
  BRIM_TRY(encode_text(r, record, err));
  *row = (brim_encoded){.ids = r->encoding.ids,
                        .type_ids = r->encoding.type_ids,
                        .words = p->options->source.words ? r->words.at : NULL,
                        .numbers = p->options->encode.numbering ? r->words.at : NULL,
                        .length = r->encoding.length,
                        .text_lengths = r->lengths.count > 1 ? r->lengths.at : NULL,
                        .text_count = (int32_t)r->lengths.count,
                        .pair = record->pair != NULL,
                        .line = record->line,
                        .byte = record->byte,
                        .file = record->file,
                        .label = record->label,
                        .label_length = record->label_length,
                        .label_forms = record->label_forms,
                        .label_is_list = record->label_is_list};
  for (int b = 1; b < r->found->block_count; b++)
    BRIM_TRY(read_numbers(r, record, b, row, err));
  return BRIM_OK;
}

static int add_row(rereading *r, const brim_encoded *record, const brim_waiting *waiting, uint64_t name, brim_error *err) {
  brim_producer *p = r->producer;
  if (waiting->spot.number >= brim_masked_rows(record))
    return not_there(r, waiting, err);
  brim_encoded own;
  brim_sample sample;
  const brim_encoded *row = brim_masked_row(record, (int32_t)waiting->spot.number, &own);
  BRIM_TRY(brim_producer_sample(p, row, name, r->found, &sample, err));
  return brim_dataset_add(r->found, &sample, 0, p->options->source.need_label, err);
}

/* Passes over the rows of a file up to the wanted one. */
static int find_row(rereading *r, const brim_waiting *waiting, brim_record *record, brim_error *err) {
  do {
    int status = brim_reader_next(r->reader, record, err);
    if (status == BRIM_END)
      return not_there(r, waiting, err);
    BRIM_TRY(status);
  } while (record->file_number == brim_feed_file(waiting->row) && record->byte < waiting->spot.byte);
  bool same = record->file_number == brim_feed_file(waiting->row) && record->file_row == brim_feed_record(waiting->row) &&
              record->byte == waiting->spot.byte && !record->damage;
  return same ? BRIM_OK : not_there(r, waiting, err);
}

/* All wanted rows, one file after another: each file is read once. */
static int find_rows(rereading *r, size_t count, brim_error *err) {
  brim_encoded row;
  for (size_t i = 0; i < count; i++) {
    const brim_waiting *waiting = r->order[i].waiting, *before = i > 0 ? r->order[i - 1].waiting : NULL;
    brim_record record;
    if (!before || brim_feed_file(waiting->row) != brim_feed_file(before->row)) {
      const brim_position from = {.file = brim_feed_file(waiting->row),
                                  .byte = waiting->spot.byte,
                                  .line = waiting->spot.line,
                                  .file_row = brim_feed_record(waiting->row),
                                  .row = brim_feed_record(waiting->row)};
      BRIM_TRY(brim_reader_seek(r->reader, &from, err));
    }
    if (!before || waiting->row != before->row) {
      BRIM_TRY(find_row(r, waiting, &record, err));
      BRIM_TRY(encode_record(r, &record, &row, err));
    }
    BRIM_TRY(add_row(r, &row, waiting, i, err));
    r->found_at[r->order[i].at] = i;
  }
  return BRIM_OK;
}

static int reread(rereading *r, brim_error *err) {
  brim_producer *p = r->producer;
  size_t count = p->next.waiting_count;
  r->order = brim_alloc_array(p->runtime, count, sizeof *r->order);
  r->found_at = brim_alloc_array(p->runtime, count, sizeof *r->found_at);
  if (!r->order || !r->found_at)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++)
    r->order[i] = (wanted){.waiting = &p->next.waiting[i], .at = i};
  qsort(r->order, count, sizeof *r->order, by_position);
  r->found = brim_dataset_new(p->runtime, err);
  if (!r->found)
    return BRIM_E_MEMORY;
  BRIM_TRY(brim_dataset_expect(r->found, &p->options->source, &p->options->encode, p->tokenizer, err));
  BRIM_TRY(brim_scratch_new(p->runtime, p->tokenizer, &r->scratch, err));
  BRIM_TRY(brim_reader_open(p->runtime, (const char *const *)p->shards->paths, (int)p->shards->count, &p->options->source,
                            &r->reader, err));
  brim_reader_forget_excluded(r->reader);
  BRIM_TRY(find_rows(r, count, err));
  for (size_t i = 0; i < count; i++) {
    brim_sample sample;
    brim_dataset_sample(r->found, r->found_at[i], &sample);
    sample.row = i;
    BRIM_TRY(brim_dataset_add(p->waiting_rows, &sample, 0, p->options->source.need_label, err));
  }
  return BRIM_OK;
}

int brim_producer_start(brim_producer *p, brim_error *err) {
  brim_label_taker_init(&p->taker, p->runtime, BRIM_TASK_AUTO, p->options->labels);
  p->order = brim_alloc_array(p->runtime, p->shards->count, sizeof *p->order);
  if (!p->order)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_mix_taps(p, err));
  p->waiting_rows = brim_dataset_new(p->runtime, err);
  if (!p->waiting_rows)
    return BRIM_E_MEMORY;
  BRIM_TRY(brim_dataset_expect(p->waiting_rows, &p->options->source, &p->options->encode, p->tokenizer, err));
  if (p->next.waiting_count == 0)
    return BRIM_OK;
  rereading r = {.producer = p, .encoding.runtime = p->runtime};
  int status = reread(&r, err);
  brim_reader_close(r.reader);
  brim_scratch_free(r.scratch);
  brim_release(p->runtime, r.words.at);
  brim_release(p->runtime, r.lengths.at);
  for (int b = 0; b < BRIM_MOST_BLOCKS; b++)
    brim_release(p->runtime, r.numbers[b].at);
  brim_encoding_free(&r.encoding);
  brim_dataset_free(r.found);
  brim_release(p->runtime, r.order);
  brim_release(p->runtime, r.found_at);
  return status;
}
