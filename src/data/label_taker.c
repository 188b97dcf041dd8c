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

int brim_label_shown(const char *text, size_t length, size_t most) {
  if (length > most)
    length = brim_utf8_valid(text, most);
  return (int)length;
}

static const char *kind_name(brim_label_kind kind, bool string) {
  static const char *const names[] = {"an integer", "a decimal number", "a boolean", "not a number"};
  return string ? "a text" : names[kind];
}

static bool is_number(brim_label_kind kind) {
  return kind == BRIM_LABEL_INTEGER || kind == BRIM_LABEL_DECIMAL;
}

/* Of numbers alone both tasks make sense, and only the user knows which. */
static int refuse_mixture(const brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at,
                          brim_error *err) {
  const bool numbers = is_number(label->kind) && is_number(taker->first_kind);
  return brim_error_at(
      err, BRIM_E_FORMAT, at->file, at->line, -1,
      "label \"%.*s\" is %s, but the first label, \"%s\" (%s line %lld), is %s: choose the task%s, or correct the "
      "labels",
      brim_label_shown(label->text, label->length, 60), label->text, kind_name(label->kind, label->string), taker->first_text,
      taker->first_file, (long long)taker->first_line, kind_name(taker->first_kind, taker->first_string),
      numbers ? " (regression: they are values; classification: each number is a class)" : ", classification or regression");
}

/* A known name such as "x,y" with the label among its parts: names that were to be several. */
static const char *find_joined(const brim_labels *known, const brim_label_text *label) {
  for (int32_t i = 0; i < known->count; i++)
    for (const char *part = known->names[i], *end = part; strchr(known->names[i], ',') && *end; part = end + 1) {
      end = part + strcspn(part, ",");
      if ((size_t)(end - part) == label->length && memcmp(part, label->text, label->length) == 0)
        return known->names[i];
    }
  return NULL;
}

static int refuse_unknown(const brim_labels *known, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  char names[256], hint[160] = "";
  const char *joined = find_joined(known, label);
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
  if (joined)
    brim_number_format(hint, sizeof hint, "; \"%.*s\" is one name: give each label by itself (--labels A --labels B)",
                       brim_label_shown(joined, strlen(joined), 60), joined);
  return brim_error_at(err, BRIM_E_MISMATCH, at->file, at->line, -1, "label \"%.*s\" is not among the %d known labels: %s%s",
                       brim_label_shown(label->text, label->length, 60), label->text, (int)known->count, names, hint);
}

/* ---- taking labels ---------------------------------------------------------------------------------------- */

void brim_label_taker_init(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known) {
  *taker = (brim_label_taker){.runtime = runtime, .known = known, .task = known ? known->task : task};
  taker->type = brim_label_type_of(taker->task);
  taker->task_given = taker->task != BRIM_TASK_AUTO;
  brim_hashmap_init(&taker->ids, runtime);
}

void brim_label_taker_init_of_rows(brim_label_taker *taker, brim_runtime *runtime, brim_task task, const brim_labels *known) {
  const bool scores = known && brim_label_type_of(known->task)->scores;
  brim_label_taker_init(taker, runtime, scores ? known->task : task, scores ? NULL : known);
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

int brim_label_taker_value(brim_label_taker *taker, float value, brim_error *err) {
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->values, &taker->capacity, taker->count + 1, sizeof *taker->values, err));
  taker->values[taker->count++] = value;
  return BRIM_OK;
}

int brim_label_taker_number(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  const brim_label_text value = brim_label_read(label->text, label->length, BRIM_FORM_TEXT); /* the task says that it is one */
  if (is_number(value.kind) && isfinite((float)value.real))
    return brim_label_taker_value(taker, (float)value.real, err);
  return brim_error_at(
      err, BRIM_E_FORMAT, at->file, at->line, -1,
      !brim_task_shape(taker->task)->optional
          ? taker->known ? "label \"%.*s\" is not a finite number, and regression needs one: correct it"
                         : "label \"%.*s\" is not a finite number, and regression needs one: correct it, or choose the task "
                           "classification"
      : label->kind == BRIM_LABEL_BOOLEAN
          ? "label \"%.*s\" is a boolean, and a score is a number: write 1 for true and 0 for false"
          : "label \"%.*s\" is not a finite number, and a score is one: correct it, or name another column (--label-column)",
      brim_label_shown(label->text, label->length, 60), label->text);
}

static int add_class(brim_label_taker *taker, const brim_label_text *label, brim_error *err) {
  if (taker->class_count == BRIM_MAX_CLASSES)
    return brim_error_set(err, BRIM_E_FORMAT, "more than %d different labels: if they are values, choose the task regression",
                          BRIM_MAX_CLASSES);
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->classes, &taker->class_capacity, taker->class_count + 1,
                     sizeof *taker->classes, err));
  brim_label_class added = {.kind = label->kind,
                            .plain = label->plain,
                            .string = label->string,
                            .real = label->real,
                            .first = (int32_t)taker->class_count};
  added.name = brim_copy_string(taker->runtime, label->text, label->length);
  if (!added.name)
    return BRIM_NOMEM(err);
  taker->classes[taker->class_count++] = added;
  return brim_hashmap_put(&taker->ids, label->text, label->length, added.first, NULL, NULL, err);
}

