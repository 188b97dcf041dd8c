/* vectors.c: sums in eight lanes, which compilers turn into vector instructions without changing their order. */
#include "target/vectors.h"

#include <math.h>
#include <string.h>

enum { LANES = 8 };

double brim_dot(const double *x, const double *y, int32_t width) {
  double lanes[LANES] = {0}, sum = 0;
  int32_t i = 0;
  for (; i + LANES <= width; i += LANES)
    for (int k = 0; k < LANES; k++)
      lanes[k] += x[i + k] * y[i + k];
  for (; i < width; i++)
    sum += x[i] * y[i];
  for (int k = 0; k < LANES; k++)
    sum += lanes[k];
  return sum;
}

void brim_add_scaled(double *restrict y, double a, const double *restrict x, int32_t width) {
  for (int32_t i = 0; i < width; i++)
    y[i] += a * x[i];
}

double brim_log_sum(const double *x, int32_t count) {
  double largest = -INFINITY, sum = 0;
  for (int32_t i = 0; i < count; i++)
    largest = fmax(largest, x[i]);
  for (int32_t i = 0; i < count; i++)
    sum += exp(x[i] - largest);
  return largest + log(sum);
}

double brim_make_unit(const double *x, int32_t width, double eps, double *unit) {
  const double length = sqrt(brim_dot(x, x, width)), factor = 1 / fmax(length, eps);
  for (int32_t i = 0; i < width; i++)
    unit[i] = x[i] * factor;
  return length;
}

/* Along the vector itself nothing changes; below eps the unit vector is x / eps. */
void brim_unit_gradient(const double *unit, double length, double eps, const double *by_unit, int32_t width, double *by_x) {
  const double along = length > eps ? brim_dot(unit, by_unit, width) : 0, factor = 1 / fmax(length, eps);
  for (int32_t i = 0; i < width; i++)
    by_x[i] = (by_unit[i] - along * unit[i]) * factor;
}

brim_cosine brim_cosine_of(const double *x, const double *y, int32_t width, double eps, double *units) {
  brim_cosine c = {.eps = eps, .units = {units, units + width}};
  c.lengths[0] = brim_make_unit(x, width, eps, units);
  c.lengths[1] = brim_make_unit(y, width, eps, units + width);
  c.value = brim_dot(units, units + width, width);
  return c;
}

/* d cos / d x = (norm(y) - cos norm(x)) / |x|. */
void brim_cosine_add_gradient(const brim_cosine *c, double by_value, int32_t width, double *by_x, double *by_y) {
  double *const to[2] = {by_x, by_y};
  for (int k = 0; k < 2; k++) {
    const double *own = c->units[k], *other = c->units[1 - k];
    const double along = c->lengths[k] > c->eps ? c->value : 0, factor = by_value / fmax(c->lengths[k], c->eps);
    for (int32_t i = 0; i < width; i++)
      to[k][i] += factor * (other[i] - along * own[i]);
  }
}

double brim_distance_of(brim_distance distance, const double *x, const double *y, int32_t width, double eps, double shift,
                        double *units) {
  double sum = 0;
  if (distance == BRIM_DISTANCE_COSINE)
    return 1 - brim_cosine_of(x, y, width, eps, units).value;
  for (int32_t i = 0; i < width; i++) {
    const double by = x[i] - y[i] + shift;
    sum += distance == BRIM_DISTANCE_EUCLIDEAN ? by * by : fabs(by);
  }
  return distance == BRIM_DISTANCE_EUCLIDEAN ? sqrt(sum) : sum;
}

void brim_distance_add_gradient(brim_distance distance, const double *x, const double *y, int32_t width, double eps, double shift,
                                double by_value, double *units, double *by_x, double *by_y) {
  if (distance == BRIM_DISTANCE_COSINE) {
    const brim_cosine c = brim_cosine_of(x, y, width, eps, units);
    brim_cosine_add_gradient(&c, -by_value, width, by_x, by_y);
    return;
  }
  const double length = distance == BRIM_DISTANCE_EUCLIDEAN ? brim_distance_of(distance, x, y, width, eps, shift, units) : 1;
  for (int32_t i = 0; i < width; i++) {
    const double by = x[i] - y[i] + shift, sign = (by > 0) - (by < 0);
    const double d = distance == BRIM_DISTANCE_MANHATTAN ? sign : length > 0 ? by / length : 0;
    by_x[i] += by_value * d;
    by_y[i] -= by_value * d;
  }
}
