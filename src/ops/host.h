/* host.h: the memory functions of a device whose memory is the host's and whose operations are done when they return. */
#ifndef BRIM_OPS_HOST_H
#define BRIM_OPS_HOST_H
#include <string.h>

#include "base/memory.h"
#include "ops/ops.h"

static inline int brim_host_open(brim_ops_context *c, brim_error *err) {
  (void)c, (void)err;
  return BRIM_OK;
}
static inline void brim_host_close(brim_ops_context *c) {
  (void)c;
}
static inline void *brim_host_alloc(brim_ops_context *c, size_t size, bool zeroed) {
  return zeroed ? brim_alloc_zero(c->runtime, size) : brim_alloc(c->runtime, size);
}
static inline void brim_host_release(brim_ops_context *c, void *memory) {
  brim_release(c->runtime, memory);
}
static inline void brim_host_copy(brim_ops_context *c, void *to, const void *from, size_t size) {
  (void)c;
  memcpy(to, from, size);
}
static inline void brim_host_clear(brim_ops_context *c, void *memory, size_t size) {
  (void)c;
  memset(memory, 0, size);
}
static inline int brim_host_sync(brim_ops_context *c, brim_error *err) {
  (void)c, (void)err;
  return BRIM_OK;
}

#define BRIM_HOST_DOOR                                                                                                           \
  .open = brim_host_open, .close = brim_host_close, .alloc = brim_host_alloc, .release = brim_host_release,                      \
  .write = brim_host_copy, .read = brim_host_copy, .copy = brim_host_copy, .clear = brim_host_clear, .sync = brim_host_sync
#endif
