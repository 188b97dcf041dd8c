/* signals.c: signals that end a run, and the standard streams of the process. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "cli.h"

static brim_runtime *volatile running;

/* What asks for an end: Ctrl-C, kill, and the end of the terminal or of an ssh session. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDS = sizeof ends / sizeof *ends };
static bool caught[ENDS];
static volatile sig_atomic_t asked;

/* SA_RESETHAND: a second signal finds the default action and ends the process. */
static void on_signal(int number) {
  asked = number;
  brim_runtime *runtime = running;
  if (runtime)
    brim_runtime_cancel(runtime);
}

/* A file that is mapped into memory, a cache of rows, became shorter: what was read there is gone. */
static void on_lost_memory(int number) {
  static const char line[] = "\nbrim: memory that a file holds is gone: a file of --cache was cut while its rows were in use, or "
                             "/dev/shm is full\n";
  (void)number;
  (void)!write(STDERR_FILENO, line, sizeof line - 1);
  _exit(1);
}

void cli_catch_signals(brim_runtime *runtime) {
  signal(SIGBUS, on_lost_memory);
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

int cli_signal(void) {
  return asked;
}

void cli_open_streams(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
      return;
}

bool cli_reader_gone(void) {
  struct pollfd output = {.fd = STDOUT_FILENO};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}
