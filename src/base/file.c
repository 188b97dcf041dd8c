/* Atomic files: written under a temporary name, synced, renamed. */
#include "base/file.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 256 * 1024, READ_STEP = 64 * 1024 };

struct brim_file {
  brim_runtime *runtime;
  char *path, *temporary; /* no temporary: standard output or a device, which are written through */
  int fd;
  bool standard, broken, committed; /* standard: it is not closed; what failed once is never committed */
  bool synced;                      /* of brim_file_continue: free leaves the temporary */
  char *buffer;
  size_t used;
};

/* ---- creating ---- */

static int open_temporary(brim_file *file, const struct stat *old, brim_error *err) {
  int number = EEXIST;
  brim_clear_leftovers(file->path);
  for (int attempt = 0; attempt < 100 && number == EEXIST; attempt++) {
    brim_release(file->runtime, file->temporary);
    file->temporary = brim_temporary_name(file->runtime, file->path);
    if (!file->temporary)
      return BRIM_NOMEM(err);
    file->fd = brim_off_standard(open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    number = file->fd < 0 ? errno : brim_hold_temporary(file->fd) ? 0 : EEXIST;
    if (number && file->fd >= 0)
      close(file->fd), file->fd = -1; /* another process took it for left over */
  }
  if (number) {
    brim_release(file->runtime, file->temporary);
    file->temporary = NULL;
    return brim_error_system(err, file->path, "create the file", number);
  }
  /* A file that is replaced keeps its mode, where the file system has modes. */
  if (old && fchmod(file->fd, old->st_mode & 07777) != 0)
    errno = 0;
  return BRIM_OK;
}

/* A link to a file is replaced: only what is no file (a device, a pipe) is written through, and in a folder of brim's own
 * nothing.
 */
static int open_target(brim_file *file, const char *path, bool own, brim_error *err) {
  struct stat info, named;
  if (!*path)
    return brim_error_set(err, BRIM_E_USAGE, "the name of a file is empty");
  if (!own && strcmp(path, "-") == 0) {
    file->fd = STDOUT_FILENO;
    file->standard = true;
    file->path = brim_copy_string(file->runtime, "standard output", strlen("standard output"));
    return file->path ? BRIM_OK : BRIM_NOMEM(err);
  }
  const bool exists = (own ? lstat(path, &info) : stat(path, &info)) == 0;
  file->path = brim_copy_string(file->runtime, path, strlen(path));
  if (!file->path)
    return BRIM_NOMEM(err);
  if (exists && S_ISDIR(info.st_mode))
    return brim_error_system(err, path, "write the file", EISDIR);
  if (own || !exists || S_ISREG(info.st_mode))
    return open_temporary(file, exists && lstat(path, &named) == 0 && S_ISREG(named.st_mode) ? &named : NULL, err);
  file->fd = open(path, O_WRONLY | O_CLOEXEC);
  return file->fd < 0 ? brim_error_system(err, path, "open the file", errno) : BRIM_OK;
}

static brim_file *new_file(brim_runtime *runtime) {
  brim_file *file = brim_alloc_zero(runtime, sizeof *file);
  if (!file)
    return NULL;
  file->runtime = runtime;
  file->fd = -1;
  file->buffer = brim_alloc(runtime, BUFFER);
  if (file->buffer)
    return file;
  brim_file_free(file);
  return NULL;
}

static int create(brim_runtime *runtime, const char *path, bool own, brim_file **out, brim_error *err) {
  brim_file *file = new_file(runtime);
  const int status = file ? open_target(file, path, own, err) : BRIM_NOMEM(err);
  if (status != BRIM_OK) {
    brim_file_free(file);
    return status;
  }
  *out = file;
  return BRIM_OK;
}

int brim_file_create(brim_runtime *runtime, const char *path, brim_file **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, path);
  return create(runtime, path, false, out, err);
}

int brim_file_create_own(brim_runtime *runtime, const char *path, brim_file **out, brim_error *err) {
  *out = NULL;
  return create(runtime, path, true, out, err);
}

/* Whether the name is still that of the open file: between open and lock its process may have committed it. */
static bool is_still_there(const brim_file *file) {
  struct stat own, named;
  return fstat(file->fd, &own) == 0 && lstat(file->temporary, &named) == 0 && own.st_ino == named.st_ino &&
         own.st_dev == named.st_dev;
}

