/* dataset_facts.c: what there is to be asked of a data set. */
#include "data/facts.h"

#include <math.h>

#include "data/dataset.h"

uint64_t brim_dataset_rows(const brim_dataset *dataset) {
  return dataset->rows;
}

uint64_t brim_dataset_tokens(const brim_dataset *dataset) {
  return dataset->token_count;
}

uint64_t brim_dataset_truncated(const brim_dataset *dataset) {
  return dataset->truncated;
}

uint64_t brim_dataset_lost(const brim_dataset *dataset) {
  return dataset->lost;
}

bool brim_dataset_row_continues(const brim_dataset *d, uint64_t row) {
  return d->windows_are_rows && brim_first_number(brim_dataset_labels_of_tokens(d)[row], d->lengths[row]) > 0;
}

uint64_t brim_dataset_records(const brim_dataset *d) {
  uint64_t records = d->rows;
  for (uint64_t row = 0; row < d->rows && d->windows_are_rows; row++)
    records -= brim_dataset_row_continues(d, row);
  return records;
}

uint64_t brim_dataset_row_repeated(const brim_dataset *d, uint64_t row) {
  const uint64_t later = d->firsts ? d->firsts[row + 1] - d->firsts[row] - 1 : 0;
  if (d->windows.overlap == 0)
    return 0;
  return (uint64_t)d->windows.overlap * (later + brim_dataset_row_continues(d, row));
}

uint64_t brim_dataset_repeated(const brim_dataset *dataset) {
  uint64_t all = 0;
  for (uint64_t row = 0; row < dataset->rows && dataset->windows.overlap > 0; row++)
    all += brim_dataset_row_repeated(dataset, row);
  return all;
}

const int32_t *brim_dataset_lengths(const brim_dataset *dataset) {
  return dataset->lengths;
}

uint64_t brim_dataset_texts(const brim_dataset *dataset) {
  return dataset->firsts ? dataset->firsts[dataset->rows] : dataset->rows;
}

const uint64_t *brim_dataset_firsts(const brim_dataset *dataset) {
  return dataset->firsts;
}

const int32_t *brim_dataset_text_lengths(const brim_dataset *dataset) {
  return dataset->firsts ? dataset->text_lengths : dataset->lengths;
}

int32_t brim_dataset_most_texts(const brim_dataset *dataset) {
  return dataset->most_texts;
}

int32_t brim_dataset_longest(const brim_dataset *dataset) {
  return dataset->longest;
}

int32_t brim_dataset_highest_id(const brim_dataset *dataset) {
  return dataset->highest_id;
}

int32_t brim_dataset_highest_type(const brim_dataset *dataset) {
  return dataset->highest_type;
}

bool brim_dataset_has_pairs(const brim_dataset *dataset) {
  return dataset->pairs;
}

int brim_dataset_pairs_known(const brim_dataset *dataset) {
  return dataset->pairs ? 1 : dataset->from_texts ? 0 : -1;
}

brim_cutting brim_dataset_cutting(const brim_dataset *dataset) {
  return dataset->cutting;
}

const uint32_t *brim_dataset_losses(const brim_dataset *dataset) {
  return dataset->losses;
}

bool brim_dataset_has_windows(const brim_dataset *dataset) {
  return dataset->windows.most > 1 && !dataset->windows_are_rows;
}

brim_windowing brim_dataset_windows(const brim_dataset *dataset) {
  return dataset->windows;
}

uint64_t brim_dataset_tokenizer(const brim_dataset *dataset) {
  return dataset->tokenizer;
}

void brim_dataset_set_tokenizer(brim_dataset *dataset, uint64_t content) {
  dataset->tokenizer = content;
}

uint64_t brim_dataset_unlabelled_words(const brim_dataset *dataset) {
  return dataset->unlabelled_words;
}

bool brim_dataset_has_labels(const brim_dataset *dataset) {
  return dataset->labelled;
}

int32_t brim_dataset_label_width(const brim_dataset *dataset) {
  return dataset->shapes[BRIM_LABEL_BLOCK].width;
}

int brim_dataset_blocks(const brim_dataset *dataset, const brim_block_shape **shapes) {
  *shapes = dataset->shapes;
  return dataset->block_count;
}

const brim_labels *brim_dataset_labels(const brim_dataset *dataset) {
  return dataset->mapped ? &dataset->labels : NULL;
}

const uint64_t *brim_dataset_token_labels(const brim_dataset *dataset) {
  return dataset->labelled_tokens;
}

uint64_t brim_dataset_fingerprint(const brim_dataset *dataset) {
  return dataset->fingerprint;
}

uint64_t brim_dataset_stamp(const brim_dataset *dataset) {
  return dataset->stamp;
}

uint64_t brim_dataset_origin(const brim_dataset *dataset, uint64_t row) {
  return dataset->origins ? dataset->origins[row] : row;
}

const brim_exclusion *brim_dataset_excluded(const brim_dataset *dataset, uint64_t *count) {
  *count = dataset->excluded.count;
  return dataset->excluded.items;
}

void brim_dataset_sample(const brim_dataset *dataset, uint64_t row, brim_sample *out) {
  const brim_block *label = &dataset->blocks[BRIM_LABEL_BLOCK];
  *out = (brim_sample){.ids = dataset->ids[row],
                       .type_ids = dataset->type_ids ? dataset->type_ids[row] : NULL,
                       .length = dataset->lengths[row],
                       .label = NAN,
                       .row = row,
                       .query = dataset->queries ? dataset->queries[row] : 0};
  for (int b = 0; b < dataset->block_count; b++)
    out->blocks[b] = brim_dataset_block(dataset, b, row);
  if (dataset->firsts) {
    out->text_lengths = dataset->text_lengths + dataset->firsts[row];
    out->text_count = (int32_t)(dataset->firsts[row + 1] - dataset->firsts[row]);
  }
  if (label->rows)
    out->token_labels = label->rows[row];
  if (dataset->words) {
    out->words = dataset->words[row].numbers;
    out->word_text = dataset->words[row].text;
    out->word_text_length = dataset->words[row].length;
  }
  if (label->flat) {
    out->labels = out->blocks[BRIM_LABEL_BLOCK];
    out->label_width = dataset->shapes[BRIM_LABEL_BLOCK].width;
    out->label = out->label_width == 1 ? *out->labels : NAN;
  }
}
