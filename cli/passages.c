#include "passages.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of text that fit `room`, no character cut in two. */
static size_t fitting(const char *text, size_t length, size_t room) {
  if (length <= room)
    return length;
  while (room > 0 && ((unsigned char)text[room] & 0xC0) == 0x80)
    room--;
  return room;
}

/* A page is no place for a book: long texts end early and say so. A zero byte would end them too. */
static int copy_text(cli_call *cli, const brim_record *record, cli_passage *passage) {
  const size_t gap = record->pair ? 2 : 0, pair = record->pair ? record->pair_length : 0;
  const size_t first = fitting(record->text, record->text_length, CLI_MOST_PASSAGE);
  const size_t second = pair ? fitting(record->pair, pair, CLI_MOST_PASSAGE) : 0;
  char more[80] = "", whole[32];
  brim_count_text((int64_t)(record->text_length + pair), whole, sizeof whole);
  if (first + second < record->text_length + pair)
    snprintf(more, sizeof more, " … (cut here; it has %s bytes)", whole);
  char *text = passage->text = malloc(first + gap + second + sizeof more);
  if (!text)
    return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the text of row %llu", (unsigned long long)passage->row);
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

static int read_all(cli_call *cli, brim_reader *reader, cli_passage *passages, int count) {
  brim_record record;
  int status = BRIM_OK;
  for (int left = count; left > 0 && !status;) {
    status = brim_reader_next(reader, &record, &cli->error);
    for (int i = 0; i < count && !status; i++)
      if (passages[i].row == record.row && !passages[i].text) {
        status = copy_text(cli, &record, &passages[i]);
        left--;
      }
  }
  return status == BRIM_END ? BRIM_OK : status;
}

int cli_passages_read(cli_call *cli, const char *const *paths, int path_count, cli_passage *passages, int count) {
  brim_source_options options;
  brim_reader *reader = NULL;
  for (int i = 0; i < path_count; i++)
    if (strcmp(paths[i], "-") == 0)
      return BRIM_OK;
  int status = cli_source_options(cli, false, &options);
  if (!status)
    status = brim_reader_open(cli->runtime, paths, path_count, &options, &reader, &cli->error);
  if (!status)
    status = read_all(cli, reader, passages, count);
  brim_reader_close(reader);
  return status;
}

void cli_passages_free(cli_passage *passages, int count) {
  for (int i = 0; i < count; i++)
    free(passages[i].text);
}
