/* attention.c: softmax(scale q k^T) v per sequence and head; the keys are the real tokens only. The backward pass recomputes the
 * probabilities from the log-sum-exp. Working memory: three rows of scores. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

/* One query of one head. */
typedef struct query {
  int32_t first, end; /* keys that it sees */
  uint32_t site, place, token;
  int64_t index;         /* row of q and out */
  const real *q, *k, *v; /* the query's row, and the first key's and value's */
} query;

static int32_t group_of(const brim_attention *a) {
  return a->group > 0 ? a->group : 1;
}

static query query_of(const brim_attention *a, int32_t s, int32_t head, int32_t token) {
  const brim_layout *layout = &a->layout;
  const int64_t first = layout->offsets[s], shift = (int64_t)head * a->head_size,
                shared = (int64_t)(head / group_of(a)) * a->head_size;
  const int32_t keys = layout->lengths[s];
  query x = {.end = keys, .token = (uint32_t)token};
  if (a->window > 0) {
    x.first = token > a->window ? token - a->window : 0;
    x.end = keys - token > a->window ? token + a->window + 1 : keys;
  }
  x.site = a->dropout.site + (uint32_t)head;
  x.place = a->dropout.on ? layout->places[s] : 0;
  x.index = a->first_only ? s : first + token;
  x.q = a->q + x.index * a->q_stride + shift;
  x.k = a->k + first * a->kv_stride + shared;
  x.v = a->v + first * a->kv_stride + shared;
  return x;
}

static int32_t query_count(const brim_attention *a, int32_t s) {
  const int32_t slots = a->layout.offsets[s + 1] - a->layout.offsets[s];
  return a->first_only && slots > 1 ? 1 : slots;
}

/* Rows of padding may be farther from all keys than the window is wide. */
static bool sees_nothing(const brim_attention *a, int32_t s, int32_t token) {
  return a->window > 0 && token >= a->layout.lengths[s];
}

static void leave_out(const brim_attention *a, real *out, const query *x, int64_t rows, int32_t head) {
  memset(out + x->index * a->out_stride + (int64_t)head * a->head_size, 0, (size_t)a->head_size * sizeof(real));
  a->lse[head * rows + x->index] = 0;
}

/* Pairs of a query and a key that it sees. */
static double pairs_of(const brim_attention *a, int32_t s, int32_t queries) {
  double pairs = 0;
  for (int32_t t = 0; t < queries; t++) {
    const query x = query_of(a, s, 0, t);
    pairs += sees_nothing(a, s, t) ? 0 : x.end - x.first;
  }
  return pairs;
}

static double dot(int32_t n, const real *x, const real *y) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++)
    sum += (double)x[i] * (double)y[i];
  return sum;
}

static void scores(const brim_attention *a, const query *x, real *p) {
  for (int32_t j = x->first; j < x->end; j++)
    p[j] = (real)((double)a->scale * dot(a->head_size, x->q, x->k + j * a->kv_stride));
}

/* p becomes exp(p - max) / sum; returns the log-sum-exp. */
static double softmax(const query *x, real *p) {
  double top = -INFINITY, sum = 0;
  for (int32_t j = x->first; j < x->end; j++)
    top = fmax(top, (double)p[j]);
  for (int32_t j = x->first; j < x->end; j++)
    sum += exp((double)p[j] - top);
  const double lse = top + log(sum);
  for (int32_t j = x->first; j < x->end; j++)
    p[j] = (real)exp((double)p[j] - lse);
  return lse;
}

/* Rounded to 16 bits, as shares of the largest: so they are while the softmax runs, before they are divided by their sum. */
static void round_shares(const query *x, real *p) {
  double top = 0;
  for (int32_t j = x->first; j < x->end; j++)
    top = fmax(top, (double)p[j]);
  for (int32_t j = x->first; j < x->end; j++)
    p[j] = (real)(REF(rounded)((double)p[j] / top) * top);
}

static void forward_query(const brim_attention *a, bool half, const query *x, int64_t rows, int32_t head, real *p) {
  real *out = a->out + x->index * a->out_stride + (int64_t)head * a->head_size;
  scores(a, x, p);
  a->lse[head * rows + x->index] = (real)softmax(x, p);
  if (half)
    round_shares(x, p);
  REF(dropout_row)(&a->dropout, x->site, x->place, x->token, x->end, p, p);
  for (int32_t i = 0; i < a->head_size; i++) {
    double sum = 0;
    for (int32_t j = x->first; j < x->end; j++)
      sum += (double)p[j] * (double)x->v[j * a->kv_stride + i];
    out[i] = (real)sum;
  }
}

