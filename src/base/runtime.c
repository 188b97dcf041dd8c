/* runtime.c: what a runtime says to those who have one; runtime_new.c makes it. */
#include "base/runtime.h"
#include "base/number.h"
#include "base/status.h"
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

const char *brim_version(void) {
  return BRIM_VERSION;
}

int brim_cores_allowed(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    int count = CPU_COUNT(&set);
    if (count > 0)
      return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

int brim_runtime_threads(const brim_runtime *runtime) {
  return runtime->threads;
}

brim_cpu_level brim_runtime_cpu(const brim_runtime *runtime) {
  return runtime->cpu;
}

void brim_runtime_cancel(brim_runtime *runtime) {
  atomic_store_explicit(&runtime->cancelled, true, memory_order_relaxed);
}

bool brim_runtime_cancelled(const brim_runtime *runtime) {
  return atomic_load_explicit(&runtime->cancelled, memory_order_relaxed);
}

void brim_runtime_resume(brim_runtime *runtime) {
  atomic_store_explicit(&runtime->cancelled, false, memory_order_relaxed);
}

int brim_check_cancel(const brim_runtime *runtime, brim_error *err) {
  return brim_runtime_cancelled(runtime) ? brim_error_cancelled(err) : BRIM_OK;
}

void brim_log(const brim_runtime *runtime, brim_log_level level, const char *format, ...) {
  if (!runtime->log)
    return;
  char line[1024];
  va_list args;
  va_start(args, format);
  brim_number_vformat(line, sizeof line, format, args);
  va_end(args);
  runtime->log(runtime->log_context, level, line);
}
