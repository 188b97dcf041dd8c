/* clock.h: seconds that never go back. Times are reported, and decide how long somebody waits, never what is computed. */
#ifndef BRIM_BASE_CLOCK_H
#define BRIM_BASE_CLOCK_H
#include <stdint.h>
#include <time.h>

static inline double brim_clock_seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline double brim_seconds_now(void) {
  return brim_clock_seconds(CLOCK_MONOTONIC);
}

/* When so many seconds are over, for a condition that waits by CLOCK_MONOTONIC. */
static inline struct timespec brim_time_after(double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  const int64_t nanoseconds = until.tv_nsec + (int64_t)(1e9 * seconds);
  until.tv_sec += nanoseconds / 1000000000, until.tv_nsec = nanoseconds % 1000000000;
  return until;
}

#endif
