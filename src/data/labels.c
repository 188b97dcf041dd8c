/* labels.c: a mapping of labels to numbers, and what a label is. */
#include "data/labels.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/text.h"
#include "base/utf8.h"
#include "data/select.h"
#include "text/unicode.h"

/* ---- mappings --------------------------------------------------------------------------------------------- */

void brim_labels_free(brim_labels *labels) {
  if (!labels || !labels->runtime)
    return;
  for (int32_t i = 0; labels->names && i < labels->count; i++)
    brim_release(labels->runtime, labels->names[i]);
  brim_release(labels->runtime, labels->names);
  brim_release(labels->runtime, labels->rows);
  *labels = (brim_labels){0};
}

/* Are the names LABEL_0, LABEL_1, ..? */
static bool has_placeholders(const brim_labels *labels) {
  char expected[32];
  bool all = true;
  for (int32_t i = 0; i < labels->count && all; i++) {
    brim_number_format(expected, sizeof expected, "LABEL_%d", (int)i);
    all = strcmp(labels->names[i], expected) == 0;
  }
  return all;
}

static brim_label_text name_of(const brim_labels *labels, int32_t class) {
  return brim_label_read(labels->names[class], strlen(labels->names[class]), BRIM_FORM_TEXT);
}

static bool has_booleans(const brim_labels *labels) {
  for (int32_t i = 0; i < labels->count; i++)
    if (strcmp(labels->names[i], "false") != 0 && strcmp(labels->names[i], "true") != 0)
      return false;
  return true;
}

static bool has_integers(const brim_labels *labels) {
  bool all = true;
  for (int32_t i = 0; i < labels->count && all; i++) {
    const brim_label_text name = name_of(labels, i);
    all = name.plain && name.kind == BRIM_LABEL_INTEGER;
  }
  return all;
}

void brim_labels_set_strings(brim_labels *labels, bool strings) {
  if (!labels->names)
    return;
  labels->strings = strings;
  labels->form = strings                ? BRIM_FORM_NAME
                 : has_integers(labels) ? BRIM_FORM_NUMBER
                 : has_booleans(labels) ? BRIM_FORM_BOOLEAN
                                        : BRIM_FORM_NAME;
}

static int refuse_equal_names(brim_runtime *runtime, const char *const *names, int32_t count, brim_error *err) {
  brim_hashmap seen;
  brim_hashmap_init(&seen, runtime);
  int status = BRIM_OK;
  for (int32_t i = 0; i < count && status == BRIM_OK; i++) {
    bool existed = false;
    status = brim_hashmap_put(&seen, names[i], strlen(names[i]), i, &existed, NULL, err);
    if (status == BRIM_OK && existed)
      status = brim_error_set(err, BRIM_E_FORMAT, "two classes are named \"%s\": give each its own name", names[i]);
  }
  brim_hashmap_free(&seen);
  return status;
}

int brim_labels_make(brim_runtime *runtime, brim_task task, const char *const *names, int32_t count, brim_labels *out,
                     brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  if (!brim_task_rules_of(task))
    return brim_error_set(err, BRIM_E_USAGE, "labels without a task: say classification, regression or multi-label");
  if (count < 1 || count > BRIM_MAX_CLASSES)
    return brim_error_set(err, BRIM_E_FORMAT, "%d classes: from 1 to %d are possible", (int)count, BRIM_MAX_CLASSES);
  if (!brim_label_type_of(task)->named) { /* outputs without names */
    *out = (brim_labels){.task = task, .count = count, .runtime = runtime};
    return BRIM_OK;
  }
  BRIM_STRINGS(err, names, count);
  BRIM_TRY(refuse_equal_names(runtime, names, count, err));
  brim_labels labels = {.task = task, .runtime = runtime};
  labels.names = brim_alloc_array_zero(runtime, (size_t)count, sizeof *labels.names);
  for (; labels.names && labels.count < count; labels.count++) {
    const char *name = names[labels.count];
    labels.names[labels.count] = brim_copy_string(runtime, name, strlen(name));
    if (!labels.names[labels.count])
      break;
  }
  if (labels.count < count) {
    brim_labels_free(&labels);
    return BRIM_NOMEM(err);
  }
  brim_labels_set_strings(&labels, false);
  *out = labels;
  return BRIM_OK;
}

int brim_labels_copy(brim_runtime *runtime, const brim_labels *labels, brim_labels *out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, labels);
  BRIM_TRY(brim_labels_make(runtime, labels->task, (const char *const *)labels->names, labels->count, out, err));
  brim_labels_set_strings(out, labels->strings);
  return BRIM_OK;
}

/* A sharp s is two, and a sigma at a word's end is a sigma: their capitals say so. */
static void add_decomposed(brim_text *out, uint32_t code) {
  enum { SHARP_S = 0xDF, FINAL_SIGMA = 0x3C2, SIGMA = 0x3C3 };
  uint32_t parts[BRIM_DECOMPOSITION_MAX] = {'s', 's'};
  char bytes[4];
  const int count = code == SHARP_S ? 2 : brim_char_decompose(code == FINAL_SIGMA ? SIGMA : code, true, parts);
  for (int i = 0; i < count; i++)
    brim_text_append(out, bytes, (size_t)brim_utf8_encode(parts[i], bytes));
}

