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

void REF(gradient_square)(brim_ops_context *c, const brim_update *u) {
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
  for (int32_t i = 0; i < u->loss_count; i++)
    sum += 0 * u->losses[i]; /* NaN unless it is finite */
  *u->square = sum;
}

/* Values that have no gradient are not read for one. */
static void update_values(const brim_update *u, const brim_update_step *s, double rate, bool decay, bool gradient, int64_t first,
                          int64_t count) {
  const double lr = s->lr * rate, clip = gradient && u->clip > 0 ? fmin(1, u->clip / (sqrt(*u->square) + 1e-6)) : 1;
  const real factor = (real)clip, keep = (real)(decay ? 1 - lr * s->weight_decay : 1);
  const real beta2 = (real)s->beta2, new1 = (real)(1 - s->beta1), new2 = (real)(1 - s->beta2);
  const real root = (real)sqrt(s->correction2), step = (real)(lr / s->correction1), eps = (real)s->eps;
  for (int64_t i = first; i < first + count; i++) {
    const real g = gradient ? u->gradients[i] * factor : 0;
    const real m = u->moment1[i] + (g - u->moment1[i]) * new1, v = u->moment2[i] * beta2 + new2 * g * g;
    u->moment1[i] = m;
    u->moment2[i] = v;
    u->values[i] = u->values[i] * keep - step * (m / ((real)sqrt((double)v) / root + eps));
    if (gradient)
      u->gradients[i] = 0;
  }
}

/* An update of a row of an embedding. */
static void update_row(const brim_update *u, const brim_update_range *range, int64_t row, const brim_update_step *s, double rate,
                       bool gradient) {
  const bool decay = range->decay && s->weight_decay > 0;
  if (gradient && range->alive)
    range->alive[row] = 1;
  if (!decay && range->alive && !range->alive[row])
    return; /* gradient and moments are zero: nothing would change */
  update_values(u, s, rate, decay, gradient, range->offset + row * range->row_size, range->row_size);
}

static void catch_up_row(const brim_update *u, const brim_update_range *range, int64_t row) {
  for (; range->done[row] < u->past_count; range->done[row]++)
    update_row(u, range, row, &u->past[range->done[row]], 1, false);
}

static void write_copy(brim_ops_context *c, const brim_update *u, const brim_update_range *range) {
  if (range->copy)
    REF(narrow)(c, &(brim_to_bfloat){.count = range->count, .x = u->values + range->offset, .y = range->copy});
}

static void update_embedding(const brim_update *u, const brim_update_range *range) {
  for (int64_t row = 0; row < row_count(range); row++) {
    const bool touched = row_touched(range, row);
    if (range->done && !touched)
      continue;
    if (range->done) {
      catch_up_row(u, range, row);
      range->done[row]++;
    }
    update_row(u, range, row, &u->step, range->rate, touched);
  }
}

void REF(adamw)(brim_ops_context *c, const brim_update *u) {
  if (!isfinite(*u->square))
    return;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    if (range->row_size > 0) {
      update_embedding(u, range);
      continue;
    }
    update_values(u, &u->step, range->rate, range->decay && u->step.weight_decay > 0, true, range->offset, range->count);
    write_copy(c, u, range);
  }
}

void REF(catch_up)(brim_ops_context *c, const brim_update *u) {
  (void)c;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    for (int64_t row = 0; range->done && row < row_count(range); row++)
      if (u->all || range->wanted[row])
        catch_up_row(u, range, row);
  }
}

static bool any(const real *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (x[i] != 0)
      return true;
  return false;
}

void REF(mark_alive)(brim_ops_context *c, const brim_update *u) {
  (void)c;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    const int64_t size = range->row_size;
    for (int64_t row = 0; size > 0 && row < row_count(range); row++) {
      const int64_t at = range->offset + row * size;
      range->alive[row] = any(u->moment1 + at, size) || any(u->moment2 + at, size);
    }
  }
}
