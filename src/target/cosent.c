/* cosent.c: log(1 + sum over rows i, j with y_i < y_j of exp(s_i - s_j)), s = scale cos(a, b), in one pass over the rows by their
 * labels: the sum over i is one logarithm for all j with the same label. */
#include <math.h>
#include <stdlib.h>

#include "target/vectors.h"

typedef struct scored {
  double label, score, less, more; /* less: log of the sum of exp(s_i) of smaller labels; more: of exp(-s_j) of larger ones */
  int32_t row;
} scored;

static int compare(const void *a, const void *b) {
  const scored *x = a, *y = b;
  if (x->label != y->label)
    return x->label < y->label ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* log(exp(x) + exp(y)) */
static double join(double x, double y) {
  const double large = fmax(x, y);
  return isinf(large) ? large : large + log1p(exp(fmin(x, y) - large));
}

static int32_t group_end(const scored *s, int32_t count, int32_t first) {
  int32_t end = first;
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

size_t brim_cosent_work(int32_t rows, int32_t width) {
  return (size_t)rows * sizeof(scored) + 2 * (size_t)width * sizeof(double);
}

void brim_cosent_loss(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value) {
  scored *s = work;
  double *units = (double *)(void *)(s + rows->rows), total = 0;
  const int32_t width = rows->width;
  for (int32_t r = 0; r < rows->rows; r++) {
    const double *a = rows->values + (int64_t)rows->firsts[r] * width;
    s[r] = (scored){.label = rows->labels[(int64_t)r * rows->label_width], .row = r};
    s[r].score = loss->scale * brim_cosine_of(a, a + width, width, BRIM_NORM_EPS, units).value;
  }
  qsort(s, (size_t)rows->rows, sizeof *s, compare);
  find_sums(s, rows->rows);
  for (int32_t i = 0; i < rows->rows; i++)
    total = join(total, s[i].less - s[i].score);
  for (int32_t i = 0; i < rows->rows; i++) {
    const int64_t at = (int64_t)rows->firsts[s[i].row] * width;
    const double by = exp(s[i].score + s[i].more - total) - exp(s[i].less - s[i].score - total);
    const brim_cosine c = brim_cosine_of(rows->values + at, rows->values + at + width, width, BRIM_NORM_EPS, units);
    brim_cosine_add_gradient(&c, by * loss->scale, width, gradient + at, gradient + at + width);
  }
  *value += total;
}
