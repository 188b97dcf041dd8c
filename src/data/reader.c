#include "data/reader.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/runtime.h"
#include "base/status.h"
#include "base/utf8.h"
#include "data/blocks.h"
#include "data/label_text.h"
#include "data/position.h"

#define DEFAULT_MAX_RECORD ((int64_t)1 << 30)

/* ---- errors ----------------------------------------------------------------------------------------------- */

const char *brim_reader_file_name(const brim_reader *reader) {
  return brim_source_name(&reader->source.files[reader->file]);
}

int brim_reader_fault(const brim_reader *reader, brim_error *err, const char *record, size_t at, const char *format, ...) {
  char message[512];
  va_list args;
  va_start(args, format);
  brim_number_vformat(message, sizeof message, format, args);
  va_end(args);
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line + brim_count_lines(record, at),
                       reader->record_byte + (int64_t)at, "%s", message);
}

int brim_reader_refuse_lone_cr(const brim_reader *reader, const char *line, size_t length, brim_error *err) {
  const char *cr = length ? memchr(line, '\r', length - 1) : NULL;
  if (!cr || line[length - 1] == '\n')
    return BRIM_OK;
  return brim_reader_fault(reader, err, line, (size_t)(cr - line),
                           "the only line of the file holds a CR: lines that end in CR alone are read of csv only; convert the "
                           "file first, for example with tr '\\r' '\\n'");
}

int brim_reader_check_line(const brim_reader *reader, const char *bytes, size_t length, int64_t line, int64_t byte,
                           brim_error *err) {
  const size_t valid = brim_utf8_valid(bytes, length);
  if (valid == length)
    return BRIM_OK;
  return brim_error_at(
      err, BRIM_E_FORMAT, brim_reader_file_name(reader), line + brim_count_lines(bytes, valid), byte + (int64_t)valid,
      "byte 0x%02X is not UTF-8: convert the file first, for example with iconv -f latin1 -t utf8", (unsigned char)bytes[valid]);
}

int brim_reader_check_text(const brim_reader *reader, const char *record, const char *bytes, size_t length, brim_error *err) {
  const size_t before = (size_t)(bytes - record);
  if (brim_utf8_valid(bytes, length) == length)
    return BRIM_OK;
  return brim_reader_check_line(reader, bytes, length, reader->record_line + brim_count_lines(record, before),
                                reader->record_byte + (int64_t)before, err);
}

/* ---- open ------------------------------------------------------------------------------------------------- */

static int name_slot(brim_reader *reader, int index, const char *name, const char *default_name, bool required, brim_error *err) {
  brim_slot *slot = &reader->slots[index];
  slot->given = name != NULL;
  slot->required = slot->given || required;
  if (!name)
    name = default_name;
  if (!name)
    return BRIM_OK;
  slot->name = brim_copy_string(reader->runtime, name, strlen(name));
  return slot->name ? BRIM_OK : BRIM_NOMEM(err);
}

/* Columns of words and of their tags, as data sets of the hub name them. */
static int name_word_slots(brim_reader *reader, const brim_source_options *options, brim_error *err) {
  static const char *const words[] = {"tokens", "words", "text", NULL};
  static const char *const tags[] = {"ner_tags", "tags", "labels", "label", NULL};
  if (options->pair_column)
    return brim_error_set(err, BRIM_E_USAGE, "labels of words are for single texts: leave out the pair column");
  BRIM_TRY(name_slot(reader, BRIM_SLOT_TEXT, options->text_column, options->no_header ? "0" : words[0], true, err));
  if (!options->text_column && !options->no_header)
    reader->slots[BRIM_SLOT_TEXT].others = words + 1;
  BRIM_TRY(
      name_slot(reader, BRIM_SLOT_LABEL, options->label_column, options->no_header ? NULL : tags[0], options->need_label, err));
  if (!options->label_column && !options->no_header)
    reader->slots[BRIM_SLOT_LABEL].others = tags + 1;
  return BRIM_OK;
}

