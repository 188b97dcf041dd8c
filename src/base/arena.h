/* arena.h: memory that is taken piece by piece and given back all at once.
 *
 *   [ chunk 0: a a a b b . . ][ chunk 1: c c d . . . . ]
 *                              mark ------^ reset gives back what lies after it
 *
 * Pieces are 64-byte aligned. Chunks are kept by a reset, so a loop that resets to the same mark allocates nothing once it has
 * seen its largest round. Under AddressSanitizer what is not handed out is poisoned, with a red zone after every piece. */
#ifndef BRIM_BASE_ARENA_H
#define BRIM_BASE_ARENA_H
#include "brim/base.h"

typedef struct brim_arena_chunk brim_arena_chunk;

typedef struct brim_arena {
  brim_runtime *runtime;
  brim_arena_chunk *first, *current;
  size_t chunk_size; /* least size of a new chunk */
  size_t used, peak; /* bytes handed out now, and at most so far (with padding) */
} brim_arena;

/* A phase begins at a mark; resetting to it ends the phase. Marks nest. */
typedef struct brim_arena_mark {
  brim_arena_chunk *chunk;
  size_t chunk_used, used;
} brim_arena_mark;

/* Allocates nothing yet. chunk_size 0: 64 KiB. */
void brim_arena_init(brim_arena *arena, brim_runtime *runtime, size_t chunk_size);
void brim_arena_free(brim_arena *arena);
/* One chunk of at least `size` bytes, so that what follows allocates nothing. */
int brim_arena_reserve(brim_arena *arena, size_t size, brim_error *err) BRIM_CHECK;
/* NULL when memory is out. Not zeroed. */
void *brim_arena_alloc(brim_arena *arena, size_t size);
void *brim_arena_alloc_array(brim_arena *arena, size_t count, size_t size);
char *brim_arena_copy_string(brim_arena *arena, const char *string, size_t length);
brim_arena_mark brim_arena_mark_now(const brim_arena *arena);
void brim_arena_reset(brim_arena *arena, brim_arena_mark mark);
void brim_arena_clear(brim_arena *arena); /* everything back, chunks kept */

#endif
