/* label_lists.c: rows with several labels: lists of names, of values, or of a 0 or 1 for every label there is. */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "data/labels.h"

bool brim_label_item_next(const brim_label_source *source, size_t *at, brim_label_item *item) {
  if (*at > source->length || (source->list && *at == source->length))
    return false;
  const char *from = source->text + *at, *end = memchr(from, source->list ? 0 : '|', source->length - *at);
  item->number = *at ? item->number + 1 : 0;
  item->form = source->list && source->forms                       ? source->forms[item->number]
               : source->forms && *source->forms == BRIM_FORM_NAME ? BRIM_FORM_NAME
                                                                   : BRIM_FORM_TEXT;
  item->text = from;
  item->length = end ? (size_t)(end - from) : source->length - *at;
  *at += item->length + 1;
  while (!source->list && item->length > 0 && (*item->text == ' ' || *item->text == '\t'))
    item->text++, item->length--;
  while (!source->list && item->length > 0 && (item->text[item->length - 1] == ' ' || item->text[item->length - 1] == '\t'))
    item->length--;
  return true;
}

/* ---- names ------------------------------------------------------------------------------------------------ */

#define MULTI_HOT "if it says 1 or 0 for every label (multi-hot), name those that are 1 instead"

/* Nearly always a list of 0 and 1 for each label there is. */
static int refuse_twice(const brim_label_text *label, const brim_label_source *source, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "\"%.*s\" is twice in this list of labels, which names each label that the row has, once, such as "
                       "[\"a\",\"c\"]; " MULTI_HOT,
                       brim_label_shown(label->text, label->length, 60), label->text);
}

static int check_item(const brim_label_item *item, bool numbers, const brim_label_source *source, brim_error *err) {
  if (item->form == BRIM_FORM_NONE)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         numbers ? "item %zu of the label's list is null, and each is a number: fill it in, or make "
                                   "the whole label null, which missing_label skip leaves out"
                                 : "item %zu of the list of labels is null: leave it out, it names the labels that the row has",
                         item->number + 1);
  if (item->form == BRIM_FORM_BOOLEAN)
    return brim_error_at(
        err, BRIM_E_FORMAT, source->file, source->line, -1,
        "the list of labels holds %.*s, and a boolean names no label: write names, or in every row true or false "
        "for every label there is",
        (int)item->length, item->text);
  if (item->length == 0)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         source->list ? "item %zu of the list of labels is an empty text: leave it out, or give the label a name"
                                      : "label %zu of the list is empty: write a|b for two labels, not a||b",
                         item->number + 1);
  return BRIM_OK;
}

/* Where the labels are known the task is, too. */
static const char *values_hint(const brim_label_taker *taker) {
  return taker->known ? "" : "; if these are values, choose the task regression";
}

/* A decimal in a list is how much of a label a row has: other than 0.0 and 1.0 there are none. */
static int refuse_share(const brim_label_taker *taker, const brim_label_text *label, const brim_label_source *source,
                        brim_error *err) {
  if (!source->list || label->kind != BRIM_LABEL_DECIMAL || label->real == 0 || label->real == 1 ||
      (taker->known && brim_labels_find(taker->known, label->text, label->length, BRIM_FORM_NAME) >= 0))
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_FORMAT, source->file, source->line, -1,
      "the list of labels holds %.*s: a row has a label or not (names, or 1.0 and 0.0 for every label there is)%s",
      brim_label_shown(label->text, label->length, 60), label->text, values_hint(taker));
}

static int take_name(brim_label_taker *taker, const brim_label_item *item, const brim_label_source *source, size_t row,
                     brim_error *err) {
  const brim_label_text label = brim_label_read(item->text, item->length, item->form);
  BRIM_TRY(check_item(item, false, source, err));
  BRIM_TRY(refuse_share(taker, &label, source, err));
  if (taker->known) {
    int32_t id = 0;
    BRIM_TRY(brim_label_taker_known(taker, &label, source, &id, err));
    if (taker->values[row + (size_t)id] > 0)
      return refuse_twice(&label, source, err);
    taker->values[row + (size_t)id] = 1.0f;
    return BRIM_OK;
  }
  BRIM_TRY(brim_label_taker_kind(taker, &label, source, err));
  BRIM_TRY(brim_label_taker_class(taker, &label, source, err));
  brim_label_class *class = &taker->classes[(size_t)taker->values[taker->count - 1]];
  if (class->listed == taker->rows + 1)
    return refuse_twice(&label, source, err);
  class->listed = taker->rows + 1;
  return BRIM_OK;
}

