#include "data/label_text.h"

#include <string.h>

#include "base/number.h"

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

/* A sign and digits, however many. */
static bool is_integer(const char *text, size_t length) {
  size_t at = length > 0 && (*text == '-' || *text == '+');
  const size_t first = at;
  while (at < length && is_digit(text[at]))
    at++;
  return at == length && at > first;
}

/* Of an integer or a decimal: as every program writes it, so that equal numbers have equal texts: 7, -1, 0.5, 1.0. */
static bool is_plain(const char *text, size_t length) {
  const char *end = text + length, *digits = text + (length > 0 && *text == '-'), *at = digits;
  bool zero = true;
  for (; at < end && is_digit(*at); at++)
    zero = zero && *at == '0';
  if (at == digits || (*digits == '0' && at - digits > 1))
    return false;
  if (at < end && *at == '.') {
    const char *fraction = ++at;
    for (; at < end && is_digit(*at); at++)
      zero = zero && *at == '0';
    if (at == fraction || (at[-1] == '0' && at - fraction > 1))
      return false;
  }
  return at == end && !(zero && *text == '-');
}

static void read_number(brim_label_text *label) {
  const char *text = label->text;
  size_t length = label->length;
  for (; length && is_blank(*text); length--)
    text++;
  while (length && is_blank(text[length - 1]))
    length--;
  const bool whole = is_integer(text, length);
  const bool pointed = memchr(text, '.', length) || memchr(text, 'e', length) || memchr(text, 'E', length);
  if (!(whole || pointed) || !brim_number_real(text, length, &label->real))
    return;
  label->kind = whole ? BRIM_LABEL_INTEGER : BRIM_LABEL_DECIMAL;
  label->fits = whole && brim_number_integer(text, length, &label->integer);
  label->plain = length == label->length && is_plain(text, length);
}

brim_label_text brim_label_read(const char *text, size_t length, char form) {
  brim_label_text label = {.kind = BRIM_LABEL_NAME, .text = text, .length = length, .string = form == BRIM_FORM_NAME};
  if (form == BRIM_FORM_BOOLEAN)
    label.kind = BRIM_LABEL_BOOLEAN;
  if (form != BRIM_FORM_TEXT && form != BRIM_FORM_NUMBER)
    return label;
  read_number(&label);
  if (form != BRIM_FORM_NUMBER || label.kind == BRIM_LABEL_NAME)
    return label;
  label.plain = true;
  if (label.fits && label.integer == 0) /* -0 */
    label.text = "0", label.length = 1;
  return label;
}

bool brim_label_equal(const brim_label_text *a, const brim_label_text *b) {
  if (a->kind == BRIM_LABEL_INTEGER && b->kind == BRIM_LABEL_INTEGER)
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
  return a->real == b->real;
}

int brim_label_none(const brim_label_text *label) {
  if (!label->plain)
    return 0;
  return label->real == -1 ? BRIM_NONE_1 : label->real == BRIM_NO_LABEL ? BRIM_NONE_100 : 0;
}

bool brim_label_is_printed_list(const char *text, size_t length) {
  static const char opening[] = "[({", closing[] = "])}";
  while (length && is_blank(*text))
    text++, length--;
  while (length && is_blank(text[length - 1]))
    length--;
  const char *bracket = length >= 2 && *text ? strchr(opening, *text) : NULL;
  if (!bracket || text[length - 1] != closing[bracket - opening])
    return false;
  size_t at = 1;
  while (is_blank(text[at]))
    at++;
  const char c = text[at];
  return c == '\'' || c == '"' || (*text == '[' && (at == length - 1 || is_digit(c) || c == '-'));
}
