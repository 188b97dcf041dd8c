/* update.c: the gradient's norm and AdamW (Loshchilov and Hutter, "Decoupled weight decay regularization") in PyTorch's order. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

/* Rows of a range that is not an embedding: one. */
static int64_t row_count(const brim_update_range *range) {
  return range->row_size > 0 ? range->count / range->row_size : 1;
}

static bool row_touched(const brim_update_range *range, int64_t row) {
  return range->row_size <= 0 || !range->touched || range->touched[row];
}

double REF(gradient_square)(brim_ops_context *c, const brim_update *u) {
  (void)c;
  double sum = 0;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    const int64_t rows = row_count(range), size = range->row_size > 0 ? range->row_size : range->count;
    for (int64_t row = 0; row < rows; row++) {
      const real *g = u->gradients + range->offset + row * size;
      for (int64_t k = 0; row_touched(range, row) && k < size; k++)
        sum += (double)g[k] * (double)g[k];
    }
  }
  return sum;
}

static void update_row(const brim_update *u, double lr, int64_t first, int64_t count, bool decay) {
  const double clip = u->clip > 0 ? fmin(1, u->clip / (u->norm + 1e-6)) : 1;
  const real factor = (real)clip, keep = (real)(decay ? 1 - lr * u->weight_decay : 1);
  const real beta2 = (real)u->beta2, new1 = (real)(1 - u->beta1), new2 = (real)(1 - u->beta2);
  const real root = (real)sqrt(u->correction2), step = (real)(lr / u->correction1), eps = (real)u->eps;
  for (int64_t i = first; i < first + count; i++) {
    const real g = u->gradients[i] * factor;
    const real m = u->moment1[i] + (g - u->moment1[i]) * new1, v = u->moment2[i] * beta2 + new2 * g * g;
    u->moment1[i] = m;
    u->moment2[i] = v;
    u->values[i] = u->values[i] * keep - step * (m / ((real)sqrt((double)v) / root + eps));
    u->gradients[i] = 0;
  }
}

void REF(adamw)(brim_ops_context *c, const brim_update *u) {
  (void)c;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    const int64_t rows = row_count(range), size = range->row_size > 0 ? range->row_size : range->count;
    const bool decay = range->decay && u->weight_decay > 0, table = range->row_size > 0;
    for (int64_t row = 0; row < rows; row++) {
      const bool touched = row_touched(range, row);
      const bool alive = !table || !range->alive || touched || range->alive[row];
      if (table && range->alive && touched)
        range->alive[row] = 1;
      if (!alive && !decay)
        continue; /* gradient and moments are zero: nothing would change */
      update_row(u, u->lr * range->rate, range->offset + row * size, size, decay);
    }
  }
}
