/* bf16.c: products of 16-bit values: sums in double of the values. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

static brim_bfloat narrowed(double x) {
  const float value = (float)x;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t half = 0x7fff + (bits >> 16 & 1);
  return isnan(value) ? (brim_bfloat)(bits >> 16 | 0x40) : (brim_bfloat)((bits + half) >> 16);
}

double REF(widened)(brim_bfloat x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return (double)value;
}

double REF(rounded)(double x) {
  return REF(widened)(narrowed(x));
}

static double widened(brim_bfloat x) {
  return REF(widened)(x);
}

double REF(element)(brim_typed t, int64_t at) {
  return t.type == BRIM_TYPE_BF16 ? widened(((const brim_bfloat *)t.at)[at]) : (double)((const real *)t.at)[at];
}

static double get(brim_typed t, int64_t at) {
  return REF(element)(t, at);
}

void REF(put)(brim_typed t, int64_t at, double x) {
  if (t.type == BRIM_TYPE_BF16)
    ((brim_bfloat *)t.at)[at] = narrowed(x);
  else
    ((real *)t.at)[at] = (real)x;
}

static void put(brim_typed t, int64_t at, double x) {
  REF(put)(t, at, x);
}

static void count_product(brim_ops_context *c, int64_t rows, int32_t in, int32_t out) {
  if (rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = rows;
  c->stats.gemm_flops += 2.0 * (double)rows * in * out;
}

/* Output o of a row. */
static double dot(int32_t in, const brim_bfloat *x, const brim_bfloat *w, const real *b, int32_t o) {
  double sum = b ? (double)b[o] : 0;
  for (int32_t i = 0; i < in; i++)
    sum += widened(x[i]) * widened(w[(int64_t)o * in + i]);
  return sum;
}

void REF(bf16_forward)(brim_ops_context *c, const brim_bf16_linear *l) {
  count_product(c, l->rows, l->in, l->out);
  for (int64_t r = 0; r < l->rows; r++)
    for (int32_t o = 0; o < l->out; o++)
      put(l->y, r * l->y_stride + o,
          dot(l->in, l->x + r * l->x_stride, l->w, l->b, o) + (l->add ? get(l->y, r * l->y_stride + o) : 0));
}

void REF(bf16_act_forward)(brim_ops_context *c, const brim_bf16_linear_act *l) {
  count_product(c, l->rows, l->in, l->out);
  for (int64_t r = 0; r < l->rows; r++)
    for (int32_t o = 0; o < l->out; o++) {
      const brim_bfloat pre = narrowed(dot(l->in, l->x + r * l->in, l->w, l->b, o));
      if (l->pre)
        l->pre[r * l->out + o] = pre;
      l->y[r * l->out + o] = narrowed(REF(activate)(l->act, widened(pre)));
    }
}

/* Mean and reciprocal deviation of a row, and its norm into another. */
static void norm_of(const brim_bf16_linear_norm *l, int64_t r) {
  const int32_t width = l->out;
  double mean = 0, square = 0;
  for (int32_t o = 0; o < width; o++)
    mean += get(l->sum, r * width + o);
  mean /= width;
  for (int32_t o = 0; o < width; o++) {
    const double d = get(l->sum, r * width + o) - mean;
    square += d * d;
  }
  l->mean[r] = (real)mean;
  l->rstd[r] = (real)(1 / sqrt(square / width + (double)l->eps));
  for (int32_t o = 0; o < width; o++) {
    const int64_t at = r * width + o;
    put(l->y, at, (get(l->sum, at) - mean) * (double)l->rstd[r] * (double)l->gamma[o] + (double)l->beta[o]);
    if (l->rounded_y)
      l->rounded_y[at] = narrowed(get(l->y, at));
  }
}

void REF(bf16_norm_forward)(brim_ops_context *c, const brim_bf16_linear_norm *l) {
  const int32_t width = l->out;
  real *factor = c->workspace;
  count_product(c, l->at.count, l->in, l->out);
  for (int32_t r = 0; r < l->at.count; r++) {
    for (int32_t o = 0; o < width; o++)
      factor[o] = 1;
    REF(dropout_slot)(&l->dropout, &l->layout, &l->at, r, width, factor, factor);
    for (int32_t o = 0; o < width; o++) {
      const int64_t at = (int64_t)r * width + o;
      put(l->y, at, dot(l->in, l->x + (int64_t)r * l->in, l->w, l->b, o));
      put(l->sum, at, get(l->residual, at) + get(l->y, at) * (double)factor[o]);
    }
    norm_of(l, r);
  }
}

