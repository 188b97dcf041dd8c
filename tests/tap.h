/* tap.h: a small TAP producer. A test program calls ok()/check macros and ends with `return tap_done();`. */
#ifndef BRIM_TESTS_TAP_H
#define BRIM_TESTS_TAP_H
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The thread sanitizer looks for races and is slow: under it, loops over many cases alike take one in so many. Without it they
 * take all. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
enum { TAP_ONE_IN = 4 };
#else
enum { TAP_ONE_IN = 1 };
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
