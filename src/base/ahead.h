/* ahead.h: the next of several files, opened and begun by another thread while the one before is read. What comes out is the
 * same, and so does what fails: when that file is asked for, or when its stream is read. */
#ifndef BRIM_BASE_AHEAD_H
#define BRIM_BASE_AHEAD_H
#include "base/stream.h"
#include <pthread.h>

/* All zero but for the runtime and `stop`: nothing was begun. */
typedef struct brim_ahead {
  brim_runtime *runtime;
  const brim_stop *stop; /* of its streams; may be NULL */
  char *path;            /* NULL: nothing was begun */
  pthread_t thread;
  brim_stream *stream; /* this and what follows is the thread's until it is joined */
  int status;          /* of the opening */
  brim_error error;
} brim_ahead;

/* Begins to read a regular file; what was begun before is given up. Where no thread can be had nothing is begun. */
int brim_ahead_begin(brim_ahead *ahead, const char *path, brim_error *err) BRIM_CHECK;
/* Opens a file, or hands out its stream if it was begun, at its first byte. Nothing is begun any more. */
int brim_ahead_open(brim_ahead *ahead, const char *path, brim_stream **out, brim_error *err) BRIM_CHECK;
/* Gives up what was begun. */
void brim_ahead_drop(brim_ahead *ahead);

#endif
