/* remove.c: removal that follows no links. */
#include "base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Empties the folder that `fd` names, and closes it. Gives an errno. */
static int empty_folder(int fd) {
  DIR *folder = fdopendir(fd);
  if (!folder) {
    int number = errno;
    close(fd);
    return number;
  }
  int number = 0;
  for (const struct dirent *entry; !number && (entry = readdir(folder));) {
    const char *name = entry->d_name;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || unlinkat(fd, name, 0) == 0 || errno == ENOENT)
      continue;
    number = errno == EISDIR ? brim_remove_folder_at(fd, name) : errno;
  }
  closedir(folder);
  return number;
}

/* Another process may remove it too. */
static int unless_gone(int done) {
  return done == 0 || errno == ENOENT ? 0 : errno;
}

int brim_remove_folder_at(int parent, const char *name) {
  const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const int number = fd < 0 ? unless_gone(fd) : empty_folder(fd);
  return number || fd < 0 ? number : unless_gone(unlinkat(parent, name, AT_REMOVEDIR));
}

int brim_remove(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0)
    return unless_gone(-1);
  return S_ISDIR(info.st_mode) ? brim_remove_folder_at(AT_FDCWD, path) : unless_gone(unlink(path));
}
