/* linear.c: y = x w^T + b and its gradients, alone and with what follows it. */
#include "ops/ref/ref.h"
#include "ops/slices.h"

/* One row of y = x w^T + b, added to what is there when `add`. */
static void linear_row(int32_t in, int32_t out, const real *x, const real *w, const real *b, bool add, real *y) {
  for (int32_t o = 0; o < out; o++) {
    const real *row = w + (int64_t)o * in;
    double sum = b ? (double)b[o] : 0;
    for (int32_t i = 0; i < in; i++)
      sum += (double)x[i] * (double)row[i];
    y[o] = add ? y[o] + (real)sum : (real)sum;
  }
}

static void count_product(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, int products) {
  if (rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = rows;
  c->stats.gemm_flops += 2.0 * (double)rows * in * out * products;
}

void REF(linear_forward)(brim_ops_context *c, const brim_linear *l) {
  count_product(c, l->rows, l->in, l->out, 1);
  for (int64_t r = 0; r < l->rows; r++)
    linear_row(l->in, l->out, l->x + r * l->x_stride, l->w, l->b, l->add, l->y + r * l->y_stride);
}

void REF(linear_act_forward)(brim_ops_context *c, const brim_linear_act *l) {
  const int32_t in = l->in, out = l->out;
  count_product(c, l->rows, in, out, 1);
  for (int64_t r = 0; r < l->rows; r++) {
    real *y = l->y + r * out, *kept = l->pre ? l->pre + r * out : y;
    linear_row(in, out, l->x + r * in, l->w, l->b, false, kept);
    for (int32_t o = 0; o < out; o++)
      y[o] = (real)REF(activate)(l->act, (double)kept[o]);
  }
}

void REF(linear_norm_forward)(brim_ops_context *c, const brim_linear_norm *l) {
  const brim_residual *to = &l->residual;
  const int32_t in = l->in, out = l->out;
  count_product(c, to->at.count, in, out, 1);
  for (int32_t r = 0; r < to->at.count; r++) {
    const real *from = to->residual + (int64_t)r * out;
    real *s = l->sum + (int64_t)r * out, *branch = l->y + (int64_t)r * out;
    linear_row(in, out, l->x + (int64_t)r * in, l->w, l->b, false, branch); /* not into sum, which may be the residual */
    REF(dropout_slot)(&to->dropout, &to->layout, &to->at, r, out, branch, branch);
    for (int32_t o = 0; o < out; o++)
      s[o] = from[o] + branch[o];
    REF(norm_row)(out, s, to->gamma, to->beta, to->eps, &l->mean[r], &l->rstd[r], branch);
  }
}

static void input_gradient(const brim_linear_gradient *l) {
  for (int64_t r = 0; r < l->rows; r++) {
    const real *dy = l->dy + r * l->dy_stride;
    real *dx = l->dx + r * l->dx_stride;
    for (int32_t i = 0; i < l->in; i++) {
      double sum = l->add ? (double)dx[i] : 0;
      for (int32_t o = 0; o < l->out; o++)
        sum += (double)dy[o] * (double)l->w[(int64_t)o * l->in + i];
      dx[i] = (real)sum;
    }
  }
}

static double in_column(REF(column) c, int64_t r) {
  return c.of.at ? REF(element)(c.of, c.at + r * c.stride) : 1;
}

static real sum_between(REF(column) one, REF(column) other, int64_t first, int64_t end) {
  double sum = 0;
  for (int64_t r = first; r < end; r++)
    sum += in_column(one, r) * in_column(other, r);
  return (real)sum;
}

real REF(column_sum)(const brim_row_slices *slices, int64_t rows, REF(column) one, REF(column) other) {
  brim_pending_sums w = {.count = 0};
  if (slices->count == 0)
    return sum_between(one, other, 0, rows);
  for (int32_t k = 0; k < slices->count; k++)
    brim_pending_sums_add(&w, sum_between(one, other, brim_slice_first(slices, k), slices->ends[k]), slices->joins[k]);
  return w.sums[0];
}

/* Of dy's column o times x's column i, or alone when i < 0. */
static real row_sum(const brim_linear_gradient *l, int32_t o, int32_t i) {
  const brim_typed dy = {BRIM_TYPE_REAL, (real *)l->dy}, x = {BRIM_TYPE_REAL, i < 0 ? NULL : (real *)l->x};
  return REF(column_sum)(&l->slices, l->rows, (REF(column)){dy, o, l->dy_stride}, (REF(column)){x, i, l->x_stride});
}

void REF(linear_backward)(brim_ops_context *c, const brim_linear_gradient *l) {
  const int32_t in = l->in, out = l->out;
  count_product(c, l->rows, in, out, (l->dx != NULL) + (l->dw != NULL));
  if (l->dx)
    input_gradient(l);
  for (int32_t o = 0; l->dw && o < out; o++)
    for (int32_t i = 0; i < in; i++)
      l->dw[(int64_t)o * in + i] += row_sum(l, o, i);
  for (int32_t o = 0; l->db && o < out; o++)
    l->db[o] += row_sum(l, o, -1);
}

void REF(linear_act_backward)(brim_ops_context *c, const brim_linear_act_gradient *l) {
  const int64_t count = l->rows * l->in;
  REF(linear_backward)(c, &(brim_linear_gradient){.rows = l->rows,
                                                  .in = l->in,
                                                  .out = l->out,
                                                  .w = l->w,
                                                  .dy = l->dz,
                                                  .dy_stride = l->out,
                                                  .dx = l->dpre,
                                                  .dx_stride = l->in});
  REF(act_backward)(c, &(brim_act_gradient){.count = count, .act = l->act, .pre = l->pre, .dy = l->dpre, .dpre = l->dpre});
  for (int64_t i = 0; i < count; i++)
    l->pre[i] = (real)REF(activate)(l->act, (double)l->pre[i]);
}