void REF(attend)(brim_ops_context *c, const brim_attention *a, bool half) {
  const int64_t rows = a->first_only ? a->layout.n : a->layout.slots;
  for (int32_t s = 0; s < a->layout.n; s++) {
    const int32_t queries = query_count(a, s);
    c->stats.attention_flops += 4.0 * pairs_of(a, s, queries) * a->head_size * a->heads;
    for (int32_t head = 0; head < a->heads; head++) {
      for (int32_t t = 0; t < queries; t++) {
        const query x = query_of(a, s, head, t);
        if (sees_nothing(a, s, t))
          leave_out(a, a->out, &x, rows, head);
        else
          forward_query(a, half, &x, rows, head, c->workspace);
      }
    }
  }
}

/* dv += (dropped p) dout; dp = dropout(dout v^T); ds = p * (dp - sum(p * dp)); dq = scale ds k; dk += scale ds q. */
static void backward_query(const brim_attention *a, bool half, const query *x, int64_t rows, int32_t head, real *p) {
  const int32_t size = a->head_size;
  const int64_t shift = (int64_t)head * size, kv = x->k - a->k;
  const real *dout = a->dout + x->index * a->out_stride + shift;
  real *dropped = p + a->layout.max_length, *dp = dropped + a->layout.max_length;
  real *dq = a->dq + x->index * a->q_stride + shift, *dk = a->dk + kv, *dv = a->dv + kv;
  const double lse = (double)a->lse[head * rows + x->index], dropped_by = a->dropout.on ? (double)a->dropout.scale : 1;
  double delta = 0, whole = 0;
  scores(a, x, p);
  for (int32_t j = x->first; j < x->end; j++) {
    p[j] = (real)exp((double)p[j] - lse);
    whole += (double)p[j];
    dp[j] = (real)dot(size, dout, x->v + j * a->kv_stride);
  }
  for (int32_t j = x->first; j < x->end; j++)
    dropped[j] = half ? (real)REF(rounded)((double)p[j]) : p[j];
  REF(dropout_row)(&a->dropout, x->site, x->place, x->token, x->end, dropped, dropped);
  REF(dropout_row)(&a->dropout, x->site, x->place, x->token, x->end, dp, dp);
  for (int32_t j = x->first; j < x->end; j++)
    delta += (double)p[j] * (double)dp[j];
  delta /= whole; /* rounding of lse keeps it from 1; now the gradients of a row's scores add up to 0 */
  for (int32_t j = x->first; j < x->end; j++) {
    const double change = (double)dp[j] - delta, factor = (double)a->scale * dropped_by; /* after the products */
    const double ds = half ? factor * REF(rounded)((double)p[j] * change / dropped_by) : (double)a->scale * (double)p[j] * change;
    for (int32_t i = 0; i < size; i++) {
      dv[j * a->kv_stride + i] += dropped[j] * dout[i];
      dk[j * a->kv_stride + i] += (real)(ds * (double)x->q[i]);
    }
    dp[j] = (real)ds;
  }
  for (int32_t i = 0; i < size; i++) {
    double sum = 0;
    for (int32_t j = x->first; j < x->end; j++)
      sum += (double)dp[j] * (double)x->k[j * a->kv_stride + i];
    dq[i] = (real)sum;
  }
}

void REF(attend_back)(brim_ops_context *c, const brim_attention *a, bool half) {
  const int64_t rows = a->first_only ? a->layout.n : a->layout.slots;
  const size_t width = (size_t)(a->heads / group_of(a)) * (size_t)a->head_size;
  for (int64_t r = 0; r < a->layout.slots; r++) {
    memset(a->dk + r * a->kv_stride, 0, width * sizeof(real));
    memset(a->dv + r * a->kv_stride, 0, width * sizeof(real));
  }
  for (int32_t s = 0; s < a->layout.n; s++) {
    const int32_t queries = query_count(a, s);
    c->stats.attention_flops += 10.0 * pairs_of(a, s, queries) * a->head_size * a->heads;
    for (int32_t head = 0; head < a->heads; head++) {
      for (int32_t t = 0; t < queries; t++) {
        const query x = query_of(a, s, head, t);
        if (sees_nothing(a, s, t))
          memset(a->dq + x.index * a->q_stride + (int64_t)head * a->head_size, 0, (size_t)a->head_size * sizeof(real));
        else
          backward_query(a, half, &x, rows, head, c->workspace);
      }
    }
  }
}

void REF(attention_forward)(brim_ops_context *c, const brim_attention *a) {
  REF(attend)(c, a, false);
}

void REF(attention_backward)(brim_ops_context *c, const brim_attention *a) {
  REF(attend_back)(c, a, false);
}
