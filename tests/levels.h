/* levels.h: on which kernels and with how many threads a test runs that sweeps over them.
 *
 * BRIM_TEST_LEVELS is "all", or some of "ref" (the reference), "plain", "avx2", "avx512", "amx" (emulated where the processor has
 * none) and "best" (the processor's), like "plain,best". Without it: the reference, the best and AMX; under address sanitizers
 * plain instead of the reference, which single operations are compared with anyway; under the thread sanitizer the best and AMX,
 * since threads share the same at all the others. */
#ifndef BRIM_TESTS_LEVELS_H
#define BRIM_TESTS_LEVELS_H
#include "base/runtime.h"
#include "tap.h"

enum { LEVEL_REF = -1, LEVEL_END = BRIM_CPU_AMX + 1 };

static bool level_is_word(const char *word, size_t length) {
  static const char *const others[] = {"ref", "best"};
  bool known = false;
  for (int i = 0; i < 2; i++)
    known = known || (strlen(others[i]) == length && memcmp(others[i], word, length) == 0);
  for (int level = BRIM_CPU_PLAIN; level < LEVEL_END; level++) {
    const char *name = brim_cpu_name((brim_cpu_level)level);
    known = known || (strlen(name) == length && memcmp(name, word, length) == 0);
  }
  return known;
}

/* A word that means nothing would be a test that runs nothing. */
static const char *levels_given(void) {
  const char *given = getenv("BRIM_TEST_LEVELS");
  if (!given || !*given)
    return NULL;
  for (const char *at = given; at && strcmp(given, "all") != 0; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
    if (!level_is_word(at, strcspn(at, ","))) {
      printf("Bail out! BRIM_TEST_LEVELS is \"%s\": all, or some of ref, plain, avx2, avx512, amx, best\n", given);
      exit(99);
    }
  return given;
}

static const char *levels_asked(void) {
  const char *given = levels_given();
  if (given)
    return given;
#if defined(__SANITIZE_THREAD__)
  return "best,amx";
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

/* The reference is slow, and every other level runs a sweep's cases too: of each `many` neighbours it takes one, by the seed.
 * TAP_ALL=1: all. */
__attribute__((unused)) static bool level_takes(int level, const char *sweep, uint64_t index, uint64_t many) {
  return level != LEVEL_REF || tap_asks_all() || index % many == tap_draw(sweep, 0) % many;
}

/* All counts of threads with the best kernels, and one and three with others; under a sanitizer one of two and three, by the
 * seed. TAP_ALL=1: all. */
__attribute__((unused)) static bool threads_taken(int level, int threads) {
  if (!tap_takes_all())
    return threads == 2 + (int)(tap_draw("threads", 0) % 2);
  return tap_asks_all() || level == level_best() || threads == 1 || threads == 3;
}

#endif
