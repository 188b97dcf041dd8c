/* memory.h: every allocation goes through the runtime's hook. All calls may be made from any thread. NULL means "no memory". */
#ifndef BRIM_BASE_MEMORY_H
#define BRIM_BASE_MEMORY_H
#include "brim/base.h"

/* At least 16-byte aligned, never NULL for size 0 unless memory is out. Not zeroed. Released with brim_release. */
void *brim_alloc(brim_runtime *runtime, size_t size);
void *brim_alloc_zero(brim_runtime *runtime, size_t size);
/* count * size bytes; NULL when the product overflows. */
void *brim_alloc_array(brim_runtime *runtime, size_t count, size_t size);
void *brim_alloc_array_zero(brim_runtime *runtime, size_t count, size_t size);
/* Like realloc: on failure NULL is returned and the old block is still there. `pointer` may be NULL. */
void *brim_resize(brim_runtime *runtime, void *pointer, size_t size);
void *brim_resize_array(brim_runtime *runtime, void *pointer, size_t count, size_t size);
void brim_release(brim_runtime *runtime, void *pointer);

/* Makes room for `needed` items of `size` bytes in *items, growing by half. *items must be a plain pointer variable passed as
 * `(void **)&pointer`, *capacity its present room. BRIM_E_MEMORY leaves both as they were. */
BRIM_CHECK static inline int brim_grow(brim_runtime *runtime, void **items, size_t *capacity, size_t needed, size_t size,
                                       brim_error *err);
int brim_grow_more(brim_runtime *runtime, void **items, size_t *capacity, size_t needed, size_t size, brim_error *err) BRIM_CHECK;

static inline int brim_grow(brim_runtime *runtime, void **items, size_t *capacity, size_t needed, size_t size, brim_error *err) {
  return needed <= *capacity ? BRIM_OK : brim_grow_more(runtime, items, capacity, needed, size, err);
}

/* A copy of `length` bytes with a NUL after. */
char *brim_copy_string(brim_runtime *runtime, const char *string, size_t length);

/* 64-byte aligned (a cache line, an AVX-512 register), not zeroed; released with brim_release_aligned only. */
void *brim_alloc_aligned(brim_runtime *runtime, size_t size);
void brim_release_aligned(brim_runtime *runtime, void *pointer);

#endif
