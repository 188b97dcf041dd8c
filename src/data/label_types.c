/* label_types.c: the types of labels, one a row of the table at the end, and which of them a task has. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/labels.h"

static brim_label_text read_cell(const brim_label_source *source) {
  return brim_label_read(source->text, source->length, source->forms ? *source->forms : BRIM_FORM_TEXT);
}

/* ---- a class ---------------------------------------------------------------------------------------------- */

static int take_class(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  const brim_label_text label = read_cell(source);
  int32_t id = 0;
  if (source->list)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         "the label is a list, but classification has one class a row: lists are for the task multi-label");
  if (!taker->known) {
    BRIM_TRY(brim_label_taker_kind(taker, &label, source, err));
    return brim_label_taker_class(taker, &label, source, err);
  }
  BRIM_TRY(brim_label_taker_known(taker, &label, source, &id, err));
  return brim_label_taker_value(taker, (float)id, err);
}

static int finish_class(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  BRIM_TRY(brim_label_taker_map(taker, labels, err));
  for (size_t i = 0; i < taker->count; i++) {
    const int32_t rank = taker->rank[(int32_t)taker->values[i]];
    taker->values[i] = rank < 0 ? NAN : (float)rank;
  }
  return BRIM_OK;
}

/* ---- any number of classes -------------------------------------------------------------------------------- */

/* Rows of classes by their ranks -> [rows, classes] of 0 and 1. */
static int finish_set(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  float *spread = NULL;
  BRIM_TRY(brim_label_taker_map(taker, labels, err));
  const size_t count = (size_t)labels->count;
  if (count <= SIZE_MAX / sizeof *spread)
    spread = brim_alloc_array_zero(taker->runtime, taker->kept, count * sizeof *spread);
  if (!spread)
    return BRIM_NOMEM(err);
  for (size_t row = 0, i = 0; row < taker->kept; row++)
    for (; i < taker->ends[row]; i++)
      spread[row * count + (size_t)taker->rank[(int32_t)taker->values[i]]] = 1.0f;
  brim_release(taker->runtime, taker->values);
  taker->values = spread;
  return BRIM_OK;
}

/* ---- numbers ---------------------------------------------------------------------------------------------- */

/* One, or a list in every row if the first row has one. A field that is a list needs a task, or a mapping, that says so. */
static int take_values(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  const bool several = taker->known && taker->known->count > 1;
  const bool bars = taker->task_given && memchr(source->text, '|', source->length) != NULL;
  const bool list = source->list || several || bars;
  const brim_label_text label = read_cell(source);
  if (taker->rows == 0) {
    taker->lists = list;
    taker->width = list ? 0 : 1;
  }
  if (taker->known)
    taker->width = (size_t)taker->known->count;
  if (list || taker->lists)
    return brim_label_take_numbers(taker, source, err);
  BRIM_TRY(brim_label_taker_kind(taker, &label, source, err));
  return brim_label_taker_number(taker, &label, source, err);
}

static int finish_values(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  return brim_labels_make(taker->runtime, taker->task, NULL, taker->lists ? (int32_t)taker->width : 1, labels, err);
}

/* As many as the row has documents. */
static int take_scores(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  BRIM_TRY(take_values(taker, source, err));
  return taker->known ? BRIM_OK : brim_label_end_row(taker, err);
}

/* Rows of values -> [rows, most of them], NaN after those of a row that has fewer. */
static int finish_scores(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  const size_t width = taker->width, rows = taker->kept;
  if (width > 1 && taker->count < rows * width) {
    float *spread = width <= SIZE_MAX / sizeof *spread ? brim_alloc_array(taker->runtime, rows, width * sizeof *spread) : NULL;
    if (!spread)
      return BRIM_NOMEM(err);
    for (size_t row = 0, i = 0; row < rows; row++)
      for (size_t k = 0; k < width; k++)
        spread[row * width + k] = i < taker->ends[row] ? taker->values[i++] : NAN;
    brim_release(taker->runtime, taker->values);
    taker->values = spread;
  }
  return brim_labels_make(taker->runtime, taker->task, NULL, (int32_t)width, labels, err);
}

/* ---- a tag for each word ------------------------------------------------------------------------------------ */

