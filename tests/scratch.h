/* scratch.h: a folder for the files of one test program, removed at the end. */
#ifndef BRIM_TESTS_SCRATCH_H
#define BRIM_TESTS_SCRATCH_H
#include <ftw.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static char scratch_path[256];

__attribute__((unused)) static int scratch_remove_one(const char *path, const struct stat *about, int flag, struct FTW *ftw) {
  (void)about, (void)flag, (void)ftw;
  return remove(path);
}

static void scratch_remove(void) {
  nftw(scratch_path, scratch_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Where folders go: in memory, where there is a gigabyte of room, because a test would wait longer for a disk than it computes.
 */
__attribute__((unused)) static const char *scratch_base(void) {
  struct statvfs info;
  const char *given = getenv("TMPDIR"), *memory = "/dev/shm";
  if (given && *given)
    return given;
  const bool fits = statvfs(memory, &info) == 0 && info.f_bavail * info.f_frsize >= (uint64_t)1 << 30;
  return fits && access(memory, W_OK | X_OK) == 0 ? memory : "/tmp";
}

/* The folder, made by the first call. */
__attribute__((unused)) static const char *scratch_folder(void) {
  if (!*scratch_path) {
    snprintf(scratch_path, sizeof scratch_path, "%s/brim-test-XXXXXX", scratch_base());
    if (!mkdtemp(scratch_path)) {
      perror(scratch_path);
      exit(99);
    }
    atexit(scratch_remove);
  }
  return scratch_path;
}

/* The path of a file in the folder; good until the program ends. */
__attribute__((unused)) static const char *scratch_file(const char *name) {
  static char *paths[1000];
  static int count;
  char path[512];
  snprintf(path, sizeof path, "%s/%s", scratch_folder(), name);
  for (int i = 0; i < count; i++)
    if (strcmp(paths[i], path) == 0)
      return paths[i];
  if (count == sizeof paths / sizeof *paths)
    exit(99);
  return paths[count++] = strdup(path);
}

__attribute__((unused)) static const char *scratch_write_bytes(const char *name, const void *bytes, size_t length) {
  const char *path = scratch_file(name);
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(bytes, 1, length, f) != length || fclose(f) != 0) {
    perror(path);
    exit(99);
  }
  return path;
}

__attribute__((unused)) static const char *scratch_write(const char *name, const char *text) {
  return scratch_write_bytes(name, text, strlen(text));
}

__attribute__((unused)) static const char *scratch_make_folder(const char *name) {
  const char *path = scratch_file(name);
  if (mkdir(path, 0777) != 0) {
    perror(path);
    exit(99);
  }
  return path;
}

#endif
