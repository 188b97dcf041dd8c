/* sort.c: heap sort, for items of any kind. */
#include "base/sort.h"

#include <string.h>

typedef struct heap {
  char *items;
  size_t size;
  brim_after_fn after;
  const void *context;
} heap;

static char *item(const heap *h, size_t index) {
  return h->items + index * h->size;
}

static void swap(const heap *h, size_t a, size_t b) {
  char spare[64], *one = item(h, a), *other = item(h, b);
  for (size_t left = h->size, n; left; left -= n, one += n, other += n) {
    n = left < sizeof spare ? left : sizeof spare;
    memcpy(spare, one, n);
    memcpy(one, other, n);
    memcpy(other, spare, n);
  }
}

/* The item at `at` sinks below those that must come after it; the last of all ends on top. */
static void sink(const heap *h, size_t at, size_t count) {
  for (size_t child; (child = 2 * at + 1) < count; at = child) {
    if (child + 1 < count && h->after(item(h, child + 1), item(h, child), h->context))
      child++;
    if (!h->after(item(h, child), item(h, at), h->context))
      return;
    swap(h, at, child);
  }
}

void brim_sort(void *items, size_t count, size_t size, brim_after_fn after, const void *context) {
  const heap h = {items, size, after, context};
  for (size_t i = count / 2; i-- > 0;)
    sink(&h, i, count);
  for (size_t end = count; end-- > 1;) {
    swap(&h, 0, end);
    sink(&h, 0, end);
  }
}
