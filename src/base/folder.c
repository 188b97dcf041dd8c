#include "base/folder.h"
#include "base/file.h"
#include "base/leftovers.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/remove.h"
#include "base/status.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "missing/../there" names nothing, and would be `there` once `missing` is made. */
static bool climbs_out_of_missing(char *path) {
  bool missing = false;
  for (char *p = path; *p;) {
    const size_t length = strcspn(p, "/");
    if (missing && length == 2 && memcmp(p, "..", 2) == 0)
      return true;
    p += length;
    const char end = *p;
    *p = 0;
    missing = missing || (length && !brim_path_exists(path));
    *p = end;
    p += end != 0;
  }
  return false;
}

int brim_make_folder(brim_runtime *runtime, const char *path, brim_error *err) {
  BRIM_GIVEN(err, runtime, path);
  if (!*path)
    return brim_error_system(err, path, "make a folder without a name", ENOENT);
  char *copy = brim_copy_string(runtime, path, strlen(path));
  if (!copy)
    return BRIM_NOMEM(err);
  int number = climbs_out_of_missing(copy) ? ENOENT : 0;
  for (char *p = copy + 1; !number; p++) {
    if (*p && *p != '/')
      continue;
    char end = *p;
    *p = 0;
    int failed = mkdir(copy, 0777) != 0 ? errno : 0; /* looking for the folder sets errno again */
    if (failed && !brim_path_is_folder(copy))
      number = failed == EEXIST ? ENOTDIR : failed;
    *p = end;
    if (!end)
      break;
  }
  brim_release(runtime, copy);
  return number ? brim_error_system(err, path, "make the folder", number) : BRIM_OK;
}

/* ---- lists, removal, copies ---- */

