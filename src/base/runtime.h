/* runtime.h: what everything else is made from. */
#ifndef BRIM_BASE_RUNTIME_H
#define BRIM_BASE_RUNTIME_H
#include "brim/base.h"
#include <stdatomic.h>

struct brim_pool;

struct brim_runtime {
  brim_allocator allocator;
  int threads;
  brim_cpu_level cpu;
  bool dot_bytes[BRIM_CPU_AVX512 + 1]; /* by level: the processor has VNNI in its vectors. Tests clear them */
  brim_log_fn log;
  void *log_context;
  atomic_bool cancelled;
  struct brim_pool *pool;
};

/* Formats a line for the log callback; nothing happens without one. Only from the thread that called brim. */
void brim_log(const brim_runtime *runtime, brim_log_level level, const char *format, ...) BRIM_PRINTF(3, 4);
/* BRIM_OK, or BRIM_E_CANCELLED once brim_runtime_cancel was called: for loops that take long. */
int brim_check_cancel(const brim_runtime *runtime, brim_error *err) BRIM_CHECK;
/* Cores this process may use (its affinity mask), at least 1. */
int brim_cores_allowed(void);
/* The best level that processor and system support, before any override. */
brim_cpu_level brim_cpu_detect(void);
/* Whether there are instructions that add four products of bytes to each lane of this level's vectors (VNNI). */
bool brim_cpu_dots_bytes(brim_cpu_level level);

#endif
