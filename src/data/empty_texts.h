/* empty_texts.h: which rows have a text that has no tokens. */
#ifndef BRIM_DATA_EMPTY_TEXTS_H
#define BRIM_DATA_EMPTY_TEXTS_H
#include "brim/data.h"

/* What a tokenizer makes of an empty text and of a pair of two, and how many of these tokens are before the first text, and
 * before the end of what is between the two. */
typedef struct brim_empty_texts {
  brim_encoding single, pair;
  size_t single_first, pair_first, pair_second;
} brim_empty_texts;

int brim_empty_texts_init(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_empty_texts *out,
                          brim_error *err) BRIM_CHECK;
void brim_empty_texts_free(brim_empty_texts *empty);
/* Of the rows from `first` on: those with an empty text, and among pairs those without a second one. */
uint64_t brim_empty_texts_count(const brim_empty_texts *empty, const brim_dataset *dataset, uint64_t first);

#endif
