/* ops.c: the operations of the reference. */
#include "ops/host.h"
#include "ops/ref/ref.h"

/* Attention keeps three rows of scores, and in 16 bits wide copies of eight tensors; products of bytes one wide row and the bytes
 * of one; a norm in 16 bits and a gate a row. */
static size_t workspace(const brim_ops_context *c, const brim_ops_limits *limits) {
  const size_t copies = limits->bf16 ? 8 * (size_t)limits->max_slots * (size_t)limits->hidden : 0;
  const size_t scores = (3 * (size_t)limits->max_length + copies) * sizeof(real);
  const size_t wide = (size_t)limits->intermediate, most = limits->hidden > limits->intermediate ? (size_t)limits->hidden : wide;
  const size_t bytes = most * sizeof(real) + (limits->int8 ? most : 0);
  (void)c;
  return scores > bytes ? scores : bytes;
}

#define ENTRY(name, ...) .name = REF(name),

static const brim_ops ops = {.name = "ref",
                             .features = BRIM_FEATURE_INT8 | BRIM_FEATURE_LATE_ROWS | BRIM_FEATURE_BF16 |
                                         BRIM_FEATURE_HOST_MEMORY | BRIM_FEATURE_DISTANCES | BRIM_FEATURE_RULES |
                                         BRIM_FEATURE_VOCABULARY | BRIM_FEATURE_POOLING | BRIM_FEATURE_LAYERS,
                             .workspace = workspace,
                             .int8_size = REF(int8_size),
                             BRIM_HOST_DOOR,
                             BRIM_OPS_LIST(ENTRY)};

const brim_ops *brim_ops_ref(void) {
  return &ops;
}
