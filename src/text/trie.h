/* trie.h: a static map from byte strings to values as a double array: one step is one load and one comparison. */
#ifndef BRIM_TEXT_TRIE_H
#define BRIM_TEXT_TRIE_H
#include "brim/base.h"

/* A node. Its child for `byte` is units[base ^ byte], if that one's label is BRIM_TRIE_USED | byte. */
typedef struct brim_trie_unit {
  uint32_t base_label; /* base in the upper 23 bits; bit 8: used; low byte: label */
  int32_t value;       /* -1: no key ends here */
} brim_trie_unit;

#define BRIM_TRIE_USED 0x100u

typedef struct brim_trie {
  brim_runtime *runtime;
  brim_trie_unit *units;
  size_t count; /* a multiple of 256 */
} brim_trie;

typedef struct brim_trie_key {
  const char *bytes;
  uint32_t length;
  int32_t value; /* >= 0 */
} brim_trie_key;

/* Sorts keys in place; of equal keys the one that came last counts. Empty keys are left out. */
int brim_trie_build(brim_runtime *runtime, brim_trie_key *keys, size_t count, brim_trie *out, brim_error *err) BRIM_CHECK;
void brim_trie_free(brim_trie *trie);

#define BRIM_TRIE_ROOT 0u
/* The child of `node` for `byte`; 0 (the root, which is nobody's child) when there is none. */
static inline uint32_t brim_trie_child(const brim_trie *trie, uint32_t node, uint8_t byte) {
  uint32_t next = trie->units[node].base_label >> 9 ^ byte;
  return (trie->units[next].base_label & 0x1FF) == (BRIM_TRIE_USED | byte) ? next : 0;
}
/* The value of a whole key, or -1. */
int32_t brim_trie_get(const brim_trie *trie, const char *bytes, size_t length);

#endif
