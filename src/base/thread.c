#include "base/thread.h"
#include "base/status.h"
#include <signal.h>

enum { LEAST_STACK = 1 << 20 };

/* `ulimit -s` says how large a thread's stack is, too: it may be small for a shell's sake, and a job needs more. */
int brim_thread_create(pthread_t *thread, void *(*main)(void *), void *context) {
  pthread_attr_t attributes;
  size_t size;
  int number = pthread_attr_init(&attributes);
  if (number)
    return number;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < LEAST_STACK)
    number = pthread_attr_setstacksize(&attributes, LEAST_STACK);
  if (!number)
    number = pthread_create(thread, &attributes, main, context);
  pthread_attr_destroy(&attributes);
  return number;
}

int brim_thread_start(pthread_t *thread, void *(*main)(void *), void *context, brim_error *err) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int number = brim_thread_create(thread, main, context);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return number ? brim_error_system(err, NULL, "start a thread", number) : BRIM_OK;
}
