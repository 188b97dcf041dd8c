/* int8.c: products of bytes. A packed weight: scales [out], biases [out], bytes [out, in]. */
#include "ops/ref/ref.h"

#include <math.h>

typedef struct weight {
  float *scale;
  real *bias;
  int8_t *bytes;
} weight;

static weight open_weight(int32_t out, const void *packed) {
  weight w = {.bias = (real *)(uintptr_t)packed};
  w.scale = (float *)(w.bias + out);
  w.bytes = (int8_t *)(w.scale + out);
  return w;
}

size_t REF(int8_size)(int32_t in, int32_t out) {
  return (size_t)out * (sizeof(real) + sizeof(float) + (size_t)in);
}

/* Bytes of one row; returns the value of 1 of them. */
static float quantize_row(int32_t n, const real *x, int8_t *q) {
  float top = 0;
  bool finite = true;
  for (int32_t i = 0; i < n; i++) {
    finite = finite && isfinite(x[i]);
    top = fmaxf(top, fabsf((float)x[i]));
    q[i] = 0;
  }
  if (!finite)
    return NAN;
  if (top < 0x1p-100f)
    return 0;
  const float inverse = 127 / top;
  for (int32_t i = 0; i < n; i++)
    q[i] = (int8_t)lrintf((float)x[i] * inverse);
  return top / 127;
}

void REF(int8_pack)(brim_ops_context *c, const brim_int8_pack *p) {
  const int32_t in = p->to.in, out = p->to.out;
  const weight to = open_weight(out, p->to.packed);
  (void)c;
  for (int32_t o = 0; o < out; o++) {
    to.scale[o] = quantize_row(in, p->w + (int64_t)o * in, to.bytes + (int64_t)o * in);
    to.bias[o] = p->b ? p->b[o] : 0;
  }
}

/* One row of y = x w^T + b; q is room for its bytes. */
static void multiply_row(const brim_int8 *by, const real *x, int8_t *q, real *y) {
  const weight w = open_weight(by->out, by->packed);
  const float scale = quantize_row(by->in, x, q);
  for (int32_t o = 0; o < by->out; o++) {
    int64_t sum = 0;
    for (int32_t i = 0; i < by->in; i++)
      sum += q[i] * w.bytes[(int64_t)o * by->in + i];
    const float product = (float)sum * (scale * w.scale[o]);
    y[o] = (real)product + w.bias[o];
  }
}

static void count_product(brim_ops_context *c, int64_t rows, const brim_int8 *w) {
  if (rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = rows;
  c->stats.gemm_flops += 2.0 * (double)rows * w->in * w->out;
}

void REF(int8_forward)(brim_ops_context *c, const brim_int8_linear *l) {
  count_product(c, l->rows, &l->w);
  for (int64_t r = 0; r < l->rows; r++)
    multiply_row(&l->w, l->x + r * l->x_stride, c->workspace, l->y + r * l->y_stride);
}

static void add_and_norm(const brim_residual *r, int32_t row, int32_t width, real *y) {
  real mean, rstd;
  REF(dropout_slot)(&r->dropout, &r->layout, &r->at, row, width, y, y);
  for (int32_t i = 0; i < width; i++)
    y[i] += r->residual[(int64_t)row * width + i];
  REF(norm_row)(width, y, r->gamma, r->beta, r->eps, &mean, &rstd, y);
}

void REF(int8_norm_forward)(brim_ops_context *c, const brim_int8_norm *n) {
  const brim_int8 *w = &n->w;
  count_product(c, n->residual.at.count, w);
  for (int32_t row = 0; row < n->residual.at.count; row++) {
    multiply_row(w, n->x + (int64_t)row * w->in, c->workspace, n->y + (int64_t)row * w->out);
    add_and_norm(&n->residual, row, w->out, n->y + (int64_t)row * w->out);
  }
}

void REF(int8_feed_forward)(brim_ops_context *c, const brim_int8_feed *f) {
  const brim_int8 *up = &f->up, *down = &f->down;
  const int32_t rows = f->residual.at.count;
  real *wide = c->workspace;
  int8_t *q = (int8_t *)(wide + up->out);
  count_product(c, rows, up);
  count_product(c, rows, down);
  for (int32_t row = 0; row < rows; row++) {
    real *to = f->y + (int64_t)row * down->out;
    multiply_row(up, f->x + (int64_t)row * up->in, q, wide);
    for (int32_t i = 0; i < up->out; i++)
      wide[i] = (real)REF(activate)(f->act, (double)wide[i]);
    multiply_row(down, wide, q, to);
    add_and_norm(&f->residual, row, down->out, to);
  }
}
