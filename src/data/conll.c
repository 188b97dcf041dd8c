/* conll.c: words with a tag, one a line; an empty line after each sentence, which is a record. */
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "data/reader.h"

static int begin_conll(brim_reader *reader, brim_error *err) {
  const char *file = brim_reader_file_name(reader);
  if (!reader->words || reader->raw)
    return brim_error_at(err, BRIM_E_USAGE, file, 0, -1,
                         reader->raw ? "a conll file cannot be copied in parts: give its rows as JSON lines"
                                     : "this is read as conll, words with a tag each: choose the task tokens (--task tokens)");
  if (reader->slot_count > BRIM_SLOT_WHERE)
    return brim_error_at(err, BRIM_E_USAGE, file, 0, -1,
                         "there is no column \"%s\": the columns of a conll file have no names, and belong to words",
                         reader->slots[BRIM_SLOT_WHERE].name);
  reader->columns = 0;
  return BRIM_OK;
}

/* ---- columns ---------------------------------------------------------------------------------------------- */

typedef struct field {
  const char *bytes;
  size_t length;
} field;

/* The field at *at, which moves after it. Where a line has tabs they alone part columns, which may hold spaces. */
static bool next_field(const char **at, const char *end, bool tabs, field *out) {
  const char *from = *at;
  while (!tabs && from < end && *from == ' ')
    from++;
  if (from > end || (!tabs && from == end))
    return false;
  const char *to = memchr(from, tabs ? '\t' : ' ', (size_t)(end - from));
  *out = (field){from, (size_t)((to ? to : end) - from)};
  *at = to ? to + 1 : end + 1;
  return true;
}

/* The number of a slot's column: the given one, else the first for words and the last for tags. */
static int column_of(const brim_reader *reader, int slot, int64_t *column, brim_error *err) {
  const brim_slot *s = &reader->slots[slot];
  *column = slot == BRIM_SLOT_TEXT ? 0 : reader->columns - 1;
  if (!s->given)
    return BRIM_OK;
  if (brim_number_integer(s->name, strlen(s->name), column) && *column >= 0 && *column < reader->columns)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_USAGE, brim_reader_file_name(reader), reader->next_line - 1, -1,
                       "there is no column %s: the columns of a conll file are numbers, here 0 to %lld", s->name,
                       (long long)reader->columns - 1);
}

static int find_columns(brim_reader *reader, brim_error *err) {
  brim_slot *text = &reader->slots[BRIM_SLOT_TEXT], *label = &reader->slots[BRIM_SLOT_LABEL];
  BRIM_TRY(column_of(reader, BRIM_SLOT_TEXT, &text->column, err));
  BRIM_TRY(column_of(reader, BRIM_SLOT_LABEL, &label->column, err));
  if (!reader->need_label || label->column != text->column)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->next_line - 1, -1,
                       "the line has no tag: a word, a space or tab, and its tag are expected");
}

/* `byte`: where in the file the line begins. */
static int check_text(const brim_reader *reader, const char *line, size_t length, int64_t byte, brim_error *err) {
  const char *nul = memchr(line, 0, length);
  if (!nul)
    return brim_reader_check_line(reader, line, length, reader->next_line - 1, byte, err);
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->next_line - 1, byte + (nul - line),
                       "the line holds a NUL byte: remove it, for example with tr -d '\\000'");
}

/* A word and its tag, to the ends of the lists. */
static int take_line(brim_reader *reader, const char *line, size_t length, brim_error *err) {
  const bool tabs = memchr(line, '\t', length) != NULL;
  const char *at = line, *end = line + length;
  int64_t count = 0;
  field one, word = {0}, tag = {0};
  while (next_field(&at, end, tabs, &one))
    count++;
  if (reader->columns == 0) {
    reader->columns = count;
    BRIM_TRY(find_columns(reader, err));
  }
  if (count != reader->columns)
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->next_line - 1, -1,
                         "the line has %lld column%s where the first has %lld: \"%.*s\"", (long long)count, count == 1 ? "" : "s",
                         (long long)reader->columns, (int)(length < 60 ? length : 60), line);
  at = line;
  for (int64_t i = 0; next_field(&at, end, tabs, &one); i++) {
    word = i == reader->slots[BRIM_SLOT_TEXT].column ? one : word;
    tag = i == reader->slots[BRIM_SLOT_LABEL].column ? one : tag;
  }
  brim_text_append(&reader->word_list, word.bytes, word.length);
  brim_text_append(&reader->word_list, "", 1);
  brim_text_append(&reader->list, tag.bytes, tag.length);
  brim_text_append(&reader->list, "", 1);
  return BRIM_OK;
}

