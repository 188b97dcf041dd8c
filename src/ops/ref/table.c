/* table.c: the reference table. */
#include "ops/ref/ref.h"

/* Attention keeps three rows of scores, products of bytes one wide row and the bytes of one. */
static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  const size_t scores = 3 * (size_t)limits->max_length * sizeof(real);
  const size_t wide = (size_t)limits->intermediate, most = limits->hidden > limits->intermediate ? (size_t)limits->hidden : wide;
  const size_t bytes = limits->int8 ? wide * sizeof(real) + most : 0;
  (void)c;
  return scores > bytes ? scores : bytes;
}

static const brim_ops table = {
    .name = "ref",
    .workspace = workspace,
    .int8_size = REF(int8_size),
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
    .int8_pack = REF(int8_pack),
    .int8_forward = REF(int8_forward),
    .int8_norm_forward = REF(int8_norm_forward),
    .int8_feed_forward = REF(int8_feed_forward),
    .gradient_square = REF(gradient_square),
    .adamw = REF(adamw),
    .catch_up = REF(catch_up),
};

const brim_ops *brim_ops_ref(void) {
  return &table;
}
