/* list.h: every operation, once. brim_ops, the declarations of the reference's and the processor's kernels, their lists, the
 * profile's wrapper and the tests are made from this list: a new operation is a line here, a struct in ops.h, the reference's
 * kernel, one on each device, and its case in tests/unit (ops_groups.h), without which the test ops_list fails.
 *
 *   X(name, struct of its operands, feature that a device may lack or 0, class of work, name in profiles)
 *
 * The class is a BRIM_WORK_... of brim/profile.h without its prefix; the last is an expression that may look at the operands,
 * `op`. */
#ifndef BRIM_OPS_LIST_H
#define BRIM_OPS_LIST_H

/* What a device may lack, once: X(feature, how a model that needs it is refused, or NULL where the library does without). The
 * first %s of the words is the device's name, the second the model's family; of several the first in this order is named.
 *
 * HOST_MEMORY: the device's memory is the host's, which may use it between a sync and the next call. FP16: 16-bit values may be
 * of half precision, and gradients scaled. */
#define BRIM_FEATURES_LIST(X)                                                                                                    \
  X(FP16, "fp16 needs a device with 16-bit arithmetic: use bf16 or fp32 on a CPU")                                               \
  X(INT8, "%s does not multiply bytes: predict in fp32 or bf16")                                                                 \
  X(DISTANCES, "%s has no attention by distance, which %s needs: use another device")                                            \
  X(BF16, "%s does not multiply 16-bit values: use fp32")                                                                        \
  X(HOST_MEMORY, "%s has no slices: train without them")                                                                         \
  X(POOLING, "%s pools by the first token, the mean or the largest alone, and no prompt is left out: use another device")        \
  X(LAYERS, "%s gives the head the last layer alone: use another device, or --layers last")                                      \
  X(VOCABULARY, "%s has no loss over a vocabulary, which masked words need: use another device")                                 \
  X(RULES, "%s has AdamW alone, without a way back to the pretrained weights: use --optimizer adamw, or another device")         \
  X(LATE_ROWS, NULL)

