/* file_faults.h: the n-th change of a file fails, or kills the process in the middle of it.
 *
 * The system calls by which files change are defined here once more, so that whatever the program links calls these. Included by
 * one source file of a program. */
#ifndef BRIM_TESTS_FILE_FAULTS_H
#define BRIM_TESTS_FILE_FAULTS_H
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct file_fault {
  long left; /* changes until the one that is hit; negative: none is */
  bool kill; /* SIGKILL, else errno becomes `number` */
  bool full; /* a full disk: only what needs room is hit, and so is all that follows */
  int number;
  long counted; /* changes so far */
} file_fault;

static file_fault file_faults = {.left = -1};

static bool file_fault_hits(bool needs_room) {
  file_faults.counted++;
  if (file_faults.left < 0 || (file_faults.full && !needs_room))
    return false;
  if (file_faults.left > 0) {
    file_faults.left--;
    return false;
  }
  if (!file_faults.full)
    file_faults.left = -1;
  return true;
}

/* Ends the process, or sets errno. */
static long file_fault_strike(void) {
  if (file_faults.kill) {
    kill(getpid(), SIGKILL);
    pause();
  }
  errno = file_faults.number;
  return -1;
}

/* A hit write gets half of its bytes into the file first. Streams of the test itself are left alone. */
ssize_t write(int fd, const void *bytes, size_t count) {
  if (fd <= 2 || !file_fault_hits(true))
    return syscall(SYS_write, fd, bytes, count);
  if (count > 1 && syscall(SYS_write, fd, bytes, count / 2) < 0)
    return -1;
  return file_fault_strike();
}

/* The machine itself does not fail here, so nothing need reach the disk: that would take most of a test's time. */
int fsync(int fd) {
  (void)fd;
  return (int)(file_fault_hits(false) ? file_fault_strike() : 0);
}

int ftruncate(int fd, off_t length) {
  return (int)(file_fault_hits(false) ? file_fault_strike() : syscall(SYS_ftruncate, fd, length));
}

int rename(const char *from, const char *to) {
  return (int)(file_fault_hits(false) ? file_fault_strike() : syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int mkdir(const char *path, mode_t mode) {
  return (int)(file_fault_hits(true) ? file_fault_strike() : syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int unlink(const char *path) {
  return (int)(file_fault_hits(false) ? file_fault_strike() : syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int rmdir(const char *path) {
  return (int)(file_fault_hits(false) ? file_fault_strike() : syscall(SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR));
}

int symlink(const char *target, const char *path) {
  return (int)(file_fault_hits(true) ? file_fault_strike() : syscall(SYS_symlinkat, target, AT_FDCWD, path));
}

#endif