/* The columns of a row's texts. */
static int name_text_slots(brim_reader *reader, const brim_source_options *options, brim_error *err) {
  const bool names = !options->no_header, text = !reader->raw || options->min_chars > 0;
  const int least = options->least_columns ? options->least_columns : options->text_column_count;
  if (reader->raw || options->text_column_count == 0) {
    BRIM_TRY(name_slot(reader, BRIM_SLOT_TEXT, options->text_column, !text ? NULL : names ? "text" : "0", text, err));
    return name_slot(reader, BRIM_SLOT_PAIR, options->pair_column, names && text && !options->no_pairs ? "text_pair" : NULL,
                     false, err);
  }
  BRIM_TRY(name_slot(reader, BRIM_SLOT_TEXT, options->text_columns[0], NULL, true, err));
  for (int i = 1; i < options->text_column_count; i++) {
    const int slot = reader->slot_count - reader->further_slots + i - 1;
    BRIM_TRY(name_slot(reader, slot, options->text_columns[i], NULL, true, err));
    reader->slots[slot].required = i < least;
    brim_text_init(&reader->lists[i - 1], reader->runtime);
  }
  return BRIM_OK;
}

static int make_slots(brim_reader *reader, const brim_source_options *options, brim_error *err) {
  reader->further_slots = reader->raw || options->text_column_count < 2 ? 0 : options->text_column_count - 1;
  reader->paired = !reader->raw && options->paired;
  reader->aligned = options->aligned;
  reader->most_texts = options->most_texts;
  reader->block_count = reader->raw ? 0 : options->block_count;
  for (int b = 0; b < reader->block_count; b++)
    reader->shapes[b + 1] = options->blocks[b].shape;
  const size_t count = (size_t)(BRIM_SLOT_WHERE + options->where_count + reader->block_count + reader->further_slots);
  reader->slots = brim_alloc_array_zero(reader->runtime, count, sizeof *reader->slots);
  reader->lists = brim_alloc_array_zero(reader->runtime, (size_t)reader->further_slots + 1, sizeof *reader->lists);
  reader->slot_count = (int)count;
  return reader->slots && reader->lists ? BRIM_OK : BRIM_NOMEM(err);
}

/* It has no column. */
static void let_go(brim_reader *reader, brim_slot *slot) {
  brim_release(reader->runtime, slot->name);
  slot->name = NULL;
}

static bool is_named(const brim_slot *slot, const char *name) {
  return slot->name && name && strcmp(slot->name, name) == 0;
}

/* Of the names that a column may have instead, one that another column was given is not meant, nor are those before it. */
static void leave_out(brim_slot *slot, const brim_slot *other) {
  for (int i = 0; slot->others && slot->others[i]; i++)
    if (is_named(other, slot->others[i])) {
      slot->others += i + 1;
      return;
    }
}

/* A text is not its own partner, and a row is not learned from its label. */
static int keep_apart(brim_reader *reader, bool need_label, brim_error *err) {
  brim_slot *text = &reader->slots[BRIM_SLOT_TEXT], *pair = &reader->slots[BRIM_SLOT_PAIR],
            *label = &reader->slots[BRIM_SLOT_LABEL];
  if (is_named(pair, text->name) && pair->given)
    return brim_error_set(err, BRIM_E_USAGE, "the column \"%.60s\" is named for both texts of a row: name each one's own",
                          text->name);
  if (is_named(pair, text->name))
    let_go(reader, pair);
  bool shared = is_named(label, text->name) || is_named(label, pair->name);
  for (int i = reader->slot_count - reader->further_slots; i < reader->slot_count; i++)
    shared = shared || is_named(label, reader->slots[i].name);
  if (need_label && shared)
    return brim_error_set(err, BRIM_E_USAGE, "the column \"%.60s\" is named as a text and as the label: name each one's own",
                          label->name);
  leave_out(label, text);
  leave_out(text, label);
  return BRIM_OK;
}

static int name_slots(brim_reader *reader, const brim_source_options *options, brim_error *err) {
  static const char *const plural[] = {"labels", NULL};
  const bool others = !options->no_header && !reader->raw;
  if (!reader->raw)
    BRIM_TRY(brim_reader_check_columns(options, err));
  BRIM_TRY(brim_block_columns_check(options, true, err));
  BRIM_TRY(make_slots(reader, options, err));
  if (options->words && !reader->raw) {
    BRIM_TRY(name_word_slots(reader, options, err));
  } else {
    BRIM_TRY(name_text_slots(reader, options, err));
    BRIM_TRY(name_slot(reader, BRIM_SLOT_LABEL, options->label_column, others ? "label" : NULL, options->need_label, err));
    if (others && !options->label_column)
      reader->slots[BRIM_SLOT_LABEL].others = plural;
    for (int b = 0; b < options->block_count && !options->label_column;
         b++) /* a column of numbers is no label by its name alone */
      if (strcmp(options->blocks[b].column, "label") == 0)
        let_go(reader, &reader->slots[BRIM_SLOT_LABEL]);
  }
  for (int i = 0; i < options->where_count; i++)
    BRIM_TRY(name_slot(reader, BRIM_SLOT_WHERE + i, options->where[i].column, NULL, true, err));
  for (int b = 0; b < reader->block_count; b++)
    BRIM_TRY(name_slot(reader, BRIM_SLOT_WHERE + options->where_count + b, options->blocks[b].column, NULL, true, err));
  if (options->need_label && !reader->slots[BRIM_SLOT_LABEL].name)
    return brim_error_set(err, BRIM_E_USAGE,
                          "without a header the column of the label must be given by its number, from 0 on (label_column)");
  return keep_apart(reader, options->need_label, err);
}

