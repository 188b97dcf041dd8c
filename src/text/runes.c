/* runes.c: growing arrays of code points with their origins. */
#include "text/runes.h"
#include "base/memory.h"
#include "base/status.h"
#include "text/unicode.h"

void brim_runes_init(brim_runes *runes, brim_runtime *runtime) {
  *runes = (brim_runes){.runtime = runtime};
}

void brim_runes_free(brim_runes *runes) {
  if (runes->runtime)
    brim_release(runes->runtime, runes->at);
  brim_runes_init(runes, runes->runtime);
}

enum { GROWTH = 100, GROWTH_OF_ALL = 1 << 16, ROOM = 8 }; /* ROOM: steps reserve more than they use */

void brim_runes_bound(brim_runes *runes, size_t count) {
  runes->most = GROWTH_OF_ALL + GROWTH * count;
}

static int too_many(const brim_runes *runes, brim_error *err) {
  return brim_error_set(err, BRIM_E_UNSUPPORTED,
                        "the tokenizer's normalizer or pre-tokenizer makes more than %zu characters of a text of %zu",
                        runes->most, (runes->most - GROWTH_OF_ALL) / GROWTH);
}

int brim_runes_check(const brim_runes *runes, brim_error *err) {
  return runes->most && runes->count > runes->most ? too_many(runes, err) : BRIM_OK;
}

int brim_runes_reserve(brim_runes *runes, size_t more, brim_error *err) {
  if (runes->most && runes->count + more > ROOM * runes->most)
    return too_many(runes, err);
  if (runes->capacity - runes->count >= more)
    return BRIM_OK;
  return brim_grow(runes->runtime, (void **)&runes->at, &runes->capacity, runes->count + more, sizeof *runes->at, err);
}

int brim_runes_add(brim_runes *runes, brim_rune rune, brim_error *err) {
  if (runes->count == runes->capacity)
    BRIM_TRY(brim_runes_reserve(runes, 1, err));
  runes->at[runes->count++] = rune;
  return BRIM_OK;
}

int brim_runes_decode(brim_runes *runes, const char *bytes, size_t length, uint32_t origin, brim_error *err) {
  if (length == 0)
    return BRIM_OK;
  BRIM_TRY(brim_runes_reserve(runes, length, err));
  brim_rune *out = runes->at + runes->count;
  for (size_t i = 0; i < length; out++) {
    int size = brim_utf8_next(bytes + i, &out->code);
    out->from = origin + (uint32_t)i;
    i += (size_t)size;
    out->to = origin + (uint32_t)i;
  }
  runes->count = (size_t)(out - runes->at);
  return BRIM_OK;
}

int brim_rewriter_put(brim_rewriter *rewriter, uint32_t code, int64_t change, brim_error *err) {
  brim_rune rune = {code, rewriter->origin, rewriter->origin};
  if (change > 0) {
    if (rewriter->next > 0) {
      rune.from = rewriter->old[rewriter->next - 1].from;
      rune.to = rewriter->old[rewriter->next - 1].to;
    }
  } else if (rewriter->next < rewriter->count) {
    rune.from = rewriter->old[rewriter->next].from;
    rune.to = rewriter->old[rewriter->next].to;
    rewriter->next += 1 + (size_t)-change;
    if (rewriter->next > rewriter->count)
      rewriter->next = rewriter->count;
  }
  return brim_runes_add(rewriter->out, rune, err);
}
