/* stream_kept.c: streams of pipes that were looked into, and wait for whoever reads them, or until who looked gives them up. */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/runtime.h"
#include "base/stream.h"
#include "base/stream_inside.h"

void brim_stream_keep(brim_stream *s, const void *owner) {
  brim_runtime *runtime = s->runtime;
  s->stop = NULL;
  s->owner = owner;
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
  const bool standard = strcmp(path, "-") == 0; /* is read from where it is, whatever it is */
  if ((standard ? fstat(STDIN_FILENO, &about) : stat(path, &about)) != 0 || (!standard && S_ISREG(about.st_mode)))
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

void brim_streams_give_up(brim_runtime *runtime, const void *owner) {
  brim_stream *given_up = NULL;
  pthread_mutex_lock(&runtime->keeping);
  for (brim_stream **at = &runtime->kept; *at;) {
    brim_stream *s = *at;
    if (owner && s->owner != owner) {
      at = &s->next;
      continue;
    }
    *at = s->next;
    s->next = given_up;
    given_up = s;
  }
  pthread_mutex_unlock(&runtime->keeping);
  while (given_up) {
    brim_stream *s = given_up;
    given_up = s->next;
    brim_stream_free(s);
  }
}
