/* columns.h: which columns are the texts of a row, where rows have several. */
#ifndef BRIM_CLI_COLUMNS_H
#define BRIM_CLI_COLUMNS_H
#include "cli.h"

typedef struct cli_columns {
  brim_text_columns found;
  char *given; /* --columns, cut */
  const char *names[BRIM_MOST_TEXT_COLUMNS];
  int count;
} cli_columns;

/* Fills *source for embeddings and rerankers; nothing for other tasks. source->need_label: labels are wanted where there are any.
 * What is filled in is borrowed from *columns. */
int cli_columns_find(cli_call *cli, const char *const *paths, int path_count, brim_task task, cli_columns *columns,
                     brim_source_options *source);
/* Says which they are, where --columns does not. */
void cli_note_columns(const cli_call *cli, const char *path, const cli_columns *columns);
/* What their texts begin with. */
int cli_prompts_of(cli_call *cli, const cli_columns *columns, brim_encode_options *out);
void cli_columns_free(cli_columns *columns);

#endif
