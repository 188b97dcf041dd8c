/* stream_kept.c: streams of pipes that were looked into, and wait for whoever reads them. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/runtime.h"
#include "base/stream.h"
#include "base/stream_inside.h"

void brim_stream_keep(brim_stream *s) {
  brim_runtime *runtime = s->runtime;
  s->stop = NULL;
  pthread_mutex_lock(&runtime->keeping);
  s->next = runtime->kept;
  runtime->kept = s;
  pthread_mutex_unlock(&runtime->keeping);
}

static bool is_same(const brim_stream *s, const struct stat *about) {
  struct stat own;
  return fstat(s->fd, &own) == 0 && own.st_dev == about->st_dev && own.st_ino == about->st_ino;
}

brim_stream *brim_stream_take_kept(brim_runtime *runtime, const char *path) {
  struct stat about;
  brim_stream *found = NULL;
  if ((strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(path, &about)) != 0 || S_ISREG(about.st_mode))
    return NULL;
  pthread_mutex_lock(&runtime->keeping);
  brim_stream **at = &runtime->kept;
  while (*at && !is_same(*at, &about))
    at = &(*at)->next;
  found = *at;
  if (found)
    *at = found->next;
  pthread_mutex_unlock(&runtime->keeping);
  return found;
}

void brim_streams_free_kept(brim_runtime *runtime) {
  while (runtime->kept) {
    brim_stream *s = runtime->kept;
    runtime->kept = s->next;
    brim_stream_free(s);
  }
}
