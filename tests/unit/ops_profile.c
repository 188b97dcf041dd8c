/* A table that times another one has all of its operations, each counted under one name. */
#include "base/runtime.h"
#include "brim/profile.h"
#include "ops/ops.h"
#include "tap.h"

#define COUNT(name, ...) +1
enum { OPERATIONS = 0 BRIM_OPS_LIST(COUNT) };

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
#define UNTIMED(name, ...) +(!timed.name || timed.name == inner->name)
  const int untimed = 0 BRIM_OPS_LIST(UNTIMED);
  ok(untimed == 0 && OPERATIONS > 25, "all of %d operations are timed", OPERATIONS);
  float x[48], w[48], y[9] = {0}, want[9] = {0};
  for (int i = 0; i < 48; i++)
    x[i] = (float)i / 7, w[i] = 1 - (float)i / 9;
  c.workspace_size = timed.workspace(
      &c, &(brim_ops_limits){.max_slots = 3, .max_sequences = 1, .max_length = 3, .hidden = 16, .intermediate = 16, .heads = 1});
  c.workspace = aligned_alloc(64, (c.workspace_size + 63) / 64 * 64);
  brim_linear product = {.rows = 3, .in = 16, .out = 3, .x = x, .x_stride = 16, .w = w, .y = want, .y_stride = 3};
  inner->linear_forward(&c, &product);
  product.y = y;
  timed.linear_forward(&c, &product);
  ok(memcmp(y, want, sizeof y) == 0, "the bits are the same");
  const brim_profile_row *row = brim_profile_row_at(profile, 0);
  ok(brim_profile_row_count(profile) == 1 && row->calls == 1 && row->work == BRIM_WORK_PRODUCT, "a product is counted");
  ok_int((int)row->flops, 2 * 3 * 16 * 3, "with its operations");
  timed.act_backward(&c, &(brim_act_gradient){.count = 9, .act = BRIM_ACT_GELU, .pre = y, .dy = want, .dpre = want});
  row = brim_profile_row_at(profile, 1);
  ok(brim_profile_row_count(profile) == 2 && row->calls == 1 && row->work == BRIM_WORK_ELEMENTWISE,
     "an activation's gradient is counted among its own kind");
  brim_ops less = *inner;
  less.int8_pack = NULL;
  brim_ops_profile(&c, profile, &less, &timed);
  ok(!timed.int8_pack && timed.int8_forward, "what a table lacks is not there with a profile either");
  free(c.workspace);
  brim_profile_free(profile);
  brim_runtime_free(runtime);
  return tap_done();
}
