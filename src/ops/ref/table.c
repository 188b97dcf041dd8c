/* table.c: the reference table. */
#include "ops/ref/ref.h"

/* Attention keeps three rows of scores. */
static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  (void)c;
  return 3 * (size_t)limits->max_length * sizeof(real);
}

static const brim_ops table = {
    .name = "ref",
    .workspace = workspace,
    .embed_forward = REF(embed_forward),
    .embed_backward = REF(embed_backward),
    .linear_forward = REF(linear_forward),
    .linear_act_forward = REF(linear_act_forward),
    .linear_residual_norm_forward = REF(linear_residual_norm_forward),
    .linear_backward = REF(linear_backward),
    .linear_act_backward = REF(linear_act_backward),
    .norm_forward = REF(norm_forward),
    .act_backward = REF(act_backward),
    .norm_backward = REF(norm_backward),
    .attention_forward = REF(attention_forward),
    .attention_backward = REF(attention_backward),
    .gather_rows = REF(gather_rows),
    .scatter_rows = REF(scatter_rows),
    .pool_forward = REF(pool_forward),
    .pool_backward = REF(pool_backward),
    .dropout = REF(dropout),
    .loss = REF(loss),
    .add = REF(add),
    .zero = REF(zero),
    .narrow = REF(narrow),
    .widen = REF(widen),
    .gradient_square = REF(gradient_square),
    .adamw = REF(adamw),
    .catch_up = REF(catch_up),
};

const brim_ops *brim_ops_ref(void) {
  return &table;
}