/* 0 or 1; -1: it is neither. */
static int hot_value(const brim_label_item *item) {
  const brim_label_text label = brim_label_read(item->text, item->length, item->form);
  if (label.kind == BRIM_LABEL_BOOLEAN)
    return *label.text == 't';
  const bool number = label.kind == BRIM_LABEL_INTEGER || label.kind == BRIM_LABEL_DECIMAL;
  return number && label.real == 0 ? 0 : number && label.real == 1 ? 1 : -1;
}

static bool is_word(const brim_label_item *item, const char *word) {
  return item->length == strlen(word) && strncasecmp(item->text, word, item->length) == 0;
}

/* Whether the list is of 0 and 1, in any order: integers, of which a JSON list is one of names, or as a field of csv writes them.
 */
static bool has_both(const brim_label_source *source) {
  brim_label_item item = {0};
  size_t at = 0, count = 0;
  bool seen[2] = {false, false};
  for (; source->length > 0 && brim_label_item_next(source, &at, &item); count++) {
    const brim_label_text label = brim_label_read(item.text, item.length, item.form);
    int value = hot_value(&item);
    if (!source->list && is_word(&item, "true"))
      value = 1;
    else if (!source->list && is_word(&item, "false"))
      value = 0;
    if (value < 0 || count == 2 || (source->list && (!label.plain || label.kind != BRIM_LABEL_INTEGER)))
      return false;
    seen[value] = true;
  }
  return seen[0] && seen[1];
}

static int refuse_printed(const brim_label_source *source, brim_error *err) {
  if (source->list || !brim_label_is_printed_list(source->text, source->length))
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "the label \"%.*s\" is a list as Python or JSON writes it, in one field: write a|b for two labels, and "
                       "nothing for none, or give JSON lines with lists",
                       brim_label_shown(source->text, source->length, 60), source->text);
}

static int take_names(brim_label_taker *taker, const brim_label_source *source, size_t row, brim_error *err) {
  brim_label_item item = {0};
  BRIM_TRY(refuse_printed(source, err));
  taker->both = has_both(source) && (taker->both || taker->rows == 0);
  for (size_t at = 0; source->length > 0 && brim_label_item_next(source, &at, &item);)
    BRIM_TRY(take_name(taker, &item, source, row, err));
  return BRIM_OK;
}

/* ---- a 0 or 1 for every label there is (multi-hot) -------------------------------------------------------- */

/* It holds nothing else, and no integers. A mapping that has such names has lists of names. */
bool brim_label_is_hot(const brim_label_taker *taker, const brim_label_source *source) {
  brim_label_item item = {0};
  size_t at = 0, count = 0;
  for (; source->list && brim_label_item_next(source, &at, &item); count++) {
    const brim_label_text label = brim_label_read(item.text, item.length, item.form);
    const bool named = taker->known && label.kind == BRIM_LABEL_DECIMAL &&
                       brim_labels_find(taker->known, item.text, item.length, BRIM_FORM_NAME) >= 0;
    if (label.kind == BRIM_LABEL_INTEGER || hot_value(&item) < 0 || named)
      return false;
  }
  return count > 0;
}

/* The label of that number: the first row makes the mapping, of the names 0, 1, .. */
static int take_hot_item(brim_label_taker *taker, size_t index, bool on, const brim_label_source *source, size_t row,
                         brim_error *err) {
  char digits[32];
  if (taker->known) {
    taker->values[row + index] = on;
    return BRIM_OK;
  }
  if (taker->rows > 0)
    return on ? brim_label_taker_value(taker, (float)index, err) : BRIM_OK;
  const int length = brim_number_format(digits, sizeof digits, "%zu", index);
  const brim_label_text label = brim_label_read(digits, (size_t)length, BRIM_FORM_TEXT);
  BRIM_TRY(brim_label_taker_class(taker, &label, source, err));
  taker->count -= !on;
  return BRIM_OK;
}

