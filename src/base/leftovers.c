/* leftovers.c: temporary files of killed processes. A name proves that brim made it (path.h), the lock that nobody uses it any
 * more. None of the runtime's memory is asked for. */
#include "base/leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/remove.h"

int brim_off_standard(int fd) {
  if (fd < 0 || fd > STDERR_FILENO)
    return fd;
  const int higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), number = errno;
  close(fd);
  errno = number;
  return higher;
}

/* Where a file system has no locks, nothing is ever cleared, and the name is as good. */
bool brim_hold_temporary(int fd) {
  struct stat info;
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return errno != EWOULDBLOCK;
  return fstat(fd, &info) != 0 || info.st_nlink > 0;
}

static void clear(int folder, const char *name) {
  const int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  struct stat info;
  if (fd < 0)
    return;
  const bool free = flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &info) == 0;
  if (free && S_ISREG(info.st_mode))
    (void)unlinkat(folder, name, 0);
  if (free && S_ISDIR(info.st_mode))
    brim_remove_folder_at(folder, name);
  close(fd);
}

static void clear_in(const char *folder, const char *path) {
  DIR *names = opendir(folder);
  const struct dirent *entry;
  while (names && (entry = readdir(names)))
    if (path ? brim_is_temporary_of(entry->d_name, path) : brim_is_temporary(entry->d_name))
      clear(dirfd(names), entry->d_name);
  if (names)
    closedir(names);
}

void brim_clear_leftovers_in(const char *folder) {
  clear_in(folder, NULL);
}

void brim_clear_leftovers(const char *path) {
  char folder[PATH_MAX];
  size_t length = strlen(path);
  if (length >= sizeof folder)
    return;
  memcpy(folder, path, length + 1);
  while (length > 1 && folder[length - 1] == '/')
    length--;
  while (length > 0 && folder[length - 1] != '/')
    length--;
  folder[length] = 0;
  clear_in(length ? folder : ".", path);
}
