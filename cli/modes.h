/* modes.h: what `brim compare` compares: kinds of batches and padding, each with its own options. */
#ifndef BRIM_CLI_MODES_H
#define BRIM_CLI_MODES_H
#include "cli.h"
#include "job.h"

typedef struct cli_modes {
  brim_mode at[BRIM_MOST_MODES]; /* [count] */
  int count;
  brim_precision precisions[2]; /* [precision_count] each mode is there in all of them */
  int precision_count;
  brim_train_options options[BRIM_MOST_MODES]; /* of each */
  char words[BRIM_MOST_MODES][160];            /* "uniform", "max-tokens=2048", .., a NUL after each: options borrow from them */
  char names[BRIM_MOST_MODES][176];            /* the same with + between them, and the precision where there are several */
} cli_modes;

/* --modes and --precision, as far as they can be checked before anything is read. */
int cli_modes_parse(cli_call *cli, cli_modes *out);
/* The options of each, once the job has its own. */
int cli_modes_fill(cli_call *cli, const cli_job *job, cli_modes *modes);

#endif
