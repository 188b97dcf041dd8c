/* update.c: the gradient's norm, the rules of updates (ops/rules.h), and mixout. */
#include "ops/ref/ref.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

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

/* Neighbouring values, and the update that they get. */
typedef struct stretch {
  const brim_update *u;
  real *values; /* at the offsets of their gradients */
  const brim_update_step *step;
  double lr;
  bool decay, returns, gradient; /* gradient: there is one. Values that have none are not read for one */
  int64_t first, end;
} stretch;

static real factor_of(const stretch *w) {
  return (real)(w->gradient && w->u->clip > 0 ? fmin(1, w->u->clip / (sqrt(*w->u->square) + 1e-6)) : 1);
}

/* What decay goes by: the distance from 0, or from the value at the start. */
static real distance(const stretch *w, int64_t i) {
  return w->returns ? w->values[i] - w->u->start[i] : w->values[i];
}

static void adamw(const stretch *w) {
  const brim_update *u = w->u;
  const brim_update_step *s = w->step;
  const real factor = factor_of(w), keep = (real)(w->decay ? 1 - w->lr * s->weight_decay : 1);
  const real beta2 = (real)s->beta2, new1 = (real)(1 - s->beta1), new2 = (real)(1 - s->beta2);
  const real root = (real)sqrt(s->correction2), size = (real)(w->lr / s->correction1), eps = (real)s->eps;
  for (int64_t i = w->first; i < w->end; i++) {
    const real g = w->gradient ? u->gradients[i] * factor : 0;
    const real m = u->states[0][i] + (g - u->states[0][i]) * new1, v = u->states[1][i] * beta2 + new2 * g * g;
    const real kept = w->returns ? u->start[i] + distance(w, i) * keep : w->values[i] * keep;
    u->states[0][i] = m;
    u->states[1][i] = v;
    w->values[i] = kept - size * (m / ((real)sqrt((double)v) / root + eps));
  }
}

static void sgd(const stretch *w) {
  const brim_update *u = w->u;
  const real factor = factor_of(w), pull = (real)(w->decay ? w->step->weight_decay : 0);
  const real momentum = (real)w->step->momentum, lr = (real)w->lr;
  for (int64_t i = w->first; i < w->end; i++) {
    const real g = (w->gradient ? u->gradients[i] * factor : 0) + pull * distance(w, i);
    u->states[0][i] = u->states[0][i] * momentum + g;
    w->values[i] -= lr * u->states[0][i];
  }
}

static void madgrad(const stretch *w) {
  const brim_update *u = w->u;
  const brim_update_step *s = w->step;
  const real factor = factor_of(w), pull = (real)(w->decay ? s->weight_decay : 0), eps = (real)s->eps;
  const real weight = (real)(w->lr > 0 ? (w->lr + s->eps) * sqrt((double)s->number) : 0), new = (real)(1 - s->momentum);
  for (int64_t i = w->first; i < w->end; i++) {
    const real g = (w->gradient ? u->gradients[i] * factor : 0) + pull * distance(w, i);
    u->states[0][i] += weight * g * g;
    u->states[1][i] += weight * g;
    const real end = u->start[i] - u->states[1][i] / ((real)cbrt((double)u->states[0][i]) + eps);
    w->values[i] += new * (end - w->values[i]);
  }
}

#define RULE(NAME, name, ...) [BRIM_RULE_##NAME] = {name, BRIM_STATES_OF_##name, BRIM_RESTS_##name},
static const struct {
  void (*update)(const stretch *w);
  int states;
  bool rests;
} rules[] = {BRIM_RULES_LIST(RULE)};

static void update_values(const stretch *w) {
  rules[w->u->rule].update(w);
  for (int64_t i = w->first; w->gradient && i < w->end; i++)
    w->u->gradients[i] = 0;
}

/* An update of a row of an embedding. */
static void update_row(const brim_update *u, const brim_update_range *range, int64_t row, const brim_update_step *s, double rate,
                       bool gradient) {
  const bool decay = range->decay && s->weight_decay > 0;
  const int64_t first = range->offset + row * range->row_size;
  if (range->alive && (gradient || (decay && !rules[u->rule].rests)))
    range->alive[row] = 1;
  if (!decay && range->alive && !range->alive[row])
    return; /* gradient and states are zero: nothing would change */
  update_values(
      &(stretch){u, u->values + range->frozen, s, s->lr * rate, decay, range->returns, gradient, first, first + range->row_size});
}

static void catch_up_row(const brim_update *u, const brim_update_range *range, int64_t row) {
  for (; range->done[row] < u->past_count; range->done[row]++)
    update_row(u, range, row, &u->past[range->done[row]], 1, false);
}

static void write_copy(brim_ops_context *c, const brim_update *u, const brim_update_range *range) {
  if (range->copy)
    REF(narrow)(c, &(brim_to_bfloat){.count = range->count, .x = u->values + range->frozen + range->offset, .y = range->copy});
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

void REF(update)(brim_ops_context *c, const brim_update *u) {
  if (!isfinite(*u->square))
    return;
  for (int32_t i = 0; i < u->range_count; i++) {
    const brim_update_range *range = &u->ranges[i];
    if (range->row_size > 0) {
      update_embedding(u, range);
      continue;
    }
    update_values(&(stretch){u, u->values + range->frozen, &u->step, u->step.lr * range->rate,
                             range->decay && u->step.weight_decay > 0, range->returns, true, range->offset,
                             range->offset + range->count});
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
      range->alive[row] = 0;
      for (int k = 0; k < rules[u->rule].states; k++)
        range->alive[row] |= any(u->states[k] + at, size);
    }
  }
}

/* ---- mixout: eight neighbouring weights a block, each 16 bits of it */

static real mixed(const brim_dropout *d, int64_t i, real changed) {
  const uint64_t block = (uint64_t)i / 8;
  const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), BRIM_PURPOSE_MIXOUT, 0};
  uint32_t words[4];
  brim_philox_rounds(BRIM_DROPOUT_ROUNDS, counter, d->key, words);
  const uint32_t bits = words[i % 8 / 2] >> (i % 2 ? 16 : 0) & 0xffff;
  return bits < d->threshold ? 0 : changed * d->scale;
}

void REF(mixout_forward)(brim_ops_context *c, const brim_mixout *op) {
  (void)c;
  for (int32_t k = 0; k < op->range_count; k++) {
    const int64_t first = op->ranges[k].offset, end = op->ranges[k].mixed ? first + op->ranges[k].count : first;
    real *values = op->values + op->ranges[k].frozen;
    for (int64_t i = first; i < end; i++) {
      op->kept[i] = values[i];
      values[i] = op->start[i] + mixed(&op->dropout, i, values[i] - op->start[i]);
    }
  }
}

void REF(mixout_backward)(brim_ops_context *c, const brim_mixout *op) {
  (void)c;
  for (int32_t k = 0; k < op->range_count; k++) {
    const int64_t first = op->ranges[k].offset, end = op->ranges[k].mixed ? first + op->ranges[k].count : first;
    for (int64_t i = first; i < end; i++)
      op->gradients[i] = mixed(&op->dropout, i, op->gradients[i]);
  }
}
