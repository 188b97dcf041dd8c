/* label_looks.c: names of classes that seem to say something else. */
#include <string.h>

#include "base/hashmap.h"
#include "data/labels.h"

/* Digits that are as wide as Chinese characters become those of ASCII. */
static const char *narrow(const char *name, char *to, size_t size) {
  size_t used = 0;
  for (const char *at = name; *at && used + 1 < size; at++) {
    const bool wide = strncmp(at, "\xEF\xBC", 2) == 0 && at[2] >= '\x90' && at[2] <= '\x99';
    to[used++] = wide ? (char)('0' + (at[2] - '\x90')) : *at;
    at += wide ? 2 : 0;
  }
  to[used] = 0;
  return to;
}

static bool is_odd_number(const char *name) {
  return strpbrk(name, ",'%$") || strstr(name, "\xEF\xBC");
}

/* As people write numbers, and brim does not read them: 0,5  1,400  1.234,56  7%  $7.5. */
static bool is_written_number(const char *given) {
  char plain[64];
  const char *name = strlen(given) < sizeof plain ? narrow(given, plain, sizeof plain) : given;
  static const char inner[] = "0123456789.,'%", outer[] = "0123456789.,'%+-$";
  const size_t length = strlen(name);
  const size_t sign = length && strchr(outer, name[0]) ? 1 : 0;
  return length && sign + strspn(name + sign, inner) == length && strpbrk(name, "0123456789");
}

/* All are numbers, and the one at *first is written so. */
static int32_t find_number(const brim_labels *labels) {
  int32_t first = -1;
  for (int32_t i = 0; i < labels->count; i++) {
    if (!is_written_number(labels->names[i]))
      return -1;
    if (first < 0 && is_odd_number(labels->names[i]))
      first = i;
  }
  return first;
}

/* As R, SQL, pandas and spreadsheets write that there is none. */
static int32_t find_missing(const brim_labels *labels) {
  static const char *const marks[] = {"NA", "N/A", "n/a", "nan", "NaN", "NULL", "null", "\\N", "#N/A", "#REF!", "#VALUE!"};
  for (int32_t i = 0; i < labels->count; i++)
    for (size_t k = 0; k < sizeof marks / sizeof *marks; k++)
      if (strcmp(labels->names[i], marks[k]) == 0)
        return i;
  return -1;
}

static bool has_name(const brim_hashmap *names, const char *name, size_t length) {
  for (; length > 0 && *name == ' '; length--)
    name++;
  while (length > 0 && name[length - 1] == ' ')
    length--;
  return length > 0 && brim_hashmap_has(names, name, length);
}

static bool has_part(const brim_hashmap *names, const char *name) {
  const char *part = name;
  for (const char *end; (end = strpbrk(part, ",;")); part = end + 1)
    if (has_name(names, part, (size_t)(end - part)))
      return true;
  return part != name && has_name(names, part, strlen(part));
}

/* "fun,old" where "fun" is a label, too. Without memory for the names none is found. */
static int32_t find_several(const brim_labels *labels) {
  brim_hashmap names;
  int32_t odd = -1;
  int status = BRIM_OK;
  brim_hashmap_init(&names, labels->runtime);
  for (int32_t i = 0; i < labels->count && !status; i++)
    status = brim_hashmap_put(&names, labels->names[i], strlen(labels->names[i]), i, NULL, NULL, NULL);
  for (int32_t i = 0; i < labels->count && odd < 0 && !status; i++)
    odd = has_part(&names, labels->names[i]) ? i : -1;
  brim_hashmap_free(&names);
  return odd;
}

int32_t brim_labels_odd(const brim_labels *labels, const char **meaning) {
  const brim_label_type *type = brim_label_type_of(labels->task);
  int32_t odd = -1;
  *meaning = NULL;
  if (!labels->names || type->per == BRIM_PER_TOKEN)
    return -1;
  if ((odd = find_missing(labels)) >= 0)
    *meaning = "a label that is missing: make the field empty, and such rows can be left out";
  else if (!type->each && (odd = find_number(labels)) >= 0)
    *meaning = "a number, and so do all others: values of a regression are written as 1234.5";
  else if (type->each && (odd = find_several(labels)) >= 0)
    *meaning = "several labels in one: in csv a|b is two labels, in JSON a list has them";
  return odd;
}
