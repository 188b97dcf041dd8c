/* score.h: the reference's reading of decimal numbers, which is not the nearest double. */
#ifndef BRIM_TEXT_SCORE_H
#define BRIM_TEXT_SCORE_H
#include "brim/base.h"

/* Reads the JSON number at the beginning of `text`. The reference takes the digits as one integer and scales it by a power of
 * ten, which rounds twice; a quarter of real scores end one bit away from the nearest double, and ties between paths follow.
 * False when the number overflows. */
bool brim_score_read(const char *text, size_t length, double *score);

#endif
