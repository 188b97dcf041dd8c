/* ranks.c: a command that an MPI launcher has started several times. */
#include "ranks.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const cli_option cli_rank_options[] = {
    HEADING("Several processes"),
    INTEGER("rank-timeout", rank_timeout, "SECONDS", 1, 86400, .fallback = "20",
            .help = "under mpirun -n N brim ...: a process that gives no sign of life for this long counts as lost, and all "
                    "others end"),
    {0},
};

static bool works_in_ranks(const char *command) {
  static const char *const names[] = {"train", "evaluate", "predict", "compare"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(command, names[i]) == 0)
      return true;
  return false;
}

/* Says the same wherever it runs, and writes nothing. */
static bool only_tells(const char *command) {
  return strcmp(command, "version") == 0 || strcmp(command, "help") == 0 || strcmp(command, "completion") == 0;
}

bool cli_ranks_idle(const cli_call *cli) {
  const brim_launch launch = brim_launch_find();
  const char *name = cli->command->name;
  if (launch.rank == 0 || works_in_ranks(name) || only_tells(name))
    return false;
  fprintf(stderr,
          "brim: this is rank %d by the environment of %s, and `brim %s` is for rank 0 alone: nothing is done here; with "
          "BRIM_MPI=none it is\n",
          (int)launch.rank, launch.launcher, name);
  return true;
}

const char *cli_ranks_begin_to_speak(char text[32]) {
  const int32_t rank = brim_launch_find().rank;
  text[0] = 0;
  if (rank > 0) {
    sleep(BRIM_RANKS_PAUSE);
    snprintf(text, 32, "rank %d: ", (int)rank);
  }
  return text;
}

/* Ranks on the same cores share them, unless --threads says otherwise. */
static void share_cores(cli_call *cli) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (cli->values->threads > 0 || sched_getaffinity(0, sizeof cores, &cores) != 0)
    return;
  const int64_t share = CPU_COUNT(&cores) / brim_ranks_sharing(cli->ranks);
  cli->arguments.values.threads = share > 1 ? share : 1;
}

int cli_ranks_open(cli_call *cli) {
  const brim_launch launch = brim_launch_find();
  cli->group = brim_group_single();
  if (!launch.launcher || launch.world_size == 1 || !works_in_ranks(cli->command->name)) {
    if (cli_given(&cli->arguments, "rank-timeout"))
      cli_note(cli, "--rank-timeout has no effect: this process is alone");
    return BRIM_OK;
  }
  int status = brim_runtime_new(&(brim_runtime_options){.threads = 1}, &cli->ranks_runtime, &cli->error);
  if (!status)
    status = brim_ranks_open_process(cli->ranks_runtime, (double)cli->values->rank_timeout, &cli->ranks, &cli->error);
  if (status)
    return status;
  cli->group = *brim_ranks_group(cli->ranks);
  share_cores(cli);
  if (cli->group.rank > 0)
    cli->arguments.values.quiet = true;
  else if (cli->group.world_size > 1)
    cli_note(cli, "%d ranks of %lld thread%s by %s", (int)cli->group.world_size, (long long)cli->values->threads,
             cli->values->threads == 1 ? "" : "s", brim_ranks_library(cli->ranks));
  return BRIM_OK;
}

int cli_ranks_share(cli_call *cli, int sets) {
  enum { COLUMN = 1 << 20 };
  const brim_group *group = &cli->group;
  const double folds = (double)cli->values->folds + (cli->values->fold_column ? COLUMN : 0);
  double sums[4] = {sets, (double)sets * sets, folds, folds * folds};
  if (group->world_size <= 1)
    return BRIM_OK;
  const int status = group->sum_double(group->context, sums, 4, &cli->error);
  if (status)
    return status;
  /* n times the sum of squares is the square of the sum where all are equal */
  cli->share_rows = group->world_size * sums[1] == sums[0] * sums[0];
  if (group->world_size * sums[3] == sums[2] * sums[2])
    return BRIM_OK;
  return brim_error_set(&cli->error, BRIM_E_MISMATCH,
                        "the ranks would not train the same: --folds or --fold-column is not the same on all; start every rank "
                        "with the same options");
}

int cli_ranks_settle(cli_call *cli, int status, bool *joined, bool *speaks) {
  *joined = cli->ranks != NULL;
  *speaks = true;
  return cli->ranks ? brim_ranks_settle(cli->ranks, status, &cli->error, speaks) : status;
}

void cli_ranks_close(cli_call *cli, int code) {
  if (!cli->ranks)
    return;
  fflush(NULL);
  brim_ranks_end_with(cli->ranks, code);
  if (!brim_ranks_close(cli->ranks)) {
    fflush(NULL);
    _exit(code ? code : 1);
  }
  brim_runtime_free(cli->ranks_runtime);
  cli->ranks = NULL;
}
