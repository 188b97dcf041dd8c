#include "base/number.h"
#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool brim_number_integer(const char *text, size_t length, int64_t *value) {
  size_t at = 0;
  bool negative = length && text[0] == '-';
  if (length && (text[0] == '-' || text[0] == '+'))
    at++;
  if (at == length)
    return false;
  uint64_t sum = 0;
  for (; at < length; at++) {
    if (!is_digit(text[at]))
      return false;
    if (__builtin_mul_overflow(sum, 10u, &sum) || __builtin_add_overflow(sum, (uint64_t)(text[at] - '0'), &sum))
      return false;
  }
  if (sum > (uint64_t)INT64_MAX + negative)
    return false;
  *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
  return true;
}

/* What a decimal number is made of: mantissa * 10^exponent, exact when `exact`. */
typedef struct decimal {
  uint64_t mantissa;
  int64_t exponent;
  bool negative, exact;
} decimal;

static void add_digit(decimal *d, char c, bool behind_point) {
  if (d->mantissa > (UINT64_MAX - 9) / 10) {
    d->exact = false;
    return;
  }
  d->mantissa = d->mantissa * 10 + (uint64_t)(c - '0');
  if (behind_point)
    d->exponent--;
}

static bool scan_exponent(const char *text, size_t length, size_t at, decimal *d) {
  bool negative = at < length && text[at] == '-';
  if (at < length && (text[at] == '-' || text[at] == '+'))
    at++;
  if (at == length)
    return false;
  int64_t e = 0;
  for (; at < length; at++) {
    if (!is_digit(text[at]))
      return false;
    if (e < 1000000)
      e = e * 10 + (text[at] - '0');
  }
  d->exponent += negative ? -e : e;
  return true;
}

static bool scan_decimal(const char *text, size_t length, decimal *d) {
  *d = (decimal){.exact = true};
  size_t at = 0, digits = 0;
  d->negative = length && text[0] == '-';
  if (length && (text[0] == '-' || text[0] == '+'))
    at++;
  for (; at < length && is_digit(text[at]); at++, digits++)
    add_digit(d, text[at], false);
  if (at < length && text[at] == '.')
    for (at++; at < length && is_digit(text[at]); at++, digits++)
      add_digit(d, text[at], true);
  if (!digits)
    return false;
  if (at == length)
    return true;
  return (text[at] == 'e' || text[at] == 'E') && scan_exponent(text, length, at + 1, d);
}

static locale_t c_locale(void) {
  return newlocale(LC_ALL_MASK, "C", (locale_t)0); /* a constant in glibc and musl: no memory is taken */
}

/* strtod wants a NUL, which the text may not have. Long digit strings are cut where they no longer can matter: 800 digits decide
 * any rounding, a sticky last digit keeps the rest. */
static double slow_real(const char *text, size_t length) {
  char buffer[1200];
  size_t n = 0, digits = 0;
  int64_t dropped = 0;
  bool point = false, sticky = false, leading = true;
  size_t at = 0;
  for (; at < length && text[at] != 'e' && text[at] != 'E'; at++) {
    char c = text[at];
    if (c == '.') {
      point = true;
    } else if (!is_digit(c)) {
      if (n == 0)
        buffer[n++] = c;
    } else if (leading && c == '0') {
      dropped -= point; /* 0.00ddd: only the exponent remembers these */
    } else if (digits < 800) {
      leading = false;
      buffer[n++] = c;
      digits++;
      dropped -= point;
    } else {
      sticky |= c != '0';
      dropped += !point;
    }
  }
  if (!digits)
    buffer[n++] = '0';
  if (sticky) {
    buffer[n++] = '1';
    dropped--;
  }
  decimal exponent = {0};
  if (at < length)
    scan_exponent(text, length, at + 1, &exponent);
  snprintf(buffer + n, sizeof buffer - n, "e%lld", (long long)(exponent.exponent + dropped));
  locale_t c = c_locale();
  double value = c ? strtod_l(buffer, NULL, c) : strtod(buffer, NULL);
  if (c)
    freelocale(c);
  return value;
}

bool brim_number_real(const char *text, size_t length, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  decimal d;
  if (!scan_decimal(text, length, &d))
    return false;
  /* Both factors are exact doubles, so the one operation rounds once (Clinger 1990). */
  if (d.exact && d.mantissa <= (uint64_t)1 << 53 && d.exponent >= -22 && d.exponent <= 22) {
    double m = (double)d.mantissa;
    m = d.exponent < 0 ? m / powers[-d.exponent] : m * powers[d.exponent];
    *value = d.negative ? -m : m;
    return true;
  }
  double slow = slow_real(text, length);
  if (isinf(slow))
    return false;
  *value = slow;
  return true;
}

int brim_number_vformat(char *buffer, size_t size, const char *format, va_list args) {
  locale_t c = c_locale();
  locale_t before = c ? uselocale(c) : (locale_t)0;
  int n = vsnprintf(buffer, size, format, args);
  if (c) {
    uselocale(before);
    freelocale(c);
  }
  return n;
}

int brim_number_format(char *buffer, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = brim_number_vformat(buffer, size, format, args);
  va_end(args);
  return n;
}
