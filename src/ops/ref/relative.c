/* relative.c: attention whose scores have terms by distance. Working memory: three rows of scores. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

/* One query of one head; x[j * stride] are its keys' rows. */
typedef struct query {
  int32_t keys, token;
  int64_t index, kv, head; /* row of q; first row of k and v */
  uint32_t site, place;
} query;

static query query_of(const brim_attention *a, int32_t s, int32_t head, int32_t token) {
  const brim_layout *layout = &a->layout;
  query x = {.keys = layout->lengths[s], .token = token, .kv = layout->offsets[s], .head = head};
  x.index = a->first_only ? s : x.kv + token;
  x.site = a->dropout.site + (uint32_t)head;
  x.place = a->dropout.on ? layout->places[s] : 0;
  return x;
}

static int32_t query_count(const brim_attention *a, int32_t s) {
  const int32_t slots = a->layout.offsets[s + 1] - a->layout.offsets[s];
  return a->first_only && slots > 1 ? 1 : slots;
}

static double dot(int32_t n, const real *x, const real *y) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += (double)x[i] * (double)y[i];
  return sum;
}

static const real *query_row(const brim_attention *a, const query *x) {
  return a->q + x->index * a->q_stride + x->head * a->head_size;
}

static int64_t key_at(const brim_attention *a, const query *x, int32_t j) {
  return (x->kv + j) * a->kv_stride + x->head * a->head_size;
}

static int64_t embedding_at(const brim_relative *r, const query *x, int32_t j, int32_t *row) {
  *row = brim_distance_row(&r->distances, x->token - j);
  return *row * r->stride + x->head * r->attention.head_size;
}

static void scores(const brim_relative *r, const query *x, real *p) {
  const brim_attention *a = &r->attention;
  const real *q = query_row(a, x);
  for (int32_t j = 0; j < x->keys; j++) {
    int32_t row;
    const int64_t at = embedding_at(r, x, j, &row);
    const real *k = a->k + key_at(a, x, j);
    double sum = dot(a->head_size, q, k);
    if (r->keys)
      sum += dot(a->head_size, q, r->keys + at) + dot(a->head_size, k, r->queries + at);
    p[j] = (real)((double)a->scale * sum + (r->bias ? (double)r->bias[(int64_t)row * a->heads + x->head] : 0));
  }
}

/* p becomes exp(p - max) / sum; returns the log-sum-exp. */
static double softmax(int32_t n, real *p) {
  double top = -INFINITY, sum = 0;
  for (int32_t j = 0; j < n; j++)
    top = fmax(top, (double)p[j]);
  for (int32_t j = 0; j < n; j++)
    sum += exp((double)p[j] - top);
  const double lse = top + log(sum);
  for (int32_t j = 0; j < n; j++)
    p[j] = (real)exp((double)p[j] - lse);
  return lse;
}

static void forward_query(const brim_relative *r, const query *x, int64_t rows, real *p) {
  const brim_attention *a = &r->attention;
  real *out = a->out + x->index * a->out_stride + x->head * a->head_size;
  scores(r, x, p);
  a->lse[x->head * rows + x->index] = (real)softmax(x->keys, p);
  REF(dropout_row)(&a->dropout, x->site, x->place, (uint32_t)x->token, x->keys, p, p);
  for (int32_t i = 0; i < a->head_size; i++) {
    double sum = 0;
    for (int32_t j = 0; j < x->keys; j++)
      sum += (double)p[j] * (double)a->v[key_at(a, x, j) + i];
    out[i] = (real)sum;
  }
}

typedef void (*each_query)(const brim_relative *r, const query *x, int64_t rows, real *p);

