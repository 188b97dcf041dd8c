#include "passages.h"

#include <stdlib.h>
#include <string.h>

static int copy_text(cli_call *cli, const brim_record *record, cli_passage *passage) {
  const size_t gap = record->pair ? 2 : 0;
  passage->length = record->text_length + gap + (record->pair ? record->pair_length : 0);
  passage->text = malloc(passage->length + 1);
  if (!passage->text)
    return brim_error_set(&cli->error, BRIM_E_MEMORY, "no memory for the text of row %llu", (unsigned long long)passage->row);
  memcpy(passage->text, record->text, record->text_length);
  memcpy(passage->text + record->text_length, "\n\n", gap);
  if (record->pair)
    memcpy(passage->text + record->text_length + gap, record->pair, record->pair_length);
  passage->text[passage->length] = 0;
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
