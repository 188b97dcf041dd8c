/* cache.c: making, growing and clearing the memory of words. */
#include "text/cache.h"
#include "base/memory.h"
#include "base/status.h"
#include <sys/mman.h>

enum {
  FIRST_SETS = 1 << 16, /* 4 MB */
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
  cache->most = count; /* half of the places: few sets have more words than places yet */
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

/* The words of a set share the leading bits of their hash, so they part into GROWTH new sets that are theirs alone. */
static bool grow_sets(brim_cache *cache) {
  if (cache->set_count >= MOST_SETS)
    return false;
  brim_cache old = *cache;
  brim_cache_set *sets = make_sets(cache->runtime, old.set_count * GROWTH);
  if (!sets)
    return false;
  use_sets(cache, sets, old.set_count * GROWTH);
  for (size_t i = 0; i < old.set_count; i++)
    for (int j = 1; j >= 0; j--) { /* the newer one comes last, and so first in its new set */
      const brim_cached_word *word = &old.sets[i].words[j];
      if (word->key.high == 0)
        continue;
      brim_cache_set *set = brim_cache_at(cache, word->key);
      set->words[1] = set->words[0];
      set->words[0] = *word;
    }
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