static int open_reader(brim_reader *reader, const char *const *paths, int path_count, const brim_source_options *options,
                       brim_error *err) {
  reader->max_record = (size_t)(options->max_record ? options->max_record : DEFAULT_MAX_RECORD);
  reader->no_header = options->no_header;
  reader->need_label = options->need_label;
  reader->skip_unlabelled = options->need_label && options->skip_unlabelled;
  reader->none_labels = options->need_label ? options->none_labels : 0;
  reader->words = options->words;
  reader->empty_label = options->empty_label || options->words;
  reader->skip_damaged = options->skip_damaged;
  BRIM_TRY(brim_source_find(reader->runtime, paths, path_count, options, &reader->source, err)); /* which checks the options */
  BRIM_TRY(brim_selection_init(&reader->selection, reader->runtime, options, err));
  BRIM_TRY(name_slots(reader, options, err));
  return reader->skip_damaged ? BRIM_OK : brim_reader_begin_file(reader, 0, err); /* else the first record opens it */
}

static int make_reader(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                       bool raw, const brim_stop *stop, brim_reader **out, brim_error *err) {
  *out = NULL;
  brim_reader *reader = brim_alloc_zero(runtime, sizeof *reader);
  if (!reader)
    return BRIM_NOMEM(err);
  reader->runtime = reader->source.runtime = reader->scan.runtime = reader->ahead.runtime = runtime;
  reader->raw = raw;
  reader->ahead.stop = stop;
  reader->most = UINT64_MAX;
  brim_text_init(&reader->header, runtime);
  brim_text_init(&reader->names, runtime);
  brim_text_init(&reader->list, runtime);
  brim_text_init(&reader->word_list, runtime);
  brim_text_init(&reader->forms, runtime);
  pthread_mutex_init(&reader->lock, NULL);
  brim_json_reader_init(&reader->json, runtime, NULL);
  int status = open_reader(reader, paths, path_count, options, err);
  if (status != BRIM_OK) {
    brim_reader_close(reader);
    return status;
  }
  *out = reader;
  return BRIM_OK;
}

int brim_reader_open(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     brim_reader **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, options);
  BRIM_STRINGS(err, paths, path_count);
  return make_reader(runtime, paths, path_count, options, false, NULL, out, err);
}

int brim_reader_open_stoppable(brim_runtime *runtime, const char *const *paths, int path_count,
                               const brim_source_options *options, const brim_stop *stop, brim_reader **out, brim_error *err) {
  return make_reader(runtime, paths, path_count, options, false, stop, out, err);
}

int brim_reader_open_raw(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                         brim_reader **out, brim_error *err) {
  return make_reader(runtime, paths, path_count, options, true, NULL, out, err);
}

void brim_reader_close(brim_reader *reader) {
  if (!reader)
    return;
  brim_runtime *runtime = reader->runtime;
  brim_ahead_drop(&reader->ahead);
  brim_stream_free(reader->stream);
  for (int i = 0; reader->slots && i < reader->slot_count; i++)
    brim_release(runtime, reader->slots[i].name);
  brim_release(runtime, reader->slots);
  for (int i = 0; reader->lists && i < reader->further_slots; i++)
    if (reader->lists[i].runtime)
      brim_text_free(&reader->lists[i]);
  brim_release(runtime, reader->lists);
  brim_release(runtime, reader->further);
  brim_release(runtime, reader->decoded);
  brim_text_free(&reader->header);
  brim_text_free(&reader->names);
  brim_text_free(&reader->list);
  brim_text_free(&reader->word_list);
  brim_text_free(&reader->forms);
  brim_csv_scan_free(&reader->scan);
  brim_json_reader_free(&reader->json);
  brim_selection_free(&reader->selection);
  brim_source_free(&reader->source);
  pthread_mutex_destroy(&reader->lock);
  brim_release(runtime, reader);
}

