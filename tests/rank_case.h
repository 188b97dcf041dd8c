/* rank_case.h: ranks that are threads of one process. */
#ifndef BRIM_TESTS_RANK_CASE_H
#define BRIM_TESTS_RANK_CASE_H
#include <pthread.h>
#include <string.h>

#include "brim/dist.h"

enum { MOST_RANKS = 9 };

/* Sums in the order of the ranks: whoever arrives last adds up. */
typedef struct meeting {
  pthread_barrier_t barrier;
  int32_t world;
  float *floats[MOST_RANKS];
  double *doubles[MOST_RANKS];
  int64_t summed; /* floats */
} meeting;

typedef struct member {
  meeting *meeting;
  int32_t rank;
} member;

static int meeting_sum(void *context, float *values, int64_t count, brim_error *err) {
  member *m = context;
  meeting *all = m->meeting;
  (void)err;
  all->floats[m->rank] = values;
  if (pthread_barrier_wait(&all->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
    all->summed += count;
    for (int64_t i = 0; i < count; i++) {
      float sum = 0;
      for (int32_t r = 0; r < all->world; r++)
        sum += all->floats[r][i];
      for (int32_t r = 0; r < all->world; r++)
        all->floats[r][i] = sum;
    }
  }
  pthread_barrier_wait(&all->barrier);
  return BRIM_OK;
}

static int meeting_sum_double(void *context, double *values, int64_t count, brim_error *err) {
  member *m = context;
  meeting *all = m->meeting;
  (void)err;
  all->doubles[m->rank] = values;
  if (pthread_barrier_wait(&all->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
    for (int64_t i = 0; i < count; i++) {
      double sum = 0;
      for (int32_t r = 0; r < all->world; r++)
        sum += all->doubles[r][i];
      for (int32_t r = 0; r < all->world; r++)
        all->doubles[r][i] = sum;
    }
  pthread_barrier_wait(&all->barrier);
  return BRIM_OK;
}

/* What a rank sends to all others counts as one sum would that takes as long: where there are two, as what one of them has. */
static int meeting_gather(void *context, float *values, const int64_t *counts, brim_error *err) {
  member *m = context;
  meeting *all = m->meeting;
  int64_t most = 0;
  (void)err;
  all->floats[m->rank] = values;
  pthread_barrier_wait(&all->barrier);
  for (int32_t r = 0; r < all->world; r++) {
    const int64_t at = values - all->floats[m->rank];
    if (r != m->rank)
      memcpy(values, all->floats[r] + at, (size_t)counts[r] * sizeof *values);
    most = counts[r] > most ? counts[r] : most;
    values += counts[r];
  }
  if (pthread_barrier_wait(&all->barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
    all->summed += most * all->world / 2;
  return BRIM_OK;
}

static brim_group meeting_group(member *m) {
  return (brim_group){.rank = m->rank,
                      .world_size = m->meeting->world,
                      .sum = meeting_sum,
                      .sum_double = meeting_sum_double,
                      .context = m,
                      .gather_values = meeting_gather};
}

#endif
