/* job.h: a training job from options: what `brim train` and `brim compare` share. */
#ifndef BRIM_CLI_JOB_H
#define BRIM_CLI_JOB_H

#include "cli.h"
#include "shared.h"
#include "stream.h"

typedef struct cli_job {
  brim_tokenizer *tokenizer;
  brim_dataset *train; /* NULL with --stream */
  brim_feed *feed;     /* NULL without */
  cli_columns columns; /* of the feed */
  brim_prompts prompts;
  brim_labels labels; /* of the feed, or of the model whose head is kept */
  brim_model *model;
  brim_named_dataset evals[CLI_LIST_LIMIT];
  char eval_names[CLI_LIST_LIMIT][64];
  int eval_count;
  brim_text options_json; /* backs options.options_json */
  brim_profile *profile;  /* NULL: nobody looks; made and freed by the command */
  brim_train_options options;
} cli_job;

/* Checks the options, loads tokenizer, data and model, and says what is odd about them. Zero *job first; close it in any case. */
int cli_job_open(cli_call *cli, cli_job *job);
/* The options of training that the command has now, for the job's files; rows are cut at max_length. */
int cli_job_train_options(cli_call *cli, const cli_job *job, int32_t max_length, brim_train_options *out);
void cli_job_close(cli_job *job);
/* What an interrupted run says that had no step: there is nothing to resume from. */
void cli_job_hint_no_step(cli_call *cli);
/* The path in "[NAME=]FILE", and the name of the set: "matched=FILE" names it, otherwise it is `unnamed`, with a number where
 * there are several. A file whose own name holds = is taken as it is. */
const char *cli_cut_name(const char *unnamed, const char *item, int index, int count, char *name, size_t size);

#endif
