/* store.c: tensors in files, whatever their format. */
#include "model/files/store.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "model/files/dtype.h"

const brim_dtype *brim_dtype_find(const char *name, size_t length) {
  static const brim_dtype dtypes[] = {
      {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},  {"I32", 4},     {"I16", 2},     {"I8", 1},
      {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
  };
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (strlen(dtypes[i].name) == length && memcmp(dtypes[i].name, name, length) == 0)
      return &dtypes[i];
  return NULL;
}

/* ---- headers ----------------------------------------------------------------------------------------------- */

brim_store *brim_store_new(brim_runtime *runtime) {
  brim_store *s = brim_alloc_zero(runtime, sizeof *s);
  if (s) {
    s->runtime = runtime;
    brim_arena_init(&s->arena, runtime, 0);
    brim_hashmap_init(&s->index, runtime);
  }
  return s;
}

int brim_store_add_file(brim_store *s, const char *path, int descriptor, int64_t size, int32_t *out, brim_error *err) {
  const char *copy = brim_arena_copy_string(&s->arena, path, strlen(path));
  int status = copy ? brim_grow(s->runtime, (void **)&s->files, &s->file_capacity, s->file_count + 1, sizeof *s->files, err)
                    : BRIM_NOMEM(err);
  if (status) {
    if (descriptor >= 0)
      close(descriptor);
    return status;
  }
  *out = (int32_t)s->file_count;
  s->files[s->file_count++] = (brim_store_file){copy, descriptor, size};
  return BRIM_OK;
}

int brim_store_add(brim_store *s, const brim_stored *tensor, bool *twice, brim_error *err) {
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->tensors, &s->capacity, s->count + 1, sizeof *s->tensors, err));
  BRIM_TRY(brim_hashmap_put(&s->index, tensor->name, strlen(tensor->name), (int32_t)s->count, twice, NULL, err));
  s->tensors[s->count++] = *tensor;
  return BRIM_OK;
}

void brim_store_close(brim_store *store) {
  if (!store)
    return;
  for (size_t i = 0; i < store->file_count; i++)
    if (store->files[i].descriptor >= 0)
      close(store->files[i].descriptor);
  brim_hashmap_free(&store->index);
  brim_arena_free(&store->arena);
  brim_release(store->runtime, store->files);
  brim_release(store->runtime, store->tensors);
  brim_release(store->runtime, store);
}

/* ---- files ------------------------------------------------------------------------------------------------- */

int brim_store_read_bytes(const brim_store_file *file, void *to, size_t length, int64_t offset, brim_error *err) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = pread(file->descriptor, (char *)to + done, length - done, offset + (int64_t)done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return brim_error_system(err, file->path, "read", errno);
    if (n == 0)
      return brim_error_at(err, BRIM_E_FORMAT, file->path, 0, offset + (int64_t)done,
                           "the file became shorter while it was read");
    done += (size_t)n;
  }
  return BRIM_OK;
}

/* ---- use --------------------------------------------------------------------------------------------------- */

int32_t brim_store_count(const brim_store *store) {
  return (int32_t)store->count;
}

const brim_stored *brim_store_tensor(const brim_store *store, int32_t index) {
  return &store->tensors[index];
}

const brim_stored *brim_store_find(const brim_store *store, const char *name, size_t length) {
  const int32_t i = brim_hashmap_get(&store->index, name, length, -1);
  return i < 0 ? NULL : &store->tensors[i];
}

const char *brim_store_path(const brim_store *store, const brim_stored *tensor) {
  return store->files[tensor->file].path;
}

/* `count` values that follow one another in memory. */
static int read_run(const brim_store_file *file, const brim_widen *widen, int64_t offset, int64_t count, real *to,
                    brim_error *err) {
  uint8_t chunk[16384];
  const int64_t room = (int64_t)(sizeof chunk / widen->size);
  for (int64_t done = 0; done < count; done += room) {
    const int64_t n = count - done < room ? count - done : room;
    BRIM_TRY(brim_store_read_bytes(file, chunk, (size_t)n * widen->size, offset + done * (int64_t)widen->size, err));
    widen->values(chunk, n, to + done);
  }
  return BRIM_OK;
}

/* A view: all values that it reaches over are read, then taken one by one. The view was checked to lie in the file. */
static int read_view(const brim_store *store, const brim_stored *t, const brim_widen *widen, real *to, brim_error *err) {
  int64_t span = 1, index[BRIM_STORED_RANK] = {0};
  for (int32_t d = 0; d < t->rank; d++)
    span += (t->shape[d] - 1) * t->stride[d];
  real *values = brim_alloc_array(store->runtime, (size_t)span, sizeof *values);
  if (!values)
    return BRIM_NOMEM(err);
  const int status = read_run(&store->files[t->file], widen, t->offset, span, values, err);
  for (int64_t i = 0; !status && i < t->count; i++) {
    int64_t at = 0;
    for (int32_t d = 0; d < t->rank; d++)
      at += index[d] * t->stride[d];
    to[i] = values[at];
    for (int32_t d = t->rank - 1; d >= 0 && ++index[d] == t->shape[d]; d--)
      index[d] = 0;
  }
  brim_release(store->runtime, values);
  return status;
}

int brim_store_check(const brim_store *store, const brim_stored *tensor, brim_error *err) {
  return brim_widen_find(tensor->dtype).values
             ? BRIM_OK
             : brim_error_at(err, BRIM_E_UNSUPPORTED, brim_store_path(store, tensor), 0, tensor->offset,
                             "tensor %.200s has dtype %s: brim reads F32, F16, BF16 and F64", tensor->name, tensor->dtype);
}

int brim_store_read(const brim_store *store, const brim_stored *tensor, real *to, brim_error *err) {
  const brim_store_file *file = &store->files[tensor->file];
  const brim_widen widen = brim_widen_find(tensor->dtype);
  BRIM_TRY(brim_store_check(store, tensor, err));
  return tensor->strided && tensor->count > 0 ? read_view(store, tensor, &widen, to, err)
                                              : read_run(file, &widen, tensor->offset, tensor->count, to, err);
}
