/* array.c: a JSON array of objects, each of them a record; it is never whole in memory. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/reader.h"

/* ---- between objects -------------------------------------------------------------------------------------- */

enum { END = -1 };

/* Passes over spaces and line ends. *next: the byte after them, or END at the end of the stream. */
static int skip_spaces(brim_reader *reader, int *next, brim_error *err) {
  for (;;) {
    const char *bytes;
    size_t length, at = 0;
    BRIM_TRY(brim_stream_peek(reader->stream, 1, &bytes, &length, err));
    for (; at < length && brim_json_is_space(bytes[at]); at++)
      reader->next_line += bytes[at] == '\n';
    *next = at < length ? (unsigned char)bytes[at] : END;
    const bool over = at < length || length == 0;
    brim_stream_consume(reader->stream, at);
    if (over)
      return BRIM_OK;
  }
}

/* An error at the byte that comes next. */
static int fault_here(brim_reader *reader, const char *what, brim_error *err) {
  reader->record_byte = brim_stream_offset(reader->stream);
  reader->record_line = reader->next_line;
  return brim_reader_fault(reader, err, "", 0, "%s", what);
}

bool brim_reader_is_array(brim_reader *reader) {
  const char *bytes;
  size_t length = 0;
  for (size_t at = 0, least = 1; least <= reader->max_record; least = at + 1) {
    if (brim_stream_peek(reader->stream, least, &bytes, &length, NULL) != BRIM_OK)
      return false; /* what fails fails again where records are read, and is reported there */
    while (at < length && brim_json_is_space(bytes[at]))
      at++;
    if (at < length || length < least)
      return at < length && bytes[at] == '[';
  }
  return false;
}

static int begin_array(brim_reader *reader, brim_error *err) {
  int next;
  BRIM_TRY(skip_spaces(reader, &next, err));
  if (next != '[')
    return fault_here(reader, "a JSON array was expected here", err);
  brim_stream_consume(reader->stream, 1);
  reader->array_byte = brim_stream_offset(reader->stream);
  reader->json.name = brim_reader_file_name(reader);
  return BRIM_OK;
}

/* After the array nothing may come. */
static int end_array(brim_reader *reader, brim_error *err) {
  int next;
  brim_stream_consume(reader->stream, 1);
  BRIM_TRY(skip_spaces(reader, &next, err));
  return next != END ? fault_here(reader, "the array ended before this: a file has one", err) : BRIM_END;
}

/* To the `{` of the next object; BRIM_END after the last. */
static int find_object(brim_reader *reader, brim_error *err) {
  const bool first = brim_stream_offset(reader->stream) == reader->array_byte;
  int next;
  BRIM_TRY(skip_spaces(reader, &next, err));
  if (next == ']')
    return end_array(reader, err);
  if (!first && next == ',') {
    brim_stream_consume(reader->stream, 1);
    BRIM_TRY(skip_spaces(reader, &next, err));
  } else if (!first) {
    return fault_here(
        reader, next != END ? "a comma or ] was expected after an object" : "the array is never closed: the file was cut", err);
  }
  if (next == '{')
    return BRIM_OK;
  return fault_here(reader,
                    next != END ? "an object was expected here: the array holds {\"text\": ..}, .."
                                : "the array is never closed: the file was cut",
                    err);
}

/* ---- objects ---------------------------------------------------------------------------------------------- */

/* Where a scan of an object is. */
typedef struct extent {
  size_t at, depth;
  bool string, escaped;
} extent;

/* Scans up to `length`; true: the object ends before e->at. */
static bool scan(extent *e, const char *bytes, size_t length) {
  for (; e->at < length; e->at++) {
    const char c = bytes[e->at];
    if (e->string) {
      e->string = e->escaped || c != '"';
      e->escaped = !e->escaped && c == '\\';
    } else if (c == '"') {
      e->string = true;
    } else if (c == '{' || c == '[') {
      e->depth++;
    } else if ((c == '}' || c == ']') && --e->depth == 0) {
      e->at++;
      return true;
    }
  }
  return false;
}

bool brim_json_is_open(const char *bytes, size_t length) {
  extent e = {0};
  return !scan(&e, bytes, length) && e.depth > 0;
}

static int take_extent(brim_reader *reader, const char **object, size_t *size, brim_error *err) {
  extent e = {0};
  size_t least = 1, length;
  bool all;
  for (;;) {
    BRIM_TRY(brim_stream_peek_arrived(reader->stream, least, object, &length, &all, err));
    const bool done = scan(&e, *object, length);
    if (e.at > reader->max_record)
      return brim_reader_fault(reader, err, *object, 0,
                               "an object of more than %zu bytes begins here: is it never closed? If not, raise max_record",
                               reader->max_record);
    *size = e.at;
    if (done)
      return BRIM_OK;
    if (all)
      return brim_reader_fault(reader, err, *object, 0, "the object that begins here is never closed");
    least = length <= reader->max_record / 2 ? 2 * length : reader->max_record + 1;
  }
}

/* Whoever copies records writes them as lines: line ends, which are spaces between tokens, become spaces. */
static int keep_as_line(brim_reader *reader, brim_error *err) {
  BRIM_TRY(brim_grow(reader->runtime, (void **)&reader->decoded, &reader->decoded_capacity, reader->byte_count, 1, err));
  for (size_t i = 0; i < reader->byte_count; i++)
    reader->decoded[i] = reader->bytes[i] == '\n' || reader->bytes[i] == '\r' ? ' ' : reader->bytes[i];
  reader->bytes = reader->decoded;
  return BRIM_OK;
}

static int next_item(brim_reader *reader, brim_error *err) {
  BRIM_TRY(find_object(reader, err));
  reader->record_byte = brim_stream_offset(reader->stream);
  reader->record_line = reader->next_line;
  BRIM_TRY(take_extent(reader, &reader->line, &reader->line_length, err));
  brim_stream_consume(reader->stream, reader->line_length);
  for (size_t i = 0; i < reader->line_length; i++)
    reader->next_line += reader->line[i] == '\n';
  reader->bytes = reader->line;
  reader->byte_count = reader->line_length;
  reader->passed = true;
  if (reader->raw)
    BRIM_TRY(keep_as_line(reader, err));
  return brim_reader_take_object(reader, err);
}

static int missing(brim_reader *reader, const brim_slot *slot, brim_error *err) {
  return brim_jsonl_format.missing(reader, slot, err);
}

const brim_format_ops brim_array_format = {.begin = begin_array, .next = next_item, .missing = missing};
