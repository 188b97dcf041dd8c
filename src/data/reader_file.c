/* reader_file.c: the present file of a reader: its stream, and what comes before its first record. */
#include <string.h>

#include "base/status.h"
#include "data/reader.h"

/* ---- files ------------------------------------------------------------------------------------------------ */

static void set_stream(brim_reader *reader, brim_stream *stream) {
  pthread_mutex_lock(&reader->lock);
  brim_stream *old = reader->stream;
  reader->stream = stream;
  if (stream && reader->interrupted)
    brim_stream_interrupt(stream);
  pthread_mutex_unlock(&reader->lock);
  if (old)
    reader->consumed += (uint64_t)brim_stream_consumed(old);
  brim_stream_free(old);
}

void brim_reader_close_stream(brim_reader *reader) {
  set_stream(reader, NULL);
}

void brim_reader_interrupt(brim_reader *reader) {
  pthread_mutex_lock(&reader->lock);
  reader->interrupted = true;
  if (reader->stream)
    brim_stream_interrupt(reader->stream);
  pthread_mutex_unlock(&reader->lock);
}

static const brim_format_ops *format_ops(brim_format format) {
  static const brim_format_ops *const ops[] = {[BRIM_FORMAT_CSV] = &brim_table_format,
                                               [BRIM_FORMAT_TSV] = &brim_table_format,
                                               [BRIM_FORMAT_JSONL] = &brim_jsonl_format,
                                               [BRIM_FORMAT_TXT] = &brim_txt_format,
                                               [BRIM_FORMAT_CONLL] = &brim_conll_format};
  return ops[format];
}

/* What iconv calls the encoding of a text that is not UTF-8, by its byte order mark or, without one, by where its first
 * characters have zeros; NULL: it may be UTF-8. */
static const char *wide_encoding(const char *bytes, size_t length) {
  static const struct {
    const char *name;
    int marks[4], zeros; /* zeros: bit i is set where byte i is one */
  } known[] = {{"utf-32", {0xFF, 0xFE, 0, 0}, 0},
               {"utf-32", {0, 0, 0xFE, 0xFF}, 0},
               {"utf-16", {0xFF, 0xFE, -1, -1}, 0},
               {"utf-16", {0xFE, 0xFF, -1, -1}, 0},
               {"utf-32le", {0}, 14},
               {"utf-32be", {0}, 7},
               {"utf-16le", {0}, 10},
               {"utf-16be", {0}, 5}};
  int zeros = 0;
  for (size_t i = 0; i < 4 && i < length; i++)
    zeros |= !bytes[i] << i;
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    bool fits = known[k].zeros ? length >= 4 && zeros == known[k].zeros : length >= 2;
    for (size_t i = 0; !known[k].zeros && i < 4 && fits; i++)
      fits = known[k].marks[i] < 0 || (i < length && (unsigned char)bytes[i] == known[k].marks[i]);
    if (fits)
      return known[k].name;
  }
  return NULL;
}

/* Is there a byte below the tab, which texts do not have? */
static bool has_control(const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++)
    if ((unsigned char)bytes[i] < '\t')
      return true;
  return false;
}

/* Texts may begin with letters, too: then one of the next bytes has to be what no text has. */
static bool is_magic(const char *magic, bool letters, const char *bytes, size_t length) {
  enum { NEXT = 8 };
  const size_t used = strlen(magic), rest = length < used ? 0 : length - used;
  return length >= used && memcmp(bytes, magic, used) == 0 && (!letters || has_control(bytes + used, rest < NEXT ? rest : NEXT));
}

