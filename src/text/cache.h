/* cache.h: a thread's memory of words and their ids. It grows with the words it sees, up to a bound, and is never visible in
 * results: a word has the same ids whether it is found here or worked out. */
#ifndef BRIM_TEXT_CACHE_H
#define BRIM_TEXT_CACHE_H
#include "brim/base.h"
#include <string.h>

enum {
  BRIM_SHORT_BYTES = 15, /* words up to here are their own key */
  BRIM_WORD_BYTES = 63,  /* longer ones are not remembered */
  BRIM_WORD_IDS = 3,     /* so many ids lie with the key */
  BRIM_WORD_REACH = 8,   /* sets in which a word may lie: its own and those after it */
  BRIM_SPILL_IDS = 8     /* so many are copied at once of those that lie elsewhere */
};

/* Up to 15 bytes, or a hash of more; their number in the top byte. One comparison of 16 bytes. 0, 0 is no word. */
typedef struct brim_word_key {
  uint64_t low, high;
} brim_word_key;

typedef struct brim_cached_word {
  brim_word_key key;
  int32_t ids[BRIM_WORD_IDS]; /* when spilled: ids[0] says where */
  uint16_t count;
  uint16_t spilled; /* 0: no. Else one more than the number of spilled words (of 4 bytes) before the ids: they hold a long word's
                       bytes */
} brim_cached_word;

/* Two entries: one cache line. A word lies in its set, or in the first after it that had room. */
typedef struct brim_cache_set {
  brim_cached_word words[2];
} brim_cache_set;

typedef struct brim_cache {
  brim_runtime *runtime;
  brim_cache_set *sets; /* a power of two of them, 64-byte aligned */
  size_t set_count;
  unsigned shift;     /* of a hash, to the number of a set */
  size_t count, most; /* words that are there; when they are more, the sets should grow */
  int32_t *spill;     /* [spill_capacity], and room to read BRIM_SPILL_IDS more */
  size_t spill_count, spill_capacity;
  bool is_untidy; /* there are too many words, or one found no room */
  bool lacks_spill;
  uint64_t owner; /* fingerprint of the tokenizer whose words these are */
} brim_cache;

int brim_cache_init(brim_cache *cache, brim_runtime *runtime, uint64_t owner, brim_error *err) BRIM_CHECK;
void brim_cache_free(brim_cache *cache);
/* Forgets everything. */
void brim_cache_clear(brim_cache *cache, uint64_t owner);
/* Makes room where it lacks; sets move. When there is no memory or the bound is reached, the cache stays as it is, or begins
 * again. */
void brim_cache_tidy(brim_cache *cache);

/* ---- keys ------------------------------------------------------------------------------------------------- */

/* The bytes of a key that belong to a word of each length. */
extern const brim_word_key brim_word_masks[BRIM_SHORT_BYTES + 1];

/* The key of `length` (at most 15) bytes, of which 16 can be read. */
static inline brim_word_key brim_word_key_wide(const char *bytes, size_t length) {
  const brim_word_key *mask = &brim_word_masks[length];
  brim_word_key key;
  memcpy(&key, bytes, 16);
  key.low &= mask->low;
  key.high = (key.high & mask->high) | (uint64_t)length << 56;
  return key;
}
/* The same where not more than `length` bytes can be read. */
static inline brim_word_key brim_word_key_small(const char *bytes, size_t length) {
  char padded[16] = {0};
  memcpy(padded, bytes, length);
  return brim_word_key_wide(padded, length);
}
/* The key of 16 to BRIM_WORD_BYTES bytes: a hash, so a word that is found must still be compared. */
static inline brim_word_key brim_word_key_long(const char *bytes, size_t length) {
  uint64_t a = 0x243F6A8885A308D3u, b = length;
  for (size_t i = 0;; i += 8) {
    uint64_t eight;
    if (i + 8 > length)
      i = length - 8;
    memcpy(&eight, bytes + i, 8);
    a = (a ^ eight) * 0x9E3779B97F4A7C15u;
    a ^= a >> 29;
    b = (b + eight) * 0xD6E8FEB86659FD93u;
    b ^= b >> 32;
    if (i + 8 == length)
      return (brim_word_key){a, (b & 0xFFFFFFFFFFFFFFu) | (uint64_t)length << 56};
  }
}

