/* distances.c: which row of an embedding a distance has. Shared by every device. In single precision and in the order of
 * transformers (relative_position_bucket of modeling_mpnet.py, make_log_bucket_position of modeling_deberta_v2.py), since a row
 * is a rounded logarithm. */
#include "ops/ops.h"

#include <math.h>
#include <stdlib.h>

static int32_t halves_row(const brim_distances *d, int32_t distance) {
  const int32_t half = d->rows / 2, exact = half / 2, size = abs(distance), from = distance < 0 ? half : 0;
  if (size < exact)
    return from + size;
  const float fraction = logf((float)size / (float)exact) / (float)log((double)d->farthest / exact);
  const int32_t far = exact + (int32_t)(fraction * (float)(half - exact));
  return from + (far < half - 1 ? far : half - 1);
}

static int32_t centered_row(const brim_distances *d, int32_t distance) {
  const int32_t span = d->rows / 2, exact = span / 2, size = abs(distance);
  int32_t far = size;
  if (d->farthest > 0 && size > exact) {
    const float fraction = logf((float)size / (float)exact) / logf((float)((double)(d->farthest - 1) / exact));
    far = (int32_t)ceilf(fraction * (float)(exact - 1)) + exact;
  }
  const int32_t row = span + (distance < 0 ? -far : far);
  return row < 0 ? 0 : row < d->rows ? row : d->rows - 1;
}

int32_t brim_distance_row(const brim_distances *d, int32_t distance) {
  return d->rule == BRIM_DISTANCE_HALVES ? halves_row(d, distance) : centered_row(d, distance);
}
