/* runtime.h: what everything else is made from. */
#ifndef BRIM_BASE_RUNTIME_H
#define BRIM_BASE_RUNTIME_H
#include "brim/base.h"
#include <pthread.h>
#include <stdatomic.h>

struct brim_pool;
struct brim_stream;

/* How products of 16-bit values (bfloat16) are made. The first two give the same bits. */
typedef enum brim_bf16_way {
  BRIM_BF16_WIDENED = 0,   /* as products of floats, in the order of the next: any processor */
  BRIM_BF16_PAIRS,         /* vdpbf16ps on AVX-512: two products a lane */
  BRIM_BF16_TILES,         /* AMX, whose sums have another order */
  BRIM_BF16_TILES_EMULATED /* for tests: AMX's code with tiles in plain C, on AVX-512 */
} brim_bf16_way;

struct brim_runtime {
  brim_allocator allocator;
  int threads;
  brim_cpu_level cpu;
  bool dot_bytes[BRIM_CPU_AMX + 1]; /* by level: the processor has VNNI in its vectors. Tests clear them */
  brim_bf16_way bf16;               /* at BRIM_CPU_AVX512 and BRIM_CPU_AMX; at other levels values are widened. Tests change it */
  brim_log_fn log;
  void *log_context;
  atomic_bool cancelled;
  struct brim_pool *pool;
  pthread_mutex_t keeping;  /* of `kept` */
  struct brim_stream *kept; /* streams that were looked into (base/stream.h) */
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
/* The fastest way for products of 16-bit values at this level. Asks the system for AMX's registers, once a process is enough. */
brim_bf16_way brim_cpu_bf16(brim_cpu_level level);
/* What a processor is, of all that decides about it; brim_cpu_bf16 without asking the system. */
typedef struct brim_cpu_model {
  char vendor[13]; /* "GenuineIntel", "AuthenticAMD" */
  unsigned family, model, stepping;
  bool avx512_bf16, amx_tile, amx_bf16;
} brim_cpu_model;
brim_cpu_model brim_cpu_describe(void);
brim_bf16_way brim_cpu_bf16_of(const brim_cpu_model *model, bool tiles_allowed);

#endif
