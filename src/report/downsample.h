/* downsample.h: few points that look like many. */
#ifndef BRIM_REPORT_DOWNSAMPLE_H
#define BRIM_REPORT_DOWNSAMPLE_H
#include "brim/base.h"

/* Positions of the points to draw, in rising order, written to kept[4 * columns]; returns how many. Of the points in each of
 * `columns` equal parts of [low, high] these are the first, the least, the greatest and the last (M4: Jugel et al., VLDB 2014): a
 * line through them covers the same pixels as one through all. Points with a coordinate that is not finite, or outside, are
 * passed over. x must not fall. */
size_t brim_downsample(const double *x, const double *y, size_t count, double low, double high, int columns, size_t *kept);

/* out[i]: mean of the values up to i, weighing those `window` back by 1/e; values that are not finite are passed over (and keep
 * their place as NaN). */
void brim_running_mean(const double *y, size_t count, double window, double *out);

#endif
