/* encode.h: encoding row after row into the same arrays. */
#ifndef BRIM_TEXT_ENCODE_H
#define BRIM_TEXT_ENCODE_H
#include "text/encoding.h"

/* As brim_tokenizer_encode, but the row is appended to *out, whose runtime is set; a failure adds nothing. No pair: its bytes are
 * NULL. out->lost is of this row. */
int brim_encode_append(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                       const brim_encode_options *options, brim_encoding *out, brim_error *err) BRIM_CHECK;
/* The same for texts that are known to be valid UTF-8. */
int brim_encode_valid(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                      const brim_encode_options *options, brim_encoding *out, brim_error *err) BRIM_CHECK;
/* A row's texts, one after another: `text`, or the pair of it and `pair`, and then each of the further ones likewise; or the
 * windows of `text`. Their tokens are appended as by brim_encode_append (`valid`: as by brim_encode_valid), and how many each has
 * to *lengths, whose memory is of out->runtime; out->lost is of all. */
int brim_encode_texts(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                      const brim_string *further, size_t further_count, bool valid, const brim_encode_options *options,
                      brim_encoding *out, brim_text_lengths *lengths, brim_error *err) BRIM_CHECK;
/* The number of the word that each token of an encoding comes from; -1 of special tokens. */
typedef struct brim_word_numbers {
  int32_t *at; /* [length of the encoding] */
  size_t capacity;
} brim_word_numbers;
/* Words, a NUL after each, as Hugging Face's is_split_into_words encodes them: every one as a text by itself, one after the
 * other. The row is appended to *out, and its words to *numbers, whose memory is of out->runtime; any bytes are read. In windows
 * each word has its number in one of them (text/windows.h). *lengths as of brim_encode_texts. */
int brim_encode_words(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string words,
                      const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                      brim_text_lengths *lengths, brim_error *err) BRIM_CHECK;
/* As brim_encode_valid, for any bytes, with the numbers that options->numbering says; -1 of special tokens. Of windows (a pair is
 * cut) the numbers continue. */
int brim_encode_numbered(const brim_tokenizer *tokenizer, brim_scratch *scratch, brim_string text, brim_string pair,
                         const brim_encode_options *options, brim_encoding *out, brim_word_numbers *numbers,
                         brim_text_lengths *lengths, brim_error *err) BRIM_CHECK;

#endif
