/* ref.h: the reference kernels: plain loops, one file a family of operations, sums in double. `REF(x)` is the name of operation x
 * in this precision, so that the float and the double table can live in one program. Semantics: ops.h. */
#ifndef BRIM_OPS_REF_H
#define BRIM_OPS_REF_H
#include "ops/ops.h"

#ifdef BRIM_REAL_DOUBLE
#define REF(name) brim_ref64_##name
#else
#define REF(name) brim_ref_##name
#endif

/* ---- embedding.c */
void REF(embed_forward)(brim_ops_context *c, const brim_embed *e, real *sum, real *mean, real *rstd, real *out);
void REF(embed_backward)(brim_ops_context *c, const brim_embed *e, const real *sum, const real *mean, const real *rstd,
                         const real *dout, real *dsum, real *dword, real *dposition, real *dtype, real *dgamma, real *dbeta);

/* ---- linear.c */
void REF(linear_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                         const real *w, const real *b, real *y, int64_t y_stride);
void REF(linear_act_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                             const real *b, brim_activation act, real *pre, real *y);
void REF(linear_residual_norm_forward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                       int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                       const real *residual, const real *gamma, const real *beta, real eps, real *sum, real *mean,
                                       real *rstd, real *y);
void REF(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db);
void REF(linear_act_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *w, const real *dz,
                              brim_activation act, real *pre, real *dpre);

/* ---- int8.c */
size_t REF(int8_size)(int32_t in, int32_t out);
void REF(int8_pack)(brim_ops_context *c, int32_t in, int32_t out, const real *w, const real *b, void *packed);
void REF(int8_forward)(brim_ops_context *c, int64_t rows, const brim_int8 *w, const real *x, int64_t x_stride, real *y,
                       int64_t y_stride);
void REF(int8_norm_forward)(brim_ops_context *c, const brim_int8 *w, const real *x, const brim_residual *r, real *y);
void REF(int8_feed_forward)(brim_ops_context *c, const brim_int8 *up, brim_activation act, const brim_int8 *down, const real *x,
                            const brim_residual *r, real *y);

/* ---- activation.c */
double REF(activate)(brim_activation act, double x);
void REF(act_backward)(brim_ops_context *c, int64_t count, brim_activation act, const real *pre, const real *dy, real *dpre);

/* ---- norm.c */
void REF(norm_row)(int32_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y);
void REF(norm_row_backward)(int32_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta);
void REF(norm_forward)(brim_ops_context *c, int64_t rows, int32_t width, const real *sum, const real *mean, const real *rstd,
                       const real *gamma, const real *beta, real *y);
void REF(norm_backward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const real *sum,
                        const real *mean, const real *rstd, const real *gamma, const brim_dropout *dropout, const real *dy,
                        real *dsum, real *dbranch, real *dgamma, real *dbeta);

/* ---- attention.c */
void REF(attention_forward)(brim_ops_context *c, const brim_attention *a);
void REF(attention_backward)(brim_ops_context *c, const brim_attention *a);

/* ---- rows.c */
/* y = dropout(x) for `width` columns of one row; y may be x. */
void REF(dropout_row)(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int32_t width, const real *x,
                      real *y);
/* The same for row r of a tensor with features: finds place and token. */
void REF(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int32_t r, int32_t width,
                       const real *x, real *y);
void REF(gather_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *x, int64_t x_stride, real *y);
void REF(scatter_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *dy, real *dx, int64_t dx_stride);
void REF(dropout)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const brim_dropout *dropout,
                  const real *x, real *y);
void REF(add)(brim_ops_context *c, int64_t count, const real *x, real *y);
void REF(zero)(brim_ops_context *c, int64_t count, real *x);

/* ---- narrow.c */
void REF(narrow)(brim_ops_context *c, int64_t count, const real *x, brim_bfloat *y);
void REF(widen)(brim_ops_context *c, int64_t count, const brim_bfloat *x, real *y);

/* ---- pool.c */
void REF(pool_forward)(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *x, int32_t *chosen, real *y);
void REF(pool_backward)(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *dy, const int32_t *chosen,
                        real *dx);

/* ---- loss.c */
void REF(loss)(brim_ops_context *c, const brim_loss *l);

/* ---- update.c */
double REF(gradient_square)(brim_ops_context *c, const brim_update *u);
void REF(adamw)(brim_ops_context *c, const brim_update *u);
void REF(catch_up)(brim_ops_context *c, const brim_update *u, bool all);
#endif
