/* tap.h: a small TAP producer. A test program calls ok()/check macros and ends with `return tap_done();`. */
#ifndef BRIM_TESTS_TAP_H
#define BRIM_TESTS_TAP_H
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Sanitizers look for errors of memory and threads, which hang on shapes and not on numbers, and are slow: under them a sweep
 * over many cases alike takes one of so many neighbours (tap_takes). Without them all run. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
enum { TAP_SANITIZED = true, TAP_ONE_IN = 16 };
#elif defined(__SANITIZE_ADDRESS__)
enum { TAP_SANITIZED = true, TAP_ONE_IN = 4 };
#elif defined(TAP_THIN) /* programs that run again on another device */
enum { TAP_SANITIZED = false, TAP_ONE_IN = 4 };
#else
enum { TAP_SANITIZED = false, TAP_ONE_IN = 1 };
#endif

static int tap_count, tap_failed;

__attribute__((format(printf, 4, 5), unused)) static bool tap_ok(bool pass, const char *file, int line, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tap_count++;
  printf("%s %d - ", pass ? "ok" : "not ok", tap_count);
  char name[1024];
  vsnprintf(name, sizeof name, format, args);
  for (char *c = name; *c; c++)
    putchar(*c == '\n' || *c == '\r' ? ' ' : *c); // a name is a line of TAP
  printf("\n");
  va_end(args);
  if (!pass) {
    tap_failed++;
    printf("# failed at %s:%d\n", file, line);
  }
  fflush(stdout);
  return pass;
}

/* ok(condition, "what %d", ...): one test point. */
#define ok(condition, ...) tap_ok((condition), __FILE__, __LINE__, __VA_ARGS__)
#define ok_int(got, want, name)                                                                                                  \
  do {                                                                                                                           \
    long long tap_g = (long long)(got), tap_w = (long long)(want);                                                               \
    if (!tap_ok(tap_g == tap_w, __FILE__, __LINE__, "%s", name))                                                                 \
      printf("# got %lld, want %lld\n", tap_g, tap_w);                                                                           \
  } while (0)
#define ok_string(got, want, name)                                                                                               \
  do {                                                                                                                           \
    const char *tap_g = (got), *tap_w = (want);                                                                                  \
    if (!tap_ok(tap_g && strcmp(tap_g, tap_w) == 0, __FILE__, __LINE__, "%s", name))                                             \
      printf("# got \"%s\", want \"%s\"\n", tap_g ? tap_g : "(null)", tap_w);                                                    \
  } while (0)
#define ok_near(got, want, tolerance, name)                                                                                      \
  do {                                                                                                                           \
    double tap_g = (got), tap_w = (want);                                                                                        \
    if (!tap_ok(fabs(tap_g - tap_w) <= (tolerance), __FILE__, __LINE__, "%s", name))                                             \
      printf("# got %.17g, want %.17g\n", tap_g, tap_w);                                                                         \
  } while (0)

/* A test point that cannot run here, said loudly. */
__attribute__((unused)) static void tap_skip(const char *name, const char *why) {
  tap_count++;
  printf("ok %d - %s # SKIP %s\n", tap_count, name, why);
  fprintf(stderr, "SKIPPED: %s: %s\n", name, why);
}

/* ---- which cases run ---- */

/* The same in every run, so that a change is judged by the cases of the last one; TAP_SEED=N takes others, TAP_SEED=random draws
 * N (tools/test_everything). */
__attribute__((unused)) static uint64_t tap_seed(void) {
  static uint64_t seed;
  static bool drawn;
  if (drawn)
    return seed;
  const char *given = getenv("TAP_SEED");
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  seed = !given || !*given              ? 1
         : strcmp(given, "random") != 0 ? strtoull(given, NULL, 10)
                                        : ((uint64_t)now.tv_nsec / 1000 * 32768 + (uint64_t)getpid() % 32768) % 1000000007;
  drawn = true;
  printf("# seed %llu: TAP_SEED=%llu repeats it\n", (unsigned long long)seed, (unsigned long long)seed);
  return seed;
}

__attribute__((unused)) static bool tap_asks_all(void) {
  const char *all = getenv("TAP_ALL");
  return all && strcmp(all, "1") == 0;
}

/* TAP_ALL=1: sanitizers and other devices see every case. */
__attribute__((unused)) static bool tap_takes_all(void) {
  return TAP_ONE_IN == 1 || tap_asks_all();
}

/* By the seed, a number for a name (FNV-1a) and a place. */
__attribute__((unused)) static uint64_t tap_draw(const char *name, uint64_t at) {
  uint64_t hash = 1469598103934665603ull ^ (tap_seed() * 0x9e3779b97f4a7c15ull) ^ (at * 0xc2b2ae3d27d4eb4full);
  for (; *name; name++)
    hash = (hash ^ (unsigned char)*name) * 1099511628211ull;
  hash = (hash ^ hash >> 32) * 0xd6e8feb86659fd93ull;
  return hash ^ hash >> 29;
}

/* Whether a sweep's case `index` runs, of each `many` neighbours one; of few cases one should be left under any sanitizer. */
__attribute__((unused)) static bool tap_takes_of(const char *sweep, uint64_t index, uint64_t many) {
  return tap_takes_all() || index % many == tap_draw(sweep, index / many) % many;
}

/* The same of each TAP_ONE_IN neighbours. */
__attribute__((unused)) static bool tap_takes(const char *sweep, uint64_t index) {
  return tap_takes_of(sweep, index, TAP_ONE_IN);
}

/* Whether the case of this name runs: about one in TAP_ONE_IN. */
__attribute__((unused)) static bool tap_takes_named(const char *name) {
  return tap_takes_all() || tap_draw(name, 0) % TAP_ONE_IN == 0;
}

/* The root of the source tree. */
__attribute__((unused)) static const char *tap_source(void) {
  const char *root = getenv("BRIM_SOURCE");
  return root && *root ? root : ".";
}

/* DIR of `--data DIR`, or NULL: data that may not be in the repository (`make test-data DATA=DIR`). */
__attribute__((unused)) static const char *tap_data(int argc, char **argv) {
  return argc == 3 && strcmp(argv[1], "--data") == 0 ? argv[2] : NULL;
}

__attribute__((unused)) static int tap_done(void) {
  printf("1..%d\n", tap_count);
  return tap_failed ? 1 : 0;
}
#endif
