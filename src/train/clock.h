/* clock.h: seconds that never go back. Times are told, they never decide anything. */
#ifndef BRIM_TRAIN_CLOCK_H
#define BRIM_TRAIN_CLOCK_H
#include <time.h>

static inline double brim_seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
