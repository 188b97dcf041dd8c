/* What ranks agree on: all of them continue, or fail, or are cancelled, together. */
#include "dist/group.h"

#include "tap.h"
#include <pthread.h>

/* Two ranks that are two threads: what they tell each other is theirs, the test only adds it up. */
typedef struct meeting {
  pthread_barrier_t both;
  double told[2][16];
  int64_t counts[2];
} meeting;

typedef struct rank {
  meeting *at;
  int number, own, agreed;
} rank;

static int sum(void *context, double *values, int64_t count, brim_error *err) {
  const rank *r = context;
  meeting *m = r->at;
  (void)err;
  if (count < 1 || count > 16)
    abort();
  memcpy(m->told[r->number], values, (size_t)count * sizeof *values);
  m->counts[r->number] = count;
  pthread_barrier_wait(&m->both);
  if (m->counts[0] != m->counts[1])
    abort();
  for (int64_t i = 0; i < count; i++)
    values[i] = m->told[0][i] + m->told[1][i];
  pthread_barrier_wait(&m->both);
  return BRIM_OK;
}

static void *agree(void *context) {
  rank *r = context;
  const brim_group group = {.rank = r->number, .world_size = 2, .sum_double = sum, .context = r};
  brim_error err = {0};
  r->agreed = brim_group_agree(&group, r->own, &err);
  return NULL;
}

/* What the first rank returns when the two bring these. */
static int agreed(int own, int other) {
  meeting m;
  rank ranks[2] = {{&m, 0, own, 0}, {&m, 1, other, 0}};
  pthread_t thread;
  pthread_barrier_init(&m.both, NULL, 2);
  if (pthread_create(&thread, NULL, agree, &ranks[1]))
    abort();
  agree(&ranks[0]);
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&m.both);
  return ranks[0].agreed;
}

int main(void) {
  static const int all[] = {BRIM_OK, BRIM_E_CANCELLED, BRIM_E_MEMORY, BRIM_E_DIVERGED};
  const int count = sizeof all / sizeof *all;
  int kept = 0, alike = 0;
  for (int i = 0; i < count; i++)
    for (int k = 0; k < count; k++) {
      const int one = agreed(all[i], all[k]), two = agreed(all[k], all[i]);
      kept += all[i] == BRIM_OK || all[i] == BRIM_E_CANCELLED || one == all[i];
      alike += (one == BRIM_OK) == (two == BRIM_OK) && (one == BRIM_E_CANCELLED) == (two == BRIM_E_CANCELLED);
    }
  ok_int(kept, count * count, "a rank that failed keeps its status");
  ok_int(alike, count * count, "two ranks continue, fail or are cancelled together");
  ok_int(agreed(BRIM_OK, BRIM_OK), BRIM_OK, "nothing happened");
  ok_int(agreed(BRIM_OK, BRIM_E_CANCELLED), BRIM_E_CANCELLED, "the other was cancelled");
  ok_int(agreed(BRIM_OK, BRIM_E_MEMORY), BRIM_E_IO, "the other failed");
  ok_int(agreed(BRIM_E_CANCELLED, BRIM_E_MEMORY), BRIM_E_IO, "the other failed while this one was cancelled");
  return tap_done();
}
