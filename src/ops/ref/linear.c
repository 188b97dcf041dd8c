/* linear.c: y = x w^T + b and its gradients, alone and with what follows it. */
#include "ops/ref/ref.h"

/* One row of y = x w^T + b. */
static void linear_row(int32_t in, int32_t out, const real *x, const real *w, const real *b, real *y) {
  for (int32_t o = 0; o < out; o++) {
    const real *row = w + (int64_t)o * in;
    double sum = b ? (double)b[o] : 0;
    for (int32_t i = 0; i < in; i++)
      sum += (double)x[i] * (double)row[i];
    y[o] = (real)sum;
  }
}

static void count_product(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, int products) {
  if (rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = rows;
  c->stats.gemm_flops += 2.0 * (double)rows * in * out * products;
}

void REF(linear_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                         const real *w, const real *b, real *y, int64_t y_stride) {
  count_product(c, rows, in, out, 1);
  for (int64_t r = 0; r < rows; r++)
    linear_row(in, out, x + r * x_stride, w, b, y + r * y_stride);
}

void REF(linear_act_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                             const real *b, brim_activation act, real *pre, real *y) {
  count_product(c, rows, in, out, 1);
  for (int64_t r = 0; r < rows; r++) {
    real *kept = pre ? pre + r * out : y + r * out;
    linear_row(in, out, x + r * in, w, b, kept);
    for (int32_t o = 0; o < out; o++)
      y[r * out + o] = (real)REF(activate)(act, (double)kept[o]);
  }
}

void REF(linear_residual_norm_forward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                       int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                       const real *residual, const real *gamma, const real *beta, real eps, real *sum, real *mean,
                                       real *rstd, real *y) {
  count_product(c, at->count, in, out, 1);
  for (int32_t r = 0; r < at->count; r++) {
    const real *from = residual + (int64_t)r * out;
    real *s = sum + (int64_t)r * out, *branch = y + (int64_t)r * out;
    linear_row(in, out, x + (int64_t)r * in, w, b, branch); /* not into sum, which may be the residual */
    REF(dropout_slot)(dropout, layout, at, r, out, branch, branch);
    for (int32_t o = 0; o < out; o++)
      s[o] = from[o] + branch[o];
    REF(norm_row)(out, s, gamma, beta, eps, &mean[r], &rstd[r], branch);
  }
}

void REF(linear_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                          const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                          real *db) {
  count_product(c, rows, in, out, (dx != NULL) + (dw != NULL));
  for (int64_t r = 0; dx && r < rows; r++) {
    for (int32_t i = 0; i < in; i++) {
      double sum = add ? (double)dx[r * dx_stride + i] : 0;
      for (int32_t o = 0; o < out; o++)
        sum += (double)dy[r * dy_stride + o] * (double)w[(int64_t)o * in + i];
      dx[r * dx_stride + i] = (real)sum;
    }
  }
  for (int32_t o = 0; dw && o < out; o++) {
    for (int32_t i = 0; i < in; i++) {
      double sum = 0;
      for (int64_t r = 0; r < rows; r++)
        sum += (double)dy[r * dy_stride + o] * (double)x[r * x_stride + i];
      dw[(int64_t)o * in + i] += (real)sum;
    }
  }
  for (int32_t o = 0; db && o < out; o++) {
    double sum = 0;
    for (int64_t r = 0; r < rows; r++)
      sum += (double)dy[r * dy_stride + o];
    db[o] += (real)sum;
  }
}

void REF(linear_act_backward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *w, const real *dz,
                              brim_activation act, real *pre, real *dpre) {
  REF(linear_backward)(c, rows, in, out, NULL, in, w, dz, out, dpre, in, false, NULL, NULL);
  REF(act_backward)(c, rows * in, act, pre, dpre, dpre);
  for (int64_t i = 0; i < rows * in; i++)
    pre[i] = (real)REF(activate)(act, (double)pre[i]);
}