/* ---- records ---------------------------------------------------------------------------------------------- */

/* A label that says that there is none: -1 or -100, where the options say so. */
static bool says_none(const brim_reader *reader) {
  const brim_slot *slot = &reader->slots[BRIM_SLOT_LABEL];
  if (!reader->none_labels || !slot->present || slot->is_list)
    return false;
  const brim_label_text label = brim_label_read(slot->bytes, slot->length, slot->forms ? *slot->forms : BRIM_FORM_TEXT);
  return brim_label_none(&label) & reader->none_labels;
}

/* An empty label is none, unless it is one of many labels. */
static bool is_labelled(const brim_reader *reader) {
  const brim_slot *label = &reader->slots[BRIM_SLOT_LABEL];
  return label->present && (label->length > 0 || label->is_list || reader->empty_label);
}

/* The reason to leave the record out, or -1. */
static int reason_to_exclude(const brim_reader *reader) {
  const brim_selection *selection = &reader->selection;
  for (int i = 0; i < selection->where_count; i++) {
    const brim_slot *slot = &reader->slots[BRIM_SLOT_WHERE + i];
    if (!brim_selection_holds(selection, i, slot->present ? slot->bytes : NULL, slot->length))
      return 1 + i;
  }
  if (!brim_reader_texts_long_enough(reader))
    return 0;
  if (reader->skip_unlabelled && !is_labelled(reader))
    return 1 + selection->where_count;
  return says_none(reader) ? 2 + selection->where_count : -1;
}

/* A string becomes the list of what is between its white space, as Python's str.split() has it. */
static int cut_words(brim_slot *slot, brim_text *list, brim_error *err) {
  const char *at = slot->bytes, *end = at + slot->length;
  if (!slot->present || slot->is_list)
    return BRIM_OK;
  brim_text_clear(list);
  while (at < end) {
    const char *from = at;
    size_t space = 0;
    while (at < end && !(space = brim_space_length(at, (size_t)(end - at))))
      at++;
    if (at > from) {
      brim_text_append(list, from, (size_t)(at - from));
      brim_text_append(list, "", 1);
    }
    at += space;
  }
  slot->bytes = list->data ? list->data : "";
  slot->length = list->length;
  slot->is_list = true;
  slot->forms = NULL;
  return brim_text_status(list, err);
}

static size_t list_count(const brim_slot *slot) {
  size_t count = 0;
  for (size_t i = 0; slot->present && i < slot->length; i++)
    count += slot->bytes[i] == 0;
  return count;
}

/* Words and their tags as lists, as many as each other. */
static int make_words(brim_reader *reader, brim_error *err) {
  brim_slot *text = &reader->slots[BRIM_SLOT_TEXT], *label = &reader->slots[BRIM_SLOT_LABEL];
  if (text->present && !text->is_list && memchr(text->bytes, 0, text->length))
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                         "the text holds a NUL byte: remove it");
  if (reader->need_label && label->present && !label->is_list && brim_label_is_printed_list(label->bytes, label->length))
    return brim_error_at(
        err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
        "the tags are a list as Python or JSON writes it, in one field: write words and tags with spaces between "
        "them, or give JSON lines with lists");
  BRIM_TRY(cut_words(text, &reader->word_list, err));
  BRIM_TRY(cut_words(label, &reader->list, err));
  const size_t words = list_count(text), tags = list_count(label);
  if (!text->present || !label->present || !reader->need_label || words == tags)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                       "the row has %zu word%s and %zu tag%s: each word has one", words, words == 1 ? "" : "s", tags,
                       tags == 1 ? "" : "s");
}

bool brim_reader_is_block(const brim_reader *reader, const brim_slot *slot) {
  const int first = BRIM_SLOT_WHERE + reader->selection.where_count, at = (int)(slot - reader->slots);
  return at >= first && at < first + reader->block_count;
}

/* The values of blocks, which every row has. */
static int take_blocks(brim_reader *reader, brim_record *record, brim_error *err) {
  for (int b = 0; b < reader->block_count; b++) {
    const brim_slot *slot = &reader->slots[BRIM_SLOT_WHERE + reader->selection.where_count + b];
    if (!slot->present || slot->length == 0)
      return reader->format->missing(reader, slot, err);
    record->blocks[b + 1] = (brim_string){slot->bytes, slot->length};
  }
  return BRIM_OK;
}

