/* vocabulary.c: cross entropy over a vocabulary, a row at a time.
 *
 *   z = x w^T + b     lse = log sum_v exp(z_v)     loss = sum over rows of (lse - z_class) / divisor
 *   dz_v = (exp(z_v - lse) - [v = class]) / divisor     dx = dz w     dw += dz^T x     db += the sum of dz over rows
 *
 * Sums over rows are in their order. */
#include "ops/ref/ref.h"

#include <math.h>

static double logit(const brim_vocabulary *v, int64_t row, int32_t word) {
  double sum = v->b ? (double)v->b[word] : 0;
  for (int32_t i = 0; i < v->in; i++)
    sum += REF(element)(v->x, row * v->in + i) * REF(element)(v->w, (int64_t)word * v->in + i);
  return sum;
}

static void count_product(brim_ops_context *c, const brim_vocabulary *v) {
  if (v->rows > c->stats.gemm_max_rows)
    c->stats.gemm_max_rows = v->rows;
  c->stats.gemm_flops += 2.0 * (double)v->rows * v->in * v->out;
}

static brim_outcome outcome_of(const brim_vocabulary *v, int64_t row, double *lse) {
  brim_outcome out = {.label = v->classes[row]};
  double top = (double)-INFINITY, sum = 0;
  for (int32_t word = 0; word < v->out; word++) {
    const double z = logit(v, row, word), before = top;
    if (z > top)
      top = z, out.predicted = word;
    sum = word == 0 ? exp(z - top) : sum * exp(before - top) + exp(z - top);
  }
  const double own = logit(v, row, out.label);
  *lse = brim_log_sum_exp(top, sum);
  out.predicted = isfinite(*lse) ? out.predicted : 0;
  out.loss = isfinite(*lse) ? *lse - own : (double)NAN;
  out.score = exp(top - *lse);
  out.label_score = exp(own - *lse);
  return out;
}

void REF(vocabulary_forward)(brim_ops_context *c, const brim_vocabulary *v) {
  double loss = 0;
  count_product(c, v);
  for (int64_t r = 0; r < v->rows; r++) {
    double lse;
    v->outcomes[r] = outcome_of(v, r, &lse);
    v->lse[r] = (real)lse;
    loss += v->outcomes[r].loss;
  }
  if (v->loss)
    *v->loss = loss / v->divisor;
}

static double gradient_of(const brim_vocabulary *v, int64_t row, int32_t word) {
  const double d = (exp(logit(v, row, word) - (double)v->lse[row]) - (word == v->classes[row])) / v->divisor;
  return v->x.type == BRIM_TYPE_BF16 ? REF(rounded)(d) : d;
}

void REF(vocabulary_backward)(brim_ops_context *c, const brim_vocabulary *v) {
  const int products = 1 + (v->dx != NULL) + (v->dw != NULL);
  for (int i = 0; i < products; i++)
    count_product(c, v);
  for (int64_t r = 0; v->dx && r < v->rows; r++)
    for (int32_t i = 0; i < v->in; i++)
      v->dx[r * v->in + i] = 0;
  for (int32_t word = 0; word < v->out; word++) {
    double sum = 0;
    for (int64_t r = 0; r < v->rows; r++) {
      const double d = gradient_of(v, r, word);
      sum += d;
      for (int32_t i = 0; i < v->in; i++) {
        const int64_t at = (int64_t)word * v->in + i;
        if (v->dx)
          v->dx[r * v->in + i] += (real)(d * REF(element)(v->w, at));
        if (v->dw)
          v->dw[at] += (real)(d * REF(element)(v->x, r * v->in + i));
      }
    }
    if (v->db)
      v->db[word] += (real)sum;
  }
}