/* Opens and holds the partial file, or says why not. */
static int hold_partial(brim_file *file, brim_error *err) {
  for (;;) {
    file->fd = brim_off_standard(open(file->temporary, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file->fd < 0 && errno == ELOOP)
      return brim_error_at(
          err, BRIM_E_USAGE, file->temporary, 0, -1,
          "this is a link, and what is continued would be written through it: put a copy in its place, or remove it");
    if (file->fd < 0)
      return brim_error_system(err, file->temporary, "open the file", errno);
    const bool held = brim_hold_temporary(file->fd);
    if (held && is_still_there(file))
      return BRIM_OK;
    file->synced = true; /* it is the other one's */
    if (!held)
      return brim_error_at(err, BRIM_E_USAGE, file->temporary, 0, -1, "another process writes this file: wait for it, or end it");
    close(file->fd);
  }
}

/* The first bytes of the partial file as a file that has no other name. The buffer is free as long as nothing is written. */
static int write_own_partial(brim_file *file, uint64_t keep, brim_error *err) {
  brim_file *own = NULL;
  const int from = open(file->temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  int status = from < 0 ? brim_error_system(err, file->temporary, "open the file", errno)
                        : brim_file_create_own(file->runtime, file->temporary, &own, err);
  while (!status && keep > 0) {
    const ssize_t got = read(from, file->buffer, keep < BUFFER ? (size_t)keep : BUFFER);
    if (got < 0 && errno == EINTR)
      continue;
    status = got <= 0 ? brim_error_system(err, file->temporary, "read", got < 0 ? errno : EIO)
                      : brim_file_write(own, file->buffer, (size_t)got, err);
    keep -= got > 0 ? (uint64_t)got : 0;
  }
  if (!status)
    status = brim_file_commit(own, err);
  brim_file_free(own);
  if (from >= 0)
    close(from);
  return status;
}

/* Of `cp -al`: what is written must not come to the original. */
static int part_partial(brim_file *file, uint64_t keep, brim_error *err) {
  const bool synced = file->synced;
  file->synced = true; /* a failure leaves it */
  BRIM_TRY(write_own_partial(file, keep, err));
  close(file->fd);
  file->fd = -1;
  BRIM_TRY(hold_partial(file, err));
  file->synced = synced;
  return BRIM_OK;
}

int brim_file_cut(brim_file *file, uint64_t keep, brim_error *err) {
  struct stat info;
  file->synced = keep > 0;
  if (fstat(file->fd, &info) != 0)
    return brim_error_system(err, file->temporary, "ask for the file's size", errno);
  if ((uint64_t)info.st_size < keep) {
    file->synced = true; /* what is there is not this one's to remove */
    return brim_error_at(err, BRIM_E_MISMATCH, file->temporary, 0, -1,
                         "%llu bytes are there, fewer than the %llu to continue with", (unsigned long long)info.st_size,
                         (unsigned long long)keep);
  }
  if (info.st_nlink > 1)
    BRIM_TRY(part_partial(file, keep, err));
  if (ftruncate(file->fd, (off_t)keep) != 0 || lseek(file->fd, (off_t)keep, SEEK_SET) < 0)
    return brim_error_system(err, file->temporary, "cut the file", errno);
  return BRIM_OK;
}

static int open_partial(brim_file *file, uint64_t keep, brim_error *err) {
  struct stat info, old;
  BRIM_TRY(hold_partial(file, err));
  file->synced = fstat(file->fd, &info) == 0 && info.st_size > 0;
  if (stat(file->path, &old) == 0 && fchmod(file->fd, old.st_mode & 07777) != 0)
    errno = 0;
  return keep == BRIM_FILE_ALL ? BRIM_OK : brim_file_cut(file, keep, err);
}

static int name_partial(brim_file *file, const char *path, brim_error *err) {
  struct stat info;
  const size_t length = strlen(path);
  if (length == 0)
    return brim_error_set(err, BRIM_E_USAGE, "the name of a file is empty");
  if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode)))
    return brim_error_at(err, BRIM_E_USAGE, path, 0, -1, "only a file can be continued, not a pipe, a device or a folder");
  file->path = brim_copy_string(file->runtime, path, length);
  file->temporary = brim_alloc(file->runtime, length + sizeof ".partial");
  if (!file->path || !file->temporary)
    return BRIM_NOMEM(err);
  memcpy(file->temporary, path, length);
  memcpy(file->temporary + length, ".partial", sizeof ".partial");
  return BRIM_OK;
}

int brim_file_continue(brim_runtime *runtime, const char *path, uint64_t keep, brim_file **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, path);
  brim_file *file = new_file(runtime);
  int status = file ? name_partial(file, path, err) : BRIM_NOMEM(err);
  if (status == BRIM_OK)
    status = open_partial(file, keep, err);
  if (status != BRIM_OK) {
    brim_file_free(file);
    return status;
  }
  *out = file;
  return BRIM_OK;
}

