/* sort.h: sorting that needs no memory, and so cannot fail. */
#ifndef BRIM_BASE_SORT_H
#define BRIM_BASE_SORT_H
#include <stdbool.h>
#include <stddef.h>

/* Whether `a` must come after `b`. */
typedef bool (*brim_after_fn)(const void *a, const void *b, const void *context);

/* A heap sort of `count` items of `size` bytes. Items of which neither must come after the other come in some order, always the
 * same. */
void brim_sort(void *items, size_t count, size_t size, brim_after_fn after, const void *context);

#endif
