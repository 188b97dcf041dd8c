/* train_folds.h: `brim train` over folds. */
#ifndef BRIM_CLI_TRAIN_FOLDS_H
#define BRIM_CLI_TRAIN_FOLDS_H

#include "job.h"

/* `brim train --folds`: trains, writes predictions and folds.json into the run, and shows the result. */
int cli_train_folds(cli_call *cli, cli_job *job);

#endif
