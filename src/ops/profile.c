/* profile.c: operations that are timed. */
#include "brim/profile.h"
#include "ops/ops.h"

static double flops(const brim_ops_context *c) {
  return c->stats.gemm_flops + c->stats.attention_flops;
}

#define TIMED(name, operands, feature, work, label)                                                                              \
  static void name(brim_ops_context *c, const operands *op) {                                                                    \
    const double before = flops(c);                                                                                              \
    brim_profile_begin(c->profile, BRIM_WORK_##work, label);                                                                     \
    c->inner->name(c, op);                                                                                                       \
    brim_profile_end(c->profile, flops(c) - before);                                                                             \
  }
BRIM_OPS_LIST(TIMED)

#define SET(name, ...)                                                                                                           \
  if (inner->name)                                                                                                               \
    timed->name = name;

void brim_ops_profile(brim_ops_context *c, struct brim_profile *profile, const brim_ops *inner, brim_ops *timed) {
  c->profile = profile;
  c->inner = inner;
  *timed = *inner;
  BRIM_OPS_LIST(SET)
}
