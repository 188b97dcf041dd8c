/* encoding.h: the arrays that encoding fills, and what its options mean. */
#ifndef BRIM_TEXT_ENCODING_H
#define BRIM_TEXT_ENCODING_H
#include "brim/text.h"

/* The end that the options mean. */
static inline bool brim_cuts_left(const brim_tokenizer *tokenizer, const brim_encode_options *options) {
  return options->truncation_side ? options->truncation_side == BRIM_SIDE_LEFT : brim_tokenizer_truncates_left(tokenizer);
}

/* The text of a pair that they mean to cut. */
static inline brim_truncation brim_cuts_text(const brim_tokenizer *tokenizer, const brim_encode_options *options) {
  return options->truncation ? options->truncation : brim_tokenizer_truncation(tokenizer);
}

/* Whether a row may have several texts for its length alone. */
static inline bool brim_makes_windows(const brim_encode_options *options) {
  return options->max_windows > 1;
}

/* Tokens of texts, one after another. */
typedef struct brim_text_lengths {
  int32_t *at; /* [count] */
  size_t count, capacity;
} brim_text_lengths;
int brim_text_lengths_add(brim_runtime *runtime, brim_text_lengths *lengths, size_t length, brim_error *err) BRIM_CHECK;

/* Room for `length` tokens in all. */
int brim_encoding_reserve(brim_encoding *out, size_t length, brim_error *err) BRIM_CHECK;
/* Appends tokens, for which there is room. */
void brim_encoding_put(brim_encoding *out, const int32_t *ids, size_t count, uint8_t type_id);

#endif