/* ---- looking up and remembering ----------------------------------------------------------------------------- */

static inline brim_cache_set *brim_cache_at(const brim_cache *cache, brim_word_key key) {
  uint64_t h = (key.low ^ (key.high << 23 | key.high >> 41)) * 0x9E3779B97F4A7C15u;
  return &cache->sets[h >> cache->shift];
}

/* 0 when the word has that key. */
static inline uint64_t brim_word_differs(const brim_cached_word *word, brim_word_key key) {
  return (word->key.low ^ key.low) | (word->key.high ^ key.high);
}

/* The entry with that key after the word's own set, which is full, or NULL. */
const brim_cached_word *brim_cache_search(const brim_cache *cache, const brim_cache_set *set, brim_word_key key);

/* The entry with that key, or NULL. Which of its set's two it is must not be a branch: that would be guessed wrong too often. */
static inline const brim_cached_word *brim_cache_find_key(const brim_cache *cache, const brim_cache_set *set, brim_word_key key) {
  const uint64_t first = brim_word_differs(&set->words[0], key), second = brim_word_differs(&set->words[1], key);
  const brim_cached_word *word = &set->words[first != 0];
  if (__builtin_expect((first != 0) & (second != 0), 0))
    return set->words[1].key.high ? brim_cache_search(cache, set, key) : NULL;
  return word;
}

/* Whether the word with the same key is the same word: a long one may be another. */
static inline bool brim_cache_is_word(const brim_cache *cache, const brim_cached_word *word, const char *bytes) {
  size_t length = word->key.high >> 56;
  return length <= BRIM_SHORT_BYTES || memcmp(cache->spill + word->ids[0], bytes, length) == 0;
}

/* Remembers a word that is not there, if there is room for its ids; where all entries are taken, an older word goes. */
void brim_cache_put(brim_cache *cache, brim_cache_set *set, brim_word_key key, const char *bytes, size_t length,
                    const int32_t *ids, size_t count);

/* ---- groups ----------------------------------------------------------------------------------------------- */

/* Words are looked up in groups: while one is scanned the memory of those before it is already on its way. */
enum { BRIM_GROUP = 128, BRIM_TAIL = 80 }; /* BRIM_TAIL: what a block and the key of its last word can reach */

typedef struct brim_word_grouped_word {
  brim_word_key key; /* with the length */
  brim_cache_set *set;
  const char *bytes;
} brim_word_grouped_word;

typedef struct brim_word_group {
  brim_word_grouped_word words[BRIM_GROUP];
  uint32_t count;
  uint64_t other[BRIM_GROUP / 64];  /* the words that are not plain, as the scanner means it */
  char tail[BRIM_TAIL + BRIM_TAIL]; /* the end of the text, when more must be readable after it */
} brim_word_group;

/* The key of a word of at most BRIM_WORD_BYTES. `wide`: 16 bytes can be read. */
static inline brim_word_key brim_word_key_of(const char *bytes, size_t length, bool wide) {
  if (__builtin_expect(length > BRIM_SHORT_BYTES, 0))
    return brim_word_key_long(bytes, length);
  return wide ? brim_word_key_wide(bytes, length) : brim_word_key_small(bytes, length);
}

/* Adds a word; there is room. */
static inline void brim_word_group_add(brim_word_group *group, const brim_cache *cache, const char *bytes, size_t length,
                                       bool wide, bool plain) {
  uint32_t n = group->count++;
  brim_word_key key = brim_word_key_of(bytes, length, wide);
  brim_word_grouped_word *word = &group->words[n];
  word->key = key;
  word->set = brim_cache_at(cache, key);
  __builtin_prefetch(word->set);
  word->bytes = bytes;
  if (!plain)
    group->other[n / 64] |= (uint64_t)1 << n % 64;
}

#endif
