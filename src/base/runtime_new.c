/* runtime_new.c: makes a runtime of its parts (allocator, level of the processor, threads), and ends it. */
#include "base/memory.h"
#include "base/number.h"
#include "base/pool.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/stream.h"
#include <stdlib.h>
#include <string.h>

#define MOST_THREADS 1024

static void *system_allocate(void *context, size_t size) {
  (void)context;
  return malloc(size);
}

static void *system_resize(void *context, void *pointer, size_t size) {
  (void)context;
  return realloc(pointer, size);
}

static void system_release(void *context, void *pointer) {
  (void)context;
  free(pointer);
}

static bool level_of(const char *name, brim_cpu_level *level) {
  for (int i = BRIM_CPU_PLAIN; i <= BRIM_CPU_AMX; i++)
    if (strcmp(name, brim_cpu_name((brim_cpu_level)i)) == 0) {
      *level = (brim_cpu_level)i;
      return true;
    }
  return false;
}

/* An explicit choice must be possible; the environment only ever lowers the automatic one. */
static int choose_cpu(const char *wanted, brim_cpu_level *level, brim_error *err) {
  brim_cpu_level best = brim_cpu_detect(), named;
  *level = best;
  if (!wanted || strcmp(wanted, "auto") == 0) {
    const char *environment = getenv("BRIM_CPU");
    if (!environment || !*environment || strcmp(environment, "auto") == 0)
      return BRIM_OK;
    if (!level_of(environment, &named))
      return brim_error_set(err, BRIM_E_USAGE, "the environment's BRIM_CPU is \"%s\": use plain, avx2, avx512 or amx",
                            environment);
    if (named < best)
      *level = named;
    return BRIM_OK;
  }
  if (!level_of(wanted, &named))
    return brim_error_set(err, BRIM_E_USAGE, "there is no CPU level \"%s\": use auto, plain, avx2, avx512 or amx", wanted);
  if (named > best)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "this machine has no %s: its best level is %s", wanted, brim_cpu_name(best));
  *level = named;
  return BRIM_OK;
}

/* 0: BRIM_THREADS of the environment, or else all cores. */
static int choose_threads(int wanted, int *threads, brim_error *err) {
  const char *environment = wanted ? NULL : getenv("BRIM_THREADS");
  int64_t named = 0;
  *threads = wanted ? wanted : brim_cores_allowed();
  if (!environment || !*environment)
    return BRIM_OK;
  if (!brim_number_integer(environment, strlen(environment), &named) || named < 0 || named > MOST_THREADS)
    return brim_error_set(err, BRIM_E_USAGE, "the environment's BRIM_THREADS is \"%s\": use 1 to %d, or 0 for all cores",
                          environment, MOST_THREADS);
  if (named > 0)
    *threads = (int)named;
  return BRIM_OK;
}

int brim_runtime_new(const brim_runtime_options *options, brim_runtime **out, brim_error *err) {
  BRIM_OUT(err, out);
  static const brim_runtime_options defaults = {0};
  static const brim_allocator system = {system_allocate, system_resize, system_release, NULL};
  if (!options)
    options = &defaults;
  if (options->threads < 0 || options->threads > MOST_THREADS)
    return brim_error_set(err, BRIM_E_USAGE, "%d threads are not possible: use 1 to %d, or 0 for all cores", options->threads,
                          MOST_THREADS);
  brim_cpu_level cpu;
  int threads;
  BRIM_TRY(choose_cpu(options->cpu, &cpu, err));
  BRIM_TRY(choose_threads(options->threads, &threads, err));
  const brim_allocator *allocator = options->allocator ? options->allocator : &system;
  brim_runtime *runtime = allocator->allocate(allocator->context, sizeof *runtime);
  if (!runtime)
    return BRIM_NOMEM(err);
  *runtime = (brim_runtime){.allocator = *allocator, .cpu = cpu, .log = options->log, .log_context = options->log_context};
  for (int level = BRIM_CPU_PLAIN; level <= (int)brim_cpu_detect(); level++)
    runtime->dot_bytes[level] = brim_cpu_dots_bytes((brim_cpu_level)level);
  runtime->bf16 = brim_cpu_bf16(cpu);
  runtime->threads = threads;
  if (runtime->threads > MOST_THREADS)
    runtime->threads = MOST_THREADS;
  atomic_init(&runtime->cancelled, false);
  int status = brim_pool_new(runtime, runtime->threads, &runtime->pool, err);
  if (status != BRIM_OK) {
    brim_release(runtime, runtime);
    return status;
  }
  pthread_mutex_init(&runtime->keeping, NULL);
  *out = runtime;
  return BRIM_OK;
}

void brim_runtime_free(brim_runtime *runtime) {
  if (!runtime)
    return;
  brim_streams_give_up(runtime, NULL);
  pthread_mutex_destroy(&runtime->keeping);
  brim_pool_free(runtime->pool);
  brim_allocator allocator = runtime->allocator;
  allocator.release(allocator.context, runtime);
}

void brim_runtime_forked(brim_runtime *runtime) {
  runtime->threads = 1;
  pthread_mutex_init(&runtime->keeping, NULL);
  brim_pool_forked(runtime->pool);
}
