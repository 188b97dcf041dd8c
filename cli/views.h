/* views.h: what is looked at during a run and after it: TensorBoard's files, the kept evaluations, the report. */
#ifndef BRIM_CLI_VIEWS_H
#define BRIM_CLI_VIEWS_H

#include "cli.h"

/* A line: the most wrong rows are shown without their texts, and why. */
void cli_no_texts(cli_call *cli, const brim_error *err);
/* cli->views, for the events of a run into the folder. */
int cli_views_open(cli_call *cli, const char *folder);
/* A brim_evaluated_fn whose context is the cli: holds on to what the evaluation came to. */
void cli_views_evaluated(void *context, const brim_evaluation *evaluation);
/* Ends them, and writes evaluation.jsonl and report.html into that folder if there was a run. Nothing where none is open. A run
 * is worth keeping also where a picture of it fails: that is said on standard error, and no more. */
void cli_views_close(cli_call *cli, bool ran);

#endif
