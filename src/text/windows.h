/* windows.h: long texts in several windows. */
#ifndef BRIM_TEXT_WINDOWS_H
#define BRIM_TEXT_WINDOWS_H
#include "brim/text.h"

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

/* As brim_tokenizer_encode_offsets, but what truncation cuts off comes in further windows (the first is what encode gives), each
 * of which begins with the last `stride` tokens of the one before; out->lost is 0. Of pairs, every window of the first text is
 * joined with every window of the second, in the reference's order. BRIM_E_USAGE when a window is not longer than `stride`. */
int brim_tokenizer_encode_windows(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t text_length,
                                  const char *pair, size_t pair_length, const brim_encode_options *options, int32_t stride,
                                  brim_encoding *out, brim_offsets *offsets, brim_windows *windows, brim_error *err) BRIM_CHECK;

#endif
