/* process.c: a process that is a rank, and ends when the others are lost. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "brim/dist.h"

enum { EXIT_LOST = 1, PAUSE = 4 }; /* seconds in which the rank that speaks ends the job */

/* Called from another thread: a rank is lost, and this one does not come to an end. */
static void end_process(void *context, const char *message, bool speaks) {
  (void)context;
  if (speaks)
    fprintf(stderr, "\nbrim: %s\n", message);
  else
    sleep(PAUSE);
  fflush(NULL);
  _exit(EXIT_LOST);
}

/* With -disable-auto-cleanup MPICH's launcher sends it to all when a rank dies. */
static void ignore_launcher(void) {
  struct sigaction now;
  if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
    signal(SIGUSR1, SIG_IGN);
}

int brim_ranks_open_process(brim_runtime *runtime, double timeout, brim_ranks **out, brim_error *err) {
  ignore_launcher();
  return brim_ranks_open(runtime, &(brim_ranks_options){.timeout = timeout, .overdue = end_process}, out, err);
}
