#include "base/thread.h"
#include "base/status.h"
#include <signal.h>

int brim_thread_start(pthread_t *thread, void *(*main)(void *), void *context, brim_error *err) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int number = pthread_create(thread, NULL, main, context);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number ? brim_error_system(err, NULL, "start a thread", number) : BRIM_OK;
}