/* What a file is that is no text, and what to do with it; NULL: it may be text. Only what is there already is looked at. */
static const char *other_kind(const char *bytes, size_t length) {
  enum { TAR_AT = 257 };
#define UNREAD "packed in a way that is not read: unpack it first (of packed files .gz, .zst, .xz and .bz2 are read)"
  static const struct {
    const char *magic, *says;
    bool begins_text; /* texts may begin so */
  } known[] = {
      {"PAR1", "a parquet file: write it as JSON lines (pandas: to_json(.., orient=\"records\", lines=True))", true},
      {"ARROW1", "an Arrow file: write it as JSON lines (pandas: to_json(.., orient=\"records\", lines=True))", true},
      {"SQLite format 3", "a database of SQLite: write its rows as csv (sqlite3 -header -csv)", true},
      {"PK\3\4", "a zip archive or a spreadsheet: take the file out (unzip -p ARCHIVE > rows.csv), or save it as csv", false},
      {"\x1f\x8b", "packed twice: unpack it once", false},
      {"\x28\xb5\x2f\xfd", "packed twice: unpack it once", false},
      {"\xFD"
       "7zXZ",
       "packed twice: unpack it once", false},
      {"7z\xBC\xAF", UNREAD, false},
      {"Rar!\x1A", UNREAD, false},
      {"\x04\"M\x18", UNREAD, false},
      {"\x1f\x9d", UNREAD, false},
      {"\x89HDF", "a file of HDF5: write its rows as JSON lines", false},
      {"\x80\4\x95", "a pickle of Python: write its rows as JSON lines", false},
      {"Obj\1", "an Avro file: write its rows as JSON lines", false},
      {"\xD0\xCF\x11\xE0", "a document or spreadsheet of an old Office: save it as csv", false},
      {"%PDF-", "a PDF: take its text out first (pdftotext)", false},
      {"\x89PNG", "a picture", false},
      {"\x93NUMPY", "an array of NumPy: write its rows as JSON lines", false},
      {"\x7f"
       "ELF",
       "a program", false},
      {"version https://git-lfs", "a pointer of Git LFS: the file itself comes with git lfs pull", false}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (is_magic(known[i].magic, known[i].begins_text, bytes, length))
      return known[i].says;
#undef UNREAD
  const bool tar = length > TAR_AT && is_magic("ustar", false, bytes + TAR_AT, length - TAR_AT) && has_control(bytes, TAR_AT);
  return tar ? "a tar archive: take the files out (tar -x)" : NULL;
}

/* Passes over a byte order mark; refuses UTF-16, UTF-32, files that are no text and files without a byte. */
static int check_beginning(brim_reader *reader, brim_error *err) {
  const char *bytes, *name = brim_reader_file_name(reader);
  size_t length;
  BRIM_TRY(brim_stream_peek(reader->stream, 1, &bytes, &length, err));
  if (length > 0 && length < 3 && memchr("\xEF\xFE\xFF", bytes[0], 3)) /* else a line as short as "a" is not waited on */
    BRIM_TRY(brim_stream_peek(reader->stream, 3, &bytes, &length, err));
  const char *wide = wide_encoding(bytes, length);
  if (wide)
    return brim_error_at(err, BRIM_E_FORMAT, name, 1, 0, "the text is UTF-%.2s: convert it first with iconv -f %s -t utf-8",
                         wide + 4, wide);
  const char *other = other_kind(bytes, length);
  if (other)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, name, 0, -1, "this is %s", other);
  bool mark = length >= 3 && memcmp(bytes, "\xEF\xBB\xBF", 3) == 0;
  if (length == (mark ? 3u : 0u)) {
    BRIM_TRY(brim_stream_peek(reader->stream, 4, &bytes, &length, err));
    if (length == (mark ? 3u : 0u))
      return brim_error_at(err, BRIM_E_FORMAT, name, 0, -1, "is empty");
  }
  if (mark)
    brim_stream_consume(reader->stream, 3);
  return BRIM_OK;
}

int brim_reader_read_beginning(brim_reader *reader, brim_error *err) {
  BRIM_TRY(check_beginning(reader, err));
  reader->record_byte = brim_stream_offset(reader->stream);
  return reader->format->begin(reader, err);
}

/* Decompression of the next file takes as long as tokenizing many rows: it begins while there are rows of this one. */
static int call_for_next(brim_reader *reader, brim_error *err) {
  const size_t next = reader->file + 1;
  if (!reader->look_ahead || next >= reader->source.count || !brim_stream_is_packed(reader->stream))
    return BRIM_OK;
  const brim_source_file *file = &reader->source.files[next];
  return file->size >= 0 && strcmp(file->path, "-") != 0 ? brim_ahead_begin(&reader->ahead, file->path, err) : BRIM_OK;
}

int brim_reader_begin_file(brim_reader *reader, size_t file, brim_error *err) {
  brim_stream *stream = NULL;
  const char *path = reader->source.files[file].path;
  reader->file = file;
  reader->first_row = reader->row;
  if (strcmp(path, "-") == 0) {
    if (reader->input_read)
      return brim_error_set(err, BRIM_E_USAGE, "standard input cannot be read a second time");
    reader->input_read = true;
  }
  BRIM_TRY(brim_ahead_open(&reader->ahead, path, &stream, err));
  set_stream(reader, stream);
  reader->state = BRIM_READER_OPEN;
  BRIM_TRY(call_for_next(reader, err));
  reader->format = format_ops(reader->source.files[file].format);
  reader->record_line = reader->next_line = 1;
  return brim_reader_read_beginning(reader, err);
}

int brim_reader_look_ahead(brim_reader *reader, brim_error *err) {
  reader->look_ahead = true;
  return reader->stream ? call_for_next(reader, err) : BRIM_OK;
}
