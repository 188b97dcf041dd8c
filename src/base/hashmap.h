/* hashmap.h: byte string -> int32, and the 64-bit hash used for it and for fingerprints. */
#ifndef BRIM_BASE_HASHMAP_H
#define BRIM_BASE_HASHMAP_H
#include "brim/base.h"

/* The same on every machine and in every version (fingerprints are stored in states). Not for hostile collisions by itself. Chain
 * pieces by passing the last hash as seed. */
uint64_t brim_hash64(const void *bytes, size_t length, uint64_t seed);
/* Takes words into a hash one after another, in their order (the finaliser of MurmurHash3 between them). */
static inline uint64_t brim_hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0xff51afd7ed558ccdull;
  return (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53ull;
}

typedef struct brim_hashmap_cell {
  uint32_t hash, length, offset;
  int32_t value;
} brim_hashmap_cell;

/* Open addressing, linear probing, at most 3/4 full. Keys are copied and may hold any bytes; "" is a key. At most 2^31 - 1 keys
 * and 4 GiB of key bytes. Reading is safe from many threads at once. */
typedef struct brim_hashmap {
  brim_runtime *runtime;
  brim_hashmap_cell *cells; /* value of an empty cell: length == UINT32_MAX */
  size_t cell_count;        /* 0 or a power of two */
  size_t count;
  char *keys;
  size_t keys_length, keys_capacity;
} brim_hashmap;

void brim_hashmap_init(brim_hashmap *map, brim_runtime *runtime);
void brim_hashmap_free(brim_hashmap *map);
/* Room for `count` keys of `bytes` bytes in all. */
int brim_hashmap_reserve(brim_hashmap *map, size_t count, size_t bytes, brim_error *err) BRIM_CHECK;
/* Adds the key or replaces its value; *old (may be NULL) gets the value it had, and *existed whether it had one (may be NULL). */
int brim_hashmap_put(brim_hashmap *map, const char *key, size_t length, int32_t value, bool *existed, int32_t *old,
                     brim_error *err) BRIM_CHECK;
/* The value, or `absent`. */
int32_t brim_hashmap_get(const brim_hashmap *map, const char *key, size_t length, int32_t absent);
bool brim_hashmap_has(const brim_hashmap *map, const char *key, size_t length);

#endif
