#include <signal.h>
#include <stddef.h>

#include "cli.h"

static brim_runtime *volatile running;

/* SA_RESETHAND: a second signal finds the default action and ends the process. */
static void on_signal(int number) {
  (void)number;
  brim_runtime *runtime = running;
  if (runtime)
    brim_runtime_cancel(runtime);
}

void cli_catch_signals(brim_runtime *runtime) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
  sigemptyset(&action.sa_mask);
  running = runtime;
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}

void cli_release_signals(void) {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  running = NULL;
}