int brim_file_over(brim_runtime *runtime, int descriptor, brim_file **out, brim_error *err) {
  *out = new_file(runtime);
  if (!*out)
    return BRIM_NOMEM(err);
  (*out)->fd = descriptor;
  (*out)->standard = true;
  return BRIM_OK;
}

/* ---- writing ---- */

/* Who reads a pipe may have stopped: a signal that cancels ends the waiting. */
static int write_through(brim_file *file, const char *bytes, size_t length, brim_error *err) {
  while (length) {
    ssize_t n = write(file->fd, bytes, length);
    const bool interrupted = n < 0 ? errno == EINTR : n > 0 && (size_t)n < length; /* of a pipe that is full */
    if (interrupted && !file->temporary && brim_runtime_cancelled(file->runtime)) {
      file->broken = true;
      return brim_error_cancelled(err);
    }
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      file->broken = true;
      return brim_error_system(err, file->path, "write", n < 0 ? errno : EIO); /* 0: a device that takes nothing */
    }
    bytes += n;
    length -= (size_t)n;
  }
  return BRIM_OK;
}

static int flush(brim_file *file, brim_error *err) {
  size_t used = file->used;
  file->used = 0;
  return write_through(file, file->buffer, used, err);
}

static int refuse_broken(const brim_file *file, brim_error *err) {
  return brim_error_at(err, BRIM_E_IO, file->path, 0, -1, "an earlier write failed");
}

int brim_file_write(brim_file *file, const void *bytes, size_t length, brim_error *err) {
  BRIM_GIVEN(err, file);
  BRIM_ARRAY(err, bytes, length);
  if (file->broken)
    return refuse_broken(file, err);
  if (file->used + length > BUFFER)
    BRIM_TRY(flush(file, err));
  if (length >= BUFFER)
    return write_through(file, bytes, length, err);
  if (length)
    memcpy(file->buffer + file->used, bytes, length);
  file->used += length;
  return BRIM_OK;
}

int brim_file_rewrite(brim_file *file, const void *bytes, size_t length, brim_error *err) {
  BRIM_GIVEN(err, file);
  BRIM_ARRAY(err, bytes, length);
  const char *from = bytes;
  if (file->broken)
    return refuse_broken(file, err);
  BRIM_TRY(flush(file, err));
  for (size_t done = 0; done < length;) {
    const ssize_t n = pwrite(file->fd, from + done, length - done, (off_t)done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0) {
      file->broken = true;
      return brim_error_system(err, file->path, "write", n < 0 ? errno : EIO);
    }
    done += (size_t)n;
  }
  return BRIM_OK;
}

int brim_file_sync(brim_file *file, brim_error *err) {
  BRIM_GIVEN(err, file);
  if (file->broken)
    return refuse_broken(file, err);
  BRIM_TRY(flush(file, err));
  if (fsync(file->fd) == 0) {
    file->synced = true;
    return BRIM_OK;
  }
  file->broken = true;
  return brim_error_system(err, file->path, "sync", errno);
}

static int fail_commit(brim_file *file, const char *doing, brim_error *err) {
  int number = errno;
  file->broken = true;
  return brim_error_system(err, file->path, doing, number);
}

int brim_file_commit(brim_file *file, brim_error *err) {
  BRIM_GIVEN(err, file);
  if (file->broken)
    return refuse_broken(file, err);
  if (file->committed)
    return BRIM_OK;
  BRIM_TRY(flush(file, err));
  if (!file->temporary)
    return BRIM_OK;
  if (fsync(file->fd) != 0)
    return fail_commit(file, "sync", err);
  const int held = dup(file->fd); /* the name is held until it is another: see brim_hold_temporary */
  int closed = close(file->fd);
  file->fd = held;
  if (closed != 0)
    return fail_commit(file, "close", err);
  if (rename(file->temporary, file->path) != 0)
    return fail_commit(file, "rename to the file", err);
  file->committed = true;
  return brim_sync_parent(file->runtime, file->path, err);
}

void brim_file_free(brim_file *file) {
  if (!file)
    return;
  if (file->temporary && !file->committed && !file->synced && file->fd >= 0)
    unlink(file->temporary);
  if (file->fd >= 0 && !file->standard)
    close(file->fd);
  brim_release(file->runtime, file->temporary);
  brim_release(file->runtime, file->path);
  brim_release(file->runtime, file->buffer);
  brim_release(file->runtime, file);
}

