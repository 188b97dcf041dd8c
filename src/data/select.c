#include "data/select.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"

/* ---- characters ------------------------------------------------------------------------------------------- */

/* What Python's str.isspace accepts. */
static bool is_space(uint32_t c) {
  return (c >= 9 && c <= 13) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

size_t brim_space_length(const char *text, size_t length) {
  uint32_t c = (unsigned char)*text;
  if (c < 0x80)
    return is_space(c);
  const int size = brim_utf8_decode(text, length, &c);
  return size && is_space(c) ? (size_t)size : 0;
}

/* Characters that are left when white space (as in Python's str.strip) is taken off both ends; stops at `enough` of them. */
static int64_t count_chars(const char *text, size_t length, int64_t enough) {
  int64_t seen = 0, kept = 0; /* characters from the first that is no white space; up to the last that is none */
  for (size_t at = 0; at < length && kept < enough;) {
    uint32_t c;
    int size = brim_utf8_decode(text + at, length - at, &c);
    bool blank = is_space(c);
    at += size ? (size_t)size : 1;
    if (seen || !blank)
      seen++;
    if (!blank)
      kept = seen;
  }
  return kept;
}

/* ---- exclusions ------------------------------------------------------------------------------------------- */

void brim_exclusions_free(brim_exclusions *exclusions) {
  brim_runtime *runtime = exclusions->runtime;
  for (int i = 0; i < exclusions->reason_count; i++)
    brim_release(runtime, exclusions->reasons[i]);
  for (size_t i = 0; i < exclusions->file_count; i++)
    brim_release(runtime, exclusions->files[i]);
  for (size_t i = 0; i < exclusions->word_count; i++)
    brim_release(runtime, exclusions->words[i]);
  brim_release(runtime, exclusions->words);
  brim_release(runtime, exclusions->reasons);
  brim_release(runtime, exclusions->files);
  brim_release(runtime, exclusions->items);
  *exclusions = (brim_exclusions){0};
}

/* The list's own copy of a file name: files come one after another, so only the newest needs a look. */
static const char *own_file(brim_exclusions *exclusions, const char *file, brim_error *err) {
  if (exclusions->file_count && strcmp(exclusions->files[exclusions->file_count - 1], file) == 0)
    return exclusions->files[exclusions->file_count - 1];
  if (brim_grow(exclusions->runtime, (void **)&exclusions->files, &exclusions->file_capacity, exclusions->file_count + 1,
                sizeof *exclusions->files, err))
    return NULL;
  char *copy = brim_copy_string(exclusions->runtime, file, strlen(file));
  if (!copy) {
    brim_error_memory(err);
    return NULL;
  }
  exclusions->files[exclusions->file_count++] = copy;
  return copy;
}

static int add_item(brim_exclusions *list, brim_exclusion item, brim_error *err) {
  BRIM_TRY(brim_grow(list->runtime, (void **)&list->items, &list->capacity, list->count + 1, sizeof *list->items, err));
  item.file = own_file(list, item.file, err);
  if (!item.file)
    return BRIM_E_MEMORY;
  list->items[list->count++] = item;
  return BRIM_OK;
}

int brim_selection_exclude(brim_selection *selection, int reason, uint64_t row, int64_t line, const char *file, brim_error *err) {
  brim_exclusions *list = &selection->excluded;
  if (selection->forget)
    return BRIM_OK;
  return add_item(list, (brim_exclusion){.row = row, .line = line, .file = file, .reason = list->reasons[reason]}, err);
}

int brim_exclusions_add_damaged(brim_exclusions *list, const char *why, uint64_t row, int64_t line, const char *file,
                                brim_error *err) {
  BRIM_TRY(brim_grow(list->runtime, (void **)&list->words, &list->word_capacity, list->word_count + 1, sizeof *list->words, err));
  char *copy = brim_copy_string(list->runtime, why, strlen(why));
  if (!copy)
    return BRIM_NOMEM(err);
  list->words[list->word_count++] = copy;
  return add_item(list, (brim_exclusion){.row = row, .line = line, .file = file, .reason = copy, .damaged = true}, err);
}

int brim_exclusions_add_none(brim_exclusions *list, uint64_t row, int64_t line, const char *file, brim_error *err) {
  return add_item(list, (brim_exclusion){.row = row, .line = line, .file = file, .reason = list->reasons[list->reason_count - 1]},
                  err);
}

static int by_row(const void *a, const void *b) {
  const uint64_t x = ((const brim_exclusion *)a)->row, y = ((const brim_exclusion *)b)->row;
  return (x > y) - (x < y);
}

void brim_exclusions_sort(brim_exclusions *list) {
  if (list->count > 1)
    qsort(list->items, list->count, sizeof *list->items, by_row);
}

void brim_selection_restart(brim_selection *selection) {
  selection->excluded.count = 0;
}

/* ---- selection -------------------------------------------------------------------------------------------- */

static int add_reason(brim_exclusions *list, brim_text *words, brim_error *err) {
  BRIM_TRY(brim_text_status(words, err));
  char *copy = brim_copy_string(list->runtime, words->data, words->length);
  if (!copy)
    return BRIM_NOMEM(err);
  list->reasons[list->reason_count++] = copy;
  return BRIM_OK;
}

static int init_reasons(brim_selection *selection, const brim_source_options *options, brim_text *words, brim_error *err) {
  brim_exclusions *list = &selection->excluded;
  list->reasons = brim_alloc_array_zero(list->runtime, (size_t)options->where_count + 3, sizeof *list->reasons);
  selection->values = brim_alloc_array_zero(list->runtime, (size_t)options->where_count + 1, sizeof *selection->values);
  if (!list->reasons || !selection->values)
    return BRIM_NOMEM(err);
  brim_text_printf(words, "fewer than %lld character%s", (long long)options->min_chars, options->min_chars == 1 ? "" : "s");
  BRIM_TRY(add_reason(list, words, err));
  for (int i = 0; i < options->where_count; i++) {
    const brim_where *where = &options->where[i];
    if (!where->column || !where->value)
      return brim_error_set(err, BRIM_E_USAGE, "a condition needs a column and a value");
    selection->values[i] = brim_copy_string(list->runtime, where->value, strlen(where->value));
    if (!selection->values[i])
      return BRIM_NOMEM(err);
    selection->where_count = i + 1;
    brim_text_clear(words);
    brim_text_printf(words, "%s is not %s", where->column, where->value);
    BRIM_TRY(add_reason(list, words, err));
  }
  brim_text_clear(words);
  brim_text_string(words, "there is no label");
  BRIM_TRY(add_reason(list, words, err));
  brim_text_clear(words);
  brim_text_string(words, BRIM_NONE_REASON);
  return add_reason(list, words, err);
}

int brim_selection_init(brim_selection *selection, brim_runtime *runtime, const brim_source_options *options, brim_error *err) {
  *selection = (brim_selection){.min_chars = options->min_chars, .excluded.runtime = runtime};
  brim_text words;
  brim_text_init(&words, runtime);
  int status = init_reasons(selection, options, &words, err);
  brim_text_free(&words);
  if (status != BRIM_OK)
    brim_selection_free(selection);
  return status;
}

void brim_selection_free(brim_selection *selection) {
  brim_runtime *runtime = selection->excluded.runtime;
  for (int i = 0; i < selection->where_count; i++)
    brim_release(runtime, selection->values[i]);
  brim_release(runtime, selection->values);
  brim_exclusions_free(&selection->excluded);
  *selection = (brim_selection){0};
}

bool brim_selection_holds(const brim_selection *selection, int index, const char *value, size_t length) {
  const char *wanted = selection->values[index];
  return value && length == strlen(wanted) && memcmp(value, wanted, length) == 0;
}

bool brim_selection_long_enough(const brim_selection *selection, const char *text, size_t length) {
  return selection->min_chars == 0 || count_chars(text, length, selection->min_chars) >= selection->min_chars;
}
