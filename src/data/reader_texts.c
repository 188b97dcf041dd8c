/* reader_texts.c: records of several texts, one or a list of them in each of their columns. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/label_text.h"
#include "data/reader.h"

int brim_reader_check_columns(const brim_source_options *o, brim_error *err) {
  const int least = o->paired ? 2 : 1;
  if (o->text_column_count < 0 || o->most_texts < 0 || (o->text_column_count > 0 && !o->text_columns))
    return brim_error_set(err, BRIM_E_USAGE, "text_columns and most_texts: their numbers cannot be negative");
  if (o->text_column_count == 0)
    return BRIM_OK;
  if (o->text_column || o->pair_column || o->words)
    return brim_error_set(err, BRIM_E_USAGE, "text_columns name all texts of a row: leave out %s",
                          o->words ? "words, whose rows are one text" : "text_column and pair_column");
  if (o->text_column_count < least)
    return brim_error_set(err, BRIM_E_USAGE, "text_columns: pairs need the column of their first halves and one of the second");
  if (o->least_columns && (o->least_columns < least || o->least_columns > o->text_column_count))
    return brim_error_set(err, BRIM_E_USAGE, "least_columns is %d: of these %d text columns it is from %d to %d",
                          o->least_columns, o->text_column_count, least, o->text_column_count);
  return BRIM_OK;
}

int brim_reader_further(const brim_reader *reader, const brim_slot *slot) {
  const int at = (int)(slot - reader->slots) - (reader->slot_count - reader->further_slots);
  return at >= 0 ? at : -1;
}

static const brim_slot *further_slot(const brim_reader *reader, int i) {
  return &reader->slots[reader->slot_count - reader->further_slots + i];
}

int brim_reader_check_seen(const brim_reader *reader, brim_error *err) {
  for (int i = 0; i < reader->further_slots; i++) {
    const brim_slot *slot = further_slot(reader, i);
    if (!slot->seen && !reader->skip_damaged) /* what is left out might have it */
      return brim_error_at(err, BRIM_E_USAGE, brim_source_name(&reader->source.files[0]), 0, -1,
                           "no row has the column \"%.60s\": leave it out, or name another", slot->name);
  }
  return BRIM_OK;
}

/* The next text of a slot, from byte *at of its value on; false after the last. Each item of a list is one. A value that is empty
 * is none, unless it is that of a column that every row has. */
static bool next_text(const brim_slot *slot, size_t *at, brim_string *out) {
  if (!slot->present)
    return false;
  if (!slot->is_list) {
    *out = (brim_string){slot->bytes, slot->length};
    return (*at)++ == 0 && (slot->required || slot->length > 0);
  }
  if (*at >= slot->length)
    return false;
  *out = (brim_string){slot->bytes + *at, strlen(slot->bytes + *at)};
  *at += out->length + 1;
  return true;
}

static int refuse(const brim_reader *reader, brim_error *err, const char *what, int64_t number) {
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte, what,
                       (long long)number, (long long)reader->most_texts);
}

/* Of a slot of one text. Null has no character; where no text has to be, it is none. */
static bool one_long_enough(const brim_reader *reader, const brim_slot *slot) {
  return slot->present ? brim_selection_long_enough(&reader->selection, slot->bytes, slot->length)
                       : !slot->bytes || !slot->required;
}

static bool has_null(const brim_slot *slot) {
  return slot->present && slot->is_list && slot->null_item > 0;
}

/* Of a slot of any number of texts. */
static bool all_long_enough(const brim_reader *reader, const brim_slot *slot) {
  size_t count = 0;
  brim_string text;
  for (size_t at = 0; next_text(slot, &at, &text); count++)
    if (!brim_selection_long_enough(&reader->selection, text.bytes, text.length))
      return false;
  return !has_null(slot) && (count > 0 || !slot->required || !slot->bytes);
}

bool brim_reader_texts_long_enough(const brim_reader *reader) {
  bool enough = reader->selection.min_chars == 0 || (one_long_enough(reader, &reader->slots[BRIM_SLOT_TEXT]) &&
                                                     one_long_enough(reader, &reader->slots[BRIM_SLOT_PAIR]));
  for (int i = 0; enough && i < reader->further_slots && reader->selection.min_chars > 0; i++)
    enough = all_long_enough(reader, further_slot(reader, i));
  return enough;
}

/* A text may look so; a column of these names has lists. */
static bool is_printed_list(const brim_slot *slot) {
  const bool lists = strcmp(slot->name, "negatives") == 0 || strcmp(slot->name, "documents") == 0;
  return slot->present && !slot->is_list && lists && brim_label_is_printed_list(slot->bytes, slot->length);
}

static int take_slot(brim_reader *reader, const brim_slot *slot, brim_error *err) {
  const size_t before = reader->further_count;
  brim_string text;
  if (!slot->present && slot->required)
    return reader->format->missing(reader, slot, err);
  if (is_printed_list(slot))
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                         "\"%.60s\" holds a list as Python or JSON writes it, in one field: csv has a column for each text "
                         "(negative_1, negative_2, ..), JSON lines have lists",
                         slot->name);
  for (size_t at = 0; next_text(slot, &at, &text);) {
    BRIM_TRY(brim_grow(reader->runtime, (void **)&reader->further, &reader->further_room, reader->further_count + 1,
                       sizeof *reader->further, err));
    reader->further[reader->further_count++] = text;
  }
  if (has_null(slot))
    return brim_error_at(
        err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
        "item %zu of the list in \"%s\" is null, and each is a text: fill it in, or leave such rows out (min_chars 1)",
        slot->null_item, slot->name);
  if (slot->required && reader->further_count == before)
    return brim_error_at(
        err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
        "the list in \"%s\" has no text, and each row needs one: fill it in, or leave such rows out (min_chars 1)", slot->name);
  return BRIM_OK;
}

/* Takes a slot's texts. *gap: the first column before it that has a value without a text. */
static int take_in_place(brim_reader *reader, const brim_slot *slot, const brim_slot **gap, brim_error *err) {
  const size_t before = reader->further_count;
  BRIM_TRY(take_slot(reader, slot, err));
  const bool has_text = reader->further_count > before;
  if (reader->aligned && has_text && *gap)
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                         "the row has a text in \"%s\" and none in \"%s\" before it, and scores go by their "
                         "places: fill it in, or move the others up",
                         slot->name, (*gap)->name);
  if (!has_text && !*gap && slot->bytes && !slot->is_list)
    *gap = slot;
  return BRIM_OK;
}

int brim_reader_take_texts(brim_reader *reader, brim_record *record, brim_error *err) {
  reader->further_count = 0;
  const brim_slot *gap = NULL;
  for (int i = 0; i < reader->further_slots; i++)
    BRIM_TRY(take_in_place(reader, further_slot(reader, i), &gap, err));
  const int64_t texts = (int64_t)reader->further_count + !reader->paired;
  if (reader->most_texts > 0 && texts > reader->most_texts)
    return refuse(reader, err,
                  reader->paired && reader->most_texts == 1
                      ? "the row has %lld second texts, and %lld is read here, as of each column of a stream: read the rows "
                        "without a stream"
                      : "the row has %lld texts, and at most %lld are read here, in a stream one of each column: give fewer, or "
                        "read the rows without a stream",
                  texts);
  record->further = reader->further;
  record->further_count = reader->further_count;
  if (!reader->paired)
    return BRIM_OK;
  record->pair = reader->further[0].bytes;
  record->pair_length = reader->further[0].length;
  record->further++;
  record->further_count--;
  return BRIM_OK;
}
