/* stream_read.c: bytes of a stream's file as they are on disk, waited for where it is a pipe or a terminal. */
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/status.h"
#include "base/stream_inside.h"

bool brim_stream_is_interrupted(const brim_stream *s) {
  return atomic_load(&s->interrupted) || (s->stop && atomic_load(&s->stop->set));
}

/* Waits until the file can be read or the stream is interrupted. */
static int wait_readable(brim_stream *s, brim_error *err) {
  struct pollfd fds[3] = {{.fd = s->fd, .events = POLLIN},
                          {.fd = s->wake[0], .events = POLLIN},
                          {.fd = s->stop ? s->stop->wake : -1, .events = POLLIN}};
  while (!brim_stream_is_interrupted(s)) {
    int n = poll(fds, 3, 500);
    if (brim_runtime_cancelled(s->runtime))
      return brim_error_cancelled(err);
    if (n > 0 && fds[0].revents)
      return BRIM_OK;
    if (n < 0 && errno != EINTR)
      return brim_error_system(err, s->name, "read", errno);
  }
  return brim_error_cancelled(err);
}

/* At the end of a file: whether it is where the end was when it was opened. What was added since is read. */
static int check_end(const brim_stream *s, brim_error *err) {
  struct stat now;
  if (s->size < 0 || fstat(s->fd, &now) != 0 || now.st_size >= s->size)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_IO, s->name, 0, -1,
                       "the file was cut while it was read: of %lld bytes there are %lld; leave it alone, and read it again",
                       (long long)s->size, (long long)now.st_size);
}

int brim_stream_read_file(brim_stream *s, char *to, size_t size, size_t *got, brim_error *err) {
  *got = 0;
  if (s->input_ended)
    return BRIM_OK;
  for (;;) {
    if (s->size < 0)
      BRIM_TRY(wait_readable(s, err));
    ssize_t n = read(s->fd, to, size);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (n < 0)
      return brim_error_system(err, s->name, "read", errno);
    *got = (size_t)n;
    s->input_ended = n == 0;
    return n == 0 ? check_end(s, err) : BRIM_OK;
  }
}