static int take_hot(brim_label_taker *taker, const brim_label_source *source, size_t row, brim_error *err) {
  brim_label_item item = {0};
  size_t at = 0, count = 0;
  if (taker->known)
    taker->width = (size_t)taker->known->count;
  for (; source->length > 0 && brim_label_item_next(source, &at, &item); count++) {
    const int value = hot_value(&item);
    if (value < 0)
      return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                           "\"%.*s\" is neither 1.0 nor 0.0, but the first row's list says one of them for every label%s",
                           brim_label_shown(item.text, item.length, 60), item.text, values_hint(taker));
    if (taker->width == 0 || count < taker->width)
      BRIM_TRY(take_hot_item(taker, count, value == 1, source, row, err));
  }
  if (taker->width == 0)
    taker->width = count;
  if (count == taker->width)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "the list has %zu values of 0.0 and 1.0, and there are %zu labels: every row has one for each", count,
                       taker->width);
}

/* ---- sets of names ---------------------------------------------------------------------------------------- */

int brim_label_end_row(brim_label_taker *taker, brim_error *err) {
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->ends, &taker->ends_capacity, taker->kept + 1, sizeof *taker->ends, err));
  taker->ends[taker->kept++] = taker->count;
  return BRIM_OK;
}

int brim_label_take_set(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  const size_t row = taker->count;
  for (int32_t i = 0; taker->known && i < taker->known->count; i++)
    BRIM_TRY(brim_label_taker_value(taker, 0, err));
  if (taker->rows == 0) {
    taker->hot = brim_label_is_hot(taker, source);
    brim_label_taker_where(taker, &(brim_label_text){.text = source->text, .length = 0}, source);
  }
  BRIM_TRY((taker->hot ? take_hot : take_names)(taker, source, row, err));
  return taker->known ? BRIM_OK : brim_label_end_row(taker, err);
}

/* ---- lists of numbers ------------------------------------------------------------------------------------- */

/* Every row of a regression has as many values as the first, or as the known mapping has. Where numbers differ by row, the known
 * mapping says the most, and rows of fewer have NaN after them. */
static int check_width(brim_label_taker *taker, size_t found, const brim_label_source *source, brim_error *err) {
  const bool ragged = taker->type->ragged;
  if (found == 0 && (ragged || taker->width == 0))
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         ragged ? "the label is an empty list: give a score for each document"
                                : "the label is an empty list: a row of a regression has one value or more");
  if (taker->width == 0 || (ragged && !taker->known && found > taker->width))
    taker->width = found;
  for (size_t i = found; ragged && taker->known && i < taker->width; i++)
    BRIM_TRY(brim_label_taker_value(taker, NAN, err));
  if (ragged ? found <= taker->width : found == taker->width)
    return BRIM_OK;
  if (ragged)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         "the label has %zu values, and in this stream one has at most %zu: read the rows without a stream",
                         found, taker->width);
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       "the label has %zu value%s, %zu %s expected: every row of a regression has as many%s", found,
                       found == 1 ? "" : "s", taker->width, taker->width == 1 ? "was" : "were",
                       taker->known && taker->width == 1 ? ", and rows of a stream that can be read only once have one" : "");
}

int brim_label_take_numbers(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  const size_t row = taker->count;
  brim_label_item item = {0};
  BRIM_TRY(refuse_printed(source, err));
  for (size_t at = 0; source->length > 0 && brim_label_item_next(source, &at, &item);) {
    const brim_label_text label = brim_label_read(item.text, item.length, item.form);
    BRIM_TRY(check_item(&item, true, source, err));
    BRIM_TRY(brim_label_taker_kind(taker, &label, source, err));
    BRIM_TRY(brim_label_taker_number(taker, &label, source, err));
  }
  return check_width(taker, taker->count - row, source, err);
}
