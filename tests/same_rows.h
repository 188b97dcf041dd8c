/* same_rows.h: whether two datasets are the same, in every public property. */
#ifndef BRIM_TESTS_SAME_ROWS_H
#define BRIM_TESTS_SAME_ROWS_H
#include <math.h>
#include <string.h>

#include "brim/data.h"
#include "data/facts.h"

static bool same_labels(const brim_labels *a, const brim_labels *b) {
  if (!a || !b)
    return a == b;
  bool same = a->task == b->task && a->count == b->count && a->form == b->form && !a->names == !b->names;
  for (int32_t i = 0; same && a->names && i < a->count; i++)
    same = strcmp(a->names[i], b->names[i]) == 0;
  return same;
}

static bool same_bytes(const void *a, const void *b, size_t size) {
  return !a == !b && (!a || memcmp(a, b, size) == 0);
}

static bool same_words(const brim_sample *x, const brim_sample *y) {
  const size_t size = (size_t)x->length * sizeof *x->words;
  return same_bytes(x->token_labels, y->token_labels, size) && same_bytes(x->words, y->words, size) &&
         x->word_text_length == y->word_text_length && same_bytes(x->word_text, y->word_text, x->word_text_length);
}

static bool same_blocks(const brim_dataset *a, const brim_sample *x, const brim_dataset *b, const brim_sample *y) {
  const brim_block_shape *of_a, *of_b;
  const int count = brim_dataset_blocks(a, &of_a);
  bool same = count == brim_dataset_blocks(b, &of_b);
  for (int i = 1; same && i < count; i++) {
    const int32_t texts = x->text_lengths ? x->text_count : 1, units = of_a[i].per == BRIM_PER_ROW    ? 1
                                                                       : of_a[i].per == BRIM_PER_TEXT ? texts
                                                                                                      : x->length;
    same = strcmp(of_a[i].name, of_b[i].name) == 0 && of_a[i].per == of_b[i].per && of_a[i].integers == of_b[i].integers &&
           of_a[i].width == of_b[i].width && same_bytes(x->blocks[i], y->blocks[i], (size_t)units * (size_t)of_a[i].width * 4);
  }
  return same;
}

static bool same_windows(const brim_dataset *a, const brim_dataset *b) {
  const brim_windowing x = brim_dataset_windows(a), y = brim_dataset_windows(b);
  const size_t size = (size_t)brim_dataset_rows(a) * sizeof(uint32_t);
  return x.most == y.most && x.overlap == y.overlap && brim_dataset_repeated(a) == brim_dataset_repeated(b) &&
         same_bytes(brim_dataset_losses(a), brim_dataset_losses(b), size) &&
         brim_dataset_is_numbered(a) == brim_dataset_is_numbered(b);
}

static bool same_rows(const brim_dataset *a, const brim_dataset *b) {
  const uint64_t *firsts = brim_dataset_token_labels(a), rows = brim_dataset_rows(a);
  if (!same_bytes(firsts, brim_dataset_token_labels(b), ((size_t)rows + 1) * sizeof *firsts))
    return false;
  if (!same_windows(a, b))
    return false;
  for (uint64_t i = 0; i < brim_dataset_rows(a); i++) {
    brim_sample x, y;
    brim_dataset_sample(a, i, &x);
    brim_dataset_sample(b, i, &y);
    bool labels = x.label == y.label || (isnan(x.label) && isnan(y.label));
    if (x.label_width != y.label_width || (x.labels && memcmp(x.labels, y.labels, (size_t)x.label_width * sizeof *x.labels)))
      return false;
    const int32_t x_texts = x.text_lengths ? x.text_count : 0, y_texts = y.text_lengths ? y.text_count : 0;
    if (x_texts != y_texts || (x_texts > 0 && memcmp(x.text_lengths, y.text_lengths, (size_t)x_texts * sizeof(int32_t))))
      return false;
    if (x.length != y.length || !same_words(&x, &y) || !same_blocks(a, &x, b, &y) || !labels || x.row != y.row ||
        x.query != y.query || !x.type_ids != !y.type_ids || brim_dataset_origin(a, i) != brim_dataset_origin(b, i) ||
        brim_dataset_lengths(a)[i] != brim_dataset_lengths(b)[i] || memcmp(x.ids, y.ids, (size_t)x.length * 4) ||
        (x.type_ids && memcmp(x.type_ids, y.type_ids, (size_t)x.length)))
      return false;
  }
  return true;
}

static bool same(const brim_dataset *a, const brim_dataset *b) {
  if (!a || !b)
    return false;
  uint64_t x, y;
  const brim_exclusion *excluded_a = brim_dataset_excluded(a, &x), *excluded_b = brim_dataset_excluded(b, &y);
  bool good = x == y;
  for (uint64_t i = 0; good && i < x; i++)
    good = excluded_a[i].row == excluded_b[i].row && excluded_a[i].line == excluded_b[i].line &&
           excluded_a[i].damaged == excluded_b[i].damaged && !strcmp(excluded_a[i].file, excluded_b[i].file) &&
           !strcmp(excluded_a[i].reason, excluded_b[i].reason);
  return good && brim_dataset_rows(a) == brim_dataset_rows(b) && brim_dataset_tokens(a) == brim_dataset_tokens(b) &&
         brim_dataset_truncated(a) == brim_dataset_truncated(b) && brim_dataset_lost(a) == brim_dataset_lost(b) &&
         brim_dataset_longest(a) == brim_dataset_longest(b) && brim_dataset_highest_id(a) == brim_dataset_highest_id(b) &&
         brim_dataset_highest_type(a) == brim_dataset_highest_type(b) && brim_dataset_has_pairs(a) == brim_dataset_has_pairs(b) &&
         brim_dataset_has_labels(a) == brim_dataset_has_labels(b) && brim_dataset_fingerprint(a) == brim_dataset_fingerprint(b) &&
         same_labels(brim_dataset_labels(a), brim_dataset_labels(b)) && same_rows(a, b);
}

#endif
