/* lines.c: JSON lines and plain text, one record a line. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/utf8.h"
#include "data/reader.h"

/* The next line without its end. */
static int next_line(brim_reader *reader, const char **line, size_t *length, brim_error *err) {
  reader->record_byte = brim_stream_offset(reader->stream);
  reader->record_line = reader->next_line;
  BRIM_TRY(brim_stream_line(reader->stream, reader->max_record, line, length, err));
  reader->next_line++;
  reader->passed = true;
  reader->bytes = *line;
  reader->byte_count = *length;
  if (*length > 0 && (*line)[*length - 1] == '\r')
    --*length;
  return BRIM_OK;
}

/* ---- txt -------------------------------------------------------------------------------------------------- */

static int begin_txt(brim_reader *reader, brim_error *err) {
  for (int i = BRIM_SLOT_PAIR; i < reader->slot_count; i++)
    if (reader->slots[i].required)
      return brim_error_at(err, BRIM_E_USAGE, brim_reader_file_name(reader), 0, -1,
                           "there is no column \"%s\": a text file has one text a line and no columns (csv, tsv and jsonl have)",
                           reader->slots[i].name);
  return BRIM_OK;
}

static int next_txt(brim_reader *reader, brim_error *err) {
  brim_slot *text = &reader->slots[BRIM_SLOT_TEXT];
  BRIM_TRY(next_line(reader, &text->bytes, &text->length, err));
  if (reader->record_line == 1 && brim_stream_offset(reader->stream) == reader->record_byte + (int64_t)reader->byte_count)
    BRIM_TRY(brim_reader_refuse_lone_cr(reader, reader->bytes, reader->byte_count, err));
  text->present = true;
  for (int i = 1; i < reader->slot_count; i++)
    reader->slots[i].present = false, reader->slots[i].bytes = NULL;
  text->is_list = false;
  return brim_reader_check_text(reader, text->bytes, text->bytes, text->length, err);
}

/* Up to the last line end of bytes[0, length); 0 if there is none. */
static size_t whole_lines(const char *bytes, size_t length) {
  while (length > 0 && bytes[length - 1] != '\n')
    length--;
  return length;
}

bool brim_reader_run(brim_reader *reader, size_t most, brim_run *run) {
  const char *bytes;
  size_t length;
  if (reader->state != BRIM_READER_OPEN || reader->format != &brim_txt_format || reader->raw || reader->words ||
      reader->most == 0 || reader->selection.min_chars > 0)
    return false;
  if (brim_runtime_cancelled(reader->runtime) || brim_stream_peek(reader->stream, 1, &bytes, &length, NULL) != BRIM_OK)
    return false; /* what fails fails again there, and is reported there */
  if (most > reader->max_record)
    most = reader->max_record;
  length = whole_lines(bytes, length < most ? length : most);
  length = whole_lines(bytes, brim_utf8_valid(bytes, length));
  *run = (brim_run){.bytes = bytes,
                    .length = length,
                    .most = reader->most,
                    .row = reader->row,
                    .file_row = reader->row - reader->first_row,
                    .file_number = (int64_t)reader->file,
                    .line = reader->next_line,
                    .byte = brim_stream_offset(reader->stream),
                    .file = brim_reader_file_name(reader)};
  return length > 0;
}

void brim_reader_pass(brim_reader *reader, size_t length, uint64_t lines) {
  brim_stream_pass_lines(reader->stream, length, (int64_t)lines);
  reader->next_line += (int64_t)lines;
  reader->row += lines;
  reader->most -= lines;
}

const brim_format_ops brim_txt_format = {.begin = begin_txt, .next = next_txt, .missing = NULL};

/* ---- jsonl ------------------------------------------------------------------------------------------------ */

static int begin_jsonl(brim_reader *reader, brim_error *err) {
  reader->json.name = brim_reader_file_name(reader);
  if (!brim_reader_is_array(reader))
    return BRIM_OK;
  reader->format = &brim_array_format;
  return reader->format->begin(reader, err);
}

static bool is_blank(const char *line, size_t length) {
  for (size_t i = 0; i < length; i++)
    if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
      return false;
  return true;
}

