/* gzip_file.h: golden files that are kept compressed. */
#ifndef BRIM_TESTS_GZIP_FILE_H
#define BRIM_TESTS_GZIP_FILE_H
#include <stdlib.h>
#include <zlib.h>

/* All of a gzip file, NUL-terminated; NULL when it cannot be read. */
__attribute__((unused)) static char *read_gz(const char *path, size_t *length) {
  gzFile f = gzopen(path, "rb");
  if (!f)
    return NULL;
  size_t capacity = 1 << 20, n = 0;
  char *bytes = malloc(capacity + 1);
  for (int got; bytes && (got = gzread(f, bytes + n, (unsigned)(capacity - n))) > 0;) {
    n += (size_t)got;
    if (n == capacity)
      bytes = realloc(bytes, (capacity *= 2) + 1);
  }
  gzclose(f);
  if (bytes)
    bytes[n] = 0;
  *length = n;
  return bytes;
}

#endif
