/* table.c: the table of one level. */
#include "ops/cpu/product.h"
#include "ops/ref/ref.h"

static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  const int threads = brim_runtime_threads(c->runtime);
  const size_t needs[] = {CPU(product_workspace)(threads), CPU(linear_backward_workspace)(threads, limits),
                          CPU(norm_workspace)(limits),     CPU(attention_workspace)(threads, limits),
                          CPU(update_workspace)(),         CPU(int8_workspace)(threads, limits)};
  size_t most = 0;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    most = needs[i] > most ? needs[i] : most;
  return most;
}

static const brim_ops table = {
#if BRIM_LEVEL == 2
    .name = "cpu-avx512",
#elif BRIM_LEVEL == 1
    .name = "cpu-avx2",
#else
    .name = "cpu-plain",
#endif
    .workspace = workspace,
    .int8_size = CPU(int8_size),
    .embed_forward = CPU(embed_forward),
    .embed_backward = CPU(embed_backward),
    .linear_forward = CPU(linear_forward),
    .linear_act_forward = CPU(linear_act_forward),
    .linear_residual_norm_forward = CPU(linear_residual_norm_forward),
    .linear_backward = CPU(linear_backward),
    .linear_act_backward = CPU(linear_act_backward),
    .norm_forward = CPU(norm_forward),
    .act_backward = CPU(act_backward),
    .norm_backward = CPU(norm_backward),
    .attention_forward = CPU(attention_forward),
    .attention_backward = CPU(attention_backward),
    .gather_rows = CPU(gather_rows),
    .scatter_rows = CPU(scatter_rows),
    .pool_forward = CPU(pool_forward),
    .pool_backward = CPU(pool_backward),
    .dropout = CPU(dropout),
    .loss = REF(loss), /* a row a sequence: the reference serves */
    .add = CPU(add),
    .zero = CPU(zero),
    .narrow = CPU(narrow),
    .widen = CPU(widen),
    .int8_pack = CPU(int8_pack),
    .int8_forward = CPU(int8_forward),
    .int8_norm_forward = CPU(int8_norm_forward),
    .int8_feed_forward = CPU(int8_feed_forward),
    .gradient_square = CPU(gradient_square),
    .adamw = CPU(adamw),
    .catch_up = CPU(catch_up),
};

const brim_ops *CPU(table)(void) {
  return &table;
}
