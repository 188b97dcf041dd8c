/* process.c: a process that is a rank, and ends when the others are lost. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/thread.h"
#include "dist/ranks.h"

enum { EXIT_LOST = 1 };
enum { LONGEST_START = 25, LONGEST_END = 15 }; /* seconds; for the start the timeout, if that is more */

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

/* ---- MPI waits for ever for a process that ends before it has come to its start, and may do so at its end ---------- */

typedef struct watch {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool over;
  double patience;
  void (*late)(const struct watch *watch);
  int code; /* of the process */
} watch;

static void *keep_watch(void *context) {
  watch *w = context;
  const struct timespec until = brim_time_after(w->patience);
  int waited = 0;
  pthread_mutex_lock(&w->lock);
  while (!w->over && waited != ETIMEDOUT)
    waited = pthread_cond_timedwait(&w->changed, &w->lock, &until);
  const bool over = w->over;
  pthread_mutex_unlock(&w->lock);
  if (!over)
    w->late(w);
  return NULL;
}

static void destroy(watch *w) {
  pthread_cond_destroy(&w->changed);
  pthread_mutex_destroy(&w->lock);
}

static int begin(watch *w, brim_error *err) {
  pthread_condattr_t monotonic;
  pthread_mutex_init(&w->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&w->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  const int status = brim_thread_start(&w->thread, keep_watch, w, err);
  if (status)
    destroy(w);
  return status;
}

static void end(watch *w) {
  pthread_mutex_lock(&w->lock);
  w->over = true;
  pthread_cond_signal(&w->changed);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  destroy(w);
}

static void late_start(const watch *w) {
  char text[160];
  snprintf(text, sizeof text,
           "MPI has not begun within %.0f seconds: a process has ended or cannot be reached; --rank-timeout gives it more",
           w->patience);
  end_process(NULL, text, brim_launch_find().rank <= 1);
}

int brim_ranks_open_process(brim_runtime *runtime, double timeout, brim_ranks **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime);
  watch w = {.patience = timeout > LONGEST_START ? timeout : LONGEST_START, .late = late_start};
  ignore_launcher();
  BRIM_TRY(begin(&w, err));
  const int status = brim_ranks_open(runtime, &(brim_ranks_options){.timeout = timeout, .overdue = end_process}, out, err);
  end(&w);
  if (!status)
    (*out)->is_process = true;
  return status;
}

/* All that ranks compute and say is done and said by now. */
static void late_end(const watch *w) {
  if (brim_launch_find().rank == 0)
    fprintf(stderr, "brim: MPI has not come to its end within %.0f seconds: it is left%s\n", w->patience,
            w->code ? "" : ", all work was done before");
  fflush(NULL);
  _exit(w->code);
}

void brim_process_tell(const char *message) {
  fprintf(stderr, "brim: %s\n", message);
  fflush(stderr);
}

void brim_process_end_mpi(brim_ranks *r) {
  brim_error err;
  const int code = r->own.status || r->failed.status ? EXIT_LOST : 0;
  watch w = {.patience = LONGEST_END, .late = late_end, .code = r->has_code ? r->code : code};
  const bool watched = r->is_process && begin(&w, &err) == BRIM_OK;
  brim_mpi_end(r->mpi);
  if (watched)
    end(&w);
}
