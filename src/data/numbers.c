/* numbers.c: rows whose tokens are numbered, for masked words. */
#include "base/status.h"
#include "brim/task.h"
#include "data/dataset.h"
#include "data/encoder.h"
#include "data/facts.h"
#include "data/labels.h"
#include "task/task.h"

int brim_number_tokens(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers, brim_error *err) {
  const size_t first = out->length;
  BRIM_TRY(brim_encode_numbered(tokenizer, scratch, text, pair, options, out, numbers, err));
  for (size_t i = first; i < out->length; i++)
    if (numbers->at[i] < 0)
      numbers->at[i] = BRIM_NO_LABEL;
  return BRIM_OK;
}

bool brim_dataset_is_numbered(const brim_dataset *d) {
  return d->mapped && brim_task_shape(d->labels.task)->made && !d->lent;
}

int brim_dataset_set_numbered(brim_dataset *d, brim_error *err) {
  BRIM_TRY(brim_labels_make(d->runtime, brim_task_of_made(), NULL, BRIM_MAX_CLASSES, &d->labels, err));
  d->mapped = true;
  return BRIM_OK;
}
