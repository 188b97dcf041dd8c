/* norm.c: layer norm. y = (x - mean) * rstd * gamma + beta with the biased variance, as in PyTorch; and RMS norm, without mean.
 */
#include "ops/ref/ref.h"
#include "ops/slices.h"

#include <math.h>

typedef struct row {
  brim_typed of;
  int64_t at;
} row;

static double get(row x, int32_t i) {
  return REF(element)(x.of, x.at + i);
}

static void apply_row(int32_t width, row x, double mean, double rstd, const real *gamma, const real *beta, row y) {
  for (int32_t i = 0; i < width; i++)
    REF(put)(y.of, y.at + i, (get(x, i) - mean) * rstd * (double)gamma[i] + (beta ? (double)beta[i] : 0));
}

/* Mean and deviation are rounded before they are used, so that norm_forward gives the same bits. */
static void moments(int32_t width, row x, real eps, real *mean, real *rstd) {
  double sum = 0, squares = 0;
  for (int32_t i = 0; i < width; i++)
    sum += get(x, i);
  const double m = sum / width;
  for (int32_t i = 0; i < width; i++)
    squares += (get(x, i) - m) * (get(x, i) - m);
  *mean = (real)m;
  *rstd = (real)(1 / sqrt(squares / width + (double)eps));
}

void REF(norm_row)(int32_t width, const real *x, const real *gamma, const real *beta, real eps, real *mean, real *rstd, real *y) {
  const row from = {{BRIM_TYPE_REAL, (real *)x}, 0}, to = {{BRIM_TYPE_REAL, y}, 0};
  moments(width, from, eps, mean, rstd);
  apply_row(width, from, (double)*mean, (double)*rstd, gamma, beta, to);
}

void REF(norm_forward)(brim_ops_context *c, const brim_norm *n) {
  (void)c;
  for (int64_t r = 0; r < n->rows; r++)
    apply_row(n->width, (row){n->sum, r * n->width}, (double)n->mean[r], (double)n->rstd[r], n->gamma, n->beta,
              (row){n->y, r * n->width});
}

void REF(norm_sums)(const REF(norm_rows) * of, real *dgamma, real *dbeta) {
  const brim_row_slices *s = of->slices;
  for (int32_t i = 0; i < of->width; i++) {
    brim_pending_sums gamma = {.count = 0}, beta = {.count = 0};
    for (int32_t k = 0; k < s->count; k++) {
      real g = 0, b = 0;
      for (int64_t r = brim_slice_first(s, k); r < s->ends[k]; r++) {
        const int64_t at = r * of->width + i;
        const double dy = REF(element)(of->dy, at);
        g += (real)(dy * ((REF(element)(of->x, at) - (double)of->mean[r]) * (double)of->rstd[r]));
        b += (real)dy;
      }
      brim_pending_sums_add(&gamma, g, s->joins[k]);
      brim_pending_sums_add(&beta, b, s->joins[k]);
    }
    if (dgamma)
      dgamma[i] += gamma.sums[0];
    if (dbeta)
      dbeta[i] += beta.sums[0];
  }
}

/* With n = (x - mean) * rstd and g = dy * gamma: dx = rstd * (g - mean(g) - n * mean(g * n)), and with rms without mean(g); dx
 * may be dy. */
typedef struct row_gradient {
  int32_t width;
  bool rms, add;
  row x, dy;
  real mean, rstd;
  const real *gamma;
  real *dx, *dgamma, *dbeta; /* the last two may be NULL */
} row_gradient;

static void row_backward(const row_gradient *g) {
  const double mean = (double)g->mean, rstd = (double)g->rstd;
  double all = 0, weighed = 0;
  for (int32_t i = 0; i < g->width; i++) {
    const double n = (get(g->x, i) - mean) * rstd, d = get(g->dy, i) * (double)g->gamma[i];
    all += g->rms ? 0 : d;
    weighed += d * n;
  }
  for (int32_t i = 0; i < g->width; i++) {
    const double n = (get(g->x, i) - mean) * rstd, d = get(g->dy, i);
    if (g->dgamma)
      g->dgamma[i] += (real)(d * n);
    if (g->dbeta)
      g->dbeta[i] += (real)d;
    const double slope = rstd * (d * (double)g->gamma[i] - all / g->width - n * weighed / g->width);
    g->dx[i] = (real)(g->add ? (double)g->dx[i] + slope : slope);
  }
}

