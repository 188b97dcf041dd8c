/* correlation.c: how far two series of numbers go together. */
#include <math.h>

#include "base/sort.h"
#include "task/task.h"

/* Two-pass: the means first, so that large values do not cancel. NaN when one side is constant. */
static double pearson(const double *x, const double *y, uint64_t count) {
  double mean_x = 0.0, mean_y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
  for (uint64_t i = 0; i < count; i++)
    mean_x += x[i], mean_y += y[i];
  mean_x /= (double)count, mean_y /= (double)count;
  for (uint64_t i = 0; i < count; i++) {
    double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xx += dx * dx, yy += dy * dy, xy += dx * dy;
  }
  return xx > 0.0 && yy > 0.0 ? xy / (sqrt(xx) * sqrt(yy)) : (double)NAN;
}

static bool is_larger(const void *a, const void *b, const void *values) {
  const double *v = values;
  return v[*(const uint64_t *)a] > v[*(const uint64_t *)b];
}

/* Positions of the values in rising order. Ties may come in any order, since they share a rank. */
static void order_by_value(uint64_t *order, const double *values, uint64_t count) {
  for (uint64_t i = 0; i < count; i++)
    order[i] = i;
  brim_sort(order, count, sizeof *order, is_larger, values);
}

/* Replaces values by their ranks from 1; equal values share the mean of theirs. */
static void ranks_of(double *values, uint64_t *order, double *ranks, uint64_t count) {
  order_by_value(order, values, count);
  for (uint64_t first = 0, last; first < count; first = last) {
    for (last = first + 1; last < count && values[order[last]] == values[order[first]];)
      last++;
    for (uint64_t i = first; i < last; i++)
      ranks[order[i]] = ((double)first + (double)last + 1.0) / 2.0;
  }
  for (uint64_t i = 0; i < count; i++)
    values[i] = ranks[i];
}

brim_correlation brim_correlate(double *x, double *y, uint64_t count, void *work) {
  double *ranks = work;
  uint64_t *order = (uint64_t *)(void *)(ranks + count);
  brim_correlation c = {.pearson = pearson(x, y, count)};
  ranks_of(x, order, ranks, count);
  ranks_of(y, order, ranks, count);
  c.spearman = pearson(x, y, count);
  return c;
}
