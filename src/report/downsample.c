#include "report/downsample.h"

#include <math.h>

/* Of one column: positions of what it keeps. */
typedef struct column {
  size_t first, least, greatest, last;
} column;

/* Writes the positions in rising order, each once. */
static size_t put_column(const column *c, size_t *kept) {
  const size_t low = c->least < c->greatest ? c->least : c->greatest, high = c->least < c->greatest ? c->greatest : c->least;
  const size_t all[] = {c->first, low, high, c->last};
  size_t count = 0;
  for (int i = 0; i < 4; i++)
    if (count == 0 || kept[count - 1] != all[i])
      kept[count++] = all[i];
  return count;
}

static int column_of(double x, double low, double high, int columns) {
  const int at = high > low ? (int)((x - low) / (high - low) * columns) : 0;
  return at < columns ? at : columns - 1;
}

size_t brim_downsample(const double *x, const double *y, size_t count, double low, double high, int columns, size_t *kept) {
  size_t used = 0;
  int now = -1;
  column c = {0};
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(x[i]) || !isfinite(y[i]) || x[i] < low || x[i] > high)
      continue;
    const int at = column_of(x[i], low, high, columns);
    if (at > now) {
      used += now >= 0 ? put_column(&c, kept + used) : 0;
      c = (column){i, i, i, i};
      now = at;
    }
    c.least = y[i] < y[c.least] ? i : c.least;
    c.greatest = y[i] > y[c.greatest] ? i : c.greatest;
    c.last = i;
  }
  return used + (now >= 0 ? put_column(&c, kept + used) : 0);
}

void brim_running_mean(const double *y, size_t count, double window, double *out) {
  const double keep = exp(-1 / fmax(window, 1e-3));
  double sum = 0, weight = 0;
  for (size_t i = 0; i < count; i++) {
    out[i] = (double)NAN;
    if (!isfinite(y[i]))
      continue;
    sum = keep * sum + y[i], weight = keep * weight + 1;
    out[i] = sum / weight;
  }
}
