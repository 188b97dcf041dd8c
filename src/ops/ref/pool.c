/* pool.c: a text's tokens as one row. */
#include "ops/ref/ref.h"

static real mean_of(const real *x, int32_t width, int32_t count) {
  double sum = 0;
  for (int32_t r = 0; r < count; r++)
    sum += (double)x[(int64_t)r * width];
  return (real)(sum / count);
}

/* Row of the largest value of a column. */
static int32_t largest_of(const real *x, int32_t width, int32_t count) {
  int32_t best = 0;
  for (int32_t r = 1; r < count; r++) {
    const real value = x[(int64_t)r * width];
    if (value > x[(int64_t)best * width] || value != value)
      best = r;
  }
  return best;
}

void REF(pool_forward)(brim_ops_context *c, const brim_pool *p) {
  (void)c;
  const brim_layout *layout = &p->layout;
  const int32_t width = p->width;
  for (int32_t s = 0; s < layout->n; s++)
    for (int32_t i = 0; i < width; i++) {
      const real *column = p->x + (int64_t)layout->offsets[s] * width + i;
      const int64_t at = (int64_t)s * width + i;
      if (!p->chosen) {
        p->y[at] = mean_of(column, width, layout->lengths[s]);
        continue;
      }
      const int32_t row = largest_of(column, width, layout->lengths[s]);
      p->chosen[at] = layout->offsets[s] + row;
      p->y[at] = column[(int64_t)row * width];
    }
}

void REF(pool_backward)(brim_ops_context *c, const brim_pool_gradient *p) {
  (void)c;
  const brim_layout *layout = &p->layout;
  const int32_t width = p->width;
  for (int32_t s = 0; s < layout->n; s++)
    for (int32_t r = layout->offsets[s]; r < layout->offsets[s + 1]; r++)
      for (int32_t i = 0; i < width; i++) {
        const int64_t at = (int64_t)s * width + i;
        const bool token = r - layout->offsets[s] < layout->lengths[s];
        const real share = p->chosen ? (real)(p->chosen[at] == r) : token ? (real)(1.0 / layout->lengths[s]) : 0;
        p->dx[(int64_t)r * width + i] = share == 0 ? 0 : p->dy[at] * share;
      }
}

/* ---- several modes side by side, of tokens without a prompt */

static brim_pool_terms terms_of(const brim_layout *layout, const int32_t *skipped, brim_pool_mode mode, int32_t s) {
  const int32_t count = layout->lengths[s];
  return brim_pool_terms_of(mode, skipped ? skipped[s] : 0, count);
}

/* One number of a text: column i of a mode. */
static real pooled(const brim_pool_joined *p, int32_t s, brim_pool_mode mode, int32_t i) {
  const brim_pool_terms t = terms_of(&p->layout, p->skipped, mode, s);
  const real *column = p->x + ((int64_t)p->layout.offsets[s] + t.from) * p->width + i;
  double sum = 0;
  if (mode == BRIM_POOL_MAX) {
    const int32_t row = largest_of(column, p->width, t.to - t.from);
    p->chosen[(int64_t)s * p->width + i] = p->layout.offsets[s] + t.from + row;
    return column[(int64_t)row * p->width];
  }
  for (int32_t r = t.from; r < t.to; r++)
    sum += brim_pool_term(&t, r) * (double)column[(int64_t)(r - t.from) * p->width];
  return (real)(sum / t.divisor);
}

void REF(pool_joined_forward)(brim_ops_context *c, const brim_pool_joined *p) {
  (void)c;
  for (int32_t s = 0; s < p->layout.n; s++)
    for (int32_t k = 0; k < p->modes.count; k++)
      for (int32_t i = 0; i < p->width; i++)
        p->y[((int64_t)s * p->modes.count + k) * p->width + i] = pooled(p, s, p->modes.of[k], i);
}

/* Of token r of text s, column i. */
static double gradient_of(const brim_pool_joined *p, int32_t s, int32_t r, int32_t i) {
  double sum = 0;
  for (int32_t k = 0; k < p->modes.count; k++) {
    const brim_pool_terms t = terms_of(&p->layout, p->skipped, p->modes.of[k], s);
    const double dy = (double)p->dy[((int64_t)s * p->modes.count + k) * p->width + i];
    if (p->modes.of[k] == BRIM_POOL_MAX)
      sum += p->chosen[(int64_t)s * p->width + i] == p->layout.offsets[s] + r ? dy : 0;
    else if (r >= t.from && r < t.to)
      sum += dy * brim_pool_term(&t, r) / t.divisor;
  }
  return sum;
}

void REF(pool_joined_backward)(brim_ops_context *c, const brim_pool_joined *p) {
  (void)c;
  for (int32_t s = 0; s < p->layout.n; s++)
    for (int32_t r = 0; r < p->layout.offsets[s + 1] - p->layout.offsets[s]; r++)
      for (int32_t i = 0; i < p->width; i++)
        p->dx[((int64_t)p->layout.offsets[s] + r) * p->width + i] = (real)gradient_of(p, s, r, i);
}