/* A brim_label_form, or 0 for what is no label. */
static char form_of(brim_json_kind kind) {
  switch (kind) {
  case BRIM_JSON_STRING:
    return BRIM_FORM_NAME;
  case BRIM_JSON_INT:
  case BRIM_JSON_REAL:
    return BRIM_FORM_NUMBER;
  case BRIM_JSON_BOOL:
    return BRIM_FORM_BOOLEAN;
  case BRIM_JSON_NULL:
    return BRIM_FORM_NONE;
  default:
    return 0;
  }
}

static bool is_text(const brim_reader *reader, const brim_slot *slot) {
  return slot == &reader->slots[BRIM_SLOT_TEXT] || slot == &reader->slots[BRIM_SLOT_PAIR] ||
         brim_reader_further(reader, slot) >= 0;
}

/* What messages call the slot's column: the name by which the present record has it. */
static const char *slot_name(const brim_slot *slot) {
  return slot->found ? slot->others[slot->found - 1] : slot->name;
}

/* Of an array of texts: each is a string, or null, which is said of the row where it is not left out. */
static int check_text_item(const brim_reader *reader, const brim_slot *slot, const brim_json_token *item, brim_error *err) {
  if (item->kind == BRIM_JSON_NULL || item->kind == BRIM_JSON_STRING)
    return BRIM_OK;
  return brim_json_reader_error(&reader->json, item->byte, err, BRIM_E_FORMAT, "\"%s\" holds %s where a string is expected",
                                slot_name(slot), brim_json_kind_name(item->kind));
}

#define SPANS ": if these are spans of characters, such as [0, 3, \"PER\"], write the words with a tag for each (--task tokens)"

/* The items of an array of labels, words or texts, a NUL after each. */
static int take_list(brim_reader *reader, brim_slot *slot, brim_text *list, brim_error *err) {
  const bool texts = brim_reader_further(reader, slot) >= 0;
  const bool labels = slot == &reader->slots[BRIM_SLOT_LABEL];
  brim_json_token item;
  size_t count = 0;
  brim_text_clear(list);
  slot->null_item = 0;
  if (labels)
    brim_text_clear(&reader->forms);
  for (;;) {
    BRIM_TRY(brim_json_next(&reader->json, &item, err));
    if (item.kind == BRIM_JSON_ARRAY_END)
      break;
    const char form = form_of(item.kind);
    if (texts)
      BRIM_TRY(check_text_item(reader, slot, &item, err));
    if (!form || (form == BRIM_FORM_NONE && !labels && !texts))
      return brim_json_reader_error(&reader->json, item.byte, err, BRIM_E_FORMAT,
                                    "\"%s\" holds %s where a string, a number or a boolean is expected%s", slot_name(slot),
                                    brim_json_kind_name(item.kind), labels && item.kind == BRIM_JSON_ARRAY ? SPANS : "");
    if (form == BRIM_FORM_BOOLEAN)
      brim_text_string(list, item.integer ? "true" : "false");
    else if (form != BRIM_FORM_NONE && memchr(item.text, 0, item.length))
      return brim_json_reader_error(&reader->json, item.byte, err, BRIM_E_FORMAT, "the %s holds a NUL byte: remove it",
                                    labels  ? "label"
                                    : texts ? "text"
                                            : "word");
    else if (form != BRIM_FORM_NONE)
      brim_text_append(list, item.text, item.length);
    brim_text_append(list, "", 1);
    count++;
    if (texts && form == BRIM_FORM_NONE && !slot->null_item)
      slot->null_item = count;
    if (labels)
      brim_text_append(&reader->forms, &form, 1);
  }
  slot->bytes = list->data ? list->data : "";
  slot->length = list->length;
  slot->is_list = true;
  slot->forms = labels ? reader->forms.data : NULL;
  BRIM_TRY(brim_text_status(&reader->forms, err));
  return brim_text_status(list, err);
}

/* The list of numbers that begins here, as it is written: who encodes the row reads it. */
static int take_numbers(brim_reader *reader, brim_slot *slot, brim_error *err) {
  const size_t begin = reader->json.at - 1;
  BRIM_TRY(brim_json_skip(&reader->json, err));
  slot->bytes = reader->line + begin;
  slot->length = reader->json.at - begin;
  return BRIM_OK;
}

