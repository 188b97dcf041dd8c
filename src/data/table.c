/* table.c: csv and tsv. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "data/reader.h"

/* ---- separators --------------------------------------------------------------------------------------------- */

static const struct {
  char mark;
  const char *name, *delimiter;
} separators[] = {{';', ";", "';'"}, {'|', "|", "'|'"}, {'\t', "tabs", "'\\t'"}, {',', "commas", "','"}};
enum { SEPARATORS = sizeof separators / sizeof *separators };

/* What to say of a file that the separator cuts better than the one it is read with. */
static const char *say_separator(const brim_reader *reader, size_t i, char out[96]) {
  const brim_source_file *file = &reader->source.files[reader->file];
  const bool csv = file->format == BRIM_FORMAT_CSV, comma = separators[i].mark == ',', tab = separators[i].mark == '\t';
  const bool given = file->delimiter != (csv ? ',' : '\t');
  if (given && (csv ? comma : tab))
    snprintf(out, 96, "; it looks separated by %s: leave out --delimiter", separators[i].name);
  else if (!given && (comma || tab))
    snprintf(out, 96, "; it looks separated by %s: --format %s", separators[i].name, comma ? "csv" : "tsv");
  else
    snprintf(out, 96, "; it looks separated by %s: give the delimiter (--delimiter %s)", separators[i].name,
             separators[i].delimiter);
  return out;
}

/* ---- records ---------------------------------------------------------------------------------------------- */

static int scan_failed(const brim_reader *reader, brim_csv_status status, const char *record, brim_error *err) {
  if (status == BRIM_CSV_MEMORY)
    return BRIM_NOMEM(err);
  if (status == BRIM_CSV_OPEN)
    return brim_reader_fault(reader, err, record, reader->scan.fault, "the quote that opens here is never closed");
  char hint[96];
  const size_t fault = reader->scan.fault;
  const bool escaped = !reader->scan.backslash && fault >= 2 && record[fault - 2] == '\\';
  const bool one_column = reader->columns <= 1; /* or none yet: of several the delimiter is right */
  for (size_t i = 0; i < SEPARATORS && !escaped && one_column; i++)
    if (record[fault] == separators[i].mark)
      return brim_reader_fault(reader, err, record, fault, "text after a closing quote%s", say_separator(reader, i, hint));
  return brim_reader_fault(reader, err, record, fault,
                           "text after a closing quote: a quote inside a quoted field is written twice (\"\")%s",
                           escaped ? ", or with a backslash before it where that is said: --quote backslash" : "");
}

/* At least `least` bytes; of a record that is still short also fewer, as they arrive: who writes it line by line may wait for an
 * answer. What was split is split again, so that a long one, such as that of a quote that is never closed, takes twice its size.
 */
static int peek_record(brim_reader *reader, size_t had, size_t least, const char **record, size_t *length, bool *final,
                       brim_error *err) {
  enum { SHORT = 1 << 20 };
  if (had < SHORT)
    return brim_stream_peek_arrived(reader->stream, least, record, length, final, err);
  BRIM_TRY(brim_stream_peek(reader->stream, least, record, length, err));
  *final = *length < least;
  return BRIM_OK;
}

/* Splits the record at the front of the stream, without passing over it. BRIM_END at the end of the file. */
static int scan_record(brim_reader *reader, const char **record, brim_error *err) {
  const brim_source_file *file = &reader->source.files[reader->file];
  size_t least = 1, length = 0;
  bool final;
  reader->scan.backslash = file->backslash;
  for (;;) {
    BRIM_TRY(peek_record(reader, length, least, record, &length, &final, err));
    if (length == 0)
      return BRIM_END;
    brim_csv_status status = file->quoted ? brim_csv_scan_quoted(&reader->scan, *record, length, final, file->delimiter)
                                          : brim_csv_scan_plain(&reader->scan, *record, length, final, file->delimiter);
    size_t extent = status == BRIM_CSV_DONE ? reader->scan.used : status == BRIM_CSV_STRAY ? reader->scan.fault : length;
    if (extent > reader->max_record)
      return brim_reader_fault(reader, err, *record, 0, "a record of more than %zu bytes begins here%s", reader->max_record,
                               file->quoted ? ": is a quote never closed? If not, raise max_record"
                                            : ": raise max_record if that is right");
    if (status != BRIM_CSV_MORE)
      return status == BRIM_CSV_DONE ? BRIM_OK : scan_failed(reader, status, *record, err);
    least = length <= reader->max_record / 2 ? 2 * length : reader->max_record + 1;
  }
}

static void pass_record(brim_reader *reader) {
  brim_stream_consume(reader->stream, reader->scan.used);
  reader->next_line += reader->scan.lines;
}