static void walk(brim_ops_context *c, const brim_relative *r, double products, each_query fn) {
  const brim_attention *a = &r->attention;
  const int64_t rows = a->first_only ? a->layout.n : a->layout.slots;
  for (int32_t s = 0; s < a->layout.n; s++) {
    const int32_t queries = query_count(a, s);
    c->stats.attention_flops += 2 * products * queries * a->layout.lengths[s] * a->head_size * a->heads;
    for (int32_t head = 0; head < a->heads; head++) {
      for (int32_t t = 0; t < queries; t++) {
        const query x = query_of(a, s, head, t);
        fn(r, &x, rows, c->workspace);
      }
    }
  }
}

void REF(relative_forward)(brim_ops_context *c, const brim_relative *r) {
  walk(c, r, 2, forward_query);
}

/* Of one score, from its gradient ds: everything is linear in it. */
static void add_score(const brim_relative *r, const query *x, int32_t j, double ds, real *dq) {
  const brim_attention *a = &r->attention;
  const real *q = query_row(a, x), *k = a->k + key_at(a, x, j);
  real *dk = a->dk + key_at(a, x, j);
  const double scaled = ds * (double)a->scale;
  int32_t row;
  const int64_t at = embedding_at(r, x, j, &row);
  for (int32_t i = 0; i < a->head_size; i++) {
    const double from_keys = r->keys ? (double)r->keys[at + i] : 0, from_queries = r->queries ? (double)r->queries[at + i] : 0;
    dq[i] += (real)(scaled * ((double)k[i] + from_keys));
    dk[i] += (real)(scaled * ((double)q[i] + from_queries));
    if (r->keys) {
      r->dkeys[at + i] += (real)(scaled * (double)q[i]);
      r->dqueries[at + i] += (real)(scaled * (double)k[i]);
    }
  }
  if (r->dbias)
    r->dbias[(int64_t)row * a->heads + x->head] += (real)ds;
}

static void backward_query(const brim_relative *r, const query *x, int64_t rows, real *p) {
  const brim_attention *a = &r->attention;
  const real *dout = a->dout + x->index * a->out_stride + x->head * a->head_size;
  real *dropped = p + a->layout.max_length, *dp = dropped + a->layout.max_length;
  real *dq = a->dq + x->index * a->q_stride + x->head * a->head_size;
  const double lse = (double)a->lse[x->head * rows + x->index];
  double delta = 0, whole = 0;
  scores(r, x, p);
  for (int32_t j = 0; j < x->keys; j++) {
    p[j] = (real)exp((double)p[j] - lse);
    whole += (double)p[j];
    dp[j] = (real)dot(a->head_size, dout, a->v + key_at(a, x, j));
  }
  REF(dropout_row)(&a->dropout, x->site, x->place, (uint32_t)x->token, x->keys, p, dropped);
  REF(dropout_row)(&a->dropout, x->site, x->place, (uint32_t)x->token, x->keys, dp, dp);
  for (int32_t j = 0; j < x->keys; j++)
    delta += (double)p[j] * (double)dp[j];
  delta /= whole; /* as in attention.c */
  memset(dq, 0, (size_t)a->head_size * sizeof *dq);
  for (int32_t j = 0; j < x->keys; j++) {
    for (int32_t i = 0; i < a->head_size; i++)
      a->dv[key_at(a, x, j) + i] += dropped[j] * dout[i];
    add_score(r, x, j, (double)p[j] * ((double)dp[j] - delta), dq);
  }
}

void REF(relative_backward)(brim_ops_context *c, const brim_relative *r) {
  const brim_attention *a = &r->attention;
  const size_t width = (size_t)a->heads * (size_t)a->head_size * sizeof(real);
  for (int64_t i = 0; i < a->layout.slots; i++) {
    memset(a->dk + i * a->kv_stride, 0, width);
    memset(a->dv + i * a->kv_stride, 0, width);
  }
  for (int64_t i = 0; r->keys && i < r->distances.rows; i++) {
    memset(r->dkeys + i * r->stride, 0, width);
    memset(r->dqueries + i * r->stride, 0, width);
  }
  walk(c, r, 5, backward_query);
}
