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

void CPU(linear_forward)(brim_ops_context *c, const brim_linear *l) {
  product p = linear_product(l->rows, l->in, l->out, l->x, l->x_stride, l->w, l->b, l->y, l->y_stride);
  p.add = l->add;
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

void CPU(linear_act_forward)(brim_ops_context *c, const brim_linear_act *l) {
  const activation a = {.act = l->act, .y = l->y};
  product p = linear_product(l->rows, l->in, l->out, l->x, l->in, l->w, l->b, l->pre ? l->pre : l->y, l->out);
  p.context = &a;
  p.after = l->act == BRIM_ACT_NONE && p.c == l->y ? NULL : activate_after;
  CPU(product_run)(c, &p);
}

/* ---- residual and norm: the branch goes to y; then whole rows */

enum { ROWS_PER_TASK = 16 };

static void residual_norm_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_linear_norm *n = context;
  const brim_residual *to = &n->residual;
  const int64_t width = n->out, first = task * ROWS_PER_TASK, last = first + ROWS_PER_TASK;
  for (int64_t r = first; r < last && r < to->at.count; r++) {
    const float *residual = to->residual + r * width;
    float *sum = n->sum + r * width, *y = n->y + r * width;
    if (to->dropout.on)
      CPU(dropout_slot)(&to->dropout, &to->layout, &to->at, r, width, y, y);
    for (int64_t i = 0; i < width; i += VEC) {
      const vec x = vload_n(residual + i, width - i) + vload_n(y + i, width - i);
      vstore_n(sum + i, x, width - i);
    }
    CPU(norm_row)(width, sum, to->gamma, to->beta, to->eps, &n->mean[r], &n->rstd[r], y);
  }
}

void CPU(linear_norm_forward)(brim_ops_context *c, const brim_linear_norm *l) {
  brim_linear_norm n = *l;
  const int64_t rows = l->residual.at.count;
  product p = linear_product(rows, l->in, l->out, l->x, l->in, l->w, l->b, l->y, l->out);
  CPU(product_run)(c, &p);
  CPU(run)(c, (rows + ROWS_PER_TASK - 1) / ROWS_PER_TASK, residual_norm_task, &n);
}