/* The same for the first record that is not an empty line; empty lines are skipped. */
static int find_record(brim_reader *reader, const char **record, brim_error *err) {
  for (;;) {
    reader->record_byte = brim_stream_offset(reader->stream);
    reader->record_line = reader->next_line;
    BRIM_TRY(scan_record(reader, record, err));
    if (!brim_csv_is_empty(&reader->scan))
      return BRIM_OK;
    pass_record(reader);
  }
}

/* ---- columns ---------------------------------------------------------------------------------------------- */

/* Rewrites the header's spans to lie, decoded, in reader->decoded. */
static int decode_header(brim_reader *reader, const char *record, brim_error *err) {
  brim_csv_scan *scan = &reader->scan;
  BRIM_TRY(brim_reader_check_text(reader, record, record, scan->used, err));
  BRIM_TRY(brim_grow(reader->runtime, (void **)&reader->decoded, &reader->decoded_capacity, scan->used, 1, err));
  size_t at = 0;
  for (size_t i = 0; i < scan->count; i++) {
    size_t length = brim_field_span_decode(&scan->spans[i], record, reader->decoded + at);
    scan->spans[i] = (brim_field_span){.start = at, .length = length};
    at += length;
  }
  return BRIM_OK;
}

/* The columns there are, for a message. */
static void list_columns(const brim_reader *reader, brim_text *out) {
  const size_t enough = 300;
  for (size_t i = 0; i < reader->scan.count; i++) {
    const brim_field_span *name = &reader->scan.spans[i];
    if (out->length + name->length > enough) {
      brim_text_printf(out, "%s.. (%zu in all)", i ? ", " : "", reader->scan.count);
      return;
    }
    brim_text_printf(out, "%s\"", i ? ", " : "");
    brim_text_append(out, reader->decoded + name->start, name->length);
    brim_text_string(out, "\"");
  }
}

/* Of a head line that is one column: how often it holds the mark; more than that where the mark cuts out the name. */
static size_t count_cuts(const brim_reader *reader, char mark, const char *name) {
  const char *at = reader->decoded + reader->scan.spans[0].start, *end = at + reader->scan.spans[0].length;
  size_t cuts = 0, bonus = 0;
  for (const char *cut; at <= end; at = cut + 1, cuts++) {
    cut = at < end ? memchr(at, mark, (size_t)(end - at)) : NULL;
    cut = cut ? cut : end;
    if ((size_t)(cut - at) == strlen(name) && memcmp(at, name, strlen(name)) == 0)
      bonus = (size_t)(end - reader->decoded);
  }
  return cuts > 1 ? cuts - 1 + bonus : 0;
}

/* What to say of a head line that is one column and holds another separator: of several the one that cuts it best. */
static const char *separator_hint(const brim_reader *reader, const char *name, char out[96]) {
  size_t best = 0;
  out[0] = 0;
  for (size_t i = 0; reader->scan.count == 1 && i < SEPARATORS; i++) {
    const size_t cuts = count_cuts(reader, separators[i].mark, name);
    if (cuts > best)
      best = cuts, say_separator(reader, i, out);
  }
  return out;
}

/* What to say of a line before the head that is for spreadsheets. */
static const char *sheet_hint(const brim_reader *reader) {
  static const char line[] = "sep=";
  const brim_field_span *name = reader->scan.spans;
  const bool is_line = reader->scan.count > 0 && name->length >= 4 && memcmp(reader->decoded + name->start, line, 4) == 0;
  return is_line ? "; the first line names the delimiter for a spreadsheet: take it out, and give the delimiter (--delimiter) "
                   "where it is no comma"
                 : "";
}

/* What to say of names in quotes, in a file whose quotes are text. */
static const char *quote_hint(const brim_reader *reader) {
  for (size_t i = 0; i < reader->scan.count; i++) {
    const brim_field_span *name = &reader->scan.spans[i];
    const char *bytes = reader->decoded + name->start;
    if (name->length > 1 && bytes[0] == '"' && bytes[name->length - 1] == '"')
      return "; the names are in quotes, which are text here: --quote csv reads them as csv does";
  }
  return "";
}

