/* A table that times another one has all of its operations, each counted under one name. */
#include "base/runtime.h"
#include "brim/profile.h"
#include "ops/ops.h"
#include "tap.h"

typedef void (*entry)(void);
enum { ENTRIES = (sizeof(brim_ops) - sizeof(const char *)) / sizeof(entry) };

int main(void) {
  brim_runtime *runtime;
  brim_profile *profile;
  brim_ops timed;
  if (brim_runtime_new(&(brim_runtime_options){.threads = 2}, &runtime, NULL) || brim_profile_new(runtime, &profile, NULL))
    return 99;
  brim_ops_context c = {.runtime = runtime};
  const brim_ops *inner = brim_ops_cpu(brim_runtime_cpu(runtime));
  brim_ops_profile(&c, profile, inner, &timed);
  ok(strcmp(timed.name, inner->name) == 0, "it has the name of what it times, which checkpoints record");
  entry own[ENTRIES], theirs[ENTRIES];
  memcpy(own, (const char *)&timed + offsetof(brim_ops, workspace), sizeof own);
  memcpy(theirs, (const char *)inner + offsetof(brim_ops, workspace), sizeof theirs);
  int untimed = 0;
  for (int i = 2; i < ENTRIES; i++) /* but `workspace` and `int8_size`, which do no work */
    untimed += !own[i] || own[i] == theirs[i];
  ok_int(untimed, 0, "every operation is timed: a new one needs its place in ops/profile.c");
  float x[48], w[48], y[9] = {0}, want[9] = {0};
  for (int i = 0; i < 48; i++)
    x[i] = (float)i / 7, w[i] = 1 - (float)i / 9;
  c.workspace_size = timed.workspace(
      &c, &(brim_ops_limits){.max_slots = 3, .max_sequences = 1, .max_length = 3, .hidden = 16, .intermediate = 16, .heads = 1});
  c.workspace = aligned_alloc(64, (c.workspace_size + 63) / 64 * 64);
  inner->linear_forward(&c, 3, 16, 3, x, 16, w, NULL, want, 3);
  timed.linear_forward(&c, 3, 16, 3, x, 16, w, NULL, y, 3);
  ok(memcmp(y, want, sizeof y) == 0, "the bits are the same");
  const brim_profile_row *row = brim_profile_row_at(profile, 0);
  ok(brim_profile_row_count(profile) == 1 && row->calls == 1 && row->work == BRIM_WORK_PRODUCT, "a product is counted");
  ok_int((int)row->flops, 2 * 3 * 16 * 3, "with its operations");
  timed.act_backward(&c, 9, BRIM_ACT_GELU, y, want, want);
  row = brim_profile_row_at(profile, 1);
  ok(brim_profile_row_count(profile) == 2 && row->calls == 1 && row->work == BRIM_WORK_ELEMENTWISE,
     "an activation's gradient is counted among its own kind");
  free(c.workspace);
  brim_profile_free(profile);
  brim_runtime_free(runtime);
  return tap_done();
}