#define BY_COLUMN "; if this is a table by its columns, write it by its rows: pandas' to_json(.., orient=\"records\", lines=True)"

/* Sets the slots of a column to the value that the token begins. */
static int take_value(brim_reader *reader, brim_slot *slot, const brim_json_token *token, brim_error *err) {
  const int further = brim_reader_further(reader, slot);
  const bool of_text = is_text(reader, slot);
  static const char forms[] = {BRIM_FORM_NAME, BRIM_FORM_NUMBER, BRIM_FORM_BOOLEAN, BRIM_FORM_NONE, 0};
  const char *form = strchr(forms, form_of(token->kind));
  const bool number = *form == BRIM_FORM_NUMBER, string = *form == BRIM_FORM_NAME;
  slot->present = token->kind != BRIM_JSON_NULL;
  slot->forms = *form ? form : NULL;
  slot->is_list = false;
  if (token->kind == BRIM_JSON_ARRAY && slot == &reader->slots[BRIM_SLOT_LABEL])
    return take_list(reader, slot, &reader->list, err);
  if (token->kind == BRIM_JSON_ARRAY && reader->words && slot == &reader->slots[BRIM_SLOT_TEXT])
    return take_list(reader, slot, &reader->word_list, err);
  if (token->kind == BRIM_JSON_ARRAY && further >= 0)
    return take_list(reader, slot, &reader->lists[further], err);
  if (token->kind == BRIM_JSON_ARRAY && brim_reader_is_block(reader, slot))
    return take_numbers(reader, slot, err);
  if (slot->present && !string && (of_text || !(number || token->kind == BRIM_JSON_BOOL)))
    return brim_json_reader_error(
        &reader->json, token->byte, err, BRIM_E_FORMAT, "\"%s\" is %s where %s is expected%s", slot_name(slot),
        brim_json_kind_name(token->kind),
        of_text && reader->words                  ? "a list of words, or a string,"
        : further >= 0                            ? "a string or a list of them"
        : of_text                                 ? "a string"
        : slot == &reader->slots[BRIM_SLOT_LABEL] ? "a string, a number, a boolean or a list of them"
                                                  : "a string, a number or a boolean",
        of_text && !reader->words && (token->kind == BRIM_JSON_ARRAY || token->kind == BRIM_JSON_OBJECT) ? BY_COLUMN : "");
  if (string || number) {
    slot->bytes = token->text;
    slot->length = token->length;
  } else {
    slot->bytes = !slot->present ? "" : token->integer ? "true" : "false";
    slot->length = strlen(slot->bytes);
  }
  return BRIM_OK;
}

static bool is_key(const brim_json_token *key, const char *name) {
  return strlen(name) == key->length && memcmp(name, key->text, key->length) == 0;
}

/* Whether the slot wants the key's value: one of its names, of which the record has had no better one. *twice: it had this one.
 */
static bool wants(brim_slot *slot, const brim_json_token *key, bool *twice) {
  int which = 0;
  if (!slot->name)
    return false;
  if (!is_key(key, slot->name)) {
    for (which = 1; slot->others && slot->others[which - 1] && !is_key(key, slot->others[which - 1]);)
      which++;
    if (!slot->others || !slot->others[which - 1])
      return false;
  }
  if (slot->bytes && which > slot->found)
    return false;
  *twice = slot->bytes && which == slot->found;
  slot->found = which;
  return true;
}

/* A list that several slots want is read again for each; what was decoded since `begin` is kept elsewhere by then. */
static void return_to(brim_json_reader *json, const brim_json_reader *begin) {
  json->at = begin->at, json->depth = begin->depth, json->expect = begin->expect, json->scratch_used = begin->scratch_used;
}

/* A label that nobody asked for may be anything: it is as if there were none. */
static int take_what_fits(brim_reader *reader, brim_slot *slot, const brim_json_token *value, const brim_json_reader *begin,
                          brim_error *err) {
  const int status = take_value(reader, slot, value, err);
  if (status != BRIM_E_FORMAT || slot != &reader->slots[BRIM_SLOT_LABEL] || reader->need_label)
    return status;
  return_to(&reader->json, begin);
  slot->present = slot->is_list = false;
  slot->bytes = "", slot->length = 0;
  slot->forms = NULL;
  return value->kind == BRIM_JSON_ARRAY || value->kind == BRIM_JSON_OBJECT ? brim_json_skip(&reader->json, err) : BRIM_OK;
}

