/* fields.h: event fields in one line each. */
#ifndef BRIM_TRAIN_FIELDS_H
#define BRIM_TRAIN_FIELDS_H
#include "brim/base.h"

#define BRIM_FIELD_INT(n, v)      ((brim_field){.name = (n), .kind = BRIM_VALUE_INT, .integer = (int64_t)(v)})
#define BRIM_FIELD_UNSIGNED(n, v) ((brim_field){.name = (n), .kind = BRIM_VALUE_UNSIGNED, .integer = (int64_t)(v)})
#define BRIM_FIELD_REAL(n, v)     ((brim_field){.name = (n), .kind = BRIM_VALUE_REAL, .real = (v)})
#define BRIM_FIELD_TEXT(n, v)     ((brim_field){.name = (n), .kind = BRIM_VALUE_TEXT, .text = (v)})
#define BRIM_FIELD_BOOL(n, v)     ((brim_field){.name = (n), .kind = BRIM_VALUE_BOOL, .integer = (v)})
#define BRIM_FIELD_JSON(n, v)     ((brim_field){.name = (n), .kind = BRIM_VALUE_JSON, .text = (v)})
#define BRIM_FIELD_COUNT(fields)  ((int)(sizeof(fields) / sizeof *(fields)))

#endif
