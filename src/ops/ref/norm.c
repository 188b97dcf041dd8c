/* norm.c: layer norm. y = (x - mean) * rstd * gamma + beta with the biased variance, as in PyTorch; and RMS norm, without mean.
 */
#include "ops/ref/ref.h"
#include "ops/slices.h"

#include <math.h>

static void apply_row(int32_t width, const real *x, double mean, double rstd, const real *gamma, const real *beta, real *y) {
  for (int32_t i = 0; i < width; i++)
    y[i] = (real)(((double)x[i] - mean) * rstd * (double)gamma[i] + (beta ? (double)beta[i] : 0));
}

/* Mean and deviation are rounded before they are used, so that norm_forward gives the same bits. */
void REF(norm_row)(int32_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y) {
  double sum = 0, squares = 0;
  for (int32_t i = 0; i < width; i++)
    sum += (double)x[i];
  const double m = sum / width;
  for (int32_t i = 0; i < width; i++)
    squares += ((double)x[i] - m) * ((double)x[i] - m);
  const double r = 1 / sqrt(squares / width + (double)eps);
  *mean = (real)m;
  *rstd = (real)r;
  apply_row(width, x, (double)*mean, (double)*rstd, gamma, beta, y);
}

void REF(norm_forward)(brim_ops_context *c, const brim_norm *n) {
  (void)c;
  for (int64_t r = 0; r < n->rows; r++)
    apply_row(n->width, n->sum + r * n->width, (double)n->mean[r], (double)n->rstd[r], n->gamma, n->beta, n->y + r * n->width);
}

/* With n = (x - mean) * rstd and g = dy * gamma: dx = rstd * (g - mean(g) - n * mean(g * n)). dx may be dy. */
void REF(norm_row_backward)(int32_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta) {
  const double m = (double)mean, r = (double)rstd;
  double g_sum = 0, gn_sum = 0;
  for (int32_t i = 0; i < width; i++) {
    const double n = ((double)x[i] - m) * r, g = (double)dy[i] * (double)gamma[i];
    g_sum += g;
    gn_sum += g * n;
  }
  for (int32_t i = 0; i < width; i++) {
    const double n = ((double)x[i] - m) * r, d = (double)dy[i];
    if (dgamma)
      dgamma[i] += (real)(d * n);
    if (dbeta)
      dbeta[i] += (real)d;
    dx[i] = (real)(r * (d * (double)gamma[i] - g_sum / width - n * gn_sum / width));
  }
}

void REF(norm_sums)(const REF(norm_rows) * of, real *dgamma, real *dbeta) {
  const brim_row_slices *s = of->slices;
  for (int32_t i = 0; i < of->width; i++) {
    brim_waiting gamma = {.count = 0}, beta = {.count = 0};
    for (int32_t k = 0; k < s->count; k++) {
      real g = 0, b = 0;
      for (int64_t r = brim_slice_first(s, k); r < s->ends[k]; r++) {
        const int64_t at = r * of->width + i;
        const double x = of->x ? (double)of->x[at] : REF(widened)(of->half[at]);
        g += (real)((double)of->dy[at] * ((x - (double)of->mean[r]) * (double)of->rstd[r]));
        b += of->dy[at];
      }
      brim_waiting_add(&gamma, g, s->joins[k]);
      brim_waiting_add(&beta, b, s->joins[k]);
    }
    if (dgamma)
      dgamma[i] += gamma.sums[0];
    if (dbeta)
      dbeta[i] += beta.sums[0];
  }
}

/* ---- a norm alone */

static void rms_row(const brim_prenorm *n, int64_t r) {
  const real *x = n->x + r * n->width;
  double squares = 0;
  for (int32_t i = 0; i < n->width; i++)
    squares += (double)x[i] * (double)x[i];
  n->mean[r] = 0;
  n->rstd[r] = (real)(1 / sqrt(squares / n->width + (double)n->eps));
  apply_row(n->width, x, 0, (double)n->rstd[r], n->gamma, n->beta, n->y + r * n->width);
}

void REF(prenorm_forward)(brim_ops_context *c, const brim_prenorm *n) {
  (void)c;
  for (int64_t r = 0; r < n->rows; r++) {
    const int64_t i = r * n->width;
    if (n->rms)
      rms_row(n, r);
    else
      REF(norm_row)(n->width, n->x + i, n->gamma, n->beta, n->eps, &n->mean[r], &n->rstd[r], n->y + i);
  }
}

void REF(prenorm_backward)(brim_ops_context *c, const brim_prenorm_gradient *g) {
  (void)c;
  const bool cut = g->slices.count > 0;
  if (cut)
    REF(norm_sums)(&(REF(norm_rows)){&g->slices, g->width, g->x, NULL, g->mean, g->rstd, g->dy}, g->dgamma, g->dbeta);
  for (int64_t r = 0; r < g->rows; r++) {
    const real *x = g->x + r * g->width, *dy = g->dy + r * g->width;
    real *dx = g->dx + r * g->width;
    const double mean = (double)g->mean[r], rstd = (double)g->rstd[r];
    double all = 0, weighed = 0;
    for (int32_t i = 0; i < g->width; i++) {
      const double n = ((double)x[i] - mean) * rstd, d = (double)dy[i] * (double)g->gamma[i];
      all += g->rms ? 0 : d;
      weighed += d * n;
    }
    for (int32_t i = 0; i < g->width; i++) {
      const double n = ((double)x[i] - mean) * rstd, d = (double)dy[i];
      if (g->dgamma && !cut)
        g->dgamma[i] += (real)(d * n);
      if (g->dbeta && !cut)
        g->dbeta[i] += (real)d;
      const double slope = rstd * (d * (double)g->gamma[i] - all / g->width - n * weighed / g->width);
      dx[i] = (real)(g->add ? (double)dx[i] + slope : slope);
    }
  }
}

/* ---- with what comes before */

void REF(norm_backward)(brim_ops_context *c, const brim_norm_gradient *n) {
  (void)c;
  const bool cut = n->slices.count > 0;
  real *dgamma = cut ? NULL : n->dgamma, *dbeta = cut ? NULL : n->dbeta;
  if (cut)
    REF(norm_sums)(&(REF(norm_rows)){&n->slices, n->width, n->sum, NULL, n->mean, n->rstd, n->dy}, n->dgamma, n->dbeta);
  for (int32_t r = 0; r < n->at.count; r++) {
    const int64_t i = (int64_t)r * n->width;
    REF(norm_row_backward)(n->width, n->sum + i, n->mean[r], n->rstd[r], n->gamma, n->dy + i, n->dsum + i, dgamma, dbeta);
    if (n->dbranch)
      REF(dropout_slot)(&n->dropout, &n->layout, &n->at, r, n->width, n->dsum + i, n->dbranch + i);
  }
}
