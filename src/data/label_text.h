/* label_text.h: what one label is, and when two numbers are the same class. */
#ifndef BRIM_DATA_LABEL_TEXT_H
#define BRIM_DATA_LABEL_TEXT_H
#include "brim/data.h"

typedef enum brim_label_kind { BRIM_LABEL_INTEGER, BRIM_LABEL_DECIMAL, BRIM_LABEL_BOOLEAN, BRIM_LABEL_NAME } brim_label_kind;

typedef struct brim_label_text {
  brim_label_kind kind;
  bool plain;  /* a number that may be a class by its value: of JSON, or in plain writing */
  bool string; /* BRIM_FORM_NAME */
  bool fits;   /* `integer` is its value */
  const char *text;
  size_t length; /* as it is written; of a JSON number -0 it is 0 */
  int64_t integer;
  double real; /* of numbers */
} brim_label_text;

/* `form`: a brim_label_form. */
brim_label_text brim_label_read(const char *text, size_t length, char form);
/* Whether two plain numbers are equal: of integers all digits count. */
bool brim_label_equal(const brim_label_text *a, const brim_label_text *b);
/* Which of BRIM_NONE_1 and BRIM_NONE_100 it is; 0: neither. */
int brim_label_none(const brim_label_text *label);
/* "['a', 'b']", "[1, 0]", "{'a'}": a list as Python or JSON writes it, in one text. */
bool brim_label_is_printed_list(const char *text, size_t length);

#endif