/* What a record holds, from the slots. An empty text is a text. */
static int make_record(brim_reader *reader, brim_record *record, brim_error *err) {
  const brim_slot *text = &reader->slots[BRIM_SLOT_TEXT], *pair = &reader->slots[BRIM_SLOT_PAIR];
  const brim_slot *label = &reader->slots[BRIM_SLOT_LABEL];
  const bool labelled = is_labelled(reader);
  if (reader->words)
    BRIM_TRY(make_words(reader, err));
  if (!text->present)
    return reader->format->missing(reader, text, err);
  if (!pair->present && pair->required)
    return reader->format->missing(reader, pair, err);
  if (!labelled && reader->need_label)
    return reader->format->missing(reader, label, err);
  *record = (brim_record){.text = text->bytes,
                          .text_length = text->length,
                          .pair = pair->present ? pair->bytes : NULL,
                          .pair_length = pair->present ? pair->length : 0,
                          .label = labelled ? label->bytes : NULL,
                          .label_length = labelled ? label->length : 0,
                          .label_forms = labelled ? label->forms : NULL,
                          .label_is_list = labelled && label->is_list};
  BRIM_TRY(take_blocks(reader, record, err));
  return reader->further_slots > 0 ? brim_reader_take_texts(reader, record, err) : BRIM_OK;
}

/* The next file's turn. */
static void pass_file(brim_reader *reader) {
  brim_reader_close_stream(reader);
  reader->file++;
  reader->state = reader->file < reader->source.count ? BRIM_READER_CLOSED : BRIM_READER_DONE;
}

/* Opens the file whose turn it is and reads its first record. */
static int open_next(brim_reader *reader, brim_error *err) {
  reader->record_byte = 0;
  reader->record_line = 1;
  reader->passed = false;
  BRIM_TRY(brim_reader_open_file(reader, reader->file, err));
  return brim_reader_next_values(reader, err);
}

/* Fills the slots from the next record of any file, or says what its damage is. */
static int next_values(brim_reader *reader, brim_error *err) {
  reader->damage[0] = 0;
  if (reader->state == BRIM_READER_LEFT_OUT)
    pass_file(reader);
  while (reader->state != BRIM_READER_DONE) {
    brim_error failure;
    BRIM_TRY(brim_check_cancel(reader->runtime, err));
    int status = reader->state == BRIM_READER_CLOSED ? open_next(reader, &failure) : brim_reader_next_values(reader, &failure);
    switch (status) {
    case BRIM_OK:
      return BRIM_OK;
    case BRIM_END:
      pass_file(reader);
      continue;
    case BRIM_E_FORMAT:
      if (reader->skip_damaged)
        return brim_reader_take_damage(reader, &failure), BRIM_OK;
      break;
    default:
      break;
    }
    if (err)
      *err = failure;
    return status;
  }
  return BRIM_END;
}

/* The next record that is selected, or damaged where damage is reported. */
static int next_selected(brim_reader *reader, brim_error *err) {
  for (;; reader->row++) {
    BRIM_TRY(next_values(reader, err));
    if (reader->damage[0]) {
      if (reader->selection.forget)
        return BRIM_OK;
      BRIM_TRY(brim_exclusions_add_damaged(&reader->selection.excluded, reader->damage, reader->row, reader->record_line,
                                           brim_reader_file_name(reader), err));
      continue;
    }
    int reason = reason_to_exclude(reader);
    if (reason < 0)
      return BRIM_OK;
    BRIM_TRY(
        brim_selection_exclude(&reader->selection, reason, reader->row, reader->record_line, brim_reader_file_name(reader), err));
  }
}

static int next_record(brim_reader *reader, brim_record *record, brim_error *err) {
  if (reader->most == 0)
    return BRIM_END;
  BRIM_TRY(next_selected(reader, err));
  if (reader->damage[0])
    *record = (brim_record){.text = "", .damage = reader->damage};
  else
    BRIM_TRY(make_record(reader, record, err));
  record->row = reader->row;
  record->file_number = (int64_t)reader->file;
  record->file_row = reader->row - reader->first_row;
  record->line = reader->record_line;
  record->byte = reader->record_byte;
  record->file = brim_reader_file_name(reader);
  reader->most -= !record->damage;
  reader->row++;
  return BRIM_OK;
}

