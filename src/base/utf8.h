/* utf8.h: well-formed UTF-8 (Unicode table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF). */
#ifndef BRIM_BASE_UTF8_H
#define BRIM_BASE_UTF8_H
#include "brim/base.h"

/* Length of the longest well-formed beginning; equal to `length` when all is well. */
size_t brim_utf8_valid(const char *bytes, size_t length);
/* Length of the character at bytes[0] (1-4), or 0 when it is malformed or cut. length > 0. */
int brim_utf8_length(const char *bytes, size_t length);
/* The same, and the character; U+FFFD and 0 when malformed. */
int brim_utf8_decode(const char *bytes, size_t length, uint32_t *character);
/* What would change the text around it or steer a terminal: controls, line ends among them, and the marks that turn the direction
 * of text for more than themselves. */
bool brim_utf8_steers(uint32_t character);
/* Writes 1-4 bytes. `character` must be a scalar value. */
int brim_utf8_encode(uint32_t character, char out[4]);

#endif
