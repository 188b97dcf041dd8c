/* fast.h: fused pipelines for the tokenizers that matter. Each takes a section of valid UTF-8 (no raw added token in it) to ids.
 */
#ifndef BRIM_TEXT_FAST_H
#define BRIM_TEXT_FAST_H
#include "text/cache.h"
#include "text/tokenizer.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* Chooses the fused pipeline that does exactly what the file says, or none. */
int brim_fast_choose(brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;

/* The ids of a text of valid UTF-8 are appended to *ids. */
int brim_fast_run(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                  brim_error *err) BRIM_CHECK;

/* Room for `more` ids and the few that are written beyond the end. */
int brim_ids_reserve(brim_ids *ids, size_t more, brim_error *err) BRIM_CHECK;
/* The exact path for a section; its ids are appended. */
int brim_fast_exact(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                    brim_error *err) BRIM_CHECK;
/* The model's ids for one piece are appended. */
int brim_fast_piece(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *bytes, size_t length, brim_ids *ids,
                    brim_error *err) BRIM_CHECK;

/* Appends the ids of a remembered word. There is room for them and for BRIM_WORD_IDS more. */
static inline void brim_ids_take(brim_ids *ids, const brim_cache *cache, const brim_cached_word *word) {
  int32_t *out = ids->at + ids->count;
  ids->count += word->count;
  if (__builtin_expect(!word->spilled, 1))
    memcpy(out, word->ids, sizeof word->ids);
  else
    memcpy(out, cache->spill + word->ids[0] + word->spilled - 1, word->count * sizeof *out);
}

/* Which of the 16 bytes at p are ASCII letters (and digits), and which are no ASCII: one bit a byte. */
typedef struct brim_mask16 {
  uint32_t word, wide;
} brim_mask16;

static inline brim_mask16 brim_mask16_at(const char *p, bool digits) {
#if defined(__SSE2__)
  __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i letter = _mm_add_epi8(_mm_or_si128(v, _mm_set1_epi8(32)), _mm_set1_epi8((char)(128 - 'a')));
  __m128i found = _mm_cmplt_epi8(letter, _mm_set1_epi8(-128 + 26));
  if (digits) {
    __m128i digit = _mm_add_epi8(v, _mm_set1_epi8((char)(128 - '0')));
    found = _mm_or_si128(found, _mm_cmplt_epi8(digit, _mm_set1_epi8(-128 + 10)));
  }
  return (brim_mask16){(uint32_t)_mm_movemask_epi8(found), (uint32_t)_mm_movemask_epi8(v)};
#else
  brim_mask16 mask = {0, 0};
  for (int i = 0; i < 16; i++) {
    uint8_t c = (uint8_t)p[i];
    bool is_word = (uint8_t)((c | 32) - 'a') < 26 || (digits && (uint8_t)(c - '0') < 10);
    mask.word |= (uint32_t)is_word << i;
    mask.wide |= (uint32_t)(c >> 7) << i;
  }
  return mask;
#endif
}
/* Which of the 16 bytes at p are visible ASCII. */
static inline uint32_t brim_mask16_visible(const char *p) {
#if defined(__SSE2__)
  __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
  __m128i deleted = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7F));
  return (uint32_t)_mm_movemask_epi8(_mm_andnot_si128(deleted, _mm_cmpgt_epi8(v, _mm_set1_epi8(0x20))));
#else
  uint32_t mask = 0;
  for (int i = 0; i < 16; i++)
    mask |= (uint32_t)((uint8_t)p[i] > 0x20 && (uint8_t)p[i] < 0x7F) << i;
  return mask;
#endif
}
/* Bits in a row from the lowest on. */
static inline uint32_t brim_mask16_run(uint32_t mask) {
  return (uint32_t)__builtin_ctz(~mask);
}

bool brim_bert_fits(const brim_tokenizer *tokenizer);
void brim_bert_prepare(brim_tokenizer *tokenizer);
int brim_bert_run(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                  brim_error *err) BRIM_CHECK;
bool brim_bytes_fits(const brim_tokenizer *tokenizer);
int brim_bytes_prepare(brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;
int brim_bytes_run(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                   brim_error *err) BRIM_CHECK;
bool brim_spaced_fits(brim_tokenizer *tokenizer);
int brim_spaced_run(const brim_tokenizer *tokenizer, brim_scratch *scratch, const char *text, size_t length, brim_ids *ids,
                    brim_error *err) BRIM_CHECK;

#endif
