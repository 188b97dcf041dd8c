#include "brim/report.h"

#include <math.h>
#include <stdio.h>

void brim_duration_text(double seconds, char *buffer, size_t size) {
  if (!(seconds >= 0 && seconds < 1e9)) {
    snprintf(buffer, size, "-:--:--");
    return;
  }
  const long whole = lround(seconds);
  snprintf(buffer, size, "%ld:%02ld:%02ld", whole / 3600, whole / 60 % 60, whole % 60);
}

const char *brim_metric_text(double value, char buffer[BRIM_METRIC_TEXT]) {
  snprintf(buffer, BRIM_METRIC_TEXT, fabs(value) < 1e6 ? "%.4f" : "%.4g", value);
  return buffer;
}

void brim_count_text(int64_t value, char *buffer, size_t size) {
  char digits[32]; /* filled from the end: 19 digits, 6 commas, a sign */
  size_t at = sizeof digits;
  uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  digits[--at] = 0;
  for (int i = 0; i == 0 || left; i++, left /= 10) {
    if (i && i % 3 == 0)
      digits[--at] = ',';
    digits[--at] = (char)('0' + left % 10);
  }
  if (value < 0)
    digits[--at] = '-';
  snprintf(buffer, size, "%s", digits + at);
}