static int next_raw(brim_reader *reader, const char **bytes, size_t *length, brim_error *err) {
  for (;; reader->row++) {
    brim_error failure;
    BRIM_TRY(next_selected(reader, err));
    int status = brim_reader_check_text(reader, reader->bytes, reader->bytes, reader->byte_count, &failure);
    if (status == BRIM_OK)
      break;
    if (!reader->skip_damaged) {
      if (err)
        *err = failure;
      return status;
    }
    brim_reader_take_damage(reader, &failure);
    BRIM_TRY(brim_exclusions_add_damaged(&reader->selection.excluded, reader->damage, reader->row, reader->record_line,
                                         brim_reader_file_name(reader), err));
  }
  *bytes = reader->bytes;
  *length = reader->byte_count;
  reader->row++;
  return BRIM_OK;
}

/* Keeps a failure, which comes again at every later call. */
static int settle(brim_reader *reader, int status, brim_error *err) {
  if (status == BRIM_OK || status == BRIM_END)
    return status;
  reader->state = BRIM_READER_FAILED;
  reader->failure.code = status;
  if (err)
    *err = reader->failure;
  return status;
}

int brim_reader_next(brim_reader *reader, brim_record *record, brim_error *err) {
  BRIM_GIVEN(err, reader, record);
  const bool failed = reader->state == BRIM_READER_FAILED;
  return settle(reader, failed ? reader->failure.code : next_record(reader, record, &reader->failure), err);
}

int brim_reader_next_raw(brim_reader *reader, const char **bytes, size_t *length, brim_error *err) {
  const bool failed = reader->state == BRIM_READER_FAILED;
  return settle(reader, failed ? reader->failure.code : next_raw(reader, bytes, length, &reader->failure), err);
}

/* ---- positions -------------------------------------------------------------------------------------------- */

void brim_reader_progress(const brim_reader *reader, uint64_t *consumed, uint64_t *total) {
  *consumed = reader->consumed + (reader->stream ? (uint64_t)brim_stream_consumed(reader->stream) : 0);
  *total = 0;
  for (size_t i = 0; i < reader->source.count; i++) {
    if (reader->source.files[i].size < 0) {
      *total = 0;
      return;
    }
    *total += (uint64_t)reader->source.files[i].size;
  }
}

const brim_exclusion *brim_reader_excluded(const brim_reader *reader, uint64_t *count) {
  *count = reader->selection.excluded.count;
  return reader->selection.excluded.items;
}

void brim_reader_forget_excluded(brim_reader *reader) {
  reader->selection.forget = true;
}

void brim_reader_end_after(brim_reader *reader, uint64_t records) {
  reader->most = records;
}

void brim_reader_tell(const brim_reader *reader, brim_position *position) {
  *position = (brim_position){.file = (int64_t)reader->file + (reader->state == BRIM_READER_LEFT_OUT), .row = reader->row};
  if (reader->stream) {
    position->file_row = reader->row - reader->first_row;
    position->byte = brim_stream_offset(reader->stream);
    position->line = reader->next_line;
  }
}

static int seek_position(brim_reader *reader, const brim_position *position, brim_error *err) {
  if (position->file < 0 || (uint64_t)position->file > reader->source.count || position->byte < 0)
    return brim_error_set(err, BRIM_E_MISMATCH,
                          "the place to resume at is not one of these files: give the files that the state was saved with");
  brim_selection_restart(&reader->selection);
  brim_reader_close_stream(reader);
  reader->consumed = 0;
  for (int64_t i = 0; i < position->file; i++)
    reader->consumed += reader->source.files[i].size > 0 ? (uint64_t)reader->source.files[i].size : 0;
  reader->file = (size_t)position->file;
  reader->row = position->row;
  reader->state = reader->file < reader->source.count ? BRIM_READER_CLOSED : BRIM_READER_DONE;
  if (reader->state == BRIM_READER_DONE || (reader->skip_damaged && position->byte == 0)) /* the next record opens it */
    return BRIM_OK;
  BRIM_TRY(brim_reader_open_file(reader, reader->file, err));
  reader->first_row = position->row - position->file_row;
  if (position->byte <= brim_stream_offset(reader->stream))
    return BRIM_OK;
  BRIM_TRY(brim_stream_seek(reader->stream, position->byte, err));
  reader->next_line = position->line;
  return BRIM_OK;
}

int brim_reader_seek(brim_reader *reader, const brim_position *position, brim_error *err) {
  return settle(reader, seek_position(reader, position, &reader->failure), err);
}

const char *brim_reader_file(const brim_reader *reader, int64_t index) {
  return reader->source.files[index].path;
}
