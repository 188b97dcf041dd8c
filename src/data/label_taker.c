/* label_taker.c: labels of rows and of words, one after another, become numbers; the mapping is known, or is made of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/utf8.h"
#include "data/labels.h"

/* ---- messages --------------------------------------------------------------------------------------------- */

/* Bytes of a label that a message shows: few, and no half character. */
static int shown(const char *text, size_t length, size_t most) {
  if (length > most)
    length = brim_utf8_valid(text, most);
  return (int)length;
}

static const char *kind_name(brim_label_kind kind) {
  return kind == BRIM_LABEL_INTEGER ? "an integer" : kind == BRIM_LABEL_DECIMAL ? "a decimal number" : "not a number";
}

/* Of numbers alone both tasks make sense, and only the user knows which. */
static int refuse_mixture(const brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                          brim_error *err) {
  const bool numbers = label->kind != BRIM_LABEL_STRING && taker->first_kind != BRIM_LABEL_STRING;
  return brim_error_at(
      err, BRIM_E_FORMAT, at->file, at->line, -1,
      "label \"%.*s\" is %s, but the first label, \"%s\" (%s line %lld), is %s: choose the task%s, or correct the "
      "labels",
      shown(label->text, label->length, 60), label->text, kind_name(label->kind), taker->first_text, taker->first_file,
      (long long)taker->first_line, kind_name(taker->first_kind),
      numbers ? " (regression: they are values; classification: each number is a class)" : ", classification or regression");
}

static int refuse_unknown(const brim_labels *known, const char *text, size_t length, const brim_label_source *at,
                          brim_error *err) {
  char names[256];
  size_t used = 0;
  names[0] = 0;
  for (int32_t i = 0; i < known->count; i++) {
    size_t name = strlen(known->names[i]);
    if (used + name + 16 > sizeof names) {
      used += (size_t)brim_number_format(names + used, sizeof names - used, "%s..", i ? ", " : "");
      break;
    }
    used += (size_t)brim_number_format(names + used, sizeof names - used, "%s%s", i ? ", " : "", known->names[i]);
  }
  return brim_error_at(err, BRIM_E_MISMATCH, at->file, at->line, -1, "label \"%.*s\" is not among the %d known labels: %s",
                       shown(text, length, 60), text, (int)known->count, names);
}

/* ---- taking labels ---------------------------------------------------------------------------------------- */

void brim_label_taker_init(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known) {
  *taker = (brim_label_taker){.runtime = runtime, .known = known, .task = known ? known->task : task};
  taker->task_given = taker->task != BRIM_TASK_AUTO;
  brim_hashmap_init(&taker->ids, runtime);
}

static void free_classes(brim_label_taker *taker) {
  for (size_t i = 0; i < taker->class_count; i++)
    brim_release(taker->runtime, taker->classes[i].name);
  brim_release(taker->runtime, taker->classes);
}

void brim_label_taker_free(brim_label_taker *taker) {
  if (!taker->runtime)
    return;
  free_classes(taker);
  brim_hashmap_free(&taker->ids);
  brim_release(taker->runtime, taker->values);
  brim_release(taker->runtime, taker->ends);
  brim_release(taker->runtime, taker->tokens);
  brim_release(taker->runtime, taker->rank);
  *taker = (brim_label_taker){0};
}

static int add_value(brim_label_taker *taker, float value, brim_error *err) {
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->values, &taker->capacity, taker->count + 1, sizeof *taker->values, err));
  taker->values[taker->count++] = value;
  return BRIM_OK;
}

static int add_number(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  if (label->kind != BRIM_LABEL_STRING && isfinite((float)label->real))
    return add_value(taker, (float)label->real, err);
  return brim_error_at(
      err, BRIM_E_FORMAT, at->file, at->line, -1,
      "label \"%.*s\" is not a finite number, and regression needs one: correct it, or choose the task classification",
      shown(label->text, label->length, 60), label->text);
}

static int add_class(brim_label_taker *taker, const brim_label_text *label, const char *name, size_t length, brim_error *err) {
  if (taker->class_count == BRIM_MAX_CLASSES)
    return brim_error_set(err, BRIM_E_FORMAT, "more than %d different labels: if they are values, choose the task regression",
                          BRIM_MAX_CLASSES);
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->classes, &taker->class_capacity, taker->class_count + 1,
                     sizeof *taker->classes, err));
  brim_label_class added = {
      .kind = label->kind, .integer = label->integer, .real = label->real, .first = (int32_t)taker->class_count};
  added.name = brim_copy_string(taker->runtime, name, length);
  if (!added.name)
    return BRIM_NOMEM(err);
  taker->classes[taker->class_count++] = added;
  return brim_hashmap_put(&taker->ids, name, length, added.first, NULL, NULL, err);
}

