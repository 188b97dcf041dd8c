/* fast.c: choosing a fused pipeline, and cutting added tokens out of the text for it. */
#include "text/fast.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

static brim_fused_fn fused(brim_path path, brim_cpu_level level) {
  static const brim_fused_fn passes[][BRIM_PATH_SPACED + 1] = {
      {NULL, brim_bert_run_plain, brim_bytes_run_plain, brim_spaced_run_plain},
#if defined(__x86_64__)
      {NULL, brim_bert_run_avx2, brim_bytes_run_avx2, brim_spaced_run_avx2},
      {NULL, brim_bert_run_avx512, brim_bytes_run_avx512, brim_spaced_run_avx512},
      {NULL, brim_bert_run_avx512, brim_bytes_run_avx512, brim_spaced_run_avx512}, /* AMX has nothing for texts */
#endif
  };
  return passes[level][path];
}

int brim_fast_choose(brim_tokenizer *t, brim_error *err) {
  t->path = BRIM_PATH_EXACT;
  if (brim_bert_fits(t))
    t->path = BRIM_PATH_BERT;
  else if (brim_bytes_fits(t))
    t->path = BRIM_PATH_BYTES;
  else if (brim_spaced_fits(t))
    t->path = BRIM_PATH_SPACED;
  t->fused = fused(t->path, brim_runtime_cpu(t->runtime));
  if (t->path == BRIM_PATH_BERT)
    brim_bert_prepare(t);
  return t->path == BRIM_PATH_BYTES ? brim_bytes_prepare(t, err) : BRIM_OK;
}

int brim_ids_reserve(brim_ids *ids, size_t more, brim_error *err) {
  more += BRIM_SPILL_IDS;
  if (ids->capacity - ids->count >= more)
    return BRIM_OK;
  return brim_grow(ids->runtime, (void **)&ids->at, &ids->capacity, ids->count + more, sizeof *ids->at, err);
}

int brim_fast_exact(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_ids *ids, brim_error *err) {
  s->exact.count = 0;
  BRIM_TRY(brim_exact_run(t, s, text, length, err));
  BRIM_TRY(brim_ids_reserve(ids, s->exact.count, err));
  for (size_t i = 0; i < s->exact.count; i++)
    ids->at[ids->count++] = s->exact.at[i].id;
  return BRIM_OK;
}

int brim_fast_piece(const brim_tokenizer *t, brim_scratch *s, const char *bytes, size_t length, brim_ids *ids, brim_error *err) {
  s->piece_tokens.count = 0;
  BRIM_TRY(brim_token_model_run(&t->model, &s->work, bytes, length, &s->piece_tokens, err));
  BRIM_TRY(brim_ids_reserve(ids, s->piece_tokens.count, err));
  for (size_t i = 0; i < s->piece_tokens.count; i++)
    ids->at[ids->count++] = s->piece_tokens.at[i].id;
  return BRIM_OK;
}

int brim_fast_run(const brim_tokenizer *t, brim_scratch *s, const char *text, size_t length, brim_ids *ids, brim_error *err) {
  if (!t->fused)
    return brim_fast_exact(t, s, text, length, ids, err);
  if (length > INT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a text has %zu bytes; at most %d are supported", length, INT32_MAX);
  if (s->cache.owner != t->fingerprint)
    brim_cache_clear(&s->cache, t->fingerprint);
  brim_added_scan scan = brim_added_start(&t->added, &t->added.raw, text, length);
  brim_added_match match;
  for (size_t covered = 0;; covered = match.end) {
    bool found = brim_added_next(&scan, &match);
    size_t plain = found ? match.begin : length;
    if (plain > covered)
      BRIM_TRY(t->fused(t, s, text + covered, plain - covered, ids, err));
    if (!found)
      return BRIM_OK;
    BRIM_TRY(brim_ids_reserve(ids, 1, err));
    ids->at[ids->count++] = match.id;
  }
}
