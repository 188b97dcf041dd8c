#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include <string.h>
#include <sys/mman.h>

/* The hook promises 16 bytes of alignment; an aligned block keeps the hook's own pointer in front of it. */
#define ALIGNED 64

/* Weights and activations are walked from end to end, again and again: with pages of 2 MiB that takes a five-hundredth of the
 * page faults and look-ups. A hint: where the system has no such pages nothing happens. Whole pages only, so no memory is taken
 * that was not asked for. */
static void prefer_huge_pages(void *block, size_t size) {
#ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)2 << 20, from = ((uintptr_t)block + page - 1) / page * page;
  const uintptr_t to = ((uintptr_t)block + size) / page * page;
  if (size >= 4 * page && from < to)
    (void)madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
  (void)block, (void)size;
#endif
}

void *brim_alloc(brim_runtime *runtime, size_t size) {
  void *p = runtime->allocator.allocate(runtime->allocator.context, size ? size : 1);
  if (p)
    prefer_huge_pages(p, size);
  return p;
}

void *brim_alloc_zero(brim_runtime *runtime, size_t size) {
  void *p = brim_alloc(runtime, size);
  if (p)
    memset(p, 0, size);
  return p;
}

void *brim_alloc_array(brim_runtime *runtime, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : brim_alloc(runtime, bytes);
}

void *brim_alloc_array_zero(brim_runtime *runtime, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : brim_alloc_zero(runtime, bytes);
}

void *brim_resize(brim_runtime *runtime, void *pointer, size_t size) {
  return runtime->allocator.resize(runtime->allocator.context, pointer, size ? size : 1);
}

void *brim_resize_array(brim_runtime *runtime, void *pointer, size_t count, size_t size) {
  size_t bytes;
  return __builtin_mul_overflow(count, size, &bytes) ? NULL : brim_resize(runtime, pointer, bytes);
}

void brim_release(brim_runtime *runtime, void *pointer) {
  if (pointer)
    runtime->allocator.release(runtime->allocator.context, pointer);
}

void brim_runtime_release(brim_runtime *runtime, void *pointer) {
  brim_release(runtime, pointer);
}

int brim_grow_more(brim_runtime *runtime, void **items, size_t *capacity, size_t needed, size_t size, brim_error *err) {
  size_t room = *capacity + *capacity / 2;
  if (room < 16)
    room = 16;
  if (room < needed)
    room = needed;
  void *larger = brim_resize_array(runtime, *items, room, size);
  if (!larger)
    return BRIM_NOMEM(err);
  *items = larger;
  *capacity = room;
  return BRIM_OK;
}

char *brim_copy_string(brim_runtime *runtime, const char *string, size_t length) {
  if (length == SIZE_MAX)
    return NULL;
  char *copy = brim_alloc(runtime, length + 1);
  if (!copy)
    return NULL;
  if (length)
    memcpy(copy, string, length);
  copy[length] = 0;
  return copy;
}

void *brim_alloc_aligned(brim_runtime *runtime, size_t size) {
  if (size > SIZE_MAX - ALIGNED - sizeof(void *))
    return NULL;
  char *base = brim_alloc(runtime, size + ALIGNED + sizeof(void *));
  if (!base)
    return NULL;
  char *aligned = (char *)(((uintptr_t)base + sizeof(void *) + ALIGNED - 1) & ~(uintptr_t)(ALIGNED - 1));
  memcpy(aligned - sizeof(void *), &base, sizeof base);
  return aligned;
}

void brim_release_aligned(brim_runtime *runtime, void *pointer) {
  if (!pointer)
    return;
  void *base;
  memcpy(&base, (char *)pointer - sizeof(void *), sizeof base);
  brim_release(runtime, base);
}
