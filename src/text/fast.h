/* fast.h: fused pipelines for the tokenizers that matter. Each takes a section of valid UTF-8 (no raw added token in it) to ids.
 */
#ifndef BRIM_TEXT_FAST_H
#define BRIM_TEXT_FAST_H
#include "text/cache.h"
#include "text/tokenizer.h"

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
