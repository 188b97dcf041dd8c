/* passages.c: texts of a few rows, read again from their files. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "data/reader.h"
#include "views/views.h"

/* Bytes of text that fit `room`, no character cut in two. */
static size_t fitting(const char *text, size_t length, size_t room) {
  if (length <= room)
    return length;
  while (room > 0 && ((unsigned char)text[room] & 0xC0) == 0x80)
    room--;
  return room;
}

/* A page is no place for a book: long texts end early and say so. A zero byte would end them too. */
static int copy_pair(brim_runtime *runtime, const brim_record *record, brim_passage *passage, brim_error *err) {
  const size_t gap = record->pair ? 2 : 0, pair = record->pair ? record->pair_length : 0;
  const size_t first = fitting(record->text, record->text_length, (size_t)BRIM_MOST_PASSAGE);
  const size_t second = pair ? fitting(record->pair, pair, (size_t)BRIM_MOST_PASSAGE) : 0;
  char more[80] = "", whole[32];
  brim_count_text((int64_t)(record->text_length + pair), whole, sizeof whole);
  if (first + second < record->text_length + pair)
    snprintf(more, sizeof more, " … (cut here; it has %s bytes)", whole);
  char *text = passage->text = brim_alloc(runtime, first + gap + second + sizeof more);
  if (!text)
    return BRIM_NOMEM(err);
  memcpy(text, record->text, first);
  memcpy(text + first, "\n\n", gap);
  if (second)
    memcpy(text + first + gap, record->pair, second);
  passage->length = first + gap + second;
  for (size_t i = 0; i < passage->length; i++)
    text[i] = text[i] ? text[i] : ' ';
  memcpy(text + passage->length, more, sizeof more);
  passage->length += strlen(more);
  return BRIM_OK;
}

/* All texts of a row but the first are shown as one. */
int brim_passage_copy(brim_runtime *runtime, const brim_record *record, brim_passage *passage, brim_error *err) {
  brim_record one = *record;
  brim_text others;
  if (record->further_count == 0)
    return copy_pair(runtime, record, passage, err);
  brim_text_init(&others, runtime);
  if (record->pair)
    brim_text_append(&others, record->pair, record->pair_length);
  for (size_t i = 0; i < record->further_count; i++) {
    if (others.length > 0 && record->further[i].length > 0)
      brim_text_string(&others, "\n\n");
    brim_text_append(&others, record->further[i].bytes, record->further[i].length);
  }
  int status = brim_text_status(&others, err);
  one.pair = others.data, one.pair_length = others.length;
  if (!status)
    status = copy_pair(runtime, &one, passage, err);
  brim_text_free(&others);
  return status;
}

int brim_passage_set(brim_runtime *runtime, brim_passage *passage, const char *text, size_t length, const char *pair,
                     size_t pair_length, brim_error *err) {
  BRIM_GIVEN(err, runtime, passage);
  BRIM_ARRAY(err, text, length);
  const brim_record record = {.text = text, .text_length = length, .pair = pair, .pair_length = pair_length};
  return brim_passage_copy(runtime, &record, passage, err);
}

static int read_all(brim_runtime *runtime, brim_reader *reader, brim_passage *passages, int count, brim_error *err) {
  brim_record record;
  int status = BRIM_OK;
  for (int left = count; left > 0 && !status;) {
    status = brim_reader_next(reader, &record, err);
    for (int i = 0; i < count && !status; i++)
      if (passages[i].row == record.row && !passages[i].text) {
        status = brim_passage_copy(runtime, &record, &passages[i], err);
        left--;
      }
  }
  return status == BRIM_END ? BRIM_OK : status;
}

int brim_passages_read(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *source,
                       uint64_t stamp, brim_passage *passages, int count, brim_error *err) {
  BRIM_GIVEN(err, runtime, source);
  BRIM_STRINGS(err, paths, path_count);
  BRIM_ARRAY(err, passages, count);
  brim_source_options options = *source;
  brim_reader *reader;
  options.need_label = false;
  for (int i = 0; i < path_count; i++)
    if (brim_path_is_read_once(paths[i])) /* its rows are gone */
      return BRIM_OK;
  BRIM_TRY(brim_reader_open(runtime, paths, path_count, &options, &reader, err));
  int status = BRIM_OK;
  if (!stamp || brim_source_stamp(&reader->source) == stamp)
    status = read_all(runtime, reader, passages, count, err);
  if (stamp && (brim_source_stamp(&reader->source) != stamp || !brim_source_stayed(&reader->source))) {
    brim_passages_free(runtime, passages, count);
    for (int i = 0; i < count; i++)
      passages[i] = (brim_passage){.row = passages[i].row};
    status = brim_error_set(err, BRIM_E_MISMATCH, "%s%s changed after the rows were read", paths[0],
                            path_count > 1 ? " or another file" : "");
  }
  brim_reader_close(reader);
  return status;
}

void brim_passages_free(brim_runtime *runtime, brim_passage *passages, int count) {
  for (int i = 0; i < count; i++)
    brim_release(runtime, passages[i].text);
}
