/* torch.c: the tensors of a file that torch.save wrote: a zip archive
 * (https://docs.pytorch.org/docs/stable/notes/serialization.html)
 *
 *   NAME/data.pkl    a pickle that says which tensor is what part of which storage
 *   NAME/byteorder   "little"; missing in old files
 *   NAME/data/KEY    the bytes of storage KEY */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/files/pickle.h"
#include "model/files/zip.h"

#define PICKLE_LIMIT ((int64_t)100 << 20) /* bytes; that of a large model has 100 KB */

typedef struct reading {
  brim_store *store;
  int32_t file;
  brim_zip zip;
  const char *prefix; /* "NAME/" */
  size_t prefix_length;
} reading;

/* "NAME/WHAT", or NULL. */
static const brim_zip_entry *find(const reading *r, const char *what, size_t length) {
  char name[512];
  if (r->prefix_length + length > sizeof name)
    return NULL;
  memcpy(name, r->prefix, r->prefix_length);
  memcpy(name + r->prefix_length, what, length);
  return brim_zip_find(&r->zip, name, r->prefix_length + length);
}

static const brim_zip_entry *find_storage(const reading *r, const brim_pickled_tensor *t) {
  char what[256] = "data/";
  const size_t length = strlen(what);
  if (length + t->storage_length > sizeof what)
    return NULL;
  memcpy(what + length, t->storage, t->storage_length);
  return find(r, what, length + t->storage_length);
}

/* Elements of the tensor, and the index after the last one that it reaches; false when they do not fit 64 bits. */
static bool measure(const brim_pickled_tensor *t, int64_t *count, int64_t *end) {
  *count = 1;
  for (int32_t d = 0; d < t->rank; d++)
    if (__builtin_mul_overflow(*count, t->shape[d], count))
      return false;
  *end = t->offset;
  for (int32_t d = 0; *count > 0 && d < t->rank; d++) {
    int64_t reach;
    if (__builtin_mul_overflow(t->shape[d] - 1, t->stride[d], &reach) || __builtin_add_overflow(*end, reach, end))
      return false;
  }
  return *count == 0 || !__builtin_add_overflow(*end, 1, end);
}

/* Whether the elements, of which there are some, follow one another in memory. */
static bool is_whole(const brim_pickled_tensor *t) {
  int64_t expected = 1;
  for (int32_t d = t->rank; d-- > 0; expected *= t->shape[d])
    if (t->shape[d] != 1 && t->stride[d] != expected)
      return false;
  return true;
}

static int add_tensor(void *context, const char *name, size_t name_length, const brim_pickled_tensor *p, brim_error *err) {
  const reading *r = context;
  const char *path = r->store->files[r->file].path;
  const brim_zip_entry *storage = find_storage(r, p);
  const brim_dtype *dtype = brim_dtype_find(p->dtype, strlen(p->dtype));
  const int shown = (int)(name_length < 200 ? name_length : 200);
  int64_t end;
  bool twice;
  brim_stored t = {.dtype = p->dtype, .rank = p->rank, .file = r->file};
  memcpy(t.shape, p->shape, sizeof p->shape);
  memcpy(t.stride, p->stride, sizeof p->stride);
  if (!storage)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, p->byte, "the storage of tensor %.*s is not in the archive", shown, name);
  if (p->offset < 0 || p->elements > storage->size / dtype->size || !measure(p, &t.count, &end) || end > p->elements)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, p->byte, "tensor %.*s reaches beyond its storage of %lld bytes", shown,
                         name, (long long)storage->size);
  if (memchr(name, 0, name_length))
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, p->byte, "the name of a tensor has a NUL in it");
  t.name = brim_arena_copy_string(&r->store->arena, name, name_length);
  if (!t.name)
    return BRIM_NOMEM(err);
  t.strided = t.count > 0 && !is_whole(p);
  t.offset = storage->offset + p->offset * dtype->size;
  t.bytes = t.count > 0 ? (end - p->offset) * dtype->size : 0;
  BRIM_TRY(brim_store_add(r->store, &t, &twice, err));
  return twice ? brim_error_at(err, BRIM_E_FORMAT, path, 0, p->byte, "tensor %.200s is there twice", t.name) : BRIM_OK;
}

/* NAME/data.pkl, the first entry that ends so. */
static const brim_zip_entry *find_pickle(reading *r) {
  static const char end[] = "/data.pkl";
  const size_t length = strlen(end);
  for (size_t i = 0; i < r->zip.count; i++) {
    const brim_zip_entry *e = &r->zip.entries[i];
    if (e->name_length <= length || memcmp(e->name + e->name_length - length, end, length) != 0)
      continue;
    r->prefix = e->name;
    r->prefix_length = e->name_length - length + 1;
    return e;
  }
  return NULL;
}

static int check_order(const reading *r, brim_error *err) {
  const brim_store_file *file = &r->store->files[r->file];
  const brim_zip_entry *order = find(r, "byteorder", strlen("byteorder"));
  char text[6];
  if (!order)
    return BRIM_OK;
  if (order->size != sizeof text)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, file->path, 0, order->offset,
                         "the numbers of this file are not little-endian: save it as safetensors where it was made");
  BRIM_TRY(brim_store_read_bytes(file, text, sizeof text, order->offset, err));
  return memcmp(text, "little", sizeof text) == 0
             ? BRIM_OK
             : brim_error_at(err, BRIM_E_UNSUPPORTED, file->path, 0, order->offset,
                             "the numbers of this file are not little-endian: save it as safetensors where it was made");
}

static int read_archive(reading *r, brim_error *err) {
  const brim_store_file file = r->store->files[r->file];
  BRIM_TRY(brim_zip_read(r->store->runtime, &file, &r->zip, err));
  const brim_zip_entry *pickle = find_pickle(r);
  if (!pickle || pickle->size > PICKLE_LIMIT)
    return brim_error_at(err, BRIM_E_FORMAT, file.path, 0, -1,
                         "the archive is not one that torch.save wrote: it has no data.pkl");
  BRIM_TRY(check_order(r, err));
  uint8_t *bytes = brim_alloc(r->store->runtime, (size_t)pickle->size + 1);
  if (!bytes)
    return BRIM_NOMEM(err);
  int status = brim_store_read_bytes(&file, bytes, (size_t)pickle->size, pickle->offset, err);
  if (!status)
    status = brim_pickle_read(r->store->runtime, file.path, pickle->offset, bytes, (size_t)pickle->size, add_tensor, r, err);
  brim_release(r->store->runtime, bytes);
  return status;
}

int brim_torch_read(brim_store *s, int32_t file, brim_error *err) {
  reading r = {.store = s, .file = file};
  const int status = read_archive(&r, err);
  brim_zip_close(&r.zip);
  return status;
}
