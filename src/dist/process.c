/* process.c: a process that is a rank, and ends when the others are lost. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "brim/dist.h"

enum { EXIT_LOST = 1 };
enum { LONGEST_START = 25 }; /* seconds, or the timeout, if that is more */

/* Called from another thread: a rank is lost, and this one does not come to an end. */
static void end_process(void *context, const char *message, bool speaks) {
  (void)context;
  if (speaks)
    fprintf(stderr, "\nbrim: %s\n", message);
  else
    sleep(BRIM_RANKS_PAUSE);
  fflush(NULL);
  _exit(EXIT_LOST);
}

/* With -disable-auto-cleanup MPICH's launcher sends it to all when a rank dies. */
static void ignore_launcher(void) {
  struct sigaction now;
  if (sigaction(SIGUSR1, NULL, &now) == 0 && now.sa_handler == SIG_DFL)
    signal(SIGUSR1, SIG_IGN);
}

/* ---- the start: MPI waits for ever for a rank that ends before it has come to it ------------------------------ */

typedef struct start {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;
  double patience;
} start;

static void *watch_start(void *context) {
  start *s = context;
  const struct timespec until = brim_time_after(s->patience);
  int waited = 0;
  pthread_mutex_lock(&s->lock);
  while (!s->over && waited != ETIMEDOUT)
    waited = pthread_cond_timedwait(&s->changed, &s->lock, &until);
  const bool over = s->over;
  pthread_mutex_unlock(&s->lock);
  if (!over) {
    char text[160];
    snprintf(text, sizeof text,
             "MPI has not begun within %.0f seconds: a process has ended or cannot be reached; --rank-timeout gives it more",
             s->patience);
    end_process(NULL, text, brim_launch_find().rank <= 1);
  }
  return NULL;
}

int brim_ranks_open_process(brim_runtime *runtime, double timeout, brim_ranks **out, brim_error *err) {
  pthread_t watch;
  pthread_condattr_t monotonic;
  start s = {.patience = timeout > LONGEST_START ? timeout : LONGEST_START};
  ignore_launcher();
  pthread_mutex_init(&s.lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&s.changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  int status = brim_thread_start(&watch, watch_start, &s, err);
  if (!status) {
    status = brim_ranks_open(runtime, &(brim_ranks_options){.timeout = timeout, .overdue = end_process}, out, err);
    pthread_mutex_lock(&s.lock);
    s.over = true;
    pthread_cond_signal(&s.changed);
    pthread_mutex_unlock(&s.lock);
    pthread_join(watch, NULL);
  }
  pthread_cond_destroy(&s.changed);
  pthread_mutex_destroy(&s.lock);
  return status;
}
