#include "base/ahead.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/thread.h"

enum { BEGINNING = 3 }; /* bytes that a reader looks at first; of a small gzip file the whole first member comes along */

static void *read_beginning(void *context) {
  brim_ahead *ahead = context;
  const char *bytes;
  size_t length;
  ahead->status = brim_stream_open_stoppable(ahead->runtime, ahead->path, ahead->stop, &ahead->stream, &ahead->error);
  if (ahead->status == BRIM_OK && brim_stream_peek(ahead->stream, BEGINNING, &bytes, &length, NULL) != BRIM_OK)
    return NULL; /* the stream fails again when it is read */
  return NULL;
}

int brim_ahead_begin(brim_ahead *ahead, const char *path, brim_error *err) {
  brim_ahead_drop(ahead);
  ahead->path = brim_copy_string(ahead->runtime, path, strlen(path));
  if (!ahead->path)
    return BRIM_NOMEM(err);
  if (brim_thread_start(&ahead->thread, read_beginning, ahead, NULL) == BRIM_OK)
    return BRIM_OK;
  brim_release(ahead->runtime, ahead->path);
  ahead->path = NULL;
  return BRIM_OK;
}

int brim_ahead_open(brim_ahead *ahead, const char *path, brim_stream **out, brim_error *err) {
  *out = NULL;
  if (!ahead->path || strcmp(ahead->path, path) != 0) {
    brim_ahead_drop(ahead);
    return brim_stream_open_stoppable(ahead->runtime, path, ahead->stop, out, err);
  }
  pthread_join(ahead->thread, NULL);
  brim_release(ahead->runtime, ahead->path);
  ahead->path = NULL;
  *out = ahead->stream;
  ahead->stream = NULL;
  if (ahead->status != BRIM_OK && err)
    *err = ahead->error;
  return ahead->status;
}

void brim_ahead_drop(brim_ahead *ahead) {
  brim_stream *stream = NULL;
  if (ahead->path && brim_ahead_open(ahead, ahead->path, &stream, NULL) == BRIM_OK)
    brim_stream_free(stream);
}
