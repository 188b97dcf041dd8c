/* reader_damage.c: records of files that cannot be read whole. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "data/reader.h"

/* The first failure of a stream is kept for later: what came before it can still be read, and then the stream ends. */
static bool set_aside(brim_reader *reader, int status, const brim_error *failure) {
  if (!reader->skip_damaged || status != BRIM_E_FORMAT || !reader->stream || !brim_stream_salvage(reader->stream))
    return false;
  reader->state = BRIM_READER_CUT;
  reader->cut_by = *failure;
  return true;
}

int brim_reader_open_file(brim_reader *reader, size_t file, brim_error *err) {
  int status = brim_reader_begin_file(reader, file, err);
  if (!set_aside(reader, status, err))
    return status;
  if (brim_reader_read_beginning(reader, err) == BRIM_OK)
    return BRIM_OK;
  *err = reader->cut_by;
  return BRIM_E_FORMAT;
}

/* Whether it is the stream's failure that shows in what came of a record: there is none before it, the record has no end (as with
 * a quote that the cut leaves open), or its end is where the stream failed. */
static bool is_cut(const brim_reader *reader, int status) {
  switch (status) {
  case BRIM_END:
    return true;
  case BRIM_OK:
    return brim_stream_ends_open(reader->stream);
  case BRIM_E_FORMAT:
    return !reader->passed || brim_stream_ends_open(reader->stream);
  default:
    return false;
  }
}

int brim_reader_next_values(brim_reader *reader, brim_error *err) {
  reader->passed = false;
  reader->record_byte = brim_stream_offset(reader->stream);
  reader->record_line = reader->next_line;
  int status = reader->format->next(reader, err);
  if (set_aside(reader, status, err))
    status = reader->format->next(reader, err);
  if (reader->state != BRIM_READER_CUT || !is_cut(reader, status))
    return status;
  *err = reader->cut_by;
  return BRIM_E_FORMAT;
}

void brim_reader_take_damage(brim_reader *reader, const brim_error *failure) {
  brim_error_text(failure, reader->damage, sizeof reader->damage);
  const bool last = reader->state == BRIM_READER_CUT && brim_stream_ends_open(reader->stream);
  if (reader->passed && !last)
    return;
  size_t used = strlen(reader->damage);
  snprintf(reader->damage + used, sizeof reader->damage - used, "; the rest of the file is left out");
  brim_reader_close_stream(reader);
  reader->state = BRIM_READER_LEFT_OUT;
}
