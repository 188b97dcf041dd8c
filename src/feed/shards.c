/* shards.c: which files there are, and what each of them looks like. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/hashmap.h"
#include "base/memory.h"
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

/* Name, size and some pieces from the beginning to the end, where gzip has the checksum of all. */
static int fingerprint(const char *path, int64_t size, char *buffer, uint64_t *out, brim_error *err) {
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
  }
  close(fd);
  *out = hash;
  return status;
}

static int take_files(brim_runtime *runtime, const brim_source *source, brim_shards *out, brim_error *err) {
  char *buffer = brim_alloc(runtime, SAMPLE);
  out->paths = brim_alloc_array_zero(runtime, source->count, sizeof *out->paths);
  out->prints = brim_alloc_array_zero(runtime, source->count, sizeof *out->prints);
  int status = buffer && out->paths && out->prints ? BRIM_OK : BRIM_NOMEM(err);
  for (; status == BRIM_OK && out->count < source->count; out->count++) {
    const brim_source_file *file = &source->files[out->count];
    out->paths[out->count] = brim_copy_string(runtime, file->path, strlen(file->path));
    if (!out->paths[out->count])
      status = BRIM_NOMEM(err);
    else if (file->size < 0 || strcmp(file->path, "-") == 0)
      status = brim_error_at(err, BRIM_E_USAGE, brim_source_name(file), 0, -1,
                             "only files can be read again in every epoch: write the data to a file first");
    else
      status = fingerprint(file->path, file->size, buffer, &out->prints[out->count], err);
  }
  brim_release(runtime, buffer);
  return status;
}

int brim_shards_find(brim_runtime *runtime, const char *const *paths, int path_count, const brim_source_options *options,
                     brim_shards *out, brim_error *err) {
  brim_source source;
  *out = (brim_shards){0};
  BRIM_TRY(brim_source_find(runtime, paths, path_count, options, &source, err));
  int status = source.count >> (64 - BRIM_FEED_RECORD_BITS)
                   ? brim_error_set(err, BRIM_E_UNSUPPORTED, "%zu files are too many for one feed", source.count)
                   : take_files(runtime, &source, out, err);
  brim_source_free(&source);
  if (status != BRIM_OK)
    brim_shards_free(runtime, out);
  return status;
}

void brim_shards_free(brim_runtime *runtime, brim_shards *shards) {
  for (size_t i = 0; shards->paths && i < shards->count; i++)
    brim_release(runtime, shards->paths[i]);
  brim_release(runtime, shards->paths);
  brim_release(runtime, shards->prints);
  *shards = (brim_shards){0};
}
