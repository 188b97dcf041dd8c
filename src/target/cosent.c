/* cosent.c: log(1 + sum over pairs i, j with y_i < y_j of exp(s_i - s_j)), s = scale times a similarity of a and b: their cosine,
 * or AnglE's. In one pass over the pairs by their labels: the sum over i is one logarithm for all j with the same label. */
#include <math.h>
#include <stdlib.h>

#include "target/vectors.h"

typedef struct scored {
  double label, score, less, more; /* less: log of the sum of exp(s_i) of smaller labels; more: of exp(-s_j) of larger ones */
  int32_t pair, first, second;     /* its number, and its texts */
} scored;

static int compare(const void *a, const void *b) {
  const scored *x = a, *y = b;
  if (x->label != y->label)
    return x->label < y->label ? -1 : 1;
  return (x->pair > y->pair) - (x->pair < y->pair);
}

/* log(exp(x) + exp(y)) */
static double join(double x, double y) {
  const double large = fmax(x, y);
  return isinf(large) ? large : large + log1p(exp(fmin(x, y) - large));
}

static int32_t group_end(const scored *s, int32_t count, int32_t first) {
  int32_t end = first + 1; /* whatever numbers labels are */
  while (end < count && s[end].label == s[first].label)
    end++;
  return end;
}

/* From the smallest label up, then down again. */
static void find_sums(scored *s, int32_t count) {
  double below = -INFINITY, above = -INFINITY;
  for (int32_t first = 0, end; first < count; first = end) {
    end = group_end(s, count, first);
    for (int32_t i = first; i < end; i++)
      s[i].less = below;
    for (int32_t i = first; i < end; i++)
      below = join(below, s[i].score);
  }
  for (int32_t end = count, first; end > 0; end = first) {
    for (first = end - 1; first > 0 && s[first - 1].label == s[end - 1].label; first--)
      ;
    for (int32_t i = first; i < end; i++)
      s[i].more = above;
    for (int32_t i = first; i < end; i++)
      above = join(above, -s[i].score);
  }
}

/* ---- similarities -------------------------------------------------------------------------------------------- */

/* What is under AnglE's absolute value: the cosine, and the sine with its halves as the two parts of complex numbers. Of an odd
 * width the last of the second half is 0. */
static double angle_of(const double *x, const double *y, int32_t width) {
  const int32_t half = (width + 1) / 2;
  double sum = brim_dot(x, y, width);
  for (int32_t i = 0; i + half < width; i++)
    sum += x[i + half] * y[i] - x[i] * y[i + half];
  return sum;
}

/* Its derivative by y where `sign` is 1, and by x, of `by_value`, where it is -1: `other` is the other one. */
static void angle_gradient(const double *other, int32_t width, double sign, double by_value, double *to) {
  const int32_t half = (width + 1) / 2;
  for (int32_t i = 0; i < width; i++)
    to[i] = by_value * other[i];
  for (int32_t i = 0; i + half < width; i++) {
    to[i] += sign * by_value * other[i + half];
    to[i + half] -= sign * by_value * other[i];
  }
}

/* work: [3, width]. */
static void add_angle_gradient(const double *x, const double *y, int32_t width, double by, double *work, double *by_x,
                               double *by_y) {
  double *units[2] = {work, work + width}, *own = work + 2 * (int64_t)width, *const to[2] = {by_x, by_y};
  const double lengths[2] = {brim_make_unit(x, width, BRIM_NORM_EPS, units[0]),
                             brim_make_unit(y, width, BRIM_NORM_EPS, units[1])};
  const double value = angle_of(units[0], units[1], width), sign = (value > 0) - (value < 0);
  for (int k = 0; k < 2; k++) {
    angle_gradient(units[1 - k], width, k ? 1 : -1, sign * by, own);
    brim_unit_gradient(units[k], lengths[k], BRIM_NORM_EPS, own, width, own);
    brim_add_scaled(to[k], 1, own, width);
  }
}

static double similarity(const brim_vector_loss *loss, const double *x, const double *y, int32_t width, double *work) {
  if (loss->kind == BRIM_LOSS_COSENT)
    return brim_cosine_of(x, y, width, BRIM_NORM_EPS, work).value;
  brim_make_unit(x, width, BRIM_NORM_EPS, work);
  brim_make_unit(y, width, BRIM_NORM_EPS, work + width);
  return fabs(angle_of(work, work + width, width));
}

/* ---- the loss ------------------------------------------------------------------------------------------------ */

size_t brim_cosent_work(int32_t texts, int32_t width) {
  return (size_t)texts * sizeof(scored) + 3 * (size_t)width * sizeof(double);
}

/* The first text of each row with each of its others. Of the second the label is the row's (1 without one), of others 1 less it.
 */
static int32_t list_pairs(const brim_vector_loss *loss, const brim_vector_rows *rows, scored *s, double *work) {
  int32_t count = 0;
  for (int32_t r = 0; r < rows->rows; r++) {
    const int32_t first = rows->firsts[r];
    const double own = rows->labels ? rows->labels[(int64_t)r * rows->label_width] : (double)NAN, label = isnan(own) ? 1 : own;
    for (int32_t t = first + 1; t < rows->firsts[r + 1]; t++, count++) {
      s[count] = (scored){.label = t == first + 1 ? label : 1 - label, .pair = count, .first = first, .second = t};
      s[count].score = loss->scale * similarity(loss, rows->values + (int64_t)first * rows->width,
                                                rows->values + (int64_t)t * rows->width, rows->width, work);
    }
  }
  return count;
}

static void add_gradient(const brim_vector_loss *loss, const brim_vector_rows *rows, const scored *s, double by, double *work,
                         double *gradient) {
  const int32_t width = rows->width;
  const int64_t a = (int64_t)s->first * width, b = (int64_t)s->second * width;
  if (loss->kind == BRIM_LOSS_ANGLE) {
    add_angle_gradient(rows->values + a, rows->values + b, width, by, work, gradient + a, gradient + b);
    return;
  }
  const brim_cosine c = brim_cosine_of(rows->values + a, rows->values + b, width, BRIM_NORM_EPS, work);
  brim_cosine_add_gradient(&c, by, width, gradient + a, gradient + b);
}

void brim_cosent_loss(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value) {
  scored *s = work;
  double *units = (double *)(void *)(s + rows->firsts[rows->rows]), total = 0;
  const int32_t count = list_pairs(loss, rows, s, units);
  qsort(s, (size_t)count, sizeof *s, compare);
  find_sums(s, count);
  for (int32_t i = 0; i < count; i++)
    total = join(total, s[i].less - s[i].score);
  for (int32_t i = 0; i < count; i++) {
    const double by = exp(s[i].score + s[i].more - total) - exp(s[i].less - s[i].score - total);
    add_gradient(loss, rows, &s[i], by * loss->scale, units, gradient);
  }
  *value += total;
}
