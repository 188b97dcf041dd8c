/* one_thread.c: for programs that have no threads, as tests/meson.build says of them: making one ends them. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument) {
  (void)thread, (void)attributes, (void)start, (void)argument;
  fprintf(stderr, "this program makes a thread: take it out of test_alone in tests/meson.build\n");
  abort();
}
