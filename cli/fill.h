/* fill.h: what `brim predict` does with a model of masked words. */
#ifndef BRIM_CLI_FILL_H
#define BRIM_CLI_FILL_H
#include "infer.h"

/* A line for each row of in->dataset, whose tokens are numbered: where its mask tokens are, and the five best tokens for each. */
int cli_fill_masks(cli_call *cli, const cli_inference *in);

#endif