void brim_names_free(brim_runtime *runtime, char **names, size_t count) {
  for (size_t i = 0; names && i < count; i++)
    brim_release(runtime, names[i]);
  brim_release(runtime, names);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static int read_names(brim_runtime *runtime, DIR *folder, const char *path, char ***names, size_t *count, brim_error *err) {
  size_t capacity = 0;
  for (;;) {
    errno = 0;
    const struct dirent *entry = readdir(folder);
    if (!entry)
      return errno ? brim_error_system(err, path, "read the folder", errno) : BRIM_OK;
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    BRIM_TRY(brim_grow(runtime, (void **)names, &capacity, *count + 1, sizeof **names, err));
    char *copy = brim_copy_string(runtime, entry->d_name, strlen(entry->d_name));
    if (!copy)
      return BRIM_NOMEM(err);
    (*names)[(*count)++] = copy;
  }
}

int brim_folder_has(brim_runtime *runtime, const char *folder, const char *name, bool *has, brim_error *err) {
  char *path = brim_path_join(runtime, folder, name);
  *has = path && brim_path_is_taken(path);
  brim_release(runtime, path);
  return path ? BRIM_OK : BRIM_NOMEM(err);
}

int brim_list_folder(brim_runtime *runtime, const char *path, char ***names, size_t *count, brim_error *err) {
  *names = NULL;
  *count = 0;
  DIR *folder = opendir(path);
  if (!folder)
    return brim_error_system(err, path, "open the folder", errno);
  int status = read_names(runtime, folder, path, names, count, err);
  closedir(folder);
  if (status != BRIM_OK) {
    brim_names_free(runtime, *names, *count);
    *names = NULL;
    *count = 0;
    return status;
  }
  if (*count)
    qsort(*names, *count, sizeof **names, compare_names);
  return BRIM_OK;
}

int brim_remove_tree(brim_runtime *runtime, const char *path, brim_error *err) {
  (void)runtime;
  int number = brim_remove(path);
  return number ? brim_error_system(err, path, "remove", number) : BRIM_OK;
}

static int copy_bytes(int from, const char *name, brim_file *to, char *buffer, size_t size, brim_error *err) {
  for (;;) {
    ssize_t n = read(from, buffer, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return brim_error_system(err, name, "read", errno);
    if (n == 0)
      return brim_file_commit(to, err);
    BRIM_TRY(brim_file_write(to, buffer, (size_t)n, err));
  }
}

int brim_copy_file(brim_runtime *runtime, const char *from, const char *to, brim_error *err) {
  enum { SIZE = 128 * 1024 };
  int fd;
  BRIM_TRY(brim_file_open_plain(from, &fd, err));
  char *buffer = brim_alloc(runtime, SIZE);
  brim_file *file = NULL;
  int status = buffer ? brim_file_create_own(runtime, to, &file, err) : BRIM_NOMEM(err);
  if (status == BRIM_OK)
    status = copy_bytes(fd, from, file, buffer, SIZE, err);
  brim_file_free(file);
  brim_release(runtime, buffer);
  close(fd);
  return status;
}

/* ---- folders that are complete or absent ---- */

struct brim_folder {
  brim_runtime *runtime;
  char *path, *temporary;
  int held; /* holds `temporary` (leftovers.h); -1: nothing does */
};

/* Makes a folder of a temporary name, and holds it: an errno, EEXIST if another name is needed. */
static int make_temporary(brim_folder *folder) {
  if (mkdir(folder->temporary, 0777) != 0)
    return errno;
  folder->held = open(folder->temporary, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder->held >= 0 && brim_hold_temporary(folder->held))
    return 0;
  const int number = folder->held < 0 && errno != ENOENT ? errno : EEXIST;
  if (folder->held >= 0)
    close(folder->held), folder->held = -1;
  if (number != EEXIST)
    (void)rmdir(folder->temporary);
  return number;
}

int brim_folder_create(brim_runtime *runtime, const char *path, brim_folder **out, brim_error *err) {
  *out = NULL;
  brim_folder *folder = brim_alloc_zero(runtime, sizeof *folder);
  if (!folder)
    return BRIM_NOMEM(err);
  folder->runtime = runtime;
  folder->held = -1;
  folder->path = brim_copy_string(runtime, path, strlen(path));
  brim_clear_leftovers(path);
  int status = folder->path ? BRIM_OK : BRIM_NOMEM(err);
  for (int attempt = 0; status == BRIM_OK; attempt++) {
    folder->temporary = brim_temporary_name(runtime, path);
    if (!folder->temporary) {
      status = BRIM_NOMEM(err);
      break;
    }
    int number = make_temporary(folder);
    if (!number)
      break;
    brim_release(runtime, folder->temporary);
    folder->temporary = NULL;
    if (number != EEXIST || attempt == 100)
      status = brim_error_system(err, path, "make the folder", number);
  }
  if (status != BRIM_OK) {
    brim_folder_free(folder);
    return status;
  }
  *out = folder;
  return BRIM_OK;
}

const char *brim_folder_path(const brim_folder *folder) {
  return folder->temporary;
}

/* Folders within, then the folder itself: their lists of names must be on disk before the rename is. */
static int sync_tree(brim_runtime *runtime, const char *path, brim_error *err) {
  char **names;
  size_t count;
  BRIM_TRY(brim_list_folder(runtime, path, &names, &count, err));
  int status = BRIM_OK;
  for (size_t i = 0; i < count && status == BRIM_OK; i++) {
    char *child = brim_path_join(runtime, path, names[i]);
    struct stat info;
    if (!child)
      status = BRIM_NOMEM(err);
    else if (lstat(child, &info) == 0 && S_ISDIR(info.st_mode))
      status = sync_tree(runtime, child, err);
    brim_release(runtime, child);
  }
  brim_names_free(runtime, names, count);
  return status == BRIM_OK ? brim_sync_folder(path, err) : status;
}

/* In two steps: between them nothing has the name. */
static int exchange_in_steps(brim_folder *f, char *aside) {
  if (rename(f->path, aside) != 0)
    return errno;
  if (rename(f->temporary, f->path) == 0)
    return 0;
  const int number = errno;
  return rename(aside, f->path) != 0 ? errno : number;
}

/* The old folder's name for the new one, in one step where the system can exchange names. `temporary` is the old one's then. */
static int exchange(brim_folder *f, brim_error *err) {
  if (renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_EXCHANGE) == 0)
    return BRIM_OK;
  if (errno != EINVAL && errno != ENOSYS)
    return brim_error_system(err, f->path, "replace the folder", errno);
  char *aside = brim_temporary_name(f->runtime, f->path);
  if (!aside)
    return BRIM_NOMEM(err);
  const int number = exchange_in_steps(f, aside);
  if (number) {
    brim_release(f->runtime, aside);
    return brim_error_system(err, f->path, "replace the folder", number);
  }
  brim_release(f->runtime, f->temporary);
  f->temporary = aside;
  return BRIM_OK;
}

static void let_go(brim_folder *folder) {
  brim_release(folder->runtime, folder->temporary);
  folder->temporary = NULL;
}

int brim_folder_commit_new(brim_folder *folder, brim_error *err) {
  if (!folder->temporary)
    return BRIM_OK;
  BRIM_TRY(sync_tree(folder->runtime, folder->temporary, err));
  if (rename(folder->temporary, folder->path) != 0) {
    const bool taken = errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR;
    return taken ? brim_error_at(err, BRIM_E_USAGE, folder->path, 0, -1,
                                 "something has come there in the meantime, and stays: name another folder")
                 : brim_error_system(err, folder->path, "rename to the folder", errno);
  }
  let_go(folder);
  return brim_sync_parent(folder->runtime, folder->path, err);
}

int brim_folder_replace(brim_folder *folder, char **former, brim_error *err) {
  *former = NULL;
  if (!folder->temporary)
    return BRIM_OK;
  BRIM_TRY(sync_tree(folder->runtime, folder->temporary, err));
  BRIM_TRY(exchange(folder, err));
  *former = folder->temporary; /* no longer what this call wrote: Free leaves it */
  folder->temporary = NULL;
  return brim_sync_parent(folder->runtime, folder->path, err);
}

void brim_folder_free(brim_folder *folder) {
  if (!folder)
    return;
  if (folder->temporary)
    (void)brim_remove(folder->temporary); /* when that fails it is left: nobody could be informed */
  if (folder->held >= 0)
    close(folder->held);
  brim_release(folder->runtime, folder->temporary);
  brim_release(folder->runtime, folder->path);
  brim_release(folder->runtime, folder);
}