/* An integer without sign + and leading zeros; what the text is otherwise. */
static void strip_number(brim_text *out) {
  const brim_label_text label = brim_label_read(out->data, out->length, BRIM_FORM_TEXT);
  if (label.kind != BRIM_LABEL_INTEGER || !label.fits)
    return;
  brim_text_clear(out);
  brim_text_printf(out, "%lld", (long long)label.integer);
}

/* What a reader sees of the name: without spaces around it and characters that are not shown, in small letters, which are taken
 * apart into letters and accents, as wide as usual; a number as numbers are written. */
static void plain_name(brim_text *out, const char *name) {
  size_t length = strlen(name), last = 0;
  brim_text_clear(out);
  for (size_t at = 0, size; at < length; at += size) {
    uint32_t code;
    size = (size_t)brim_utf8_decode(name + at, length - at, &code);
    size = size ? size : 1;
    const bool space = brim_space_length(name + at, length - at) > 0;
    if (brim_char_category(code) == BRIM_CF || (space && out->length == 0))
      continue;
    const uint32_t *lower = brim_char_lower(code);
    for (uint32_t i = 0; lower && i < lower[0]; i++)
      add_decomposed(out, lower[1 + i]);
    if (!lower)
      add_decomposed(out, code);
    last = space ? last : out->length;
  }
  if (out->length > last)
    out->data[out->length = last] = 0;
  if (out->length)
    strip_number(out);
}

int brim_labels_alike(brim_runtime *runtime, const brim_labels *labels, int32_t *one, int32_t *other, brim_error *err) {
  BRIM_OUT(err, one);
  BRIM_OUT(err, other);
  BRIM_GIVEN(err, runtime, labels);
  brim_hashmap seen;
  brim_text name;
  int status = BRIM_OK;
  *one = *other = -1;
  brim_hashmap_init(&seen, runtime);
  brim_text_init(&name, runtime);
  for (int32_t i = 0; labels->names && i < labels->count && *one < 0 && !status; i++) {
    plain_name(&name, labels->names[i]);
    const char *bytes = name.data ? name.data : "";
    status = brim_text_status(&name, err);
    if (!status && brim_hashmap_has(&seen, bytes, name.length))
      *one = brim_hashmap_get(&seen, bytes, name.length, -1), *other = i;
    else if (!status)
      status = brim_hashmap_put(&seen, bytes, name.length, i, NULL, NULL, err);
  }
  brim_text_free(&name);
  brim_hashmap_free(&seen);
  return status;
}

brim_block_shape brim_labels_shape(const brim_labels *labels) {
  const brim_label_type *type = brim_label_type_of(labels->task);
  return type->per == BRIM_PER_TOKEN ? brim_token_label_shape() : brim_row_label_shape(type->each ? labels->count : 1);
}

int32_t brim_labels_width(const brim_labels *labels) {
  return brim_labels_shape(labels).width;
}

/* ---- the class of a label --------------------------------------------------------------------------------- */

static int32_t find_name(const brim_labels *labels, const char *name, size_t length) {
  for (int32_t i = 0; i < labels->count; i++)
    if (strlen(labels->names[i]) == length && memcmp(labels->names[i], name, length) == 0)
      return i;
  return -1;
}

static bool are_numbers(const brim_labels *labels) {
  for (int32_t i = 0; i < labels->count; i++)
    if (!name_of(labels, i).plain)
      return false;
  return true;
}

static int32_t find_value(const brim_labels *labels, const brim_label_text *label) {
  int32_t found = -1;
  for (int32_t i = 0; i < labels->count; i++) {
    const brim_label_text name = name_of(labels, i);
    if (brim_label_equal(&name, label))
      found = i;
  }
  return found;
}

int32_t brim_labels_find(const brim_labels *labels, const char *text, size_t length, char form) {
  if (!labels->names)
    return -1;
  int32_t id = find_name(labels, text, length);
  const brim_label_text label = brim_label_read(text, length, form);
  if (id >= 0 || !label.plain)
    return id;
  if (are_numbers(labels))
    return find_value(labels, &label);
  /* Tags are often numbers, whose names are the model's. */
  const bool by_place = has_placeholders(labels) || brim_label_type_of(labels->task)->words;
  return by_place && label.fits && label.integer >= 0 && label.integer < labels->count ? (int32_t)label.integer : -1;
}

int brim_labels_none(const brim_labels *labels) {
  const int none = brim_label_type_of(labels->task)->none;
  return (none & BRIM_NONE_1 && brim_labels_find(labels, "-1", 2, BRIM_FORM_TEXT) < 0 ? BRIM_NONE_1 : 0) |
         (none & BRIM_NONE_100 && brim_labels_find(labels, "-100", 4, BRIM_FORM_TEXT) < 0 ? BRIM_NONE_100 : 0);
}
