#include "data/empty_texts.h"

#include <string.h>

#include "base/status.h"
#include "data/facts.h"
#include "text/tokenizer.h"

/* Special tokens before text number `text` of a template. */
static size_t before_text(const brim_template *template, int text) {
  size_t count = 0;
  for (size_t i = 0; i < template->count; i++) {
    if (template->pieces[i].kind == BRIM_PIECE_SPECIAL)
      count++;
    else if (text-- == 0)
      break;
  }
  return count;
}

int brim_empty_texts_init(brim_runtime *runtime, const brim_tokenizer *tokenizer, brim_empty_texts *out, brim_error *err) {
  const brim_processor *processor = &tokenizer->processor;
  brim_scratch *scratch;
  *out = (brim_empty_texts){.single_first = before_text(&processor->single, 0),
                            .pair_first = before_text(&processor->pair, 0),
                            .pair_second = before_text(&processor->pair, 1)};
  BRIM_TRY(brim_scratch_new(runtime, tokenizer, &scratch, err));
  int status = brim_tokenizer_encode(tokenizer, scratch, "", 0, NULL, 0, NULL, &out->single, err);
  if (!status)
    status = brim_tokenizer_encode(tokenizer, scratch, "", 0, "", 0, NULL, &out->pair, err);
  brim_scratch_free(scratch);
  return status;
}

void brim_empty_texts_free(brim_empty_texts *empty) {
  brim_encoding_free(&empty->single);
  brim_encoding_free(&empty->pair);
}

static bool begins_with(const int32_t *ids, size_t length, const int32_t *with, size_t count) {
  return length >= count && memcmp(ids, with, count * sizeof *ids) == 0;
}

static bool ends_with(const int32_t *ids, size_t length, const int32_t *with, size_t count) {
  return length >= count && memcmp(ids + length - count, with, count * sizeof *ids) == 0;
}

static size_t times(const int32_t *ids, size_t length, int32_t id) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++)
    count += ids[i] == id;
  return count;
}

static bool is_empty(const brim_encoding *single, const int32_t *ids, size_t length) {
  return length == single->length && begins_with(ids, length, single->ids, length);
}

/* A row among pairs that is a single text has fewer of the tokens that end a text. */
static bool lacks_second(const brim_empty_texts *e, const int32_t *ids, size_t length) {
  const brim_encoding *one = &e->single, *two = &e->pair;
  const int32_t last = two->ids[two->length - 1];
  return times(ids, length, last) < times(two->ids, two->length, last) && begins_with(ids, length, one->ids, e->single_first) &&
         ends_with(ids, length, one->ids + e->single_first, one->length - e->single_first);
}

static bool has_empty_half(const brim_empty_texts *e, const int32_t *ids, size_t length) {
  const int32_t *own = e->pair.ids;
  const bool first = e->pair_second > e->pair_first && begins_with(ids, length, own, e->pair_second);
  return first || ends_with(ids, length, own + e->pair_first, e->pair.length - e->pair_first) || lacks_second(e, ids, length);
}

uint64_t brim_empty_texts_count(const brim_empty_texts *empty, const brim_dataset *dataset, uint64_t first) {
  const bool pairs = brim_dataset_has_pairs(dataset);
  uint64_t count = 0;
  if ((pairs ? &empty->pair : &empty->single)->length == 0)
    return 0;
  for (uint64_t row = first; row < brim_dataset_rows(dataset); row++) {
    brim_sample s;
    brim_dataset_sample(dataset, row, &s);
    bool found = pairs && !s.text_lengths && has_empty_half(empty, s.ids, (size_t)s.length);
    const int32_t texts = s.text_lengths ? s.text_count : !pairs, *ids = s.ids;
    for (int32_t t = 0; t < texts; t++) {
      const int32_t length = s.text_lengths ? s.text_lengths[t] : s.length;
      found |= is_empty(&empty->single, ids, (size_t)length);
      ids += length;
    }
    count += found;
  }
  return count;
}
