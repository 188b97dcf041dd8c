/* text_cache: whatever the cache still knows is what was put there, however it grows, and its memory has a bound. */
#include "tap.h"
#include "text/cache.h"

enum { WORDS = 700000, MOST_MEMORY = 40 << 20 };

/* Memory that is counted, and runs out at `most`. */
typedef struct counted {
  size_t now, peak, most;
} counted;

static void *take(void *context, size_t size) {
  counted *c = context;
  if (c->now + size > c->most)
    return NULL;
  size_t *block = malloc(size + 16);
  if (!block)
    exit(99);
  block[0] = size;
  c->now += size;
  if (c->now > c->peak)
    c->peak = c->now;
  return block + 2;
}

static void give(void *context, void *pointer) {
  if (!pointer)
    return;
  size_t *block = (size_t *)pointer - 2;
  ((counted *)context)->now -= block[0];
  free(block);
}

static void *change(void *context, void *pointer, size_t size) {
  void *larger = take(context, size);
  if (larger && pointer) {
    size_t was = ((size_t *)pointer)[-2];
    memcpy(larger, pointer, was < size ? was : size);
    give(context, pointer);
  }
  return larger;
}

/* Word i: 1 to 63 bytes; its ids are i, i + 1, ... */
static size_t make_word(uint32_t i, char *bytes, size_t *ids) {
  size_t length = (size_t)snprintf(bytes, 16, "%x", i);
  size_t wanted = i % 7 == 0 ? 16 + i % 48 : length;
  memset(bytes + length, 'x', wanted > length ? wanted - length : 0);
  *ids = i % 11 == 0 ? 4 + i % 30 : i % 4;
  return wanted;
}

/* 1: found and right, 0: not there, -1: wrong. */
static int look(const brim_cache *cache, uint32_t i) {
  char bytes[80];
  size_t count, length = make_word(i, bytes, &count);
  brim_word_key key = brim_word_key_of(bytes, length, true);
  const brim_cached_word *word = brim_cache_find_key(cache, brim_cache_at(cache, key), key);
  if (!word || !brim_cache_is_word(cache, word, bytes))
    return 0;
  const int32_t *ids = word->spilled ? cache->spill + word->ids[0] + word->spilled - 1 : word->ids;
  bool same = word->count == count;
  for (size_t j = 0; same && j < count; j++)
    same = ids[j] == (int32_t)(i + j);
  return same ? 1 : -1;
}

static void put(brim_cache *cache, uint32_t i) {
  char bytes[80];
  int32_t ids[64];
  size_t count, length = make_word(i, bytes, &count);
  for (size_t j = 0; j < count; j++)
    ids[j] = (int32_t)(i + j);
  brim_word_key key = brim_word_key_of(bytes, length, true);
  brim_cache_put(cache, brim_cache_at(cache, key), key, bytes, length, ids, count);
  if (cache->is_untidy)
    brim_cache_tidy(cache);
}

static void check(size_t most, size_t words, bool all) {
  counted memory = {.most = most};
  brim_allocator allocator = {take, change, give, &memory};
  brim_runtime_options options = {.threads = 1, .allocator = &allocator};
  brim_runtime *runtime;
  brim_cache cache;
  size_t known = 0, wrong = 0, recent = 0;
  if (brim_runtime_new(&options, &runtime, NULL) != BRIM_OK || brim_cache_init(&cache, runtime, 1, NULL) != BRIM_OK)
    exit(99);
  for (uint32_t i = 0; i < words; i++) {
    put(&cache, i);
    recent += look(&cache, i) == 1;
    wrong += look(&cache, i / 2) < 0;
  }
  for (uint32_t i = 0; i < words; i++) {
    known += look(&cache, i) == 1;
    wrong += look(&cache, i) < 0;
  }
  ok(wrong == 0, "at most %zu bytes: nothing wrong", most);
  ok(recent > words - words / 100, "a word that was just put is there: %zu of %zu", recent, words);
  ok(!all || known > words - words / 500, "%zu of %zu words are known in the end", known, words);
  ok(memory.peak <= MOST_MEMORY, "%zu bytes at most", memory.peak);
  brim_cache_clear(&cache, 2);
  ok(look(&cache, 5) == 0, "a cleared cache knows nothing");
  put(&cache, 5);
  ok(look(&cache, 5) == 1, "and learns again");
  brim_cache_free(&cache);
  brim_runtime_free(runtime);
}

/* The next word from *i on whose set is the last. */
static uint32_t word_of_last_set(const brim_cache *cache, uint32_t *i) {
  char bytes[80];
  size_t count;
  for (;; ++*i) {
    size_t length = make_word(*i, bytes, &count);
    if (brim_cache_at(cache, brim_word_key_of(bytes, length, true)) == &cache->sets[cache->set_count - 1])
      return (*i)++;
  }
}

/* Words that have one set in common lie in those after it, the first sets here; when these are full one goes for each that comes.
 */
static void check_full_set(void) {
  enum { ROOM = 2 * BRIM_WORD_REACH, MORE = 5 };
  uint32_t words[ROOM + MORE], next = 1;
  brim_runtime *runtime;
  brim_cache cache;
  if (brim_runtime_new(NULL, &runtime, NULL) != BRIM_OK || brim_cache_init(&cache, runtime, 1, NULL) != BRIM_OK)
    exit(99);
  for (int n = 0; n < ROOM + MORE; n++) {
    words[n] = word_of_last_set(&cache, &next);
    ok(look(&cache, words[n]) == 0, "word %d of a set is new", n + 1);
    put(&cache, words[n]);
    int known = 0;
    for (int i = 0; i <= n; i++)
      known += look(&cache, words[i]) == 1;
    ok(known == (n < ROOM ? n + 1 : ROOM) && look(&cache, words[n]) == 1, "then %d are known, and it is one of them", known);
  }
  ok(cache.sets[BRIM_WORD_REACH - 2].words[1].key.high && !cache.sets[BRIM_WORD_REACH - 1].words[0].key.high,
     "after the last set comes the first, and none lies beyond their reach");
  brim_cache_free(&cache);
  brim_runtime_free(runtime);
}

int main(void) {
  check_full_set();
  check(SIZE_MAX, 150000, true);
  check(SIZE_MAX, WORDS, false);
  check(6 << 20, WORDS / 4, false);  /* no room for larger tables */
  check(24 << 20, WORDS / 2, false); /* for one more, or for more spilled words */
  return tap_done();
}
