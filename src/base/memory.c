#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include <string.h>

/* The hook promises 16 bytes of alignment; an aligned block keeps the hook's own pointer in front of it. */
#define ALIGNED 64

void *brim_alloc(brim_runtime *runtime, size_t size) {
  return runtime->allocator.allocate(runtime->allocator.context, size ? size : 1);
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

int brim_grow(brim_runtime *runtime, void **items, size_t *capacity, size_t needed, size_t size, brim_error *err) {
  if (needed <= *capacity)
    return BRIM_OK;
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
