/* ranks.h: commands that an MPI launcher has started several times: `mpirun -n 4 brim train ...`. */
#ifndef BRIM_CLI_RANKS_H
#define BRIM_CLI_RANKS_H
#include "cli.h"
#include "shared.h"

extern const cli_option cli_rank_options[];

/* A rank other than the first has nothing to do for this command, which does not work in ranks: one does it. It says so: who is
 * alone may have such an environment too. */
bool cli_ranks_idle(const cli_call *cli);
/* Before ranks are joined nobody knows whether the first one has failed too, and says it: others wait until a launcher would have
 * ended them. Returns "" or "rank 2: ", which then comes before what is said. */
const char *cli_ranks_begin_to_speak(char text[32]);
/* Joins the ranks, if there are any: fills `ranks` and `group`, and the number of threads where cores are shared. Ranks other
 * than the first become quiet. */
int cli_ranks_open(cli_call *cli);
/* Before data sets are loaded, by every rank: those of one machine share their rows where all are about to load `sets` of them.
 * Where they are not, their options differ, and what differs is said later; folds on some alone are refused here, since a rank
 * with folds and one without do not meet again. */
int cli_ranks_share(cli_call *cli, int sets);
/* The end of the command, which may have failed on this rank or another. *speaks: this one prints cli->error; *joined: as they
 * have agreed. */
int cli_ranks_settle(cli_call *cli, int status, bool *joined, bool *speaks);
/* After what is printed; `code` is the program's. Where a rank was lost it ends the program at once. */
void cli_ranks_close(cli_call *cli, int code);

#endif
