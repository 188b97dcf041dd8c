/* path.c: names of files and folders: made, looked up, and on disk for good. */
#include "base/path.h"
#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *brim_path_join(brim_runtime *runtime, const char *folder, const char *name) {
  size_t a = strlen(folder), b = strlen(name);
  bool slash = a && folder[a - 1] != '/';
  char *path = brim_alloc(runtime, a + slash + b + 1);
  if (!path)
    return NULL;
  memcpy(path, folder, a);
  if (slash)
    path[a] = '/';
  memcpy(path + a + slash, name, b + 1);
  return path;
}

const char *brim_path_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

bool brim_path_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

bool brim_path_is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Only has to be unlikely: the caller makes the name exclusively and tries again. */
char *brim_temporary_name(brim_runtime *runtime, const char *path) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345", mark[] = ".tmp-";
  enum { MARK = sizeof mark - 1, RANDOM = 6, ENDING = MARK + RANDOM };
  struct {
    struct timespec time;
    uint64_t process, address;
  } unique = {.process = (uint64_t)getpid()};
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  size_t last = length; /* where the name in its folder begins: a long one is cut, so that the ending fits too */
  while (last > 0 && path[last - 1] != '/')
    last--;
  if (length - last > NAME_MAX - ENDING)
    length = last + NAME_MAX - ENDING;
  char *name = brim_alloc(runtime, length + ENDING + 1);
  if (!name)
    return NULL;
  clock_gettime(CLOCK_REALTIME, &unique.time);
  unique.address = (uint64_t)(uintptr_t)name;
  uint64_t bits = brim_hash64(&unique, sizeof unique, 0);
  memcpy(name, path, length);
  memcpy(name + length, mark, MARK);
  for (size_t i = 0; i < RANDOM; i++)
    name[length + MARK + i] = letters[bits >> 5 * i & 31];
  name[length + ENDING] = 0;
  return name;
}

int brim_sync_folder(const char *path, brim_error *err) {
  int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return brim_error_system(err, path, "open the folder", errno);
  /* Some file systems cannot sync a folder; then there is nothing to be done. */
  int number = fsync(fd) != 0 && errno != EINVAL && errno != ENOTSUP && errno != EROFS ? errno : 0;
  close(fd);
  return number ? brim_error_system(err, path, "sync the folder", number) : BRIM_OK;
}

int brim_sync_parent(brim_runtime *runtime, const char *path, brim_error *err) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/')
    length--;
  while (length && path[length - 1] != '/')
    length--;
  while (length > 1 && path[length - 1] == '/')
    length--;
  char *parent = length ? brim_copy_string(runtime, path, length) : brim_copy_string(runtime, ".", 1);
  if (!parent)
    return BRIM_NOMEM(err);
  int status = brim_sync_folder(parent, err);
  brim_release(runtime, parent);
  return status;
}
