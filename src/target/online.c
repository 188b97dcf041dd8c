/* online.c: the contrastive loss over the hard pairs of a step: those that the other kind's extremes do not separate. */
#include <math.h>

#include "target/vectors.h"

/* What torch's pairwise_distance adds to each difference. */
#define SHIFT 1e-6

typedef struct kind {
  double sum, least, most;
  int32_t count;
} kind;

size_t brim_online_work(int32_t rows, int32_t width) {
  return ((size_t)rows + 2 * (size_t)width) * sizeof(double);
}

static const double *text_of(const brim_vector_rows *rows, int32_t r, int32_t k) {
  return rows->values + (int64_t)(rows->firsts[r] + k) * rows->width;
}

/* Distances of all pairs, and what there is of them by label. */
static void measure(const brim_vector_loss *loss, const brim_vector_rows *rows, double *distances, double *units, kind kinds[2]) {
  for (int k = 0; k < 2; k++)
    kinds[k] = (kind){.least = INFINITY, .most = -INFINITY};
  for (int32_t r = 0; r < rows->rows; r++) {
    const double y = rows->labels[(int64_t)r * rows->label_width];
    const double d = distances[r] = brim_distance_of(loss->distance, text_of(rows, r, 0), text_of(rows, r, 1), rows->width,
                                                     BRIM_COSINE_EPS, SHIFT, units);
    if (y != 0 && y != 1)
      continue;
    kind *own = &kinds[y == 1];
    own->sum += d;
    own->least = fmin(own->least, d);
    own->most = fmax(own->most, d);
    own->count++;
  }
}

void brim_online_loss(const brim_vector_loss *loss, const brim_vector_rows *rows, void *work, double *gradient, double *value) {
  double *distances = work, *units = distances + rows->rows;
  kind kinds[2];
  measure(loss, rows, distances, units, kinds);
  const double unlike = kinds[1].count > 0 ? kinds[1].most : kinds[0].sum / kinds[0].count; /* pairs of label 0 below it count */
  const double alike = kinds[0].count > 0 ? kinds[0].least : kinds[1].sum / kinds[1].count; /* and of label 1 above this */
  for (int32_t r = 0; r < rows->rows; r++) {
    const double y = rows->labels[(int64_t)r * rows->label_width], d = distances[r], short_by = fmax(loss->margin - d, 0);
    const int64_t at = (int64_t)rows->firsts[r] * rows->width;
    const bool pulls = y == 1 && d > alike, pushes = y == 0 && d < unlike;
    if (!pulls && !pushes)
      continue;
    *value += pulls ? d * d : short_by * short_by;
    brim_distance_add_gradient(loss->distance, text_of(rows, r, 0), text_of(rows, r, 1), rows->width, BRIM_COSINE_EPS, SHIFT,
                               pulls ? 2 * d : -2 * short_by, units, gradient + at, gradient + at + rows->width);
  }
}
