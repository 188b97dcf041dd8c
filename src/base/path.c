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

bool brim_path_is_link(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
}

bool brim_path_is_taken(const char *path) {
  struct stat info;
  return lstat(path, &info) == 0;
}

bool brim_path_is_folder(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool brim_path_is_read_once(const char *path) {
  struct stat info;
  return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

bool brim_path_is_file(const char *path) {
  struct stat info;
  return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345", mark[] = ".tmp-";
enum { MARK = sizeof mark - 1, RANDOM = 6, PROOF = 6, ENDING = MARK + RANDOM + PROOF };

static void put_letters(char *out, size_t count, uint64_t bits) {
  for (size_t i = 0; i < count; i++)
    out[i] = letters[bits >> 5 * i & 31];
}

/* The letters that end the name of which these bytes are the beginning. */
static void put_proof(char out[PROOF], const char *name, size_t length) {
  put_letters(out, PROOF, brim_hash64(name, length, 0x6272696d));
}

size_t brim_path_last(const char *path, size_t *end) {
  *end = strlen(path);
  while (*end > 1 && path[*end - 1] == '/')
    --*end;
  size_t first = *end;
  while (first > 0 && path[first - 1] != '/')
    first--;
  return first;
}

/* Of a name that becomes a temporary one: a long one is cut, so that the ending fits too. */
static size_t kept_length(size_t length) {
  return length > NAME_MAX - ENDING ? NAME_MAX - ENDING : length;
}

/* Only has to be unlikely: the caller makes the name exclusively and tries again. */
char *brim_temporary_name(brim_runtime *runtime, const char *path) {
  struct {
    struct timespec time;
    uint64_t process, address;
  } unique = {.process = (uint64_t)getpid()};
  size_t end;
  const size_t first = brim_path_last(path, &end), length = first + kept_length(end - first);
  char *name = brim_alloc(runtime, length + ENDING + 1);
  if (!name)
    return NULL;
  clock_gettime(CLOCK_REALTIME, &unique.time);
  unique.address = (uint64_t)(uintptr_t)name;
  memcpy(name, path, length);
  memcpy(name + length, mark, MARK);
  put_letters(name + length + MARK, RANDOM, brim_hash64(&unique, sizeof unique, 0));
  put_proof(name + length + MARK + RANDOM, name + first, length - first + MARK + RANDOM);
  name[length + ENDING] = 0;
  return name;
}

bool brim_is_temporary(const char *name) {
  const size_t length = strlen(name);
  char proof[PROOF];
  if (length <= ENDING || memcmp(name + length - ENDING, mark, MARK) != 0)
    return false;
  put_proof(proof, name, length - PROOF);
  return memcmp(proof, name + length - PROOF, PROOF) == 0;
}

bool brim_is_temporary_of(const char *name, const char *path) {
  size_t end;
  const size_t first = brim_path_last(path, &end), kept = kept_length(end - first);
  return strlen(name) == kept + ENDING && memcmp(name, path + first, kept) == 0 && brim_is_temporary(name);
}

char *brim_path_parent(brim_runtime *runtime, const char *path) {
  size_t end, length = brim_path_last(path, &end);
  while (length > 1 && path[length - 1] == '/')
    length--;
  return length ? brim_copy_string(runtime, path, length) : brim_copy_string(runtime, ".", 1);
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
  char *parent = brim_path_parent(runtime, path);
  if (!parent)
    return BRIM_NOMEM(err);
  int status = brim_sync_folder(parent, err);
  brim_release(runtime, parent);
  return status;
}
