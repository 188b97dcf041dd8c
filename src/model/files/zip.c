/* zip.c: from the end of the archive to its directory, and from there to the entries. Numbers are little-endian. */
#include "model/files/zip.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { END = 22, LOCATOR = 20, END64 = 56, ENTRY = 46, LOCAL = 30, LONGEST_COMMENT = 65535 };
#define DIRECTORY_LIMIT ((int64_t)100 << 20) /* bytes */

typedef struct reading {
  const brim_store_file *file;
  brim_zip *zip;
  int64_t directory, directory_size;
} reading;

static uint64_t number(const uint8_t *bytes, int size) {
  uint64_t n = 0;
  for (int i = size; i-- > 0;)
    n = n << 8 | bytes[i];
  return n;
}

static int damaged(const reading *r, int64_t byte, const char *what, brim_error *err) {
  return brim_error_at(err, BRIM_E_FORMAT, r->file->path, 0, byte, "%s: the file is cut off or damaged; fetch it again", what);
}

/* A piece of the file that must lie in it. */
static int read_piece(const reading *r, void *to, int64_t size, int64_t offset, const char *what, brim_error *err) {
  if (offset < 0 || offset > r->file->size - size)
    return damaged(r, r->file->size, what, err);
  return brim_store_read_bytes(r->file, to, (size_t)size, offset, err);
}

/* ---- the end of the archive ------------------------------------------------------------------------------- */

/* A large archive has a second end record, which the locator before the first one points at. */
static int read_end64(reading *r, int64_t end, brim_error *err) {
  uint8_t locator[LOCATOR], record[END64];
  BRIM_TRY(read_piece(r, locator, LOCATOR, end - LOCATOR, "the archive has no locator of its directory", err));
  if (memcmp(locator, "PK\6\7", 4) != 0)
    return damaged(r, end - LOCATOR, "the archive has no locator of its directory", err);
  const int64_t at = (int64_t)(number(locator + 8, 8) & INT64_MAX);
  BRIM_TRY(read_piece(r, record, END64, at, "the archive's end record is after its end", err));
  if (memcmp(record, "PK\6\6", 4) != 0)
    return damaged(r, at, "the archive has no end record", err);
  r->directory_size = (int64_t)(number(record + 40, 8) & INT64_MAX);
  r->directory = (int64_t)(number(record + 48, 8) & INT64_MAX);
  return BRIM_OK;
}

/* The end record is the last thing in the file but for a comment. */
static int find_end(reading *r, brim_error *err) {
  uint8_t *tail = brim_alloc(r->zip->runtime, END + LONGEST_COMMENT);
  if (!tail)
    return BRIM_NOMEM(err);
  const int64_t size = r->file->size < END + LONGEST_COMMENT ? r->file->size : END + LONGEST_COMMENT, from = r->file->size - size;
  int status = brim_store_read_bytes(r->file, tail, (size_t)size, from, err);
  int64_t at = size - END;
  while (at >= 0 && memcmp(tail + at, "PK\5\6", 4) != 0)
    at--;
  if (!status && at < 0)
    status = damaged(r, r->file->size, "the archive has no end record", err);
  if (!status) {
    r->directory_size = (int64_t)number(tail + at + 12, 4);
    r->directory = (int64_t)number(tail + at + 16, 4);
    const bool large = r->directory == UINT32_MAX || r->directory_size == UINT32_MAX || number(tail + at + 10, 2) == UINT16_MAX;
    if (large)
      status = read_end64(r, from + at, err);
  }
  brim_release(r->zip->runtime, tail);
  return status;
}

/* ---- entries ---------------------------------------------------------------------------------------------- */

typedef struct sizes {
  int64_t packed, size, local;
} sizes;

/* What is too large for 32 bits is in the extra field 1, in this order. */
static bool read_extra(const uint8_t *extra, size_t length, sizes *s) {
  int64_t *const large[] = {&s->size, &s->packed, &s->local};
  for (size_t at = 0; at + 4 <= length;) {
    const size_t size = number(extra + at + 2, 2);
    const uint8_t *value = extra + at + 4;
    if (size > length - at - 4)
      return false;
    for (size_t i = 0, used = 0; number(extra + at, 2) == 1 && i < 3; i++) {
      if (*large[i] != UINT32_MAX)
        continue;
      if (used + 8 > size)
        return false;
      *large[i] = (int64_t)(number(value + used, 8) & INT64_MAX);
      used += 8;
    }
    at += 4 + size;
  }
  return true;
}