/* Of dy's column o times x's column i, or alone when i < 0. */
static real row_sum(const brim_bf16_linear_gradient *g, int32_t o, int32_t i) {
  const brim_typed dy = {BRIM_TYPE_BF16, (brim_bfloat *)g->dy}, x = {BRIM_TYPE_BF16, i < 0 ? NULL : (brim_bfloat *)g->x};
  return REF(column_sum)(&g->slices, g->rows, (REF(column)){dy, o, g->dy_stride}, (REF(column)){x, i, g->x_stride});
}

void REF(bf16_backward)(brim_ops_context *c, const brim_bf16_linear_gradient *g) {
  for (int64_t r = 0; g->dx.at && r < g->rows; r++)
    for (int32_t i = 0; i < g->in; i++) {
      double sum = g->add ? get(g->dx, r * g->dx_stride + i) : 0;
      for (int32_t o = 0; o < g->out; o++)
        sum += widened(g->dy[r * g->dy_stride + o]) * widened(g->w[(int64_t)o * g->in + i]);
      put(g->dx, r * g->dx_stride + i, sum);
    }
  if (g->dx.at)
    count_product(c, g->rows, g->in, g->out);
  if (g->dw)
    count_product(c, g->rows, g->in, g->out);
  for (int32_t o = 0; o < g->out; o++) {
    if (g->db)
      g->db[o] += row_sum(g, o, -1);
    for (int32_t i = 0; g->dw && i < g->in; i++)
      g->dw[(int64_t)o * g->in + i] += row_sum(g, o, i);
  }
}

void REF(bf16_act_backward)(brim_ops_context *c, const brim_bf16_linear_act_gradient *g) {
  count_product(c, g->rows, g->in, g->out);
  for (int64_t r = 0; r < g->rows; r++)
    for (int32_t i = 0; i < g->in; i++) {
      const int64_t at = r * g->in + i;
      const double pre = widened(g->pre[at]);
      double sum = 0;
      for (int32_t o = 0; o < g->out; o++)
        sum += widened(g->dz[r * g->out + o]) * widened(g->w[(int64_t)o * g->in + i]);
      g->dpre[at] = narrowed(sum * REF(activate_slope)(g->act, pre));
      g->pre[at] = narrowed(REF(activate)(g->act, pre));
    }
}

/* ---- attention: that of `real`, on copies in the working memory, with probabilities and gradients of scores rounded */

static real *wide_copy(const brim_bfloat *from, int64_t rows, int64_t stride, int64_t width, real **room) {
  real *to = *room;
  *room += rows * width;
  for (int64_t r = 0; from && r < rows; r++)
    for (int64_t i = 0; i < width; i++)
      to[r * width + i] = (real)widened(from[r * stride + i]);
  return to;
}

static void narrow_copy(const real *from, int64_t rows, int64_t width, brim_bfloat *to, int64_t stride) {
  for (int64_t r = 0; to && r < rows; r++)
    for (int64_t i = 0; i < width; i++)
      to[r * stride + i] = narrowed((double)from[r * width + i]);
}

static void attend(brim_ops_context *c, const brim_bf16_attention *a,
                   void (*of)(brim_ops_context *, const brim_attention *, bool)) {
  const int64_t width = (int64_t)a->of.heads * a->of.head_size, keys = a->of.layout.slots;
  const int64_t shared = a->of.group > 0 ? width / a->of.group : width;
  const int64_t queries = a->of.first_only ? a->of.layout.n : keys;
  brim_attention b = a->of;
  real *room = (real *)c->workspace + 3 * (int64_t)a->of.layout.max_length;
  b.q = wide_copy(a->q, queries, b.q_stride, width, &room);
  b.k = wide_copy(a->k, keys, b.kv_stride, shared, &room);
  b.v = wide_copy(a->v, keys, b.kv_stride, shared, &room);
  b.dout = wide_copy(a->dout, queries, b.out_stride, width, &room);
  b.out = wide_copy(NULL, queries, 0, width, &room);
  b.dq = wide_copy(NULL, queries, 0, width, &room);
  b.dk = wide_copy(NULL, keys, 0, shared, &room);
  b.dv = wide_copy(NULL, keys, 0, shared, &room);
  b.q_stride = b.out_stride = width;
  b.kv_stride = shared;
  of(c, &b, true);
  narrow_copy(b.out, queries, width, a->out, a->of.out_stride);
  narrow_copy(b.dq, queries, width, a->dq, a->of.q_stride);
  narrow_copy(b.dk, keys, shared, a->dk, a->of.kv_stride);
  narrow_copy(b.dv, keys, shared, a->dv, a->of.kv_stride);
}

void REF(bf16_attention_forward)(brim_ops_context *c, const brim_bf16_attention *a) {
  attend(c, a, REF(attend));
}

void REF(bf16_attention_backward)(brim_ops_context *c, const brim_bf16_attention *a) {
  attend(c, a, REF(attend_back));
}
