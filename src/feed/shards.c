/* shards.c: which files there are, and what each of them looks like. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "data/source.h"
#include "feed/feed.h"

enum { SAMPLE = 16384, SAMPLES = 8 };

/* Reads `length` bytes at `offset`, fewer at the end. */
static int read_at(int fd, const char *path, int64_t offset, char *to, size_t length, size_t *got, brim_error *err) {
  for (*got = 0; *got < length;) {
    ssize_t n = pread(fd, to + *got, length - *got, offset + (int64_t)*got);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return brim_error_system(err, path, "read", errno);
    if (n == 0)
      break;
    *got += (size_t)n;
  }
  return BRIM_OK;
}

static bool is_compressed(const char *bytes, size_t length) {
  return (length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0) || (length >= 4 && memcmp(bytes, "\x28\xb5\x2f\xfd", 4) == 0);
}

/* Name, size and some pieces from the beginning to the end, where gzip has the checksum of all. */
static int fingerprint(const char *path, int64_t size, char *buffer, uint64_t *out, bool *compressed, brim_error *err) {
  const char *name = brim_path_name(path);
  uint64_t hash = brim_hash64(&size, sizeof size, brim_hash64(name, strlen(name), 0));
  int fd = open(path, O_RDONLY | O_CLOEXEC), status = BRIM_OK;
  if (fd < 0)
    return brim_error_system(err, path, "open", errno);
  for (int i = 0; i < SAMPLES && status == BRIM_OK; i++) {
    size_t got = 0;
    int64_t room = size > SAMPLE ? size - SAMPLE : 0;
    status = read_at(fd, path, room * i / (SAMPLES - 1), buffer, SAMPLE, &got, err);
    hash = brim_hash64(buffer, got, hash);
    if (i == 0)
      *compressed = is_compressed(buffer, got);
  }
  close(fd);
  *out = hash;
  return status;
}

static int take_file(brim_runtime *runtime, const brim_source_file *file, char *buffer, brim_shards *out, brim_error *err) {
  size_t i = out->count++;
  bool compressed = false;
  out->paths[i] = brim_copy_string(runtime, file->path, strlen(file->path));
  if (!out->paths[i])
    return BRIM_NOMEM(err);
  if (file->size < 0 || strcmp(file->path, "-") == 0) {
    out->once = true;
    return BRIM_OK;
  }
  BRIM_TRY(fingerprint(file->path, file->size, buffer, &out->prints[i], &compressed, err));
  out->sizes[i] = compressed ? -file->size : file->size;
  out->bytes += (double)file->size;
  return BRIM_OK;
}

static int take_files(brim_runtime *runtime, const brim_source *source, brim_shards *out, brim_error *err) {
  char *buffer = brim_alloc(runtime, SAMPLE);
  out->paths = brim_alloc_array_zero(runtime, source->count, sizeof *out->paths);
  out->prints = brim_alloc_array_zero(runtime, source->count, sizeof *out->prints);
  out->sizes = brim_alloc_array_zero(runtime, source->count, sizeof *out->sizes);
  int status = buffer && out->paths && out->prints && out->sizes ? BRIM_OK : BRIM_NOMEM(err);
  while (status == BRIM_OK && out->count < source->count)
    status = take_file(runtime, &source->files[out->count], buffer, out, err);
  brim_release(runtime, buffer);
  return status;
}

/* The files of all paths, one after another. */
static int cut_sources(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                       brim_shards *out, brim_error *err) {
  if (path_count > BRIM_FEED_SOURCES)
    return brim_error_set(err, BRIM_E_UNSUPPORTED, "%d sources are too many to mix: %d are possible", path_count,
                          BRIM_FEED_SOURCES);
  out->source_count = path_count;
  for (int i = 0; i < path_count; i++) {
    brim_source source;
    BRIM_TRY(brim_source_find(runtime, &paths[i], 1, options, &source, err));
    out->first[i + 1] = out->first[i] + source.count;
    brim_source_free(&source);
  }
  if (out->first[path_count] != out->count)
    return brim_error_set(err, BRIM_E_IO, "files were added or removed while brim looked for them: try again");
  return BRIM_OK;
}

int brim_shards_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     bool apart, brim_shards *out, brim_error *err) {
  brim_source source;
  *out = (brim_shards){.source_count = 1};
  BRIM_TRY(brim_source_find(runtime, paths, path_count, options, &source, err));
  int status = source.count >> (64 - BRIM_FEED_RECORD_BITS)
                   ? brim_error_set(err, BRIM_E_UNSUPPORTED, "%zu files are too many for one feed", source.count)
                   : take_files(runtime, &source, out, err);
  out->first[1] = source.count;
  brim_source_free(&source);
  if (status == BRIM_OK && apart)
    status = cut_sources(runtime, paths, path_count, options, out, err);
  if (status != BRIM_OK)
    brim_shards_free(runtime, out);
  return status;
}

static int check_file(const brim_shards *shards, size_t i, char *buffer, brim_error *err) {
  const char *path = shards->paths[i];
  struct stat now;
  bool compressed;
  uint64_t print;
  if (stat(path, &now) != 0)
    return brim_error_system(err, path, "open", errno);
  BRIM_TRY(fingerprint(path, (int64_t)now.st_size, buffer, &print, &compressed, err));
  if (print == shards->prints[i])
    return BRIM_OK;
  return brim_error_at(err, BRIM_E_MISMATCH, path, 0, -1,
                       "the file is another than in the epochs before: a stream's files stay as they are; begin again");
}

int brim_shards_check(brim_runtime *runtime, const brim_shards *shards, size_t first, size_t count, brim_error *err) {
  char *buffer = brim_alloc(runtime, SAMPLE);
  int status = buffer ? BRIM_OK : BRIM_NOMEM(err);
  for (size_t i = first; i < first + count && status == BRIM_OK; i++)
    if (shards->prints[i])
      status = check_file(shards, i, buffer, err);
  brim_release(runtime, buffer);
  return status;
}

void brim_shards_free(brim_runtime *runtime, brim_shards *shards) {
  for (size_t i = 0; shards->paths && i < shards->count; i++)
    brim_release(runtime, shards->paths[i]);
  brim_release(runtime, shards->paths);
  brim_release(runtime, shards->prints);
  brim_release(runtime, shards->sizes);
  *shards = (brim_shards){0};
}

double brim_shards_before(const brim_shards *shards, const uint32_t *order, size_t count, const brim_position *position) {
  double before = 0;
  for (size_t i = 0; i < count && (int64_t)i <= position->file; i++) {
    int64_t size = shards->sizes[order[i]];
    if ((int64_t)i < position->file)
      before += (double)(size < 0 ? -size : size);
    else if (size > 0)
      before += (double)(position->byte < size ? position->byte : size);
  }
  return before;
}
