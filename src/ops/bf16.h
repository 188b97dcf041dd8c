/* bf16.h: operations on values of 16 bits (bfloat16), included by ops.h.
 *
 * Products take 16-bit values and sum in single precision; what they give is rounded once, to the nearest value, to even between
 * two. Weights' gradients, biases, weights of norms and statistics stay in single precision. A tensor that may be stored either
 * way comes with its type; operations without products have such tensors alone, and are not of this file.
 *
 * Bits: the products of all CPU levels are the same, whether the processor has an instruction for them or not, with one
 * exception: AMX has another order of sums (brim_runtime's bf16). A run records which of the two it used. Denormal numbers count
 * as 0. */
#ifndef BRIM_OPS_BF16_H
#define BRIM_OPS_BF16_H

/* y[rows, out] = x[rows, in] w^T + b; `add`: y += that, rounded once. */
typedef struct brim_bf16_linear {
  int64_t rows;
  int32_t in, out;
  const brim_bfloat *x; /* rows are x_stride values apart */
  int64_t x_stride;
  const brim_bfloat *w; /* [out, in] */
  const real *b;        /* [out] or NULL */
  brim_typed y;
  int64_t y_stride;
  bool add;
} brim_bf16_linear;

/* dx = dy w, or dx += dy w with `add` (nowhere: not needed, nor is w); dw += dy^T x; db += column sums of dy (NULL: frozen). */
typedef struct brim_bf16_linear_gradient {
  int64_t rows;
  int32_t in, out;
  const brim_bfloat *x; /* for dw only */
  int64_t x_stride;
  const brim_bfloat *w, *dy;
  int64_t dy_stride;
  brim_typed dx;
  int64_t dx_stride;
  bool add;
  real *dw, *db;
  brim_row_slices slices;
} brim_bf16_linear_gradient;

/* pre = x w^T + b; y = act(pre as it is stored). pre may be NULL when it need not be kept: y has the same bits. Contiguous rows.
 */
typedef struct brim_bf16_linear_act {
  int64_t rows;
  int32_t in, out;
  const brim_bfloat *x, *w;
  const real *b;
  brim_activation act;
  brim_bfloat *pre, *y;
} brim_bf16_linear_act;

/* Backward of z = act(pre) w^T: dpre [rows, in] = (dz w) * act'(pre), and pre becomes act(pre), the very bits that forward gave.
 * Not for TANH. */
typedef struct brim_bf16_linear_act_gradient {
  int64_t rows;
  int32_t in, out;
  const brim_bfloat *w, *dz;
  brim_activation act;
  brim_bfloat *pre, *dpre;
} brim_bf16_linear_act_gradient;

/* sum = residual + dropout(x w^T + b); y = norm(sum as it is stored). The branch x w^T + b is stored as y is before it is added.
 * sum may be the residual's memory, of the same type then; y is neither that nor x's. `rounded_y` is y once more, in 16 bits;
 * NULL: nobody wants it. */
typedef struct brim_bf16_linear_norm {
  int32_t in, out;
  const brim_bfloat *x, *w;
  const real *b;
  brim_layout layout;
  brim_rows at; /* which slot each row is: keys dropout */
  brim_dropout dropout;
  brim_typed residual; /* [rows, out] */
  const real *gamma, *beta;
  real eps;
  brim_typed sum;
  real *mean, *rstd; /* [rows] */
  brim_typed y;
  brim_bfloat *rounded_y;
} brim_bf16_linear_norm;

/* Attention whose inputs, output and their gradients are of 16 bits. Scores, softmax and sums are not; probabilities (of forward:
 * as shares of the largest among the first keys) and gradients of scores are rounded before they are multiplied. */
typedef struct brim_bf16_attention {
  brim_attention of; /* all but the tensors below, which are NULL in it */
  const brim_bfloat *q, *k, *v;
  brim_bfloat *out;
  const brim_bfloat *dout;
  brim_bfloat *dq, *dk, *dv;
} brim_bf16_attention;
#endif