int brim_label_taker_class(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  int32_t id = brim_hashmap_get(&taker->ids, label->text, label->length, -1);
  if (id >= 0) {
    taker->classes[id].plain &= label->plain; /* the string "1" beside the number */
    taker->classes[id].string |= label->string;
    return brim_label_taker_value(taker, (float)id, err);
  }
  if (memchr(label->text, 0, label->length))
    return brim_error_at(err, BRIM_E_FORMAT, at->file, at->line, -1, "the label holds a NUL byte: remove it");
  id = (int32_t)taker->class_count;
  BRIM_TRY(add_class(taker, label, err));
  return brim_label_taker_value(taker, (float)id, err);
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

/* The class of a number that is no class's name. */
static int32_t find_number(const brim_label_taker *taker, const brim_label_text *label) {
  return brim_labels_find(taker->known, label->text, label->length, label->plain ? BRIM_FORM_NUMBER : BRIM_FORM_NAME);
}

int brim_label_taker_known(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, int32_t *id,
                           brim_error *err) {
  char key[64] = {0}; /* of numbers, after a NUL, which no name has */
  const size_t length = label->length + 1;
  if (!taker->remembers)
    BRIM_TRY(remember_known(taker, err));
  *id = brim_hashmap_get(&taker->ids, label->text, label->length, -1);
  if (*id >= 0)
    return BRIM_OK;
  if (!label->plain || length > sizeof key) {
    *id = find_number(taker, label);
    return *id >= 0 ? BRIM_OK : refuse_unknown(taker->known, label, at, err);
  }
  memcpy(key + 1, label->text, label->length);
  *id = brim_hashmap_get(&taker->ids, key, length, -1);
  if (*id >= 0)
    return BRIM_OK;
  *id = find_number(taker, label);
  return *id >= 0 ? brim_hashmap_put(&taker->ids, key, length, *id, NULL, NULL, err)
                  : refuse_unknown(taker->known, label, at, err);
}

void brim_label_taker_where(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at) {
  brim_number_format(taker->first_text, sizeof taker->first_text, "%.*s", brim_label_shown(label->text, label->length, 60),
                     label->text);
  size_t skip = strlen(at->file) < sizeof taker->first_file ? 0 : strlen(at->file) - sizeof taker->first_file + 1;
  brim_number_format(taker->first_file, sizeof taker->first_file, "%s", at->file + skip);
  taker->first_line = at->line;
}

/* A boolean next to a field, which may be one: a name says nothing of its type. */
static bool is_field_of_booleans(const brim_label_taker *taker, const brim_label_text *label) {
  const bool boolean = label->kind == BRIM_LABEL_BOOLEAN, name = label->kind == BRIM_LABEL_NAME && !label->string;
  return (boolean && taker->first_kind == BRIM_LABEL_NAME && !taker->first_string) ||
         (name && taker->first_kind == BRIM_LABEL_BOOLEAN);
}

int brim_label_taker_kind(brim_label_taker *taker, const brim_label_text *label, const brim_label_source *at, brim_error *err) {
  if (!taker->begun) {
    brim_label_taker_where(taker, label, at);
    taker->first_kind = label->kind;
    taker->first_string = label->string;
    taker->begun = true;
  }
  return taker->task_given || label->kind == taker->first_kind || is_field_of_booleans(taker, label)
             ? BRIM_OK
             : refuse_mixture(taker, label, at, err);
}

/* ---- one label a row -------------------------------------------------------------------------------------- */

/* Without a task labels are all lists, or none is. */
static int check_list(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  if (taker->rows == 0)
    taker->lists = source->list;
  if (taker->task_given || taker->lists == source->list)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, source->file, source->line, -1,
                       taker->lists ? "this label is a single value, but the first row's is a list: make all lists, or none"
                                    : "this label is a list, but the first row's is a single value: make all lists, or none");
}

int brim_label_taker_add(brim_label_taker *taker, const brim_label_source *source, brim_error *err) {
  BRIM_TRY(check_list(taker, source, err));
  BRIM_TRY(taker->type->take(taker, source, err));
  taker->rows++;
  return BRIM_OK;
}

/* ---- labels of words -------------------------------------------------------------------------------------- */

int brim_label_taker_words(brim_label_taker *taker, const brim_label_source *source, brim_sample *sample, brim_error *err) {
  const size_t count = (size_t)sample->length;
  BRIM_TRY(brim_label_taker_add(taker, source, err));
  BRIM_TRY(brim_grow(taker->runtime, (void **)&taker->tokens, &taker->token_room, count, sizeof *taker->tokens, err));
  for (size_t i = 0; i < count; i++) {
    const int32_t word = sample->words[i];
    const bool first = word >= 0 && (i == 0 || sample->words[i - 1] != word);
    taker->tokens[i] = first ? (int32_t)taker->values[word] : BRIM_NO_LABEL;
  }
  sample->token_labels = taker->tokens;
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
