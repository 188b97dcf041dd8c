#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "cli.h"

static brim_runtime *volatile running;

/* What asks for an end: Ctrl-C, kill, and the end of the terminal or of an ssh session. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS = sizeof ends / sizeof *ends };
static bool caught[ENDS];

/* SA_RESETHAND: a second signal finds the default action and ends the process. */
static void on_signal(int number) {
  (void)number;
  brim_runtime *runtime = running;
  if (runtime)
    brim_runtime_cancel(runtime);
}

void cli_catch_signals(brim_runtime *runtime) {
  const struct sigaction ask = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  struct sigaction before;
  running = runtime;
  for (int i = 0; i < ENDS; i++) {
    /* nohup has SIGHUP ignored, and that is meant. */
    caught[i] = sigaction(ends[i], NULL, &before) == 0 && !(ends[i] == SIGHUP && before.sa_handler == SIG_IGN);
    if (caught[i])
      sigaction(ends[i], &ask, NULL);
  }
  signal(SIGXFSZ, SIG_IGN); /* at the limit of a file's size the write fails, and is reported, as on a full disk */
}

void cli_release_signals(void) {
  for (int i = 0; i < ENDS; i++)
    if (caught[i])
      signal(ends[i], SIG_DFL);
  running = NULL;
}
