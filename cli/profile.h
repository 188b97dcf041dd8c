/* profile.h: what --profile shows at the end. */
#ifndef BRIM_CLI_PROFILE_H
#define BRIM_CLI_PROFILE_H

#include "cli.h"

/* Prints the table and writes the trace, also of a run that failed or was interrupted. Returns `status`, the run's own, unless
 * that is BRIM_OK and the trace cannot be written. */
int cli_profile_end(cli_call *cli, const brim_profile *profile, int status);

#endif
