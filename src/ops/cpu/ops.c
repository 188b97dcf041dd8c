/* ops.c: the operations of one level. */
#include "ops/cpu/bf16_product.h"
#include "ops/cpu/product.h"
#include "ops/cpu/split.h"
#include "ops/host.h"
#include "ops/ref/ref.h"

static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  const int threads = brim_runtime_threads(c->runtime);
  const size_t needs[] = {CPU(product_workspace)(threads),
                          CPU(linear_backward_workspace)(threads, limits),
                          CPU(norm_workspace)(threads, limits),
                          CPU(attention_workspace)(threads, limits),
                          CPU(update_workspace)(),
                          CPU(int8_workspace)(threads, limits),
                          CPU(bf16_workspace)(c, limits),
                          CPU(stream_workspace)(threads, limits),
#if SPLITS
                          CPU(split_product_workspace)(threads, limits),
                          CPU(split_weight_gradient_workspace)(threads, limits),
#endif
                          CPU(embed_workspace)(limits)};
  size_t most = 0;
  for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
    most = needs[i] > most ? needs[i] : most;
  return most;
}

/* A row a text: the reference serves. */
void CPU(loss)(brim_ops_context *c, const brim_loss *l) {
  REF(loss)(c, l);
}

/* After a state was read: once a run. */
void CPU(mark_alive)(brim_ops_context *c, const brim_update *u) {
  REF(mark_alive)(c, u);
}

#if BRIM_LEVEL == 3
#define NAME "cpu-amx"
#elif BRIM_LEVEL == 2
#define NAME "cpu-avx512"
#elif BRIM_LEVEL == 1
#define NAME "cpu-avx2"
#else
#define NAME "cpu-plain"
#endif
#define ENTRY(name, ...) .name = CPU(name),

static const brim_ops ops = {.name = NAME,
                             .features = BRIM_FEATURE_INT8 | BRIM_FEATURE_LATE_ROWS | BRIM_FEATURE_BF16 |
                                         BRIM_FEATURE_HOST_MEMORY | BRIM_FEATURE_DISTANCES | BRIM_FEATURE_RULES |
                                         BRIM_FEATURE_VOCABULARY | BRIM_FEATURE_POOLING | BRIM_FEATURE_LAYERS,
                             .workspace = workspace,
                             .int8_size = CPU(int8_size),
                             .squares = CPU(squares),
                             .square_of = CPU(square_of),
                             BRIM_HOST_DOOR,
                             BRIM_OPS_LIST(ENTRY)};

const brim_ops *CPU(ops)(void) {
  return &ops;
}
