/* cache.c: making, growing and clearing the memory of words. */
#include "text/cache.h"
#include "base/memory.h"
#include "base/status.h"
#include <sys/mman.h>

enum {
  FIRST_SETS = 1 << 14, /* 1 MB: less is slower in a first pass over many words, more in a short one */
  MOST_SETS = 1 << 18,  /* 16 MB */
  GROWTH = 4,
  FIRST_SPILL = 1 << 16,
  MOST_SPILL = 1 << 21, /* 8 MB */
  HUGE_PAGE = 2 << 20
};

#define LOW(n)  {((uint64_t)1 << (n) * 8) - 1, 0}
#define HIGH(n) {UINT64_MAX, ((uint64_t)1 << (n) * 8) - 1}
const brim_word_key brim_word_masks[BRIM_SHORT_BYTES + 1] = {LOW(0),  LOW(1),  LOW(2),  LOW(3),  LOW(4),  LOW(5),
                                                             LOW(6),  LOW(7),  HIGH(0), HIGH(1), HIGH(2), HIGH(3),
                                                             HIGH(4), HIGH(5), HIGH(6), HIGH(7)};

/* Words lie anywhere in the table, so small pages would cost more than the look-up itself. Only a hint. */
static void ask_for_huge_pages(void *block, size_t size) {
#if defined(MADV_HUGEPAGE)
  uintptr_t begin = ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
  uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (begin < end)
    (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
#else
  (void)block;
  (void)size;
#endif
}

static brim_cache_set *make_sets(brim_runtime *runtime, size_t count) {
  brim_cache_set *sets = brim_alloc_aligned(runtime, count * sizeof *sets);
  if (!sets)
    return NULL;
  ask_for_huge_pages(sets, count * sizeof *sets);
  memset(sets, 0, count * sizeof *sets);
  return sets;
}

static void use_sets(brim_cache *cache, brim_cache_set *sets, size_t count) {
  cache->sets = sets;
  cache->set_count = count;
  cache->shift = 64u - (unsigned)__builtin_ctzll(count);
  cache->most = count + count / 4; /* of twice as many entries: more words would lie too far from their sets */
}

int brim_cache_init(brim_cache *cache, brim_runtime *runtime, uint64_t owner, brim_error *err) {
  *cache = (brim_cache){.runtime = runtime, .owner = owner, .spill_capacity = FIRST_SPILL};
  cache->spill = brim_alloc_array(runtime, FIRST_SPILL + BRIM_SPILL_IDS, sizeof *cache->spill);
  brim_cache_set *sets = make_sets(runtime, FIRST_SETS);
  if (sets)
    use_sets(cache, sets, FIRST_SETS);
  return sets && cache->spill ? BRIM_OK : BRIM_NOMEM(err);
}

void brim_cache_free(brim_cache *cache) {
  if (!cache->runtime)
    return;
  brim_release_aligned(cache->runtime, cache->sets);
  brim_release(cache->runtime, cache->spill);
}

void brim_cache_clear(brim_cache *cache, uint64_t owner) {
  memset(cache->sets, 0, cache->set_count * sizeof *cache->sets);
  cache->count = cache->spill_count = 0;
  cache->is_untidy = cache->lacks_spill = false;
  cache->owner = owner;
}

/* ---- entries ---------------------------------------------------------------------------------------------- */

static brim_cache_set *set_after(const brim_cache *cache, const brim_cache_set *set) {
  return &cache->sets[(size_t)(set - cache->sets + 1) & (cache->set_count - 1)];
}

const brim_cached_word *brim_cache_search(const brim_cache *cache, const brim_cache_set *set, brim_word_key key) {
  for (int i = 1; i < BRIM_WORD_REACH && set->words[1].key.high; i++) {
    set = set_after(cache, set);
    for (int j = 0; j < 2; j++)
      if (brim_word_differs(&set->words[j], key) == 0)
        return &set->words[j];
  }
  return NULL;
}

/* An entry for a word that is not there: the first free one from its set on; if there is none, that of the older in its set. */
static brim_cached_word *make_entry(brim_cache *cache, brim_cache_set *home) {
  brim_cache_set *set = home;
  for (int i = 0; i < BRIM_WORD_REACH; i++, set = set_after(cache, set))
    for (int j = 0; j < 2; j++)
      if (set->words[j].key.high == 0) {
        cache->count++;
        return &set->words[j];
      }
  home->words[0] = home->words[1];
  return &home->words[1];
}

void brim_cache_put(brim_cache *cache, brim_cache_set *set, brim_word_key key, const char *bytes, size_t length,
                    const int32_t *ids, size_t count) {
  size_t before = length > BRIM_SHORT_BYTES ? (length + 3) / 4 : 0;
  bool spilled = before || count > BRIM_WORD_IDS;
  if (count > UINT16_MAX)
    return;
  if (spilled && before + count > cache->spill_capacity - cache->spill_count) {
    cache->is_untidy = cache->lacks_spill = true;
    return;
  }
  brim_cached_word *word = make_entry(cache, set);
  cache->is_untidy |= cache->count > cache->most;
  *word = (brim_cached_word){.key = key, .count = (uint16_t)count, .spilled = (uint16_t)(spilled ? before + 1 : 0)};
  if (!spilled) {
    memcpy(word->ids, ids, count * sizeof *ids);
    return;
  }
  word->ids[0] = (int32_t)cache->spill_count;
  if (before)
    memcpy(cache->spill + cache->spill_count, bytes, length);
  memcpy(cache->spill + cache->spill_count + before, ids, count * sizeof *ids);
  cache->spill_count += before + count;
}

/* ---- growing ---------------------------------------------------------------------------------------------- */

static bool grow_sets(brim_cache *cache) {
  if (cache->set_count >= MOST_SETS)
    return false;
  brim_cache old = *cache;
  brim_cache_set *sets = make_sets(cache->runtime, old.set_count * GROWTH);
  if (!sets)
    return false;
  use_sets(cache, sets, old.set_count * GROWTH);
  cache->count = 0;
  for (size_t i = 0; i < old.set_count; i++)
    for (int j = 0; j < 2; j++)
      if (old.sets[i].words[j].key.high)
        *make_entry(cache, brim_cache_at(cache, old.sets[i].words[j].key)) = old.sets[i].words[j];
  brim_release_aligned(cache->runtime, old.sets);
  return true;
}

static bool grow_spill(brim_cache *cache) {
  if (cache->spill_capacity >= MOST_SPILL)
    return false;
  int32_t *spill = brim_resize_array(cache->runtime, cache->spill, cache->spill_capacity * 2 + BRIM_SPILL_IDS, sizeof *spill);
  if (!spill)
    return false;
  cache->spill = spill;
  cache->spill_capacity *= 2;
  return true;
}

void brim_cache_tidy(brim_cache *cache) {
  cache->is_untidy = false;
  if (cache->count > cache->most && !grow_sets(cache))
    cache->most = SIZE_MAX;
  if (cache->lacks_spill && !grow_spill(cache))
    brim_cache_clear(cache, cache->owner);
  cache->lacks_spill = false;
}