#define BRIM_OPS_LIST(X)                                                                                                         \
  X(embed_forward, brim_embed, 0, EMBEDDING, "embedding")                                                                        \
  X(embed_backward, brim_embed, 0, EMBEDDING, "embedding gradient")                                                              \
  X(linear_forward, brim_linear, 0, PRODUCT, "linear")                                                                           \
  X(linear_act_forward, brim_linear_act, 0, PRODUCT, "linear, activation")                                                       \
  X(linear_norm_forward, brim_linear_norm, 0, PRODUCT, "linear, dropout, residual, norm")                                        \
  X(linear_backward, brim_linear_gradient, 0, PRODUCT,                                                                           \
    !op->dx            ? "weight gradient"                                                                                       \
    : op->dw || op->db ? "input and weight gradients"                                                                            \
                       : "input gradient")                                                                                       \
  X(linear_act_backward, brim_linear_act_gradient, 0, PRODUCT, "input gradient, activation")                                     \
  X(norm_forward, brim_norm, 0, NORM, "norm")                                                                                    \
  X(norm_backward, brim_norm_gradient, 0, NORM, "norm gradient")                                                                 \
  X(act_backward, brim_act_gradient, 0, ELEMENTWISE, "activation gradient")                                                      \
  X(prenorm_forward, brim_prenorm, 0, NORM, "norm of a stream")                                                                  \
  X(prenorm_backward, brim_prenorm_gradient, 0, NORM, "norm gradient of a stream")                                               \
  X(stream_sum, brim_stream_sum, 0, ELEMENTWISE, "dropout, residual")                                                            \
  X(gate_forward, brim_gate, 0, ELEMENTWISE, "gated activation")                                                                 \
  X(gate_backward, brim_gate, 0, ELEMENTWISE, "gated activation gradient")                                                       \
  X(rotate, brim_rotary, 0, ELEMENTWISE, "rotary positions")                                                                     \
  X(attention_forward, brim_attention, 0, ATTENTION, "attention")                                                                \
  X(attention_backward, brim_attention, 0, ATTENTION, "attention gradient")                                                      \
  X(relative_forward, brim_relative, BRIM_FEATURE_DISTANCES, ATTENTION, "attention with distances")                              \
  X(relative_backward, brim_relative, BRIM_FEATURE_DISTANCES, ATTENTION, "attention gradient with distances")                    \
  X(gather_rows, brim_gather, 0, ELEMENTWISE, "gather rows")                                                                     \
  X(scatter_rows, brim_scatter, 0, ELEMENTWISE, "scatter rows")                                                                  \
  X(pool_forward, brim_pool, 0, ELEMENTWISE, "pooling")                                                                          \
  X(pool_backward, brim_pool_gradient, 0, ELEMENTWISE, "pooling gradient")                                                       \
  X(pool_joined_forward, brim_pool_joined, BRIM_FEATURE_POOLING, ELEMENTWISE, "pooling")                                         \
  X(pool_joined_backward, brim_pool_joined, BRIM_FEATURE_POOLING, ELEMENTWISE, "pooling gradient")                               \
  X(mix_forward, brim_mix, BRIM_FEATURE_LAYERS, ELEMENTWISE, "layers")                                                           \
  X(mix_backward, brim_mix, BRIM_FEATURE_LAYERS, ELEMENTWISE, "layers gradient")                                                 \
  X(dropout, brim_dropout_rows, 0, ELEMENTWISE, "dropout")                                                                       \
  X(add, brim_add, 0, ELEMENTWISE, "add")                                                                                        \
  X(zero, brim_zero, 0, ELEMENTWISE, "zero")                                                                                     \
  X(narrow, brim_to_bfloat, 0, ELEMENTWISE, "narrow")                                                                            \
  X(widen, brim_from_bfloat, 0, ELEMENTWISE, "widen")                                                                            \
  X(loss, brim_loss, 0, LOSS, "loss")                                                                                            \
  X(vocabulary_forward, brim_vocabulary, BRIM_FEATURE_VOCABULARY, LOSS, "loss over the vocabulary")                              \
  X(vocabulary_backward, brim_vocabulary, BRIM_FEATURE_VOCABULARY, LOSS, "gradient of the loss over the vocabulary")             \
  X(int8_pack, brim_int8_pack, BRIM_FEATURE_INT8, ELEMENTWISE, "int8 weights")                                                   \
  X(int8_forward, brim_int8_linear, BRIM_FEATURE_INT8, PRODUCT, "int8 linear")                                                   \
  X(int8_norm_forward, brim_int8_norm, BRIM_FEATURE_INT8, PRODUCT, "int8 linear, residual, norm")                                \
  X(int8_feed_forward, brim_int8_feed, BRIM_FEATURE_INT8, PRODUCT, "int8 feed-forward, residual, norm")                          \
  X(bf16_forward, brim_bf16_linear, BRIM_FEATURE_BF16, PRODUCT, "bf16 linear")                                                   \
  X(bf16_act_forward, brim_bf16_linear_act, BRIM_FEATURE_BF16, PRODUCT, "bf16 linear, activation")                               \
  X(bf16_norm_forward, brim_bf16_linear_norm, BRIM_FEATURE_BF16, PRODUCT, "bf16 linear, dropout, residual, norm")                \
  X(bf16_backward, brim_bf16_linear_gradient, BRIM_FEATURE_BF16, PRODUCT,                                                        \
    !op->dx.at         ? "bf16 weight gradient"                                                                                  \
    : op->dw || op->db ? "bf16 input and weight gradients"                                                                       \
                       : "bf16 input gradient")                                                                                  \
  X(bf16_act_backward, brim_bf16_linear_act_gradient, BRIM_FEATURE_BF16, PRODUCT, "bf16 input gradient, activation")             \
  X(bf16_attention_forward, brim_bf16_attention, BRIM_FEATURE_BF16, ATTENTION, "bf16 attention")                                 \
  X(bf16_attention_backward, brim_bf16_attention, BRIM_FEATURE_BF16, ATTENTION, "bf16 attention gradient")                       \
  X(gradient_square, brim_update, 0, OPTIMIZER, "gradient's norm")                                                               \
  X(update, brim_update, 0, OPTIMIZER, "update")                                                                                 \
  X(mark_alive, brim_update, 0, OPTIMIZER, "rows with states")                                                                   \
  X(catch_up, brim_update, BRIM_FEATURE_LATE_ROWS, OPTIMIZER, "update, late rows")                                               \
  X(mixout_forward, brim_mixout, BRIM_FEATURE_RULES, OPTIMIZER, "mixout")                                                        \
  X(mixout_backward, brim_mixout, BRIM_FEATURE_RULES, OPTIMIZER, "mixout gradient")
#endif
