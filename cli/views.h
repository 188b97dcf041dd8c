/* views.h: what others look at while a run goes on, and behind it: TensorBoard's files and the report. */
#ifndef BRIM_CLI_VIEWS_H
#define BRIM_CLI_VIEWS_H

#include "cli.h"

/* cli->tensorboard, for the events of a run into --output. */
int cli_views_open(cli_call *cli);
/* Ends them, and writes --output/report.html if there was a run. A run is worth keeping also where a picture of it fails: that is
 * said on standard error, and no more. */
void cli_views_close(cli_call *cli, bool ran);

#endif
