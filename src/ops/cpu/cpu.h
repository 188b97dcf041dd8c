/* cpu.h: the product's kernels on the CPU, one file a family of operations. Semantics: ops.h.
 *
 * Work is cut into tasks by shape and run by the runtime's pool; no result depends on who does a task or when. Working memory
 * (c->workspace) belongs to one operation at a time, which divides it as its own shape asks; `workspace` is the largest need. */
#ifndef BRIM_OPS_CPU_H
#define BRIM_OPS_CPU_H
#include "base/pool.h"
#include "ops/cpu/vec.h"
#include "ops/ops.h"

BRIM_INLINE int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* n / by, rounded up. */
BRIM_INLINE int64_t divided(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

/* ---- run.c: fn(context, task, worker) for each task, in the pool */
void CPU(run)(brim_ops_context *c, int64_t tasks, brim_task_fn fn, void *context);

#define BRIM_CPU_DECLARE(name, operands, ...) void CPU(name)(brim_ops_context * c, const operands *op);
BRIM_OPS_LIST(BRIM_CPU_DECLARE)

/* ---- linear_backward.c */
size_t CPU(linear_backward_workspace)(int threads, const brim_ops_limits *limits);

/* ---- bf16_linear.c, bf16_linear_backward.c */
void CPU(bf16_weight_gradient)(brim_ops_context *c, const brim_bf16_linear_gradient *g); /* dw and db */
size_t CPU(bf16_workspace)(const brim_ops_context *c, const brim_ops_limits *limits);
size_t CPU(bf16_weight_gradient_workspace)(const brim_ops_context *c, const brim_ops_limits *limits);

/* ---- int8.c */
size_t CPU(int8_size)(int32_t in, int32_t out);
size_t CPU(int8_workspace)(int threads, const brim_ops_limits *limits);

/* ---- activation.c: n values of one activation */
void CPU(activate)(brim_activation act, int64_t n, const real *x, real *y);
void CPU(activate_backward)(brim_activation act, int64_t n, const real *pre, const real *dy, real *dpre);
/* From the gradient dy of y = act(pre) to that of pre, in place; pre becomes y. */
void CPU(activate_turn)(brim_activation act, int64_t n, real *pre, real *dy);

/* ---- norm.c */
void CPU(norm_row)(int64_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y);
/* dx of one row; adds the row's part of dgamma and dbeta (both NULL or neither). dx may be dy. */
void CPU(norm_row_backward)(int64_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta);
/* Column sums that many tasks contribute to: rows, or those of each slice, are cut into blocks by their number, each block sums
 * into a separate line (2 * width values: dgamma, dbeta), and the lines are added in order. */
enum { NORM_BLOCK_LIMIT = 64 };
int64_t CPU(norm_blocks)(const brim_row_slices *slices, int64_t rows);
/* The rows of a block. */
void CPU(norm_block)(const brim_row_slices *slices, int64_t rows, int64_t block, int64_t *first, int64_t *end);
void CPU(norm_sum_blocks)(brim_ops_context *c, const brim_row_slices *slices, int64_t rows, int64_t width, const real *lines,
                          real *dgamma, real *dbeta);
size_t CPU(norm_workspace)(int threads, const brim_ops_limits *limits);

/* ---- embedding.c */
size_t CPU(embed_workspace)(const brim_ops_limits *limits);

/* ---- attention_forward.c */
size_t CPU(attention_workspace)(int threads, const brim_ops_limits *limits);

/* ---- stream.c */
size_t CPU(stream_workspace)(int threads, const brim_ops_limits *limits);

/* ---- rows.c */
/* y = dropout(x) for row r of a tensor with features. */
void CPU(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int64_t r, int64_t width,
                       const real *x, real *y);

/* ---- update.c */
size_t CPU(update_workspace)(void);
void CPU(squares)(brim_ops_context *c, const brim_update *u, double *sums);
void CPU(square_of)(brim_ops_context *c, const brim_update *u, const double *sums);

/* ---- ops.c */
const brim_ops *CPU(ops)(void);
#endif