/* What to say of a column that has its default's name and is not there: another spelling, or no head line at all. */
static const char *name_hint(const brim_reader *reader, const char *name) {
  const brim_csv_scan *scan = &reader->scan;
  if (strcmp(name, "text") != 0 && strcmp(name, "label") != 0)
    return "";
  for (size_t i = 0; i < scan->count; i++)
    if (scan->spans[i].length == strlen(name) && strncasecmp(reader->decoded + scan->spans[i].start, name, strlen(name)) == 0)
      return strcmp(name, "text") == 0 ? "; capitals count: name the column (--text-column)"
                                       : "; capitals count: name the column (--label-column)";
  for (size_t i = 0; i < scan->count; i++) {
    double number;
    const brim_field_span *span = &scan->spans[i];
    if (span->length > 0 && brim_number_real(reader->decoded + span->start, span->length, &number))
      return "; it looks as if there were no head line: --no-header (header=False in Python) calls the columns 0, 1, ..";
  }
  if (scan->count < 2)
    return "";
  return strcmp(name, "text") == 0 ? "; say which has the texts: --text-column NAME"
                                   : "; say which has the labels: --label-column NAME";
}

/* The first hint that there is. */
static const char *hint_of(const brim_reader *reader, const char *name, char room[96]) {
  const char *sheet = sheet_hint(reader), *separator = separator_hint(reader, name, room), *quotes = quote_hint(reader);
  return *sheet ? sheet : *separator ? separator : *quotes ? quotes : name_hint(reader, name);
}

static int no_such_column(const brim_reader *reader, const char *name, brim_error *err) {
  const char *file = brim_reader_file_name(reader);
  if (reader->no_header)
    return brim_error_at(err, BRIM_E_USAGE, file, 0, -1,
                         "there is no column %s: without a header columns are numbers, here 0 to %lld", name,
                         (long long)reader->columns - 1);
  char room[96];
  brim_text columns;
  brim_text_init(&columns, reader->runtime);
  list_columns(reader, &columns);
  int status = brim_text_status(&columns, err);
  if (status == BRIM_OK)
    status = brim_error_at(err, BRIM_E_USAGE, file, 0, -1, "there is no column \"%s\"; the columns are %s%s", name, columns.data,
                           hint_of(reader, name, room));
  brim_text_free(&columns);
  return status;
}

static bool named(const brim_reader *reader, size_t column, const char *name) {
  const brim_field_span *span = &reader->scan.spans[column];
  return span->length == strlen(name) && memcmp(reader->decoded + span->start, name, span->length) == 0;
}

/* The number of the column that a slot wants, -1 if there is none. */
static int find_column(const brim_reader *reader, const char *name, int64_t *column, brim_error *err) {
  int64_t number;
  *column = -1;
  if (reader->no_header) {
    if (brim_number_integer(name, strlen(name), &number) && number >= 0 && number < reader->columns)
      *column = number;
    return BRIM_OK;
  }
  for (size_t i = 0; i < reader->scan.count; i++) {
    if (!named(reader, i, name))
      continue;
    if (*column >= 0)
      return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), 0, -1,
                           "two columns are named \"%s\": give each its own name", name);
    *column = (int64_t)i;
  }
  return BRIM_OK;
}

/* Texts with and without pairs are not mixed by accident. */
static int compare_with_model(brim_reader *reader, brim_error *err) {
  const char *file = brim_reader_file_name(reader), *pair = reader->slots[BRIM_SLOT_PAIR].name;
  bool has = reader->slots[BRIM_SLOT_PAIR].column >= 0;
  if (!reader->model) {
    reader->model = file;
    reader->model_has_pair = has;
  }
  if (has == reader->model_has_pair)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_MISMATCH, file, 0, -1,
                       "there is %s column \"%s\", but %s in %s: pairs are in all files or in none", has ? "a" : "no", pair,
                       has ? "none" : "one", reader->model);
}

static int find_columns(brim_reader *reader, brim_error *err) {
  for (int i = 0; i < reader->slot_count; i++) {
    brim_slot *slot = &reader->slots[i];
    slot->column = -1;
    if (slot->name)
      BRIM_TRY(find_column(reader, slot->name, &slot->column, err));
    for (int k = 0; slot->others && slot->others[k] && slot->column < 0; k++)
      BRIM_TRY(find_column(reader, slot->others[k], &slot->column, err));
    slot->seen |= slot->column >= 0;
    if (slot->column < 0 && slot->required)
      return no_such_column(reader, slot->name, err);
  }
  return compare_with_model(reader, err);
}

static int keep_header(brim_reader *reader, const char *record, brim_error *err) {
  brim_text_clear(&reader->header);
  if (reader->raw)
    brim_text_append(&reader->header, record, reader->scan.used);
  return brim_text_status(&reader->header, err);
}

static int keep_names(brim_reader *reader, brim_error *err) {
  for (size_t i = 0; i < reader->scan.count; i++) {
    const brim_field_span *name = &reader->scan.spans[i];
    brim_text_append(&reader->names, reader->decoded + name->start, name->length);
    brim_text_append(&reader->names, "", 1);
  }
  return brim_text_status(&reader->names, err);
}

