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