static int write_all(brim_runtime *runtime, const char *path, bool own, const void *bytes, size_t length, brim_error *err) {
  brim_file *file;
  BRIM_TRY(create(runtime, path, own, &file, err));
  int status = brim_file_write(file, bytes, length, err);
  if (status == BRIM_OK)
    status = brim_file_commit(file, err);
  brim_file_free(file);
  return status;
}

int brim_file_write_all(brim_runtime *runtime, const char *path, const void *bytes, size_t length, brim_error *err) {
  BRIM_GIVEN(err, runtime, path);
  BRIM_ARRAY(err, bytes, length);
  return write_all(runtime, path, false, bytes, length, err);
}

int brim_file_write_own(brim_runtime *runtime, const char *path, const void *bytes, size_t length, brim_error *err) {
  return write_all(runtime, path, true, bytes, length, err);
}

/* ---- reading ---- */

typedef struct growing {
  char *bytes;
  size_t length, capacity;
} growing;

static int read_rest(brim_runtime *runtime, int fd, const char *path, size_t limit, growing *g, brim_error *err) {
  for (;;) {
    if (g->length + 1 >= g->capacity)
      BRIM_TRY(brim_grow(runtime, (void **)&g->bytes, &g->capacity, g->length + READ_STEP, 1, err));
    ssize_t n = read(fd, g->bytes + g->length, g->capacity - g->length - 1);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return brim_error_system(err, path, "read", errno);
    g->length += (size_t)n;
    if (limit && g->length > limit)
      return brim_error_at(err, BRIM_E_UNSUPPORTED, path, 0, -1, "the file is larger than %zu bytes, the most that is read here",
                           limit);
    g->bytes[g->length] = 0;
    if (n == 0)
      return BRIM_OK;
  }
}

int brim_file_open_plain(const char *path, int *descriptor, brim_error *err) {
  struct stat info;
  *descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (*descriptor < 0)
    return brim_error_system(err, path, "open the file", errno);
  int status = BRIM_OK;
  if (fstat(*descriptor, &info) != 0 || S_ISDIR(info.st_mode))
    status = brim_error_system(err, path, "read", EISDIR);
  else if (!S_ISREG(info.st_mode))
    status = brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "this is a pipe or a device, and a file belongs here: put it there");
  if (status)
    close(*descriptor);
  return status;
}

size_t brim_file_head(const char *path, char *bytes, size_t most) {
  brim_error ignored;
  int fd;
  if (brim_file_open_plain(path, &fd, &ignored))
    return 0;
  const ssize_t got = pread(fd, bytes, most, 0);
  close(fd);
  return got > 0 ? (size_t)got : 0;
}

static int read_all(brim_runtime *runtime, const char *path, bool plain, size_t limit, char **bytes, size_t *length,
                    brim_error *err) {
  const bool standard = !plain && strcmp(path, "-") == 0;
  int fd = -1;
  if (plain)
    BRIM_TRY(brim_file_open_plain(path, &fd, err));
  else
    fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return brim_error_system(err, path, "open the file", errno);
  growing g = {0};
  struct stat info;
  int status = BRIM_OK;
  /* One byte more than there is, to see the end without growing; what /proc calls empty grows as it comes. */
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0 && (!limit || (uint64_t)info.st_size <= limit))
    status = brim_grow(runtime, (void **)&g.bytes, &g.capacity, (size_t)info.st_size + 2, 1, err);
  if (status == BRIM_OK)
    status = read_rest(runtime, fd, standard ? "standard input" : path, limit, &g, err);
  if (!standard)
    close(fd);
  if (status != BRIM_OK) {
    brim_release(runtime, g.bytes);
    return status;
  }
  *bytes = g.bytes;
  *length = g.length;
  return BRIM_OK;
}

int brim_file_read_all(brim_runtime *runtime, const char *path, size_t limit, char **bytes, size_t *length, brim_error *err) {
  BRIM_OUT(err, bytes);
  BRIM_OUT(err, length);
  BRIM_GIVEN(err, runtime, path);
  return read_all(runtime, path, false, limit, bytes, length, err);
}

int brim_file_read_plain(brim_runtime *runtime, const char *path, size_t limit, char **bytes, size_t *length, brim_error *err) {
  return read_all(runtime, path, true, limit, bytes, length, err);
}

int brim_file_refuse_pointer(const char *path, const char *bytes, size_t length, brim_error *err) {
  static const char git[] = "version https://git-lfs";
  if (length < sizeof git || memcmp(bytes, git, sizeof git - 1) != 0)
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_FORMAT, path, 1, -1,
                       "this is Git LFS's note of where the file is, not the file: fetch it with git lfs pull");
}
