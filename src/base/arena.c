#include "base/arena.h"
#include "base/memory.h"
#include "base/poison.h"
#include "base/status.h"
#include <string.h>

#define ALIGNED       64
#define DEFAULT_CHUNK 65536

struct brim_arena_chunk {
  brim_arena_chunk *next;
  size_t size, used; /* of bytes */
  char *bytes;       /* 64-byte aligned */
};

void brim_arena_init(brim_arena *arena, brim_runtime *runtime, size_t chunk_size) {
  *arena = (brim_arena){.runtime = runtime, .chunk_size = chunk_size ? chunk_size : DEFAULT_CHUNK};
}

void brim_arena_free(brim_arena *arena) {
  if (!arena || !arena->runtime)
    return;
  for (brim_arena_chunk *chunk = arena->first, *next; chunk; chunk = next) {
    next = chunk->next;
    brim_unpoison(chunk->bytes, chunk->size);
    brim_release_aligned(arena->runtime, chunk->bytes);
    brim_release(arena->runtime, chunk);
  }
  brim_arena_init(arena, arena->runtime, arena->chunk_size);
}

/* A chunk for `size` bytes right after the current one. */
static brim_arena_chunk *insert_chunk(brim_arena *arena, size_t size) {
  brim_arena_chunk *chunk = brim_alloc(arena->runtime, sizeof *chunk);
  if (!chunk)
    return NULL;
  if (size < arena->chunk_size)
    size = arena->chunk_size;
  *chunk = (brim_arena_chunk){.size = size, .bytes = brim_alloc_aligned(arena->runtime, size)};
  if (!chunk->bytes) {
    brim_release(arena->runtime, chunk);
    return NULL;
  }
  brim_poison(chunk->bytes, size);
  brim_arena_chunk **link = arena->current ? &arena->current->next : &arena->first;
  chunk->next = *link;
  *link = chunk;
  return chunk;
}

/* The first chunk from the current one on with room for `size`; those passed over stay unused until a reset. */
static brim_arena_chunk *chunk_with_room(brim_arena *arena, size_t size) {
  for (brim_arena_chunk *chunk = arena->current ? arena->current : arena->first; chunk; chunk = chunk->next) {
    arena->current = chunk;
    if (chunk->size - chunk->used >= size)
      return chunk;
  }
  return arena->current = insert_chunk(arena, size);
}

static bool padded_size(size_t size, size_t *padded) {
  if (size > SIZE_MAX / 2)
    return false;
  *padded = (size + BRIM_RED_ZONE + ALIGNED - 1) & ~(size_t)(ALIGNED - 1);
  if (!*padded)
    *padded = ALIGNED;
  return true;
}

int brim_arena_reserve(brim_arena *arena, size_t size, brim_error *err) {
  size_t padded;
  if (!padded_size(size, &padded))
    return BRIM_NOMEM(err);
  brim_arena_chunk *before = arena->current;
  for (brim_arena_chunk *chunk = before ? before : arena->first; chunk; chunk = chunk->next)
    if (chunk->size - chunk->used >= padded)
      return BRIM_OK;
  return insert_chunk(arena, padded) ? BRIM_OK : BRIM_NOMEM(err);
}

void *brim_arena_alloc(brim_arena *arena, size_t size) {
  size_t padded;
  if (!padded_size(size, &padded))
    return NULL;
  brim_arena_chunk *before = arena->current, *chunk = chunk_with_room(arena, padded);
  if (!chunk) {
    arena->current = before;
    return NULL;
  }
  char *p = chunk->bytes + chunk->used;
  chunk->used += padded;
  arena->used += padded;
  if (arena->used > arena->peak)
    arena->peak = arena->used;
  brim_unpoison(p, size);
  return p;
}

void *brim_arena_alloc_array(brim_arena *arena, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : brim_arena_alloc(arena, bytes);
}

char *brim_arena_copy_string(brim_arena *arena, const char *string, size_t length) {
  if (length == SIZE_MAX)
    return NULL;
  char *copy = brim_arena_alloc(arena, length + 1);
  if (!copy)
    return NULL;
  if (length)
    memcpy(copy, string, length);
  copy[length] = 0;
  return copy;
}

brim_arena_mark brim_arena_mark_now(const brim_arena *arena) {
  return (brim_arena_mark){arena->current, arena->current ? arena->current->used : 0, arena->used};
}

void brim_arena_reset(brim_arena *arena, brim_arena_mark mark) {
  brim_arena_chunk *from = mark.chunk ? mark.chunk : arena->first;
  for (brim_arena_chunk *chunk = from; chunk; chunk = chunk->next) {
    chunk->used = chunk == mark.chunk ? mark.chunk_used : 0;
    brim_poison(chunk->bytes + chunk->used, chunk->size - chunk->used);
  }
  arena->current = mark.chunk;
  arena->used = mark.used;
}

void brim_arena_clear(brim_arena *arena) {
  brim_arena_reset(arena, (brim_arena_mark){0});
}
