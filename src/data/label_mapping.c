/* label_mapping.c: the mapping that the labels taken so far make. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/labels.h"

/* ---- order ------------------------------------------------------------------------------------------------ */

/* Plain integers, of any number of digits. */
static int compare_digits(const char *a, const char *b) {
  const bool below = *a == '-', other = *b == '-';
  const size_t x = strlen(a), y = strlen(b);
  if (below != other)
    return below ? -1 : 1;
  const int larger = x != y ? (x > y) - (x < y) : strcmp(a, b);
  return below ? -larger : larger;
}

static int by_digits(const void *a, const void *b) {
  return compare_digits(((const brim_label_class *)a)->name, ((const brim_label_class *)b)->name);
}

static int by_value(const void *a, const void *b) {
  const brim_label_class *x = a, *y = b;
  if (x->real != y->real)
    return x->real < y->real ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const brim_label_class *)a)->name, ((const brim_label_class *)b)->name);
}

/* Sorts the classes; true: they are numbers. */
static bool sort_classes(brim_label_taker *taker) {
  bool numbers = true, integers = true;
  for (size_t i = 0; i < taker->class_count; i++) {
    numbers &= taker->classes[i].plain;
    integers &= taker->classes[i].kind == BRIM_LABEL_INTEGER;
  }
  qsort(taker->classes, taker->class_count, sizeof *taker->classes, !numbers ? by_name : integers ? by_digits : by_value);
  return numbers;
}

/* ---- labels that are none --------------------------------------------------------------------------------- */

static int none_mask(const brim_label_class *class) {
  const brim_label_text label = {.plain = class->plain, .real = class->real};
  return brim_label_none(&label);
}

/* Sorted numbers: whether those that are not none are 0, 1, .. and how many there are. */
static bool count_up(const brim_label_taker *taker, size_t *count) {
  *count = 0;
  for (size_t i = 0; i < taker->class_count; i++) {
    const brim_label_class *class = &taker->classes[i];
    if (none_mask(class) || (i > 0 && class->real == taker->classes[i - 1].real))
      continue;
    if (class->real != (double)*count)
      return false;
    ++*count;
  }
  return true;
}

/* Which labels say that there is none (brim/data.h). */
static int find_none(const brim_label_taker *taker, bool numbers) {
  size_t count;
  const bool marks = numbers && count_up(taker, &count) && (count > 2 || (count == 2 && !taker->task_given));
  return taker->type->none & (BRIM_NONE_100 | (marks ? BRIM_NONE_1 : 0));
}

/* ---- the mapping ------------------------------------------------------------------------------------------ */

/* Ranks of the sorted classes and the names that they have: equal numbers are one class, under the shortest of their texts. */
static int32_t rank_classes(brim_label_taker *taker, bool numbers, const char **names) {
  const brim_label_class *last = NULL;
  int32_t count = 0;
  for (size_t i = 0; i < taker->class_count; i++) {
    const brim_label_class *class = &taker->classes[i];
    taker->rank[class->first] = -1;
    if (none_mask(class) & taker->none)
      continue;
    const bool again = numbers && last && last->real == class->real &&
                       (last->kind != BRIM_LABEL_INTEGER || class->kind != BRIM_LABEL_INTEGER);
    if (!again)
      names[count++] = class->name;
    else if (strlen(class->name) < strlen(names[count - 1]))
      names[count - 1] = class->name;
    taker->rank[class->first] = count - 1;
    last = class;
  }
  return count;
}

static int refuse_printed_lists(const brim_label_taker *taker, brim_error *err) {
  for (size_t i = 0; i < taker->class_count; i++)
    if (!brim_label_is_printed_list(taker->classes[i].name, strlen(taker->classes[i].name)))
      return BRIM_OK;
  return brim_error_set(err, BRIM_E_FORMAT,
                        "every label looks like a list in one text, such as \"%.60s\": give JSON lines with lists, or write a|b "
                        "and choose the task multi-label",
                        taker->classes[0].name);
}

static bool has_strings(const brim_label_taker *taker) {
  bool any = false;
  for (size_t i = 0; i < taker->class_count; i++)
    any |= taker->classes[i].string;
  return any;
}

static int make_mapping(brim_label_taker *taker, const char **names, brim_labels *labels, brim_error *err) {
  const bool numbers = sort_classes(taker);
  taker->none = find_none(taker, numbers);
  const int32_t count = rank_classes(taker, numbers, names);
  if (count == 0)
    return brim_error_set(err, BRIM_E_FORMAT, "no row has a label: all are -1 or -100, which say that there is none");
  BRIM_TRY(refuse_printed_lists(taker, err));
  BRIM_TRY(brim_labels_make(taker->runtime, taker->task, names, count, labels, err));
  brim_labels_set_strings(labels, has_strings(taker));
  return BRIM_OK;
}

int brim_label_taker_map(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  if (taker->class_count == 0)
    return brim_error_set(err, BRIM_E_FORMAT, "no row has a label: there is nothing to learn");
  const char **names = brim_alloc_array(taker->runtime, taker->class_count, sizeof *names);
  taker->rank = brim_alloc_array(taker->runtime, taker->class_count, sizeof *taker->rank);
  const int status = taker->rank && names ? make_mapping(taker, names, labels, err) : BRIM_NOMEM(err);
  brim_release(taker->runtime, names);
  return status;
}

/* ---- the end ---------------------------------------------------------------------------------------------- */

/* Every row would have both labels, which is nothing to learn: they are rather 0 and 1 for each of two labels. */
static int refuse_both(const brim_label_taker *taker, brim_error *err) {
  const int32_t labels = taker->known ? taker->known->count : (int32_t)taker->class_count;
  if (!taker->both || labels != 2)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_FORMAT, taker->first_file, taker->first_line, -1,
      "every row's list is of 0 and 1, so that every row would have both labels: if it says 1 or 0 for each of two "
      "labels (multi-hot), write the names of those that are 1, or JSON lines with lists of 1.0 and 0.0, or true and false");
}

static int finish(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  BRIM_TRY(refuse_both(taker, err));
  return taker->known ? brim_labels_copy(taker->runtime, taker->known, labels, err) : taker->type->finish(taker, labels, err);
}

int brim_label_taker_finish(brim_label_taker *taker, brim_labels *labels, float **values, brim_error *err) {
  *labels = (brim_labels){0};
  const int status = finish(taker, labels, err);
  if (status != BRIM_OK) {
    brim_labels_free(labels);
    return status;
  }
  if (taker->type->per == BRIM_PER_TOKEN) /* they are with their rows */
    return BRIM_OK;
  *values = taker->values;
  taker->values = NULL;
  return BRIM_OK;
}
