#include "report/scale.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "report/page.h"

enum { AXIS_COLUMNS = 50, TICK_ROOM = 18 }; /* room for an axis's title, and for half a number */

/* The smallest of 1, 2, 5 times a power of ten that is not below `value`. */
static double round_up(double value) {
  const double power = pow(10, floor(log10(value)));
  const double share = value / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void linear_ticks(brim_scale *scale, bool round_ends, int wanted) {
  const double step = round_up((scale->high - scale->low) / wanted);
  if (round_ends) {
    scale->low = step * floor(scale->low / step + 1e-9);
    scale->high = step * ceil(scale->high / step - 1e-9);
  }
  const double first = ceil(scale->low / step - 1e-9);
  for (int i = 0; i < MOST_TICKS && (first + i) * step <= scale->high + 1e-9 * step; i++)
    scale->ticks[scale->tick_count++] = (first + i) * step;
}

/* Powers of ten, all or each second, third, ... of them; where there is less than one, the two ends. */
static void log_ticks(brim_scale *scale) {
  const int first = (int)ceil(log10(scale->low) - 1e-9), last = (int)floor(log10(scale->high) + 1e-9);
  const int stride = (last - first) / 6 + 1;
  for (int power = first; power <= last && scale->tick_count < MOST_TICKS; power += stride)
    scale->ticks[scale->tick_count++] = pow(10, power);
  if (scale->tick_count < 2) {
    scale->ticks[0] = scale->low, scale->ticks[1] = scale->high;
    scale->tick_count = 2;
  }
}

brim_scale brim_scale_make(double low, double high, bool log, bool round_ends, int wanted, double from, double to) {
  brim_scale scale = {.low = fmin(low, high), .high = fmax(low, high), .from = from, .to = to, .log = log};
  if (!(isfinite(scale.low) && isfinite(scale.high)))
    scale.low = log ? 1 : 0, scale.high = log ? 10 : 1;
  /* One value, or a range that a double cannot part, gets room on both sides. */
  if (scale.high - scale.low <= 1e-12 * fmax(fabs(scale.low), fabs(scale.high)) || scale.high == scale.low) {
    const double room = scale.low != 0 ? 0.5 * fabs(scale.low) : 0.5;
    scale.low = scale.low >= 0 && scale.low - room < 0 ? 0 : scale.low - room;
    scale.high += room;
  }
  if (log)
    log_ticks(&scale);
  else
    linear_ticks(&scale, round_ends, wanted);
  return scale;
}

void brim_scale_bound(brim_scale *scale, double least, double most) {
  int kept = 0;
  scale->low = fmax(scale->low, least);
  scale->high = fmin(scale->high, most);
  for (int i = 0; i < scale->tick_count; i++)
    if (scale->ticks[i] >= scale->low - 1e-9 && scale->ticks[i] <= scale->high + 1e-9)
      scale->ticks[kept++] = scale->ticks[i];
  scale->tick_count = kept;
}

double brim_scale_at(const brim_scale *scale, double value) {
  const double low = scale->log ? log10(scale->low) : scale->low, high = scale->log ? log10(scale->high) : scale->high;
  const double at = scale->log ? log10(value) : value;
  return scale->from + (at - low) / (high - low) * (scale->to - scale->from);
}

bool brim_scale_holds(const brim_scale *scale, double value) {
  return isfinite(value) && (!scale->log || value > 0);
}

/* "5e-05" to "5e-5". */
static void short_exponent(char *text) {
  char *exponent = strchr(text, 'e');
  if (!exponent)
    return;
  char *digits = exponent + 1 + (exponent[1] == '-' || exponent[1] == '+');
  const size_t zeros = strspn(digits, "0");
  memmove(digits, digits + zeros, strlen(digits + zeros) + 1);
  if (exponent[1] == '+')
    memmove(exponent + 1, exponent + 2, strlen(exponent + 2) + 1);
}

/* Significant digits that distinguish `value` from its neighbours. */
static int digits_for(double most, double step) {
  const int needed = step > 0 && most > 0 ? (int)floor(log10(most) + 1e-9) - (int)floor(log10(step) + 1e-9) + 1 : 3;
  return needed < 3 ? 3 : needed > 6 ? 6 : needed;
}

void brim_scale_text(double value, double step, char *buffer, size_t size) {
  static const struct {
    double from;
    const char *letter;
  } units[] = {{1e15, ""}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}, {0, ""}};
  double most = fabs(value), divisor = 1;
  const char *letter = "";
  for (size_t i = 1; i < sizeof units / sizeof *units && most < 1e15; i++)
    if (most >= units[i].from) {
      letter = units[i].letter;
      divisor = units[i].from == 1e4 ? 1e3 : units[i].from > 0 ? units[i].from : 1;
      break;
    }
  const int digits = digits_for(most, step);
  brim_number_format(buffer, size, "%.*g%s", most >= 1000 && most < 1e4 && digits < 4 ? 4 : digits, value / divisor, letter);
  if (most < 1e-3 || most >= 1e15)
    short_exponent(buffer);
}

static double tick_step(const brim_scale *scale) {
  return scale->log || scale->tick_count < 2 ? 0 : scale->ticks[1] - scale->ticks[0];
}

/* In the middle under its place, but never out of the picture. */
static void put_tick_x(brim_text *out, const brim_scale *x, double value) {
  char text[32];
  const double at = brim_scale_at(x, value);
  const bool last = at > PICTURE_WIDTH - TICK_ROOM;
  brim_scale_text(value, tick_step(x), text, sizeof text);
  brim_text_printf(out, "<text class=\"soft %s\" x=\"%.1f\" y=\"%d\">%s</text>", last ? "end" : "mid",
                   last ? PICTURE_WIDTH - 2.0 : at, PLOT_BOTTOM + 15, text);
}

static void put_tick_y(brim_text *out, const brim_scale *y, double value) {
  char text[32];
  const double at = brim_scale_at(y, value);
  brim_scale_text(value, tick_step(y), text, sizeof text);
  brim_text_printf(out, "<path class=\"grid-line\" d=\"M%d %.1fH%d\"/><text class=\"soft end\" x=\"%d\" y=\"%.1f\">%s</text>",
                   PLOT_LEFT, at, PLOT_RIGHT, PLOT_LEFT - 5, at + 3.5, text);
}

void brim_axes_draw(brim_text *out, const brim_scale *x, const brim_scale *y, const char *x_title, const char *y_title) {
  for (int i = 0; i < y->tick_count; i++)
    put_tick_y(out, y, y->ticks[i]);
  for (int i = 0; x && i < x->tick_count; i++)
    put_tick_x(out, x, x->ticks[i]);
  brim_text_printf(out, "<text class=\"soft end\" x=\"%d\" y=\"%d\">", PLOT_RIGHT, PLOT_BOTTOM + 34);
  brim_markup_fitted(out, x_title ? x_title : "", AXIS_COLUMNS);
  brim_text_string(out, "</text><text class=\"soft\" x=\"2\" y=\"11\">");
  brim_markup_fitted(out, y_title ? y_title : "", AXIS_COLUMNS);
  brim_text_string(out, "</text>\n");
}
