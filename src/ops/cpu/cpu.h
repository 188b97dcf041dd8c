/* cpu.h: the product's kernels on the CPU, one file a family of operations. Semantics: ops.h.
 *
 * Work is cut into tasks by shape and run by the runtime's pool; no result depends on who does a task or when. Working memory
 * (c->workspace) belongs to one operation at a time, which divides it as its own shape asks; `workspace` is the largest need. */
#ifndef BRIM_OPS_CPU_H
#define BRIM_OPS_CPU_H
#include "base/pool.h"
#include "ops/cpu/vec.h"
#include "ops/ops.h"

/* ---- run.c: fn(context, task, worker) for each task, in the pool */
void CPU(run)(brim_ops_context *c, int64_t tasks, brim_task_fn fn, void *context);

/* ---- embedding.c */
void CPU(embed_forward)(brim_ops_context *c, const brim_embed *e, real *sum, real *mean, real *rstd, real *out);
void CPU(embed_backward)(brim_ops_context *c, const brim_embed *e, const real *sum, const real *mean, const real *rstd,
                         const real *dout, real *dsum, real *dword, real *dposition, real *dtype, real *dgamma, real *dbeta);

/* ---- linear.c, linear_backward.c */
void CPU(linear_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                         const real *w, const real *b, real *y, int64_t y_stride);
void CPU(linear_act_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                             const real *b, brim_activation act, real *pre, real *y);
void CPU(linear_residual_norm_forward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                       int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                       const real *residual, const real *gamma, const real *beta, real eps, real *sum, real *mean,
                                       real *rstd, real *y);
void CPU(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db);
void CPU(linear_act_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *w, const real *dz,
                              brim_activation act, real *pre, real *dpre);
size_t CPU(linear_backward_workspace)(int threads, const brim_ops_limits *limits);

/* ---- int8.c */
size_t CPU(int8_size)(int32_t in, int32_t out);
void CPU(int8_pack)(brim_ops_context *c, int32_t in, int32_t out, const real *w, const real *b, void *packed);
void CPU(int8_forward)(brim_ops_context *c, int64_t rows, const brim_int8 *w, const real *x, int64_t x_stride, real *y,
                       int64_t y_stride);
void CPU(int8_norm_forward)(brim_ops_context *c, const brim_int8 *w, const real *x, const brim_residual *r, real *y);
void CPU(int8_feed_forward)(brim_ops_context *c, const brim_int8 *up, brim_activation act, const brim_int8 *down, const real *x,
                            const brim_residual *r, real *y);
size_t CPU(int8_workspace)(int threads, const brim_ops_limits *limits);

/* ---- activation.c: n values of one activation */
void CPU(activate)(brim_activation act, int64_t n, const real *x, real *y);
void CPU(activate_backward)(brim_activation act, int64_t n, const real *pre, const real *dy, real *dpre);
/* From the gradient dy of y = act(pre) to that of pre, in place; pre becomes y. */
void CPU(activate_turn)(brim_activation act, int64_t n, real *pre, real *dy);
void CPU(act_backward)(brim_ops_context *c, int64_t count, brim_activation act, const real *pre, const real *dy, real *dpre);

/* ---- norm.c */
void CPU(norm_row)(int64_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y);
/* dx of one row; adds the row's part of dgamma and dbeta (both NULL or neither). dx may be dy. */
void CPU(norm_row_backward)(int64_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta);
void CPU(norm_forward)(brim_ops_context *c, int64_t rows, int32_t width, const real *sum, const real *mean, const real *rstd,
                       const real *gamma, const real *beta, real *y);
void CPU(norm_backward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const real *sum,
                        const real *mean, const real *rstd, const real *gamma, const brim_dropout *dropout, const real *dy,
                        real *dsum, real *dbranch, real *dgamma, real *dbeta);
/* Column sums that many tasks contribute to: rows are cut into blocks by their number, each block sums into a line of its own
 * (2 * width values: dgamma, dbeta), and the lines are added in order. */
enum { NORM_BLOCK_LIMIT = 64 };
int64_t CPU(norm_blocks)(int64_t rows);
void CPU(norm_sum_blocks)(brim_ops_context *c, int64_t blocks, int64_t width, const real *lines, real *dgamma, real *dbeta);
size_t CPU(norm_workspace)(const brim_ops_limits *limits);

/* ---- attention.c, attention_backward.c */
void CPU(attention_forward)(brim_ops_context *c, const brim_attention *a);
void CPU(attention_backward)(brim_ops_context *c, const brim_attention *a);
size_t CPU(attention_workspace)(int threads, const brim_ops_limits *limits);

/* ---- rows.c */
/* y = dropout(x) for row r of a tensor with features. */
void CPU(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int64_t r, int64_t width,
                       const real *x, real *y);
void CPU(gather_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *x, int64_t x_stride, real *y);
void CPU(scatter_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *dy, real *dx, int64_t dx_stride);
void CPU(dropout)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const brim_dropout *dropout,
                  const real *x, real *y);
void CPU(add)(brim_ops_context *c, int64_t count, const real *x, real *y);
void CPU(zero)(brim_ops_context *c, int64_t count, real *x);

/* ---- narrow.c */
void CPU(narrow)(brim_ops_context *c, int64_t count, const real *x, brim_bfloat *y);
void CPU(widen)(brim_ops_context *c, int64_t count, const brim_bfloat *x, real *y);

/* ---- pool.c */
void CPU(pool_forward)(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *x, int32_t *chosen, real *y);
void CPU(pool_backward)(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *dy, const int32_t *chosen,
                        real *dx);

/* ---- update.c */
double CPU(gradient_square)(brim_ops_context *c, const brim_update *u);
void CPU(adamw)(brim_ops_context *c, const brim_update *u);
void CPU(catch_up)(brim_ops_context *c, const brim_update *u, bool all);
size_t CPU(update_workspace)(void);

/* ---- table.c */
const brim_ops *CPU(table)(void);
#endif
