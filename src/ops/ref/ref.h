/* ref.h: the reference kernels: plain loops, one file a family of operations, sums in double. `REF(x)` is the name of operation x
 * in this precision, so that the float and the double reference can live in one program. Semantics: ops.h. */
#ifndef BRIM_OPS_REF_H
#define BRIM_OPS_REF_H
#include "ops/ops.h"

#ifdef BRIM_REAL_DOUBLE
#define REF(name) brim_ref64_##name
#else
#define REF(name) brim_ref_##name
#endif

#define BRIM_REF_DECLARE(name, operands, ...) void REF(name)(brim_ops_context * c, const operands *op);
BRIM_OPS_LIST(BRIM_REF_DECLARE)

size_t REF(int8_size)(int32_t in, int32_t out);

/* ---- activation.c */
double REF(activate)(brim_activation act, double x);
double REF(activate_slope)(brim_activation act, double x); /* act'(x); for tanh x is the output */

/* ---- attention.c; half: probabilities and gradients of scores are rounded to 16 bits before products */
void REF(attend)(brim_ops_context *c, const brim_attention *a, bool half);
void REF(attend_back)(brim_ops_context *c, const brim_attention *a, bool half);

/* ---- bf16.c */
double REF(rounded)(double x); /* to 16 bits, to nearest even */
double REF(widened)(brim_bfloat x);
double REF(element)(brim_typed t, int64_t at);
void REF(put)(brim_typed t, int64_t at, double x);

/* ---- linear.c */
/* A column: row r's value is element at + r * stride. Nowhere: all ones. */
typedef struct REF(column) {
  brim_typed of;
  int64_t at, stride;
} REF(column);
/* The sum over rows of one times the other, slice by slice. */
real REF(column_sum)(const brim_row_slices *slices, int64_t rows, REF(column) one, REF(column) other);

/* ---- norm.c */
void REF(norm_row)(int32_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd,
                   real *y); /* dx may be dy. */
void REF(norm_row_backward)(int32_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta);

/* What a row of a norm adds to dgamma and dbeta (each may be NULL), for all rows of x, slice by slice. */
typedef struct REF(norm_rows) {
  const brim_row_slices *slices;
  int32_t width;
  brim_typed x, dy;
  const real *mean, *rstd;
} REF(norm_rows);
void REF(norm_sums)(const REF(norm_rows) * of, real *dgamma, real *dbeta);

/* ---- rows.c */
/* y = dropout(x) for `width` columns of one row; y may be x. */
void REF(dropout_row)(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int32_t width, const real *x,
                      real *y);
/* The same for row r of a tensor with features: finds place and token. */
void REF(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int32_t r, int32_t width,
                       const real *x, real *y);
#endif
