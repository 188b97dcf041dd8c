/* scale.h: from values to coordinates in a picture, and the round numbers at its axes. */
#ifndef BRIM_REPORT_SCALE_H
#define BRIM_REPORT_SCALE_H
#include "brim/report.h"

/* The room of a chart within its picture. */
enum { PLOT_LEFT = 46, PLOT_RIGHT = 348, PLOT_TOP = 24, PLOT_BOTTOM = 184, PLOT_HEIGHT = 224 };

enum { MOST_TICKS = 12 };

/* One axis. Values are mapped by a line, or by one through their logarithms. */
typedef struct brim_scale {
  double low, high; /* values at the ends, low < high */
  double from, to;  /* coordinates of them */
  bool log;
  double ticks[MOST_TICKS];
  int tick_count;
} brim_scale;

/* A scale for values from `low` to `high` (any order and equality is fine), with about `wanted` ticks. With round ends, low and
 * high go out to the next ticks. */
brim_scale brim_scale_make(double low, double high, bool log, bool round_ends, int wanted, double from, double to);
/* Ends within `least` and `most`, without the ticks that are then outside. */
void brim_scale_bound(brim_scale *scale, double least, double most);
double brim_scale_at(const brim_scale *scale, double value);
/* Whether the value can be drawn at all. */
bool brim_scale_holds(const brim_scale *scale, double value);
/* A value in few characters: 0.05, 400, 12k, 2.5M, 5e-5; so many that values that differ by `step` look different (0: three
 * digits). */
void brim_scale_text(double value, double step, char *buffer, size_t size);

/* Axes with ticks, grid lines below the data, and titles. */
void brim_axes_draw(brim_text *out, const brim_scale *x, const brim_scale *y, const char *x_title, const char *y_title);

#endif
