/* fault.h: makes the n-th allocation fail, for n = 1, 2, ... until the work under test gets all it asks for.
 *
 * Each time the work must return BRIM_E_MEMORY with a message, and no block may be left when its runtime is gone. Every n is
 * tried twice: that allocation alone fails, and all from it on. The hook may be called from several threads. */
#ifndef BRIM_TESTS_FAULT_H
#define BRIM_TESTS_FAULT_H
#include "brim/base.h"
#include "tap.h"
#include <stdatomic.h>

typedef struct fault_memory {
  atomic_long left; /* allocations until the one that fails; negative: never */
  atomic_long live, failures;
  bool stays; /* and all after it */
} fault_memory;

static bool fault_strikes(fault_memory *memory) {
  if (atomic_load(&memory->left) < 0)
    return false;
  long left = atomic_fetch_sub(&memory->left, 1);
  bool strike = left == 0 || (left < 0 && memory->stays);
  if (left <= 0)
    atomic_store(&memory->left, memory->stays ? 0 : -1);
  atomic_fetch_add(&memory->failures, strike);
  return strike;
}

static void *fault_allocate(void *context, size_t size) {
  fault_memory *memory = context;
  void *p = fault_strikes(memory) ? NULL : malloc(size);
  atomic_fetch_add(&memory->live, p != NULL);
  return p;
}

static void *fault_resize(void *context, void *pointer, size_t size) {
  fault_memory *memory = context;
  void *p = fault_strikes(memory) ? NULL : realloc(pointer, size);
  atomic_fetch_add(&memory->live, p && !pointer);
  return p;
}

static void fault_release(void *context, void *pointer) {
  fault_memory *memory = context;
  atomic_fetch_sub(&memory->live, pointer != NULL);
  free(pointer);
}

/* The work under test: makes, uses and frees what it wants. Anything but BRIM_OK is what a failed allocation led to. */
typedef int (*fault_work)(brim_runtime *runtime, void *context, brim_error *err);
/* Called after each failed try; false says that something half-done was left behind. May be NULL. */
typedef bool (*fault_clean)(void *context);

/* One try; true when it ended as it should. *failed tells whether an allocation failed at all. */
static bool fault_try(const char *name, int threads, long n, bool stays, fault_work work, fault_clean clean, void *context,
                      bool *failed) {
  fault_memory memory = {.stays = stays};
  brim_allocator allocator = {fault_allocate, fault_resize, fault_release, &memory};
  brim_runtime_options options = {.threads = threads, .allocator = &allocator};
  brim_runtime *runtime;
  brim_error err = {0};
  atomic_init(&memory.left, -1);
  if (brim_runtime_new(&options, &runtime, &err) != BRIM_OK)
    return false;
  atomic_store(&memory.left, n - 1);
  int status = work(runtime, context, &err);
  atomic_store(&memory.left, -1);
  brim_runtime_free(runtime);
  *failed = atomic_load(&memory.failures) > 0;
  long live = atomic_load(&memory.live);
  int want = *failed ? BRIM_E_MEMORY : BRIM_OK;
  bool tidy = !*failed || !clean || clean(context);
  if (status == want && live == 0 && tidy && (status == BRIM_OK || *err.message))
    return true;
  printf("# %s: allocation %ld%s: status %d (\"%s\"), %ld blocks left%s\n", name, n, stays ? " and all after it" : "", status,
         err.message, live, tidy ? "" : ", not clean");
  return false;
}

/* One test point for all n. `clean` and `context` may be NULL. */
__attribute__((unused)) static void fault_check(const char *name, int threads, fault_work work, fault_clean clean,
                                                void *context) {
  long n = 0;
  bool good = true;
  for (bool failed = true; failed && good;) {
    n++;
    good = fault_try(name, threads, n, false, work, clean, context, &failed);
    bool again = false;
    if (failed && good)
      good = fault_try(name, threads, n, true, work, clean, context, &again);
  }
  ok(good, "%s: each of %ld allocations may fail", name, n - 1);
}

#endif
