#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include <string.h>

#define EMPTY UINT32_MAX

__extension__ typedef unsigned __int128 wide;

static uint64_t fold(uint64_t a, uint64_t b) {
  wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Little-endian loads, so that the hash is the same on every machine; compilers make one instruction of each. */
static uint64_t load(const unsigned char *p, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--)
    value = value << 8 | p[i];
  return value;
}

static uint64_t load8(const unsigned char *p) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  uint64_t value;
  memcpy(&value, p, 8);
  return value;
#else
  return load(p, 8);
#endif
}

/* Sixteen bytes a round, each half mixed with its own odd constant and folded by a 64x64 -> 128 multiplication. */
uint64_t brim_hash64(const void *bytes, size_t length, uint64_t seed) {
  const uint64_t k0 = 0x9E3779B97F4A7C15u, k1 = 0xD6E8FEB86659FD93u, k2 = 0xC2B2AE3D27D4EB4Fu;
  const unsigned char *p = bytes;
  size_t rest = length;
  uint64_t hash = seed ^ k0;
  for (; rest > 16; p += 16, rest -= 16)
    hash = fold(load8(p) ^ k1, load8(p + 8) ^ hash) + k2;
  uint64_t a = 0, b = 0;
  if (rest > 8) {
    a = load8(p);
    b = load(p + 8, (int)rest - 8);
  } else if (rest) {
    a = load(p, (int)rest);
  }
  hash = fold(a ^ k1, b ^ hash);
  return fold(hash ^ k2, (uint64_t)length ^ k1);
}

void brim_hashmap_init(brim_hashmap *map, brim_runtime *runtime) {
  *map = (brim_hashmap){.runtime = runtime};
}

void brim_hashmap_free(brim_hashmap *map) {
  if (!map || !map->runtime)
    return;
  brim_release(map->runtime, map->cells);
  brim_release(map->runtime, map->keys);
  brim_hashmap_init(map, map->runtime);
}

static uint32_t hash_of(const char *key, size_t length) {
  return (uint32_t)(brim_hash64(key, length, 0) >> 32);
}

/* The key's cell, or the empty one where it belongs. */
static brim_hashmap_cell *find(const brim_hashmap *map, const char *key, size_t length, uint32_t hash) {
  size_t mask = map->cell_count - 1;
  for (size_t i = hash & mask;; i = (i + 1) & mask) {
    brim_hashmap_cell *cell = &map->cells[i];
    if (cell->length == EMPTY)
      return cell;
    if (cell->hash == hash && cell->length == length && memcmp(map->keys + cell->offset, key, length) == 0)
      return cell;
  }
}

static int rehash(brim_hashmap *map, size_t cell_count, brim_error *err) {
  brim_hashmap_cell *cells = brim_alloc_array(map->runtime, cell_count, sizeof *cells);
  if (!cells)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < cell_count; i++)
    cells[i] = (brim_hashmap_cell){.length = EMPTY};
  for (size_t i = 0; i < map->cell_count; i++) {
    if (map->cells[i].length == EMPTY)
      continue;
    size_t at = map->cells[i].hash & (cell_count - 1);
    while (cells[at].length != EMPTY)
      at = (at + 1) & (cell_count - 1);
    cells[at] = map->cells[i];
  }
  brim_release(map->runtime, map->cells);
  map->cells = cells;
  map->cell_count = cell_count;
  return BRIM_OK;
}

int brim_hashmap_reserve(brim_hashmap *map, size_t count, size_t bytes, brim_error *err) {
  if (count > INT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "%zu keys are too many for one table", count);
  if (bytes >= UINT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "%zu bytes of keys are too many for one table", bytes);
  size_t cells = map->cell_count ? map->cell_count : 16;
  while (cells - cells / 4 < count)
    cells *= 2;
  if (cells > map->cell_count)
    BRIM_TRY(rehash(map, cells, err));
  /* One byte at least, so that "" has a place to point to. */
  return brim_grow(map->runtime, (void **)&map->keys, &map->keys_capacity, bytes + 1, 1, err);
}

int brim_hashmap_put(brim_hashmap *map, const char *key, size_t length, int32_t value, bool *existed, int32_t *old,
                     brim_error *err) {
  uint32_t hash = hash_of(key, length);
  brim_hashmap_cell *cell = map->cell_count ? find(map, key, length, hash) : NULL;
  bool found = cell && cell->length != EMPTY;
  if (existed)
    *existed = found;
  if (found) {
    if (old)
      *old = cell->value;
    cell->value = value;
    return BRIM_OK;
  }
  if (length >= UINT32_MAX)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "a key of %zu bytes is too long", length);
  BRIM_TRY(brim_hashmap_reserve(map, map->count + 1, map->keys_length + length, err));
  cell = find(map, key, length, hash);
  *cell = (brim_hashmap_cell){hash, (uint32_t)length, (uint32_t)map->keys_length, value};
  if (length)
    memcpy(map->keys + map->keys_length, key, length);
  map->keys_length += length;
  map->count++;
  return BRIM_OK;
}

int32_t brim_hashmap_get(const brim_hashmap *map, const char *key, size_t length, int32_t absent) {
  if (!map->count)
    return absent;
  const brim_hashmap_cell *cell = find(map, key, length, hash_of(key, length));
  return cell->length == EMPTY ? absent : cell->value;
}

bool brim_hashmap_has(const brim_hashmap *map, const char *key, size_t length) {
  return map->count && find(map, key, length, hash_of(key, length))->length != EMPTY;
}
