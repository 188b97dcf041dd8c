/* log.c: an append-only file of events that never ends in half a line. */
#include "train/folder/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/text.h"

bool brim_log_in_place(const brim_log_file *log) {
  struct stat ours, there;
  return log->file < 0 || (fstat(log->file, &ours) == 0 && lstat(log->path, &there) == 0 && ours.st_dev == there.st_dev &&
                           ours.st_ino == there.st_ino);
}

static int log_lock(brim_log_file *log, brim_error *err) {
  if (flock(log->file, LOCK_EX | LOCK_NB) == 0)
    return BRIM_OK;
  if (errno != EWOULDBLOCK)
    return brim_error_system(err, log->path, "lock", errno);
  return brim_error_at(err, BRIM_E_USAGE, log->path, 0, -1,
                       "another run is writing to this folder: wait for its end, or name another output folder");
}

static int log_open(brim_runtime *runtime, const char *path, brim_log_file *log, brim_error *err) {
  *log = (brim_log_file){.runtime = runtime, .file = -1};
  brim_text_init(&log->line, runtime);
  log->path = brim_copy_string(runtime, path, strlen(path));
  if (!log->path)
    return BRIM_NOMEM(err);
  log->file = brim_off_standard(open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
  struct stat info;
  const bool other = log->file < 0 && (errno == EISDIR || errno == ENXIO); /* a folder, a socket */
  int status = !other && (log->file < 0 || fstat(log->file, &info) != 0) ? brim_error_system(err, path, "open", errno) : BRIM_OK;
  if (!status && (other || !S_ISREG(info.st_mode)))
    status = brim_error_at(err, BRIM_E_USAGE, path, 0, -1, "a run's log is a file, and this is none: name another folder");
  if (!status)
    status = log_lock(log, err);
  if (!status && fstat(log->file, &info) != 0)
    status = brim_error_system(err, path, "read", errno);
  if (status) {
    brim_log_close(log);
    return status;
  }
  log->bytes = (uint64_t)info.st_size;
  return BRIM_OK;
}

/* Another process may have put another file in its place between the two calls, and then holds the lock of that. */
int brim_log_open(brim_runtime *runtime, const char *path, brim_log_file *log, brim_error *err) {
  enum { TRIES = 100 };
  BRIM_TRY(log_open(runtime, path, log, err));
  for (int i = 0; i < TRIES && !brim_log_in_place(log); i++) {
    brim_log_close(log);
    BRIM_TRY(log_open(runtime, path, log, err));
  }
  return BRIM_OK;
}

void brim_log_close(brim_log_file *log) {
  if (log->file >= 0)
    close(log->file); /* gives the lock back */
  if (log->path)
    brim_release(log->runtime, log->path);
  brim_text_free(&log->line);
  log->file = -1;
  log->path = NULL;
}

static int log_write(brim_log_file *log, brim_error *err) {
  BRIM_TRY(brim_text_status(&log->line, err));
  for (size_t done = 0; done < log->line.length;) {
    ssize_t wrote = write(log->file, log->line.data + done, log->line.length - done);
    if (wrote < 0 && errno == EINTR)
      continue;
    if (wrote <= 0) {
      int status = brim_error_system(err, log->path, "write", wrote < 0 ? errno : EIO);
      if (ftruncate(log->file, (off_t)log->bytes) != 0)
        return status; /* resume cuts the half line */
      return status;
    }
    done += (size_t)wrote;
  }
  log->bytes += log->line.length;
  return BRIM_OK;
}

int brim_log_append(brim_log_file *log, const brim_event *event, brim_error *err) {
  if (log->file < 0)
    return BRIM_OK;
  brim_text_clear(&log->line);
  brim_text_json_event(&log->line, event);
  brim_text_string(&log->line, "\n");
  return log_write(log, err);
}

/* The end of the last whole line within the first `limit` bytes: reads backwards in blocks. */
static int log_last_line_end(const brim_log_file *log, uint64_t limit, uint64_t *end, brim_error *err) {
  char block[4096];
  while (limit > 0) {
    size_t size = limit < sizeof block ? (size_t)limit : sizeof block;
    ssize_t got = pread(log->file, block, size, (off_t)(limit - size));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return brim_error_system(err, log->path, "read", errno);
    for (size_t i = (size_t)got; i > 0; i--)
      if (block[i - 1] == '\n') {
        *end = limit - size + i;
        return BRIM_OK;
      }
    limit -= size;
  }
  *end = 0;
  return BRIM_OK;
}

int brim_log_cut(brim_log_file *log, uint64_t bytes, brim_error *err) {
  if (log->file < 0)
    return BRIM_OK;
  uint64_t end;
  BRIM_TRY(log_last_line_end(log, bytes < log->bytes ? bytes : log->bytes, &end, err));
  if (ftruncate(log->file, (off_t)end) != 0)
    return brim_error_system(err, log->path, "shorten", errno);
  log->bytes = end;
  return BRIM_OK;
}

int brim_log_replace(brim_log_file *log, const char *bytes, size_t length, brim_error *err) {
  BRIM_TRY(brim_log_cut(log, 0, err));
  brim_text_clear(&log->line);
  brim_text_append(&log->line, bytes, length);
  return log_write(log, err);
}

static bool is_eval(const brim_json_value *event, uint64_t step, const char *name) {
  const brim_json_value *at = brim_json_get(event, "step"), *averaged = brim_json_get(event, "averaged");
  return brim_json_is_string(brim_json_get(event, "event"), "eval") && brim_json_is_string(brim_json_get(event, "name"), name) &&
         at && at->kind == BRIM_JSON_INT && (uint64_t)at->as.integer == step && averaged && averaged->as.integer == 0;
}

/* A line that is no event is passed over. */
static int find_eval(const brim_log_file *log, const char *text, size_t length, uint64_t step, const char *name, bool *has) {
  for (const char *line = text, *end = text + length; line < end && !*has;) {
    const char *stop = memchr(line, '\n', (size_t)(end - line));
    brim_json_document *document;
    stop = stop ? stop : end;
    const int status = brim_json_parse(log->runtime, line, (size_t)(stop - line), log->path, &document, NULL);
    if (status == BRIM_E_MEMORY)
      return status;
    if (!status) {
      *has = is_eval(brim_json_root(document), step, name);
      brim_json_free(document);
    }
    line = stop + 1;
  }
  return BRIM_OK;
}

int brim_log_has_eval(const brim_log_file *log, uint64_t step, const char *name, bool *has, brim_error *err) {
  enum { MOST = 1 << 20 }; /* bytes of the events of one step */
  *has = false;
  if (log->file < 0)
    return BRIM_OK;
  const size_t size = log->bytes < MOST ? (size_t)log->bytes : MOST;
  char *text = brim_alloc(log->runtime, size + 1);
  if (!text)
    return BRIM_NOMEM(err);
  const ssize_t got = pread(log->file, text, size, (off_t)(log->bytes - size));
  int status = got < 0 ? brim_error_system(err, log->path, "read", errno) : BRIM_OK;
  if (!status && find_eval(log, text, (size_t)got, step, name, has))
    status = BRIM_NOMEM(err);
  brim_release(log->runtime, text);
  return status;
}

int brim_log_sync(brim_log_file *log, brim_error *err) {
  if (log->file < 0)
    return BRIM_OK;
  return fsync(log->file) == 0 ? BRIM_OK : brim_error_system(err, log->path, "sync", errno);
}
