/* fault_folder.h: a process that is forked in the middle of some work does the rest of it in a copy of the files, so that the one
 * it was forked from finds its own as they were.
 *
 * Work that changes files does so in fault_folder() only. While the child is there, the parent's folder has another name and the
 * child's copy has the folder's; what the child holds open there is opened again in the copy. A large file is linked rather than
 * copied: such files are written beside their place and moved there. If one changes all the same, the program ends. */
#ifndef BRIM_TESTS_FAULT_FOLDER_H
#define BRIM_TESTS_FAULT_FOLDER_H
#include "scratch.h"
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>

enum { FAULT_PATH = 2 * PATH_MAX, FAULT_LARGE = 1 << 14 };

static char fault_made[512], fault_aside[PATH_MAX + 16];
static char fault_base[PATH_MAX]; /* where both are, without links in its path */

static pid_t fault_owner;

static void fault_remove_base(void) {
  if (getpid() == fault_owner)
    nftw(fault_base, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The folder, made by the first call: in memory if there is such a place, because it is made again for each child. */
__attribute__((unused)) static const char *fault_folder(void) {
  if (!*fault_made) {
    char base[300];
    snprintf(base, sizeof base, "%s/brim-fault-XXXXXX", scratch_base());
    if (!mkdtemp(base) || !realpath(base, fault_base)) {
      perror(base);
      exit(99);
    }
    fault_owner = getpid();
    atexit(fault_remove_base);
    if (snprintf(fault_made, sizeof fault_made, "%s/made", base) >= (int)sizeof fault_made || mkdir(fault_made, 0777) != 0)
      exit(99);
    snprintf(fault_aside, sizeof fault_aside, "%s/aside", fault_base);
  }
  return fault_made;
}

/* A path in the folder; good until the program ends. */
__attribute__((unused)) static const char *fault_file(const char *name) {
  static char paths[16][600];
  static int count;
  char *path = paths[count];
  fault_folder();
  snprintf(path, sizeof paths[0], "%s/%s", fault_made, name);
  for (int i = 0; i < count; i++)
    if (strcmp(paths[i], path) == 0)
      return paths[i];
  if (++count == sizeof paths / sizeof *paths)
    exit(99);
  return path;
}

static bool fault_copy_file(const char *from, const char *to, mode_t mode) {
  char bytes[1 << 16];
  int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 07777);
  ssize_t got = -1;
  bool good = in >= 0 && out >= 0;
  while (good && (got = read(in, bytes, sizeof bytes)) > 0)
    good = write(out, bytes, (size_t)got) == got;
  close(in), close(out);
  return good && got == 0;
}

static bool fault_copy_tree(const char *from, const char *to);

static bool fault_is_large(const struct stat *info) {
  return S_ISREG(info->st_mode) && info->st_size >= FAULT_LARGE;
}

/* Large files, and what would show a change of them: noted while they are copied, so that the folder is not walked again. */
enum { FAULT_MOST_LARGE = 64 };
static struct fault_large {
  char path[600];
  struct stat info;
} fault_large[FAULT_MOST_LARGE];
static int fault_large_count;

static bool fault_note_large(const char *path, const struct stat *info) {
  if (fault_large_count == FAULT_MOST_LARGE || strlen(path) >= sizeof fault_large->path)
    return false;
  struct fault_large *to = &fault_large[fault_large_count++];
  strcpy(to->path, path);
  to->info = *info;
  return true;
}

static bool fault_large_are_same(void) {
  for (int i = 0; i < fault_large_count; i++) {
    const struct stat *was = &fault_large[i].info;
    struct stat is;
    if (lstat(fault_large[i].path, &is) != 0 || is.st_ino != was->st_ino || is.st_size != was->st_size ||
        is.st_mtim.tv_sec != was->st_mtim.tv_sec || is.st_mtim.tv_nsec != was->st_mtim.tv_nsec)
      return false;
  }
  return true;
}

static bool fault_copy_entry(const char *from, const char *to) {
  struct stat info;
  char target[FAULT_PATH];
  if (lstat(from, &info) != 0)
    return false;
  if (S_ISDIR(info.st_mode))
    return fault_copy_tree(from, to);
  if (fault_is_large(&info)) /* a link changes the time of the inode, not of the contents */
    return fault_note_large(from, &info) && link(from, to) == 0;
  if (!S_ISLNK(info.st_mode))
    return fault_copy_file(from, to, info.st_mode);
  ssize_t length = readlink(from, target, sizeof target - 1);
  if (length < 0)
    return false;
  target[length] = 0;
  return symlink(target, to) == 0;
}

static bool fault_copy_tree(const char *from, const char *to) {
  DIR *folder = opendir(from);
  bool good = folder && mkdir(to, 0777) == 0;
  for (struct dirent *entry; good && (entry = readdir(folder));) {
    char a[FAULT_PATH], b[FAULT_PATH];
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
      continue;
    good = snprintf(a, sizeof a, "%s/%s", from, entry->d_name) < FAULT_PATH &&
           snprintf(b, sizeof b, "%s/%s", to, entry->d_name) < FAULT_PATH && fault_copy_entry(a, b);
  }
  if (folder)
    closedir(folder);
  return good;
}

/* In the parent, before a child begins. */
static bool fault_put_aside(void) {
  if (!*fault_made)
    return true;
  fault_large_count = 0;
  return rename(fault_made, fault_aside) == 0 && fault_copy_tree(fault_aside, fault_made);
}

/* In the parent, when the child is gone. */
static bool fault_bring_back(void) {
  if (!*fault_made)
    return true;
  nftw(fault_made, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
  return fault_large_are_same() && rename(fault_aside, fault_made) == 0;
}

/* Opens `path`, a file or folder, under the number it has in the parent, at the place where the parent is in it. */
static bool fault_open_as(int number, const char *path) {
  int mode = fcntl(number, F_GETFL), flags = fcntl(number, F_GETFD);
  off_t at = lseek(number, 0, SEEK_CUR);
  int file = open(path, (mode & (O_ACCMODE | O_APPEND | O_DIRECTORY)) | O_CLOEXEC);
  bool good = mode >= 0 && flags >= 0 && file >= 0 && (at < 0 || lseek(file, at, SEEK_SET) == at) &&
              dup3(file, number, flags & FD_CLOEXEC ? O_CLOEXEC : 0) == number;
  close(file);
  return good;
}

/* The same file in the copy, which is the parent's until it is copied after all. */
static bool fault_open_copy(int number, const char *path, const char *copy, const struct stat *info) {
  const bool writes = S_ISREG(info->st_mode) && (fcntl(number, F_GETFL) & O_ACCMODE) != O_RDONLY;
  if (writes && fault_is_large(info) && (unlink(copy) != 0 || !fault_copy_file(path, copy, info->st_mode)))
    return false;
  return fault_open_as(number, copy);
}

/* What one number is: false says that the child would change a file that it shares with the parent. */
static bool fault_open_again(int number) {
  char link[64], path[FAULT_PATH], inside[FAULT_PATH + 512];
  struct stat info;
  snprintf(link, sizeof link, "/proc/self/fd/%d", number);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0 || fstat(number, &info) != 0 || !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
    return true;
  path[length] = 0;
  size_t prefix = strlen(fault_aside);
  if (prefix && strncmp(path, fault_aside, prefix) == 0 && (!path[prefix] || path[prefix] == '/')) {
    snprintf(inside, sizeof inside, "%s%s", fault_made, path + prefix);
    return fault_open_copy(number, path, inside, &info);
  }
  if ((fcntl(number, F_GETFL) & O_ACCMODE) == O_RDONLY)
    return fault_open_as(number, link);
  prefix = strlen(fault_base);
  if (prefix && strncmp(path, fault_base, prefix) != 0)
    return true;
  printf("# %s is open for writing, outside of fault_folder()\n", path);
  return false;
}

/* In the child: opens again whatever is open; streams keep their numbers. */
static bool fault_open_all_again(void) {
  DIR *folder = opendir("/proc/self/fd");
  bool good = folder;
  for (struct dirent *entry; good && (entry = readdir(folder));) {
    int number = atoi(entry->d_name);
    if (number > 2 && number != dirfd(folder))
      good = fault_open_again(number);
  }
  if (folder)
    closedir(folder);
  return good;
}

#endif
