/* mix.c: several layers as one. */
#include "ops/ref/ref.h"

static double factor_of(const brim_mix *m) {
  return m->shares ? (double)m->shares[m->layer] / brim_mix_sum(m) : 1;
}

void REF(mix_forward)(brim_ops_context *c, const brim_mix *m) {
  (void)c;
  const double factor = factor_of(m);
  for (int64_t r = 0; r < m->rows; r++)
    for (int32_t i = 0; i < m->width; i++) {
      real *y = &m->y[r * m->stride + i];
      *y = (real)((m->add ? (double)*y : 0) + factor * (double)m->x[r * m->width + i]);
    }
}

/* d (shares[layer] x / sum) / d shares[k] = ((k == layer) - shares[layer] / sum) x / sum */
void REF(mix_backward)(brim_ops_context *c, const brim_mix *m) {
  (void)c;
  const double factor = factor_of(m);
  double along = 0;
  for (int64_t r = 0; r < m->rows; r++)
    for (int32_t i = 0; i < m->width; i++) {
      const double dy = (double)m->dy[r * m->stride + i];
      real *dx = m->dx ? &m->dx[r * m->width + i] : NULL;
      if (m->dshares)
        along += dy * (double)m->x[r * m->width + i];
      if (dx)
        *dx = (real)((m->add ? (double)*dx : 0) + factor * dy);
    }
  for (int32_t k = 0; m->dshares && k < m->layers; k++)
    m->dshares[k] = (real)((double)m->dshares[k] + ((k == m->layer) - factor) * along / brim_mix_sum(m));
}