/* ---- sentences -------------------------------------------------------------------------------------------- */

static int next_line(brim_reader *reader, const char **line, size_t *length, brim_error *err) {
  const int64_t begin = brim_stream_offset(reader->stream);
  BRIM_TRY(brim_stream_line(reader->stream, reader->max_record, line, length, err));
  if (reader->next_line++ == 1 && brim_stream_offset(reader->stream) == begin + (int64_t)*length)
    BRIM_TRY(brim_reader_refuse_lone_cr(reader, *line, *length, err));
  while (*length > 0 && strchr("\r \t", (*line)[*length - 1]) && (*line)[*length - 1])
    --*length;
  return BRIM_OK;
}

/* What is between sentences. "# text = ..." is no word: its first column would be # alone. */
static bool is_skipped(const char *line, size_t length) {
  static const char start[] = "-DOCSTART-";
  if (length >= sizeof start - 1 && memcmp(line, start, sizeof start - 1) == 0)
    return true;
  return length > 2 && memcmp(line, "# ", 2) == 0 && memmem(line, length, " = ", 3);
}

/* A first column of 1, 2, 3, .. in a file of several columns counts the words. */
static int refuse_counts(const brim_reader *reader, brim_error *err) {
  const char *at = reader->word_list.data;
  int count = 0;
  for (int64_t left = (int64_t)reader->word_list.length; left > 0 && count < 3; count++) {
    char number[8];
    brim_number_format(number, sizeof number, "%d", count + 1);
    if (strcmp(at, number) != 0)
      return BRIM_OK;
    left -= (int64_t)strlen(at) + 1;
    at += strlen(at) + 1;
  }
  if (count < 2 || reader->columns < 3 || reader->slots[BRIM_SLOT_TEXT].given)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_USAGE, brim_reader_file_name(reader), reader->record_line, -1,
      "the first column counts the words (1, 2, ..), as in CoNLL-U: name the columns of the words and their tags by "
      "number, such as --text-column 1 --label-column 3 (the first is 0)");
}

static void set_lists(brim_reader *reader) {
  const struct {
    int slot;
    const brim_text *list;
  } lists[] = {{BRIM_SLOT_TEXT, &reader->word_list}, {BRIM_SLOT_LABEL, &reader->list}};
  for (int i = 0; i < 2; i++) {
    brim_slot *slot = &reader->slots[lists[i].slot];
    slot->bytes = lists[i].list->data;
    slot->length = lists[i].list->length;
    slot->present = slot->is_list = true;
  }
  reader->slots[BRIM_SLOT_LABEL].present = reader->need_label;
}

static int next_sentence(brim_reader *reader, brim_error *err) {
  const char *line;
  size_t length;
  int64_t byte;
  int status;
  brim_text_clear(&reader->word_list);
  brim_text_clear(&reader->list);
  do {
    reader->record_byte = byte = brim_stream_offset(reader->stream);
    reader->record_line = reader->next_line;
    BRIM_TRY(next_line(reader, &line, &length, err));
  } while (length == 0 || is_skipped(line, length));
  do {
    BRIM_TRY(check_text(reader, line, length, byte, err));
    BRIM_TRY(take_line(reader, line, length, err));
    byte = brim_stream_offset(reader->stream);
    status = next_line(reader, &line, &length, err);
  } while (status == BRIM_OK && length > 0);
  if (status != BRIM_OK && status != BRIM_END)
    return status;
  BRIM_TRY(brim_text_status(&reader->word_list, err));
  BRIM_TRY(brim_text_status(&reader->list, err));
  if (reader->row == reader->first_row)
    BRIM_TRY(refuse_counts(reader, err));
  reader->passed = true;
  set_lists(reader);
  return BRIM_OK;
}

static int no_value(brim_reader *reader, const brim_slot *slot, brim_error *err) {
  (void)slot;
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                       "the sentence has no tags: each line is a word, a space or tab, and its tag");
}

const brim_format_ops brim_conll_format = {.begin = begin_conll, .next = next_sentence, .missing = no_value};
