/* fast.h: fused pipelines for the tokenizers that matter. Each takes a section of valid UTF-8 (no raw added token in it) to ids.
 */
#ifndef BRIM_TEXT_FAST_H
#define BRIM_TEXT_FAST_H
#include "base/status.h"
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

/* What a fused pipeline carries along. */
typedef struct brim_scan {
  const brim_tokenizer *tokenizer;
  brim_scratch *scratch;
  size_t length; /* of the section */
  brim_ids *ids;
  brim_error *err;
} brim_scan;

/* Appends the ids of a word that is not remembered. */
typedef int (*brim_new_word_fn)(const brim_scan *pass, const char *bytes, size_t length, bool plain);

static inline void brim_word_group_start(brim_word_group *group) {
  group->count = 0;
  memset(group->other, 0, sizeof group->other);
}

/* The rest of a text, from `at` to *end, moved to where BRIM_TAIL bytes can be read after any part of it; they are 0. */
static inline const char *brim_word_group_tail(brim_word_group *group, const char *at, const char **end) {
  size_t length = (size_t)(*end - at);
  memcpy(group->tail, at, length);
  memset(group->tail + length, 0, BRIM_TAIL);
  *end = group->tail + length;
  return group->tail;
}

/* The ids of a word that is new, or that has many. */
static inline int brim_word_group_put_slow(const brim_scan *pass, const brim_word_group *group, uint32_t index,
                                           const brim_cached_word *found, brim_new_word_fn work_out) {
  const brim_word_grouped_word *word = &group->words[index];
  brim_cache *cache = &pass->scratch->cache;
  brim_ids *ids = pass->ids;
  size_t before = ids->count, length = word->key.high >> 56;
  if (found) {
    BRIM_TRY(brim_ids_reserve(ids, found->count, pass->err));
    memcpy(ids->at + before, cache->spill + found->ids[0] + found->spilled - 1, found->count * sizeof *ids->at);
    ids->count += found->count;
    return BRIM_OK;
  }
  BRIM_TRY(work_out(pass, word->bytes, length, !(group->other[index / 64] >> index % 64 & 1)));
  brim_cache_put(cache, word->set, word->key, word->bytes, length, ids->at + before, ids->count - before);
  return BRIM_OK;
}

/* Looks all words of the group up, in order; `work_out` gets those that are new. */
static inline int brim_word_group_drain(const brim_scan *pass, brim_word_group *group, brim_new_word_fn work_out) {
  brim_cache *cache = &pass->scratch->cache;
  brim_ids *ids = pass->ids;
  const uint32_t count = group->count;
  BRIM_TRY(brim_ids_reserve(ids, count * BRIM_SPILL_IDS, pass->err));
  int32_t *out = ids->at + ids->count;
  for (uint32_t i = 0; i < count; i++) {
    const brim_word_grouped_word *word = &group->words[i];
    const brim_cached_word *found = brim_cache_find_key(cache, word->set, word->key);
    if (__builtin_expect(found && !found->spilled, 1)) {
      memcpy(out, found->ids, sizeof found->ids);
      out += found->count;
      continue;
    }
    if (found && !brim_cache_is_word(cache, found, word->bytes))
      found = NULL;
    if (found && found->count <= BRIM_SPILL_IDS) {
      memcpy(out, cache->spill + found->ids[0] + found->spilled - 1, BRIM_SPILL_IDS * sizeof *out);
      out += found->count;
      continue;
    }
    ids->count = (size_t)(out - ids->at);
    BRIM_TRY(brim_word_group_put_slow(pass, group, i, found, work_out));
    BRIM_TRY(brim_ids_reserve(ids, (count - i) * BRIM_SPILL_IDS, pass->err));
    out = ids->at + ids->count;
  }
  ids->count = (size_t)(out - ids->at);
  brim_word_group_start(group);
  if (__builtin_expect(cache->is_untidy, 0))
    brim_cache_tidy(cache);
  return BRIM_OK;
}

bool brim_bert_fits(const brim_tokenizer *tokenizer);
void brim_bert_prepare(brim_tokenizer *tokenizer);
bool brim_bytes_fits(const brim_tokenizer *tokenizer);
int brim_bytes_prepare(brim_tokenizer *tokenizer, brim_error *err) BRIM_CHECK;
bool brim_spaced_fits(brim_tokenizer *tokenizer);

/* fast_bert.c, fast_bytes.c and fast_spaced.c are compiled once for each level of processors; fast.c chooses. BRIM_PASS gives a
 * function the name that it has at the level that is being compiled. */
#define BRIM_PASSES(level)                                                                                                       \
  int brim_bert_run_##level(const brim_tokenizer *, brim_scratch *, const char *, size_t, brim_ids *, brim_error *) BRIM_CHECK;  \
  int brim_bytes_run_##level(const brim_tokenizer *, brim_scratch *, const char *, size_t, brim_ids *, brim_error *) BRIM_CHECK; \
  int brim_spaced_run_##level(const brim_tokenizer *, brim_scratch *, const char *, size_t, brim_ids *, brim_error *) BRIM_CHECK;
BRIM_PASSES(plain)
#if defined(__x86_64__)
BRIM_PASSES(avx2)
BRIM_PASSES(avx512)
#endif
#if defined(__AVX512BW__) || defined(BRIM_WIDE_IN_C)
#define BRIM_PASS(name) name##_avx512
#elif defined(__AVX2__)
#define BRIM_PASS(name) name##_avx2
#else
#define BRIM_PASS(name) name##_plain
#endif

#endif