/* A class of a mapping that is being made: integers by their shortest text, so that 1, +1 and 01 are one class. */
static int take_class(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  char digits[32];
  const char *name = label->text;
  size_t length = label->length;
  if (label->kind == BRIM_LABEL_INTEGER) {
    length = (size_t)brim_number_format(digits, sizeof digits, "%lld", (long long)label->integer);
    name = digits;
  }
  int32_t id = brim_hashmap_get(&taker->ids, name, length, -1);
  if (id < 0) {
    if (memchr(name, 0, length))
      return brim_error_at(err, BRIM_E_FORMAT, at->file, at->line, -1, "the label holds a NUL byte: remove it");
    id = (int32_t)taker->class_count;
    BRIM_TRY(add_class(taker, label, name, length, err));
  }
  return add_value(taker, (float)id, err);
}

/* All names of a known mapping at once: looked for one by one, very many take long. */
static int remember_known(brim_label_taker *taker, brim_error *err) {
  for (int32_t i = 0; i < taker->known->count; i++) {
    const char *name = taker->known->names[i];
    BRIM_TRY(brim_hashmap_put(&taker->ids, name, strlen(name), i, NULL, NULL, err));
  }
  taker->remembers = true;
  return BRIM_OK;
}

/* Tags are often numbers, whose names are the model's. */
static int32_t class_of_number(const brim_labels *known, const char *text, size_t length) {
  const brim_label_text label = brim_label_read(text, length);
  const bool fits = label.kind == BRIM_LABEL_INTEGER && label.integer >= 0 && label.integer < known->count;
  return fits ? (int32_t)label.integer : -1;
}

/* A class of a known mapping; what was found once is remembered. */
static int known_class(brim_label_taker *taker, const char *text, size_t length, const brim_label_source *at, int32_t *id,
                       brim_error *err) {
  if (!taker->remembers)
    BRIM_TRY(remember_known(taker, err));
  *id = brim_hashmap_get(&taker->ids, text, length, -1);
  if (*id >= 0)
    return BRIM_OK;
  *id = brim_labels_find(taker->known, text, length);
  if (*id < 0 && brim_task_has_tokens(taker->task))
    *id = class_of_number(taker->known, text, length);
  if (*id < 0)
    return refuse_unknown(taker->known, text, length, at, err);
  return brim_hashmap_put(&taker->ids, text, length, *id, NULL, NULL, err);
}

static void note_first(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at) {
  brim_number_format(taker->first_text, sizeof taker->first_text, "%.*s", shown(label->text, label->length, 60), label->text);
  size_t skip = strlen(at->file) < sizeof taker->first_file ? 0 : strlen(at->file) - sizeof taker->first_file + 1;
  brim_number_format(taker->first_file, sizeof taker->first_file, "%s", at->file + skip);
  taker->first_line = at->line;
  taker->first_kind = label->kind;
  taker->begun = true;
  if (!taker->task_given)
    taker->task = brim_task_of_label(label->kind == BRIM_LABEL_DECIMAL, taker->lists);
}

/* ---- one label a row -------------------------------------------------------------------------------------- */

static int take_single(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  if (taker->known && brim_task_has_classes(taker->known->task)) {
    int32_t id = 0;
    BRIM_TRY(known_class(taker, source->text, source->length, source, &id, err));
    return add_value(taker, (float)id, err);
  }
  brim_label_text label = brim_label_read(source->text, source->length);
  if (!taker->begun)
    note_first(taker, &label, source);
  if (!taker->task_given && label.kind != taker->first_kind)
    return refuse_mixture(taker, &label, source, err);
  return brim_task_has_values(taker->task) ? add_number(taker, &label, source, err) : take_class(taker, &label, source, err);
}

/* ---- lists of them ---------------------------------------------------------------------------------------- */

typedef struct label_item {
  const char *text;
  size_t length;
} label_item;

