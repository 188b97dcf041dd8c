/* text.h: what the library alone appends to a text. */
#ifndef BRIM_BASE_TEXT_H
#define BRIM_BASE_TEXT_H
#include "brim/base.h"

void brim_text_integer(brim_text *text, int64_t value);
/* A JSON string with quotes; invalid UTF-8 becomes U+FFFD. */
void brim_text_json_string(brim_text *text, const char *bytes, size_t length);
/* A JSON number, as brim_json_put_number writes it. */
void brim_text_json_number(brim_text *text, double value);
/* {"event":"kind","name":value,...} without a line end. */
void brim_text_json_event(brim_text *text, const brim_event *event);

#endif
