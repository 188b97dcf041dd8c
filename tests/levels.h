/* levels.h: on which kernels and with how many threads a test runs that sweeps over them.
 *
 * BRIM_TEST_LEVELS is "all", or some of "ref" (the reference), "plain", "avx2", "avx512", "amx" (emulated where the processor has
 * none) and "best" (the processor's), like "plain,best". Without it: the reference, the best and AMX; under address sanitizers
 * plain instead of the reference, which single operations are compared with anyway; under the thread sanitizer the best, since
 * threads share the same at all of them. */
#ifndef BRIM_TESTS_LEVELS_H
#define BRIM_TESTS_LEVELS_H
#include "base/runtime.h"
#include "tap.h"

enum { LEVEL_REF = -1, LEVEL_END = BRIM_CPU_AMX + 1 };

static const char *levels_asked(void) {
  const char *asked = getenv("BRIM_TEST_LEVELS");
  if (asked && *asked)
    return asked;
#if defined(__SANITIZE_THREAD__)
  return "best";
#else
  return TAP_SANITIZED ? "plain,best,amx" : "ref,best,amx";
#endif
}

/* `name` is a word of the list, or the list is "all". */
static bool levels_have(const char *name) {
  const char *list = levels_asked();
  const size_t length = strlen(name);
  for (const char *at = strcmp(list, "all") == 0 ? NULL : list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == 0))
      return true;
  return strcmp(list, "all") == 0;
}

/* The processor's, or what BRIM_CPU lowers it to. */
static int level_best(void) {
  const char *lowered = getenv("BRIM_CPU");
  const int best = (int)brim_cpu_detect();
  for (int level = BRIM_CPU_PLAIN; lowered && level < best; level++)
    if (strcmp(lowered, brim_cpu_name((brim_cpu_level)level)) == 0)
      return level;
  return best;
}

/* The first of those that run after `level`: for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)). */
__attribute__((unused)) static int level_after(int level) {
  const int best = level_best();
  while (++level <= best)
    if (levels_have(level < 0 ? "ref" : brim_cpu_name((brim_cpu_level)level)) || (level == best && levels_have("best")))
      return level;
  return LEVEL_END;
}

/* AMX's kernels run, if only in C: sanitizers see what tiles read and write there. */
__attribute__((unused)) static bool level_is_emulated(void) {
  return brim_cpu_detect() >= BRIM_CPU_AVX512 && levels_have("amx");
}

/* All counts of threads; under a sanitizer one of two and three, by the seed. */
__attribute__((unused)) static bool threads_taken(int threads) {
  return tap_takes_all() || threads == 2 + (int)(tap_draw("threads", 0) % 2);
}

#endif
