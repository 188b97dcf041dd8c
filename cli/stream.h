/* stream.h: --stream: data larger than memory. */
#ifndef BRIM_CLI_STREAM_H
#define BRIM_CLI_STREAM_H

#include "cli.h"
#include "shared.h"

#define CLI_OPTIONS_STREAM(data)                                                                                                 \
  HEADING("Data larger than memory"),                                                                                            \
      FLAG("stream", stream,                                                                                                     \
           .help = "read " data                                                                                                  \
                   " again and again instead of keeping it: files in an order of their own each epoch, shuffled and "            \
                   "planned a window at a time"),                                                                                \
      INTEGER("shuffle-window", shuffle_window, "N", 1, 2000000000, .aliases = "buffer-size", .fallback = "100000",              \
              .help = "with --stream: rows that are shuffled and planned together"),                                             \
      LIST("weight", weight, "X",                                                                                                \
           .help = "with --stream: " data                                                                                        \
                   " as sources apart, each given by itself with its share of the rows, in the same order"),                     \
      FLAG("repeat", repeat,                                                                                                     \
           .help = "with --stream: a source that ends begins anew, so that the shares hold for ever; one epoch without end"),    \
      INTEGER("prefetch", prefetch, "N", 0, 1000, .fallback = "1", .help = "with --stream: windows that are prepared ahead")

typedef struct cli_feed_request {
  const char *const *paths;
  int path_count;
  const brim_tokenizer *tokenizer;
  const brim_labels *labels; /* NULL: labels are not looked at; borrowed by the feed */
  const brim_plan_options *plan;
  int32_t max_length, rank;
  uint64_t first_epoch, epochs;
} cli_feed_request;

/* Opens it, and says how much memory its windows take. */
int cli_open_feed(cli_call *cli, const cli_feed_request *request, brim_feed **out);
/* The labels of a stream: --labels, or those that one pass over the data finds. */
int cli_stream_labels(cli_call *cli, const char *const *paths, int path_count, brim_task task, brim_labels *out);
/* Says what --skip-damaged left out of the present epoch, if anything. */
void cli_note_damage(const cli_call *cli, const brim_feed *feed);
/* The batches of one epoch, as `brim plan` prints them. */
int cli_plan_stream(cli_call *cli);

#endif
