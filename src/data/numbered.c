/* numbered.c: files whose names say how many there are ("data-00001-of-00003.csv"): none is missing, and none is there twice. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "brim/data.h"

enum { MOST_DIGITS = 9, MOST_FILES = 1000000, NAME = 256 };

/* PREFIX NUMBER "-of-" COUNT REST */
typedef struct numbered {
  const char *name;
  size_t prefix, digits; /* characters */
  long number, count;
} numbered;

static size_t digits_at(const char *text) {
  size_t n = 0;
  while (isdigit((unsigned char)text[n]))
    n++;
  return n;
}

static bool parse(const char *name, numbered *out) {
  for (const char *of = strstr(name, "-of-"); of; of = strstr(of + 1, "-of-")) {
    const char *first = of;
    const size_t after = digits_at(of + 4);
    while (first > name && isdigit((unsigned char)first[-1]))
      first--;
    const size_t before = (size_t)(of - first);
    if (before == 0 || after == 0 || before > MOST_DIGITS || after > MOST_DIGITS)
      continue;
    *out = (numbered){name, (size_t)(first - name), before, strtol(first, NULL, 10), strtol(of + 4, NULL, 10)};
    return out->number <= out->count && out->count > 0 && out->count < MOST_FILES;
  }
  return false;
}

static int by_prefix(const numbered *x, const numbered *y) {
  const int order = memcmp(x->name, y->name, x->prefix < y->prefix ? x->prefix : y->prefix);
  return order ? order : (x->prefix > y->prefix) - (x->prefix < y->prefix);
}

static int by_number(const void *a, const void *b) {
  const numbered *x = a, *y = b;
  const int order = by_prefix(x, y);
  if (order)
    return order;
  if (x->count != y->count)
    return x->count < y->count ? -1 : 1;
  return x->number != y->number ? (x->number < y->number ? -1 : 1) : strcmp(x->name, y->name);
}

/* The name that a file of that number has, by that of another. */
static void name_of(const numbered *like, long number, char name[NAME]) {
  snprintf(name, NAME, "%.*s%0*ld%s", (int)like->prefix, like->name, (int)like->digits, number,
           like->name + like->prefix + like->digits);
}

/* Counts the numbers [from, end) whose files the pattern means. `first`: the name of the first of all, if there is none yet. */
static long count_missing(const numbered *like, long from, long end, const char *pattern, char first[NAME]) {
  char name[NAME];
  long count = 0;
  for (long i = from; i < end; i++) {
    name_of(like, i, name);
    if (pattern && fnmatch(pattern, name, FNM_PERIOD) != 0)
      continue;
    count++;
    if (!first[0])
      memcpy(first, name, sizeof name);
  }
  return count;
}

/* Of one prefix and count, sorted by number. They are counted from 0, or from 1 where the last is there and 0 is not. */
static int check_group(const numbered *files, size_t n, const char *folder, const char *pattern, brim_error *err) {
  const long begin = files[0].number > 0 && files[n - 1].number == files[0].count, end = begin + files[0].count;
  long next = begin, missing = 0;
  char first[NAME] = "";
  for (size_t i = 0; i < n; i++) {
    if (i > 0 && files[i].number == files[i - 1].number)
      return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1, "%.120s and %.120s are both number %ld of %ld: leave one out",
                           files[i - 1].name, files[i].name, files[i].number, files[i].count);
    missing += count_missing(&files[0], next, files[i].number, pattern, first);
    next = files[i].number + 1;
  }
  missing += count_missing(&files[0], next, end, pattern, first);
  if (missing == 0)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_IO, folder, 0, -1,
                       "%ld of %ld files %s missing%s %.200s: get %s, or give the names of those that are to be read", missing,
                       files[0].count, missing == 1 ? "is" : "are", missing == 1 ? ":" : ", the first is", first,
                       missing == 1 ? "it" : "them");
}

static int check_groups(const numbered *files, size_t count, const char *folder, const char *pattern, brim_error *err) {
  for (size_t i = 0, end; i < count; i = end) {
    for (end = i + 1; end < count && by_prefix(&files[i], &files[end]) == 0 && files[end].count == files[i].count;)
      end++;
    if (end < count && by_prefix(&files[i], &files[end]) == 0)
      return brim_error_at(err, BRIM_E_USAGE, folder, 0, -1,
                           "%.120s and %.120s say that there are %ld files, and %ld: leave out those that are not meant",
                           files[i].name, files[end].name, files[i].count, files[end].count);
    BRIM_TRY(check_group(files + i, end - i, folder, pattern, err));
  }
  return BRIM_OK;
}

int brim_source_check_numbered(brim_runtime *runtime, const char *folder, const char *const *names, size_t count,
                               const char *pattern, brim_error *err) {
  BRIM_GIVEN(err, runtime, folder);
  BRIM_STRINGS(err, names, count);
  numbered *files = brim_alloc_array(runtime, count + 1, sizeof *files);
  size_t found = 0;
  if (!files)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < count; i++)
    found += parse(names[i], &files[found]);
  qsort(files, found, sizeof *files, by_number);
  const int status = check_groups(files, found, folder, pattern, err);
  brim_release(runtime, files);
  return status;
}