/* The bytes begin after the entry's own header, whose names and extras may be of other lengths than the directory's. */
static int find_entry(const reading *r, const sizes *s, brim_zip_entry *entry, brim_error *err) {
  uint8_t local[LOCAL];
  BRIM_TRY(read_piece(r, local, LOCAL, s->local, "an entry of the archive is after its end", err));
  if (memcmp(local, "PK\3\4", 4) != 0)
    return damaged(r, s->local, "an entry of the archive is not where its directory says", err);
  entry->offset = s->local + LOCAL + (int64_t)number(local + 26, 2) + (int64_t)number(local + 28, 2);
  entry->size = s->size;
  if (entry->offset > r->file->size || entry->size > r->file->size - entry->offset)
    return damaged(r, r->file->size, "an entry of the archive is after its end", err);
  return BRIM_OK;
}

/* The directory's entry at `at`; moves after it. */
static int read_entry(const reading *r, size_t *at, brim_error *err) {
  const uint8_t *bytes = r->zip->directory + *at;
  const int64_t byte = r->directory + (int64_t)*at;
  const size_t left = (size_t)r->directory_size - *at;
  if (left < ENTRY || memcmp(bytes, "PK\1\2", 4) != 0)
    return damaged(r, byte, "the archive's directory ends early", err);
  const size_t name = number(bytes + 28, 2), extra = number(bytes + 30, 2), comment = number(bytes + 32, 2);
  if (name + extra + comment > left - ENTRY)
    return damaged(r, byte, "the archive's directory ends early", err);
  sizes s = {(int64_t)number(bytes + 20, 4), (int64_t)number(bytes + 24, 4), (int64_t)number(bytes + 42, 4)};
  if (!read_extra(bytes + ENTRY + name, extra, &s))
    return damaged(r, byte, "an entry of the archive's directory makes no sense", err);
  if (number(bytes + 8, 2) & 1 || number(bytes + 10, 2) != 0 || s.packed != s.size)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, r->file->path, 0, byte, "entry %.*s of the archive is compressed or encrypted",
                         (int)(name < 200 ? name : 200), (const char *)bytes + ENTRY);
  brim_zip_entry entry = {.name = (const char *)bytes + ENTRY, .name_length = name};
  BRIM_TRY(find_entry(r, &s, &entry, err));
  brim_zip *zip = r->zip;
  BRIM_TRY(brim_grow(zip->runtime, (void **)&zip->entries, &zip->capacity, zip->count + 1, sizeof *zip->entries, err));
  BRIM_TRY(brim_hashmap_put(&zip->index, entry.name, name, (int32_t)zip->count, NULL, NULL, err));
  zip->entries[zip->count++] = entry;
  *at += ENTRY + name + extra + comment;
  return BRIM_OK;
}

int brim_zip_read(brim_runtime *runtime, const brim_store_file *file, brim_zip *out, brim_error *err) {
  *out = (brim_zip){.runtime = runtime};
  brim_hashmap_init(&out->index, runtime);
  reading r = {.file = file, .zip = out};
  BRIM_TRY(find_end(&r, err));
  if (r.directory_size > DIRECTORY_LIMIT || r.directory > file->size || r.directory_size > file->size - r.directory)
    return damaged(&r, file->size, "the archive's directory is after its end", err);
  out->directory = brim_alloc(runtime, (size_t)r.directory_size + 1);
  if (!out->directory)
    return BRIM_NOMEM(err);
  BRIM_TRY(brim_store_read_bytes(file, out->directory, (size_t)r.directory_size, r.directory, err));
  for (size_t at = 0; at < (size_t)r.directory_size;)
    BRIM_TRY(read_entry(&r, &at, err));
  return BRIM_OK;
}

void brim_zip_close(brim_zip *zip) {
  brim_release(zip->runtime, zip->directory);
  brim_release(zip->runtime, zip->entries);
  brim_hashmap_free(&zip->index);
}

const brim_zip_entry *brim_zip_find(const brim_zip *zip, const char *name, size_t length) {
  const int32_t i = brim_hashmap_get(&zip->index, name, length, -1);
  return i < 0 ? NULL : &zip->entries[i];
}
