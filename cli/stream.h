/* stream.h: --stream: data larger than memory. */
#ifndef BRIM_CLI_STREAM_H
#define BRIM_CLI_STREAM_H

#include "cli.h"
#include "columns.h"
#include "shared.h"

typedef struct cli_feed_request {
  const char *const *paths;
  int path_count;
  const brim_tokenizer *tokenizer;
  const brim_labels *labels; /* NULL: labels are not looked at; borrowed by the feed */
  cli_columns *columns;      /* of rows of several texts: filled, and borrowed by the feed */
  const brim_plan_options *plan;
  int32_t max_length, rank;
  uint64_t first_epoch, epochs;
} cli_feed_request;

/* Standard input, or a pipe with a name: its rows can be read once. */
bool cli_is_pipe(const char *path);
bool cli_any_pipe(const char *const *paths, int count);
/* Opens it, and says how much memory its windows take. */
int cli_open_feed(cli_call *cli, const cli_feed_request *request, brim_feed **out);
/* The labels of a stream: --labels, or those that one pass over the data finds. */
int cli_stream_labels(cli_call *cli, const char *const *paths, int path_count, brim_task task, brim_labels *out);
/* The steps of --epochs over a stream: its rows are counted, in a pass that encodes nothing but texts whose words are masked.
 * BRIM_E_USAGE where they do not say it. */
int cli_stream_steps(cli_call *cli, const cli_feed_request *request, brim_task task, uint64_t *steps);
/* Rows with an empty text, if there are any. `where`: before their count. */
void cli_note_empty(const cli_call *cli, const char *where, uint64_t rows);
/* Says what was left out of the present epoch, and what was cut, if anything. */
void cli_note_damage(const cli_call *cli, const brim_feed *feed);
/* The batches of one epoch, as `brim plan` prints them. */
int cli_plan_stream(cli_call *cli);

#endif
