/* list.h: every kernel, once: X(name, struct of args.h, threads of a block). The table, the emulation and the tests are made from
 * it. */
#ifndef BRIM_CUDA_LIST_H
#define BRIM_CUDA_LIST_H
#define BRIM_CUDA_KERNELS(X)                                                                                                     \
  X(gather, cu_gather, 128)                                                                                                      \
  X(scatter, cu_scatter, 128)                                                                                                    \
  X(drop, cu_drop, 128)                                                                                                          \
  X(add, cu_add, 256)                                                                                                            \
  X(convert, cu_convert, 256)                                                                                                    \
  X(pool_forward, cu_pool, 128)                                                                                                  \
  X(pool_backward, cu_pool, 128)                                                                                                 \
  X(norm_forward, cu_norm, 128)                                                                                                  \
  X(join_forward, cu_join, 128)                                                                                                  \
  X(norm_rows, cu_norm_gradient, 128)                                                                                            \
  X(norm_columns, cu_norm_gradient, 256)                                                                                         \
  X(prenorm_forward, cu_prenorm, 128)                                                                                            \
  X(prenorm_rows, cu_prenorm, 128)                                                                                               \
  X(stream_sum, cu_stream_sum, 128)                                                                                              \
  X(gate_forward, cu_gate, 128)                                                                                                  \
  X(gate_backward, cu_gate, 128)                                                                                                 \
  X(rotate, cu_rotary, 128)                                                                                                      \
  X(embed_forward, cu_embed, 128)                                                                                                \
  X(embedding_gradient, cu_embedding_gradient, 256)                                                                              \
  X(activate, cu_activate, 256)                                                                                                  \
  X(activate_backward, cu_activate, 256)                                                                                         \
  X(activate_turn, cu_activate, 256)                                                                                             \
  X(product, cu_product, 256)                                                                                                    \
  X(column_sums, cu_columns, 256)                                                                                                \
  X(attention_forward, cu_attention, 256)                                                                                        \
  X(attention_queries, cu_attention, 256)                                                                                        \
  X(attention_keys, cu_attention, 256)                                                                                           \
  X(matrix_forward_32, cu_attention, 128)                                                                                        \
  X(matrix_forward_64, cu_attention, 128)                                                                                        \
  X(matrix_forward_128, cu_attention, 128)                                                                                       \
  X(matrix_queries_32, cu_attention, 128)                                                                                        \
  X(matrix_queries_64, cu_attention, 128)                                                                                        \
  X(matrix_queries_128, cu_attention, 128)                                                                                       \
  X(matrix_keys_32, cu_attention, 128)                                                                                           \
  X(matrix_keys_64, cu_attention, 128)                                                                                           \
  X(matrix_keys_128, cu_attention, 128)                                                                                          \
  X(relative_forward, cu_relative, 256)                                                                                          \
  X(relative_queries, cu_relative, 256)                                                                                          \
  X(relative_keys, cu_relative, 256)                                                                                             \
  X(relative_embeddings, cu_relative, 256)                                                                                       \
  X(loss, cu_loss, 256)                                                                                                          \
  X(gradient_square, cu_update, 256)                                                                                             \
  X(finish_square, cu_finish, 256)                                                                                               \
  X(adamw, cu_update, 256)                                                                                                       \
  X(mark_alive, cu_alive, 128)                                                                                                   \
  X(catch_up, cu_late, 128)
#endif