/* After a key: takes its value into the slots that want it. */
static int take_member(brim_reader *reader, const brim_json_token *key, brim_error *err) {
  brim_json_token value = {.kind = BRIM_JSON_END};
  brim_json_reader begin = reader->json;
  for (int i = 0; i < reader->slot_count; i++) {
    brim_slot *slot = &reader->slots[i];
    bool twice = false;
    if (!wants(slot, key, &twice))
      continue;
    slot->seen = true;
    if (twice && (reader->need_label || slot != &reader->slots[BRIM_SLOT_LABEL]))
      return brim_json_reader_error(&reader->json, key->byte, err, BRIM_E_FORMAT,
                                    "\"%s\" comes twice in this object: keep the one that is meant", slot_name(slot));
    if (value.kind == BRIM_JSON_END) {
      BRIM_TRY(brim_json_next(&reader->json, &value, err));
      begin = reader->json;
    } else {
      return_to(&reader->json, &begin);
    }
    BRIM_TRY(take_what_fits(reader, slot, &value, &begin, err));
  }
  return value.kind == BRIM_JSON_END ? brim_json_skip(&reader->json, err) : BRIM_OK;
}

static int read_object(brim_reader *reader, brim_error *err) {
  brim_json_token token;
  BRIM_TRY(brim_json_next(&reader->json, &token, err));
  if (token.kind != BRIM_JSON_OBJECT)
    return brim_json_reader_error(&reader->json, token.byte, err, BRIM_E_FORMAT,
                                  "%s where an object is expected: each line is {\"text\": ..}", brim_json_kind_name(token.kind));
  for (;;) {
    BRIM_TRY(brim_json_next(&reader->json, &token, err));
    if (token.kind == BRIM_JSON_OBJECT_END || token.kind == BRIM_JSON_END)
      break;
    BRIM_TRY(take_member(reader, &token, err));
  }
  return brim_json_next(&reader->json, &token, err); /* END, or what follows the object */
}

/* After a KEY: whether its value is an array of objects. */
static bool next_is_array(const brim_json_reader *json) {
  static const char opening[] = "[{";
  size_t at = json->at, found = 0;
  for (; at < json->length && found < 2; at++)
    if (json->bytes[at] == opening[found])
      found++;
    else if (json->bytes[at] != ':' && !brim_json_is_space(json->bytes[at]))
      return false;
  return found == 2;
}

/* The listed keys of an object as Label Studio exports it in full. */
static bool is_export(const brim_text *keys) {
  return keys->length && strstr(keys->data, "\"data\"") && strstr(keys->data, "\"annotations\"");
}

/* The keys of the present line, for a message. *rows: the first whose value is an array, NULL if there is none; to be released.
 */
static int list_keys(brim_reader *reader, brim_text *out, char **rows, brim_error *err) {
  const size_t enough = 300;
  brim_json_token token;
  brim_json_reader_start(&reader->json, reader->line, reader->line_length, reader->record_byte, reader->record_line);
  BRIM_TRY(brim_json_next(&reader->json, &token, err));
  for (;;) {
    BRIM_TRY(brim_json_next(&reader->json, &token, err));
    if (token.kind != BRIM_JSON_KEY)
      return brim_text_status(out, err);
    if (out->length + token.length < enough) {
      brim_text_string(out, out->length ? ", \"" : "\"");
      brim_text_append(out, token.text, token.length);
      brim_text_string(out, "\"");
    }
    if (!*rows && token.length < 40 && next_is_array(&reader->json))
      *rows = brim_copy_string(reader->runtime, token.text, token.length);
    BRIM_TRY(brim_json_skip(&reader->json, err));
  }
}

/* Where the first row has other columns that may be meant. */
static const char *column_hint(const brim_reader *reader, const brim_slot *slot, const brim_text *keys) {
  if (!keys->length || slot->given || reader->row > reader->first_row)
    return "";
  if (slot == &reader->slots[BRIM_SLOT_TEXT])
    return "; say which has the texts: --text-column NAME";
  return slot == &reader->slots[BRIM_SLOT_LABEL] && strstr(keys->data, ", ") ? "; say which has the labels: --label-column NAME"
                                                                             : "";
}

