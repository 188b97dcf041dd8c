/* width.h: how many columns of a terminal a text takes. */
#ifndef BRIM_REPORT_WIDTH_H
#define BRIM_REPORT_WIDTH_H
#include "brim/base.h"

/* Columns of NUL-terminated UTF-8: 2 for East Asian wide characters and emoji, 0 for combining marks, 1 for all else. */
int32_t brim_display_width(const char *text);

#endif
