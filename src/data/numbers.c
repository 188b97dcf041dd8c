/* numbers.c: rows whose tokens are numbered, for masked words. */
#include "base/status.h"
#include "brim/task.h"
#include "data/dataset.h"
#include "data/encoder.h"
#include "data/facts.h"
#include "data/labels.h"

int brim_number_tokens(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                       brim_text_lengths *lengths, brim_error *err) {
  const size_t first = out->length;
  BRIM_TRY(brim_encode_numbered(tokenizer, scratch, text, pair, options, out, numbers, lengths, err));
  for (size_t i = first; i < out->length; i++)
    if (numbers->at[i] < 0)
      numbers->at[i] = BRIM_NO_LABEL;
  return BRIM_OK;
}

int32_t brim_masked_rows(const brim_encoded *row) {
  return row->numbers && row->text_lengths ? row->text_count : 1;
}

const brim_encoded *brim_masked_row(const brim_encoded *row, int32_t number, brim_encoded *own) {
  size_t from = 0;
  if (brim_masked_rows(row) == 1)
    return row;
  for (int32_t i = 0; i < number; i++)
    from += (size_t)row->text_lengths[i];
  *own = *row;
  own->ids += from, own->type_ids += from, own->numbers += from;
  own->length = (size_t)row->text_lengths[number];
  own->text_lengths = NULL, own->text_count = 0;
  own->lost = number == 0 ? row->lost : 0;
  return own;
}

int32_t brim_first_number(const int32_t *numbers, int32_t length) {
  int32_t i = 0;
  while (i < length && numbers[i] == BRIM_NO_LABEL)
    i++;
  return i < length ? numbers[i] : BRIM_NO_LABEL;
}

bool brim_dataset_is_numbered(const brim_dataset *d) {
  return d->numbered;
}

bool brim_dataset_numbers_words(const brim_dataset *d) {
  brim_sample sample;
  for (uint64_t row = 0; d->numbered && row < brim_dataset_rows(d); row++) {
    brim_dataset_sample(d, row, &sample);
    for (int32_t i = 1; i < sample.length; i++)
      if (sample.token_labels[i] != BRIM_NO_LABEL && sample.token_labels[i] == sample.token_labels[i - 1])
        return true;
  }
  return false;
}

int brim_dataset_set_numbered(brim_dataset *d, brim_error *err) {
  BRIM_TRY(brim_labels_make(d->runtime, brim_task_of_made(), NULL, BRIM_MAX_CLASSES, &d->labels, err));
  d->mapped = d->numbered = true;
  return BRIM_OK;
}