static int take_tag(brim_label_taker *taker, const brim_label_item *item, const brim_label_source *source, brim_error *err) {
  const brim_label_text label = brim_label_read(item->text, item->length, item->form);
  int32_t id = 0;
  taker->unlabelled += item->form == BRIM_FORM_NONE;
  if (item->form == BRIM_FORM_NONE || brim_label_none(&label) == BRIM_NONE_100) {
    return brim_label_taker_value(taker, (float)BRIM_NO_LABEL, err);
  }
  if (item->length == 0)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1, "a tag is empty: give O to words that have none");
  if (label.kind == BRIM_LABEL_BOOLEAN)
    return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                         "a tag is %.*s, and a boolean names no class: write names, or numbers", (int)label.length, label.text);
  if (!taker->known)
    return brim_label_taker_class(taker, &label, source, err);
  BRIM_TRY(brim_label_taker_known(taker, &label, source, &id, err));
  return brim_label_taker_value(taker, (float)id, err);
}

static int take_tags(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  brim_label_item item = {0};
  taker->count = 0;
  for (size_t at = 0; brim_label_item_next(source, &at, &item);)
    BRIM_TRY(take_tag(taker, &item, source, err));
  return BRIM_OK;
}

/* ---- made of the texts ------------------------------------------------------------------------------------ */

static int take_nothing(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  (void)taker, (void)source, (void)err;
  return BRIM_OK;
}

static int finish_made(brim_label_taker *taker, brim_labels *labels, brim_error *err) {
  return brim_labels_make(taker->runtime, taker->task, NULL, BRIM_MAX_CLASSES, labels, err);
}

/* ---- not known yet ---------------------------------------------------------------------------------------- */

/* The first label says what all are; an empty list says nothing, and may be a set, but no values. */
static int take_first(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  brim_label_item item = {source->text, source->length, 0, source->forms ? *source->forms : BRIM_FORM_TEXT};
  size_t at = 0;
  if (source->list && !brim_label_item_next(source, &at, &item)) {
    if (taker->rows == 0)
      brim_label_taker_where(taker, &(brim_label_text){.text = "", .length = 0}, source);
    return brim_label_end_row(taker, err);
  }
  const bool hot = source->list && taker->rows == 0 && brim_label_is_hot(taker, source);
  const bool decimal = !hot && brim_label_read(item.text, item.length, item.form).kind == BRIM_LABEL_DECIMAL;
  taker->task = brim_task_of_label(decimal, source->list);
  taker->type = brim_label_type_of(taker->task);
  if (decimal && taker->rows > 0)
    return brim_error_at(err, BRIM_E_FORMAT, taker->first_file, taker->first_line, -1,
                         "the list of labels is empty, but line %lld has decimals, which are values: every row of a regression "
                         "has as many",
                         (long long)source->line);
  return taker->type->take(taker, source, err);
}

/* ---- the table -------------------------------------------------------------------------------------------- */

static const brim_label_type class = {
    .named = true, .none = BRIM_NONE_1 | BRIM_NONE_100, .take = take_class, .finish = finish_class};
static const brim_label_type set = {
    .named = true, .each = true, .empty = true, .take = brim_label_take_set, .finish = finish_set};
static const brim_label_type values = {.each = true, .take = take_values, .finish = finish_values};
static const brim_label_type scores = {.each = true, .scores = true, .take = take_values, .finish = finish_values};
static const brim_label_type documents = {
    .each = true, .scores = true, .ragged = true, .take = take_scores, .finish = finish_scores};
static const brim_label_type tags = {
    .words = true, .named = true, .per = BRIM_PER_TOKEN, .take = take_tags, .finish = brim_label_taker_map};
static const brim_label_type made = {.made = true, .per = BRIM_PER_TOKEN, .take = take_nothing, .finish = finish_made};
static const brim_label_type unknown = {.each = true, .take = take_first, .finish = brim_label_taker_map};

const brim_label_type *brim_label_type_of(brim_task task) {
  const brim_shape *shape = brim_task_shape(task);
  if (!brim_task_rules_of(task))
    return &unknown;
  if (shape->words || shape->made)
    return shape->words ? &tags : &made;
  const brim_label_type *several = shape->joins_pairs ? &documents : &scores;
  return shape->named ? shape->one_class ? &class : &set : shape->several_texts ? several : &values;
}

void brim_label_type_read(brim_task task, brim_source_options *source) {
  const brim_label_type *type = brim_label_type_of(task);
  source->words |= type->words;
  source->empty_label |= type->empty;
}