/* The item at *at, which moves after it; false after the last. */
static bool next_item(const brim_label_source *source, size_t *at, label_item *item) {
  if (*at > source->length || (source->list && *at == source->length))
    return false;
  const char *from = source->text + *at, *end = memchr(from, source->list ? 0 : '|', source->length - *at);
  *item = (label_item){from, end ? (size_t)(end - from) : source->length - *at};
  *at += item->length + 1;
  while (!source->list && item->length > 0 && (*item->text == ' ' || *item->text == '\t'))
    item->text++, item->length--;
  while (!source->list && item->length > 0 && (item->text[item->length - 1] == ' ' || item->text[item->length - 1] == '\t'))
    item->length--;
  return true;
}

/* Nearly always a list of 0 and 1 for each label there is. */
static int refuse_twice(const label_item *item, const brim_label_source *source, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "\"%.*s\" is twice in this list of labels, which names each label that the row has, once, such as "
                       "[\"a\",\"c\"]; if it says 1 or 0 for every label (multi-hot), name those that are 1 instead",
                       shown(item->text, item->length, 60), item->text);
}

static int take_item(brim_label_taker *taker, const label_item *item, const brim_label_source *source, size_t row,
                     brim_error *err) {
  if (item->length == 0)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         "a label in the list is empty: write a|b for two labels, not a||b");
  if (taker->known && brim_task_has_lists(taker->known->task)) {
    int32_t id = 0;
    BRIM_TRY(known_class(taker, item->text, item->length, source, &id, err));
    if (taker->values[row + (size_t)id] > 0)
      return refuse_twice(item, source, err);
    taker->values[row + (size_t)id] = 1.0f;
    return BRIM_OK;
  }
  brim_label_text label = brim_label_read(item->text, item->length);
  if (!taker->begun)
    note_first(taker, &label, source);
  if (!taker->task_given && label.kind != taker->first_kind)
    return refuse_mixture(taker, &label, source, err);
  if (brim_task_has_values(taker->task))
    return add_number(taker, &label, source, err);
  BRIM_TRY(take_class(taker, &label, source, err));
  brim_label_class *class = &taker->classes[(size_t)taker->values[taker->count - 1]];
  if (class->listed == taker->rows + 1)
    return refuse_twice(item, source, err);
  class->listed = taker->rows + 1;
  return BRIM_OK;
}

/* ---- lists of 0.0 and 1.0, one for every label there is (multi-hot) ---- */

/* Does the first row's list hold nothing else? A mapping that has such names has lists of names. */
static bool is_hot(const brim_label_taker *taker, const brim_label_source *source) {
  label_item item;
  size_t at = 0, count = 0;
  for (; source->list && next_item(source, &at, &item); count++) {
    const brim_label_text label = brim_label_read(item.text, item.length);
    if (label.kind != BRIM_LABEL_DECIMAL || (label.real != 0 && label.real != 1) ||
        (taker->known && brim_labels_find(taker->known, item.text, item.length) >= 0))
      return false;
  }
  return count > 0;
}

/* The label of that number: the first row makes the mapping, of the names 0, 1, .. */
static int take_hot_item(brim_label_taker *taker, size_t index, bool on, const brim_label_source *source, size_t row,
                         brim_error *err) {
  if (taker->known) {
    taker->values[row + index] = on;
    return BRIM_OK;
  }
  if (taker->rows > 0)
    return on ? add_value(taker, (float)index, err) : BRIM_OK;
  const brim_label_text label = {.kind = BRIM_LABEL_INTEGER, .integer = (int64_t)index, .real = (double)index};
  BRIM_TRY(take_class(taker, &label, source, err));
  taker->count -= !on;
  return BRIM_OK;
}

static int take_hot(brim_label_taker *taker, const brim_label_source *source, size_t row, brim_error *err) {
  label_item item;
  size_t at = 0, count = 0;
  if (taker->known)
    taker->width = (size_t)taker->known->count;
  for (; source->length > 0 && next_item(source, &at, &item); count++) {
    const brim_label_text label = brim_label_read(item.text, item.length);
    if (label.kind == BRIM_LABEL_STRING || (label.real != 0 && label.real != 1))
      return brim_error_at(
          err, BRIM_E_FORMAT, source->file, source->line, -1,
          "\"%.*s\" is neither 1.0 nor 0.0, but the first row's list says one of them for every label: if these are "
          "values, choose the task regression",
          shown(item.text, item.length, 60), item.text);
    if (taker->width == 0 || count < taker->width)
      BRIM_TRY(take_hot_item(taker, count, label.real == 1, source, row, err));
  }
  if (taker->width == 0)
    taker->width = count;
  if (count == taker->width)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "the list has %zu values of 0.0 and 1.0, and there are %zu labels: every row has one for each", count,
                       taker->width);
}