static int no_such_value(brim_reader *reader, const brim_slot *slot, brim_error *err) {
  if (slot->bytes)
    return brim_reader_fault(reader, err, reader->line, 0, "\"%s\" is %s: fill it in%s", slot_name(slot),
                             slot == &reader->slots[BRIM_SLOT_LABEL] ? "null or empty" : "null",
                             slot == &reader->slots[BRIM_SLOT_LABEL] ? ", or leave such rows out (missing_label skip)"
                             : is_text(reader, slot)                 ? ", or leave such rows out (min_chars 1)"
                                                                     : "");
  brim_text keys;
  char *rows = NULL;
  brim_text_init(&keys, reader->runtime);
  int status = list_keys(reader, &keys, &rows, err);
  const bool words = reader->words || (keys.length && strstr(keys.data, "\"tokens\"")); /* whose lists are no rows */
  const bool has_text = slot == &reader->slots[BRIM_SLOT_LABEL] && reader->slots[BRIM_SLOT_TEXT].bytes; /* it is a row */
  if (status == BRIM_OK && is_export(&keys) && !words && !has_text)
    status = brim_reader_fault(reader, err, reader->line, 0,
                               "there is no \"%s\" in this object; it has %s, as Label Studio's full export: export JSON_MIN or "
                               "CSV, which have a text and its label in a row",
                               slot->name, keys.data);
  else if (status == BRIM_OK && rows && !words && !has_text && reader->row == reader->first_row)
    status = brim_reader_fault(reader, err, reader->line, 0,
                               "there is no \"%s\" in this object; if its \"%s\" are the rows, write one on each line: jq -c "
                               "'.\"%s\"[]' %s > rows.jsonl",
                               slot->name, rows, rows, brim_reader_file_name(reader));
  else if (status == BRIM_OK)
    status = brim_reader_fault(reader, err, reader->line, 0, "there is no \"%s\" in this %s; it has %s%s", slot->name,
                               reader->format == &brim_jsonl_format ? "line" : "object", keys.length ? keys.data : "nothing",
                               words && !reader->words ? ": words with a label each are of the task tokens (--task tokens)"
                                                       : column_hint(reader, slot, &keys));
  brim_text_free(&keys);
  brim_release(reader->runtime, rows);
  return status;
}

int brim_reader_take_object(brim_reader *reader, brim_error *err) {
  for (int i = 0; i < reader->slot_count; i++) {
    reader->slots[i].present = reader->slots[i].is_list = false;
    reader->slots[i].bytes = NULL;
  }
  brim_json_reader_start(&reader->json, reader->line, reader->line_length, reader->record_byte, reader->record_line);
  int status = read_object(reader, err);
  if (status == BRIM_E_FORMAT) /* the message about UTF-8 that says what to do */
    BRIM_TRY(brim_reader_check_text(reader, reader->line, reader->line, reader->line_length, err));
  return status;
}

/* A first line that opens an object and does not close it: the file is one object, or objects over several lines. */
static int refuse_open(brim_reader *reader, brim_error *err) {
  const bool more = !brim_stream_ends_open(reader->stream);
  if (reader->row > reader->first_row || !more || !brim_json_is_open(reader->line, reader->line_length))
    return BRIM_OK;
  return brim_reader_fault(reader, err, reader->line, 0,
                           "an object over several lines: a row is an object on one line, or one of an array [..]. jq -c . %s > "
                           "rows.jsonl writes lines; where the rows are a member of it, such as \"data\", jq -c '.data[]' does",
                           brim_reader_file_name(reader));
}

static int next_jsonl(brim_reader *reader, brim_error *err) {
  do
    BRIM_TRY(next_line(reader, &reader->line, &reader->line_length, err));
  while (is_blank(reader->line, reader->line_length));
  const int status = brim_reader_take_object(reader, err);
  if (status == BRIM_E_FORMAT)
    BRIM_TRY(refuse_open(reader, err));
  return status;
}

const brim_format_ops brim_jsonl_format = {.begin = begin_jsonl, .next = next_jsonl, .missing = no_such_value};
