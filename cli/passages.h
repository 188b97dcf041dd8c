/* passages.h: the texts of a few rows, read again from their files: a dataset keeps ids only. */
#ifndef BRIM_CLI_PASSAGES_H
#define BRIM_CLI_PASSAGES_H

#include "cli.h"

enum { CLI_MOST_PASSAGE = 6000 }; /* bytes of a text that are kept; of a pair, of each */

typedef struct cli_passage {
  uint64_t row; /* brim_record.row, which brim_dataset_origin gives */
  char *text;   /* a pair's second text after an empty line; NULL: not found */
  size_t length;
} cli_passage;

/* Fills in the texts of passages[0..count). Standard input cannot be read again: nothing is filled in. */
int cli_passages_read(cli_call *cli, const char *const *paths, int path_count, cli_passage *passages, int count);
void cli_passages_free(cli_passage *passages, int count);

#endif
