/* simulate.h: brim plan --simulate. */
#ifndef BRIM_CLI_SIMULATE_H
#define BRIM_CLI_SIMULATE_H
#include "cli.h"
#include "shared.h"

/* Prints what steps of texts of these lengths would take on 1, 2, 4, .. ranks. */
int cli_simulate(cli_call *cli, brim_lengths lengths);
#endif
