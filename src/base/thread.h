/* thread.h: threads of the library's own. */
#ifndef BRIM_BASE_THREAD_H
#define BRIM_BASE_THREAD_H
#include "brim/base.h"
#include <pthread.h>

/* pthread_create with a stack that a job fits, whatever `ulimit -s` says. The error's number. */
int brim_thread_create(pthread_t *thread, void *(*main)(void *), void *context);
/* Starts a joinable thread in which every signal is blocked, so that the host program's own threads get them. */
int brim_thread_start(pthread_t *thread, void *(*main)(void *), void *context, brim_error *err) BRIM_CHECK;

#endif