/* Every row of a regression has as many values as the first, or as the known mapping has. */
static int check_width(brim_label_taker *taker, size_t found, const brim_label_source *source, brim_error *err) {
  if (taker->width == 0)
    taker->width = found;
  if (found == taker->width && found > 0)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "the label has %zu values, %zu were expected: every row of a regression has as many", found, taker->width);
}

static int take_list(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  const size_t row = taker->count;
  const bool known = taker->known && brim_task_has_lists(taker->known->task);
  label_item item;
  for (int32_t i = 0; known && i < taker->known->count; i++)
    BRIM_TRY(add_value(taker, 0, err));
  if (taker->rows == 0 && !brim_task_has_values(taker->task)) {
    taker->hot = is_hot(taker, source);
    if (taker->hot)
      taker->task = brim_task_of_label(false, true);
  }
  if (taker->hot)
    BRIM_TRY(take_hot(taker, source, row, err));
  for (size_t at = 0; !taker->hot && source->length > 0 && next_item(source, &at, &item);)
    BRIM_TRY(take_item(taker, &item, source, row, err));
  if (brim_task_has_values(taker->task))
    return check_width(taker, taker->count - row, source, err);
  if (known)
    return BRIM_OK;
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->ends, &taker->ends_capacity, taker->kept + 1, sizeof *taker->ends, err));
  taker->ends[taker->kept++] = taker->count;
  return BRIM_OK;
}

/* Whether this row is a list: what the task says, or else the first row. */
static int decide_list(brim_label_taker *taker, const brim_label_source *source, bool *list, brim_error *err) {
  const bool values = taker->known && brim_task_has_values(taker->known->task), several = values && taker->known->count > 1;
  const bool bars = taker->task_given && brim_task_has_values(taker->task) && !source->list &&
                    memchr(source->text, '|', source->length) != NULL;
  *list = brim_task_has_lists(taker->task) || several || bars || (source->list && !brim_task_has_classes(taker->task));
  if (taker->rows == 0)
    taker->lists = *list;
  if (values)
    taker->width = (size_t)taker->known->count;
  if (!taker->task_given && taker->lists != source->list)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         taker->lists ? "this label is a single value, but the first row's is a list: make all lists, or none"
                                      : "this label is a list, but the first row's is a single value: make all lists, or none");
  if (source->list && !*list)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         "the label is a list, but classification has one class a row: choose the task multi-label");
  *list |= taker->lists;
  return BRIM_OK;
}

int brim_label_taker_add(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  bool list = false;
  BRIM_TRY(decide_list(taker, source, &list, err));
  BRIM_TRY(list ? take_list(taker, source, err) : take_single(taker, source, err));
  taker->rows++;
  return BRIM_OK;
}

/* ---- tags of words ---------------------------------------------------------------------------------------- */

/* BRIM_NO_LABEL as a file has it. */
static bool is_none(const label_item *item) {
  const brim_label_text label = brim_label_read(item->text, item->length);
  return label.kind == BRIM_LABEL_INTEGER && label.integer == BRIM_NO_LABEL;
}

static int take_tag(brim_label_taker *taker, const label_item *item, const brim_label_source *source, brim_error *err) {
  int32_t id = 0;
  if (is_none(item))
    return add_value(taker, (float)BRIM_NO_LABEL, err);
  if (item->length == 0)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1, "a tag is empty: give O to words that have none");
  if (taker->known) {
    BRIM_TRY(known_class(taker, item->text, item->length, source, &id, err));
    return add_value(taker, (float)id, err);
  }
  const brim_label_text label = brim_label_read(item->text, item->length);
  return take_class(taker, &label, source, err);
}

int brim_label_taker_tags(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  label_item item;
  taker->count = 0;
  for (size_t at = 0; next_item(source, &at, &item);)
    BRIM_TRY(take_tag(taker, &item, source, err));
  return BRIM_OK;
}

