/* linear.c: y = x w^T + b, alone or with what follows it. */
#include "ops/cpu/product.h"

static product linear_product(int64_t rows, int64_t in, int64_t out, const real *x, int64_t x_stride, const real *w,
                              const real *b, real *y, int64_t y_stride) {
  return (product){.rows = rows,
                   .depth = in,
                   .columns = out,
                   .a = x,
                   .a_stride = x_stride,
                   .w = w,
                   .w_stride = in,
                   .transposed = true,
                   .start = b,
                   .c = y,
                   .c_stride = y_stride};
}

void CPU(linear_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                         const real *w, const real *b, real *y, int64_t y_stride) {
  product p = linear_product(rows, in, out, x, x_stride, w, b, y, y_stride);
  CPU(product_run)(c, &p);
}

/* ---- activation */

typedef struct activation {
  brim_activation act;
  float *y; /* where act(product) goes */
} activation;

static void activate_after(const product *p, int64_t first, int64_t rows, int64_t from, int64_t to) {
  const activation *a = p->context;
  for (int64_t r = first; r < first + rows; r++) {
    const int64_t at = r * p->c_stride + from;
    CPU(activate)(a->act, to - from, p->c + at, a->y + at);
  }
}

void CPU(linear_act_forward)(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                             const real *b, brim_activation act, real *pre, real *y) {
  const activation a = {.act = act, .y = y};
  product p = linear_product(rows, in, out, x, in, w, b, pre ? pre : y, out);
  p.context = &a;
  p.after = act == BRIM_ACT_NONE && p.c == y ? NULL : activate_after;
  CPU(product_run)(c, &p);
}

/* ---- residual and norm: the branch goes to y; then whole rows */

enum { ROWS_PER_TASK = 16 };

typedef struct residual_norm {
  int64_t rows, width;
  const brim_layout *layout;
  const brim_rows *at;
  const brim_dropout *dropout;
  const float *residual, *gamma, *beta;
  float eps, *sum, *mean, *rstd, *y;
} residual_norm;

static void residual_norm_task(void *context, int64_t task, int worker) {
  (void)worker;
  const residual_norm *n = context;
  const int64_t width = n->width, first = task * ROWS_PER_TASK, last = first + ROWS_PER_TASK;
  for (int64_t r = first; r < last && r < n->rows; r++) {
    const float *residual = n->residual + r * width;
    float *sum = n->sum + r * width, *y = n->y + r * width;
    if (n->dropout->on)
      CPU(dropout_slot)(n->dropout, n->layout, n->at, r, width, y, y);
    for (int64_t i = 0; i < width; i += VEC) {
      const vec x = vload_n(residual + i, width - i) + vload_n(y + i, width - i);
      vstore_n(sum + i, x, width - i);
    }
    CPU(norm_row)(width, sum, n->gamma, n->beta, n->eps, &n->mean[r], &n->rstd[r], y);
  }
}

void CPU(linear_residual_norm_forward)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                       int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                       const real *residual, const real *gamma, const real *beta, real eps, real *sum, real *mean,
                                       real *rstd, real *y) {
  product p = linear_product(at->count, in, out, x, in, w, b, y, out);
  residual_norm n = {.rows = at->count,
                     .width = out,
                     .layout = layout,
                     .at = at,
                     .dropout = dropout,
                     .residual = residual,
                     .gamma = gamma,
                     .beta = beta,
                     .eps = eps,
                     .sum = sum,
                     .mean = mean,
                     .rstd = rstd,
                     .y = y};
  CPU(product_run)(c, &p);
  CPU(run)(c, (n.rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, residual_norm_task, &n);
}
