/* number.h: numbers as text, whatever the host program's locale. */
#ifndef BRIM_BASE_NUMBER_H
#define BRIM_BASE_NUMBER_H
#include "brim/base.h"

/* An optional sign and digits that fit in 64 bits, nothing else. */
bool brim_number_integer(const char *text, size_t length, int64_t *value);
/* A decimal number (sign, digits, point, exponent), nothing else: no spaces, hexadecimal, "nan" or "inf". The nearest double;
 * false when it overflows. "1." and ".5" are fine here (JSON forbids them and checks that itself). */
bool brim_number_real(const char *text, size_t length, double *value);
/* vsnprintf in the C locale. */
int brim_number_format(char *buffer, size_t size, const char *format, ...) BRIM_PRINTF(3, 4);
int brim_number_vformat(char *buffer, size_t size, const char *format, va_list args);

#endif
