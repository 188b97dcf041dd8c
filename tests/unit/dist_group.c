/* What ranks agree on: all of them go on, or fail, or are cancelled, together. */
#include "dist/group.h"

#include "tap.h"

/* Two ranks: what one brings to a sum, and the other does. */
typedef struct pair {
  int other;
} pair;

static int sum(void *context, double *values, int64_t count, brim_error *err) {
  const pair *p = context;
  (void)err;
  if (count != 2)
    abort();
  values[0] += p->other && p->other != BRIM_E_CANCELLED;
  values[1] += p->other == BRIM_E_CANCELLED;
  return BRIM_OK;
}

static int agreed(int own, int other) {
  pair p = {other};
  const brim_group group = {.world_size = 2, .sum_double = sum, .context = &p};
  brim_error err;
  return brim_group_agree(&group, own, &err);
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
  ok_int(alike, count * count, "two ranks go on, fail or are cancelled together");
  ok_int(agreed(BRIM_OK, BRIM_OK), BRIM_OK, "nothing happened");
  ok_int(agreed(BRIM_OK, BRIM_E_CANCELLED), BRIM_E_CANCELLED, "the other was cancelled");
  ok_int(agreed(BRIM_OK, BRIM_E_MEMORY), BRIM_E_IO, "the other failed");
  ok_int(agreed(BRIM_E_CANCELLED, BRIM_E_MEMORY), BRIM_E_IO, "the other failed while this one was cancelled");
  return tap_done();
}