static int begin_table(brim_reader *reader, brim_error *err) {
  const char *record;
  int status = find_record(reader, &record, err);
  if (status == BRIM_END)
    return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), 0, -1, "holds only empty lines");
  BRIM_TRY(status);
  if (!reader->source.files[reader->file].quoted && reader->record_line == 1)
    BRIM_TRY(brim_reader_refuse_lone_cr(reader, record, reader->scan.used, err));
  reader->columns = (int64_t)reader->scan.count;
  brim_text_clear(&reader->names);
  if (!reader->no_header) {
    BRIM_TRY(decode_header(reader, record, err));
    BRIM_TRY(keep_names(reader, err));
    BRIM_TRY(keep_header(reader, record, err));
    pass_record(reader);
  }
  return find_columns(reader, err);
}

/* ---- values ----------------------------------------------------------------------------------------------- */

/* Room for the decoded text of all wanted fields that hold doubled quotes. */
static int reserve_decoded(brim_reader *reader, brim_error *err) {
  size_t room = 0;
  for (int i = 0; i < reader->slot_count; i++) {
    const brim_slot *slot = &reader->slots[i];
    if (slot->column >= 0 && reader->scan.spans[slot->column].doubled)
      room += reader->scan.spans[slot->column].length;
  }
  return brim_grow(reader->runtime, (void **)&reader->decoded, &reader->decoded_capacity, room, 1, err);
}

/* Whether the record is the header again, as in files that were put together. Of one column it may be a text. */
static bool is_header_again(const brim_reader *reader, const char *record) {
  static const char mark[] = "\xEF\xBB\xBF"; /* where the second file begins with one */
  const char *name = reader->names.data;
  if (!reader->names.length || reader->columns < 2)
    return false;
  for (size_t i = 0; i < reader->scan.count; i++) {
    const brim_field_span *span = &reader->scan.spans[i];
    const size_t length = strlen(name), before = i == 0 && span->length == length + 3 ? 3 : 0;
    if (span->length != length + before || memcmp(record + span->start, mark, before) != 0 ||
        memcmp(record + span->start + before, name, length) != 0)
      return false;
    name += length + 1;
  }
  return true;
}

static int take_values(brim_reader *reader, const char *record, brim_error *err) {
  if ((int64_t)reader->scan.count != reader->columns)
    return brim_reader_fault(
        reader, err, record, 0, "%zu column%s where the %s has %lld%s", reader->scan.count, reader->scan.count == 1 ? "" : "s",
        reader->no_header ? "first row" : "header", (long long)reader->columns,
        reader->source.files[reader->file].quoted ? ": a delimiter inside a text needs quotes around the text"
        : memchr(record, '"', reader->scan.used)
            ? ": quotes are text in this file; where they are around fields, as pandas writes "
              "them, --quote csv reads them"
            : "");
  if (is_header_again(reader, record))
    return brim_reader_fault(reader, err, record, 0,
                             "the header is here again, as where files were put together: take this line out, or give the files "
                             "one by one");
  BRIM_TRY(reserve_decoded(reader, err));
  size_t used = 0;
  for (int i = 0; i < reader->slot_count; i++) {
    brim_slot *slot = &reader->slots[i];
    slot->present = slot->column >= 0;
    slot->is_list = false;
    slot->bytes = NULL; /* of another file's record */
    if (!slot->present)
      continue;
    const brim_field_span *span = &reader->scan.spans[slot->column];
    BRIM_TRY(brim_reader_check_text(reader, record, record + span->start, span->length, err));
    slot->bytes = record + span->start;
    slot->length = span->length;
    if (!span->doubled)
      continue;
    slot->bytes = reader->decoded + used;
    slot->length = brim_field_span_decode(span, record, reader->decoded + used);
    used += slot->length;
  }
  return BRIM_OK;
}

static int next_row(brim_reader *reader, brim_error *err) {
  const char *record;
  BRIM_TRY(find_record(reader, &record, err));
  int status = take_values(reader, record, err);
  reader->bytes = record;
  reader->byte_count = reader->scan.used;
  pass_record(reader);
  reader->passed = true;
  return status;
}

static int no_value(brim_reader *reader, const brim_slot *slot, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, brim_reader_file_name(reader), reader->record_line, reader->record_byte,
                       "the value of column \"%s\" is missing: fill it in%s", slot->name,
                       slot == &reader->slots[BRIM_SLOT_LABEL] ? ", or leave such rows out (missing_label skip)" : "");
}

const brim_format_ops brim_table_format = {.begin = begin_table, .next = next_row, .missing = no_value};