void REF(norm_row_backward)(int32_t width, const real *x, real mean, real rstd, const real *gamma, const real *dy, real *dx,
                            real *dgamma, real *dbeta) {
  row_backward(&(row_gradient){.width = width,
                               .x = {{BRIM_TYPE_REAL, (real *)x}, 0},
                               .dy = {{BRIM_TYPE_REAL, (real *)dy}, 0},
                               .mean = mean,
                               .rstd = rstd,
                               .gamma = gamma,
                               .dx = dx,
                               .dgamma = dgamma,
                               .dbeta = dbeta});
}

/* ---- a norm alone */

static void rms_row(const brim_prenorm *n, int64_t r, row x, row y) {
  double squares = 0;
  for (int32_t i = 0; i < n->width; i++)
    squares += get(x, i) * get(x, i);
  n->mean[r] = 0;
  n->rstd[r] = (real)(1 / sqrt(squares / n->width + (double)n->eps));
  apply_row(n->width, x, 0, (double)n->rstd[r], n->gamma, n->beta, y);
}

void REF(prenorm_forward)(brim_ops_context *c, const brim_prenorm *n) {
  (void)c;
  for (int64_t r = 0; r < n->rows; r++) {
    const row x = {n->x, r * n->width}, y = {n->y, r * n->width};
    if (n->rms) {
      rms_row(n, r, x, y);
      continue;
    }
    moments(n->width, x, n->eps, &n->mean[r], &n->rstd[r]);
    apply_row(n->width, x, (double)n->mean[r], (double)n->rstd[r], n->gamma, n->beta, y);
  }
}

void REF(prenorm_backward)(brim_ops_context *c, const brim_prenorm_gradient *g) {
  (void)c;
  const bool cut = g->slices.count > 0;
  if (cut)
    REF(norm_sums)(&(REF(norm_rows)){&g->slices, g->width, g->x, g->dy, g->mean, g->rstd}, g->dgamma, g->dbeta);
  for (int64_t r = 0; r < g->rows; r++)
    row_backward(&(row_gradient){.width = g->width,
                                 .rms = g->rms,
                                 .add = g->add,
                                 .x = {g->x, r * g->width},
                                 .dy = {g->dy, r * g->width},
                                 .mean = g->mean[r],
                                 .rstd = g->rstd[r],
                                 .gamma = g->gamma,
                                 .dx = g->dx + r * g->width,
                                 .dgamma = cut ? NULL : g->dgamma,
                                 .dbeta = cut ? NULL : g->dbeta});
}

/* ---- with what comes before */

/* The branch's gradient, as floats: where it is, or in the working memory. */
static void drop_row(brim_ops_context *c, const brim_norm_gradient *n, int32_t r) {
  const int64_t at = (int64_t)r * n->width;
  const bool half = n->dbranch.type == BRIM_TYPE_BF16;
  real *to = half ? c->workspace : (real *)n->dbranch.at + at;
  REF(dropout_slot)(&n->dropout, &n->layout, &n->at, r, n->width, n->dsum + at, to);
  for (int32_t i = 0; half && i < n->width; i++)
    REF(put)(n->dbranch, at + i, (double)to[i]);
}

void REF(norm_backward)(brim_ops_context *c, const brim_norm_gradient *n) {
  const bool cut = n->slices.count > 0;
  const brim_typed dy = {BRIM_TYPE_REAL, (real *)n->dy};
  if (cut)
    REF(norm_sums)(&(REF(norm_rows)){&n->slices, n->width, n->sum, dy, n->mean, n->rstd}, n->dgamma, n->dbeta);
  for (int32_t r = 0; r < n->at.count; r++) {
    const int64_t at = (int64_t)r * n->width;
    row_backward(&(row_gradient){.width = n->width,
                                 .x = {n->sum, at},
                                 .dy = {dy, at},
                                 .mean = n->mean[r],
                                 .rstd = n->rstd[r],
                                 .gamma = n->gamma,
                                 .dx = n->dsum + at,
                                 .dgamma = cut ? NULL : n->dgamma,
                                 .dbeta = cut ? NULL : n->dbeta});
    if (n->dbranch.at)
      drop_row(c, n, r);
  }
}
