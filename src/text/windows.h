/* windows.h: long texts in several windows. */
#ifndef BRIM_TEXT_WINDOWS_H
#define BRIM_TEXT_WINDOWS_H
#include "text/encoding.h"

/* The windows of one encoding: window i is ids[starts[i] .. starts[i + 1]). Zero-initialise once, free at the end. */
typedef struct brim_windows {
  size_t *starts; /* [count + 1] */
  size_t count;
  size_t capacity;
  brim_runtime *runtime;
} brim_windows;
void brim_windows_free(brim_windows *windows);

typedef struct brim_token_range {
  size_t begin, end;
} brim_token_range;
/* `count` tokens in windows of `kept`, each of which begins with the last `stride` of the one before: how many windows there are,
 * and the tokens of one. left: they are counted from the end of the text, where truncation keeps it. */
size_t brim_window_count(size_t count, size_t kept, size_t stride);
brim_token_range brim_window_at(size_t index, size_t count, size_t kept, size_t stride, bool left);
/* The most tokens that so many windows have room for. */
static inline size_t brim_windows_hold(size_t kept, size_t stride, int32_t most) {
  return kept + (size_t)(most - 1) * (kept - stride);
}

/* ---- rows of windows (brim_encode_options.max_windows) ----------------------------------------------------------- */

/* BRIM_E_USAGE: no max_length, or an overlap that leaves a window nothing new. */
int brim_windows_check(const brim_tokenizer *tokenizer, const brim_encode_options *options, brim_error *err) BRIM_CHECK;
/* The windows of the text whose tokens are scratch->ids[0], in its order, are appended to *out, and how many tokens each has to
 * *lengths; out->lost: what none has room for. */
int brim_windows_put(const brim_tokenizer *tokenizer, const brim_scratch *scratch, const brim_encode_options *options,
                     brim_encoding *out, brim_text_lengths *lengths, brim_error *err) BRIM_CHECK;
/* scratch->ids[1]: a number of each token, which are equal within a word and rise from word to word. Into `to`, of all tokens of
 * these windows (-1: special ones): numbers that continue from window to window, so that none is in two, and begin with 0. */
void brim_windows_number(const brim_tokenizer *tokenizer, const brim_scratch *scratch, const brim_encode_options *options,
                         int32_t *to);
/* The same, with each word's number in one window alone, and -1 for its tokens elsewhere: the window where it has most context,
 * as BERT's code for SQuAD takes it: where the fewer of the tokens before it and after it are most; of equal ones the first. A
 * word that a border cuts counts where its first token is, and is left to a window that has all of it, if there is one. */
void brim_windows_number_words(const brim_tokenizer *tokenizer, const brim_scratch *scratch, const brim_encode_options *options,
                               int32_t *to);

/* As brim_tokenizer_encode_offsets, but what truncation cuts off comes in further windows (the first is what encode gives), each
 * of which begins with the last `stride` tokens of the one before; out->lost is 0. Of pairs, every window of the first text is
 * joined with every window of the second, in the reference's order. BRIM_E_USAGE when a window is not longer than `stride`. */
int brim_tokenizer_encode_windows(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                                  const char *pair, size_t pair_length, const brim_encode_options *options, int32_t stride,
                                  brim_encoding *out, brim_offsets *offsets, brim_windows *windows, brim_error *err) BRIM_CHECK;

#endif