int brim_label_taker_words(brim_label_taker *taker, const brim_label_source *source, brim_sample *sample, brim_error *err) {
  const size_t count = (size_t)sample->length;
  BRIM_TRY(brim_label_taker_tags(taker, source, err));
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->tokens, &taker->token_room, count, sizeof *taker->tokens, err));
  for (size_t i = 0; i < count; i++) {
    const int32_t word = sample->words[i];
    const bool first = word >= 0 && (i == 0 || sample->words[i - 1] != word);
    taker->tokens[i] = first ? (int32_t)taker->values[word] : BRIM_NO_LABEL;
  }
  sample->token_labels = taker->tokens;
  taker->rows++;
  return BRIM_OK;
}

void brim_label_taker_forget(brim_label_taker *taker) {
  taker->count = taker->kept = 0;
}

void brim_label_taker_pop(brim_label_taker *taker, brim_sample *sample) {
  const int32_t width = brim_labels_width(taker->known);
  taker->count -= (size_t)width;
  sample->labels = taker->values + taker->count;
  sample->label_width = width;
  sample->label = width == 1 ? *sample->labels : NAN;
}

/* ---- the finished mapping --------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b) {
  const brim_label_class *x = a, *y = b;
  if (x->kind == BRIM_LABEL_INTEGER && y->kind == BRIM_LABEL_INTEGER)
    return (x->integer > y->integer) - (x->integer < y->integer);
  if (x->real != y->real)
    return x->real < y->real ? -1 : 1;
  return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const brim_label_class *)a)->name, ((const brim_label_class *)b)->name);
}

/* Rows of classes by their ranks -> [rows, classes] of 0 and 1. */
static int spread_classes(brim_label_taker *taker, const int32_t *rank, brim_error *err) {
  float *spread = NULL;
  if (taker->class_count <= SIZE_MAX / sizeof *spread)
    spread = brim_alloc_array_zero(taker->runtime, taker->kept, taker->class_count * sizeof *spread);
  if (!spread)
    return BRIM_NOMEM(err);
  for (size_t row = 0, i = 0; row < taker->kept; row++)
    for (; i < taker->ends[row]; i++)
      spread[row * taker->class_count + (size_t)rank[(int32_t)taker->values[i]]] = 1.0f;
  brim_release(taker->runtime, taker->values);
  taker->values = spread;
  return BRIM_OK;
}

/* Sorts the classes, renumbers the values and makes the mapping. */
static int make_mapping(brim_label_taker *taker, int32_t *rank, const char **names, brim_labels *labels, brim_error *err) {
  bool numbers = true;
  for (size_t i = 0; i < taker->class_count; i++)
    numbers &= taker->classes[i].kind != BRIM_LABEL_STRING;
  qsort(taker->classes, taker->class_count, sizeof *taker->classes, numbers ? by_value : by_name);
  for (size_t i = 0; i < taker->class_count; i++) {
    rank[taker->classes[i].first] = (int32_t)i;
    names[i] = taker->classes[i].name;
  }
  BRIM_TRY(brim_labels_make(taker->runtime, taker->task, names, (int32_t)taker->class_count, labels, err));
  if (brim_task_has_lists(taker->task))
    return spread_classes(taker, rank, err);
  if (brim_task_has_tokens(taker->task))
    return BRIM_OK; /* those of tokens are with their rows */
  for (size_t i = 0; i < taker->count; i++)
    taker->values[i] = (float)rank[(int32_t)taker->values[i]];
  return BRIM_OK;
}

int brim_label_taker_finish(brim_label_taker *taker, brim_labels *labels, float **values, brim_error *err) {
  int status;
  if (taker->known) {
    status = brim_labels_copy(taker->runtime, taker->known, labels, err);
  } else if (brim_task_has_values(taker->task)) {
    status = brim_labels_make(taker->runtime, taker->task, NULL, taker->lists ? (int32_t)taker->width : 1, labels, err);
  } else if (taker->class_count == 0) {
    status = brim_error_set(err, BRIM_E_FORMAT, "no row has a label: there is nothing to learn");
  } else {
    int32_t *rank = brim_alloc_array(taker->runtime, taker->class_count, sizeof *rank);
    const char **names = brim_alloc_array(taker->runtime, taker->class_count, sizeof *names);
    status = rank && names ? make_mapping(taker, rank, names, labels, err) : BRIM_NOMEM(err);
    brim_release(taker->runtime, names);
    taker->rank = rank;
  }
  if (status != BRIM_OK) {
    brim_labels_free(labels);
    return status;
  }
  if (brim_task_has_tokens(taker->task))
    return BRIM_OK;
  *values = taker->values;
  taker->values = NULL;
  return BRIM_OK;
}
