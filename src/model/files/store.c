/* store.c: tensors in files, whatever their format. */
#include "model/files/store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/status.h"
#include "model/files/narrow.h"

#define INDEX_LIMIT ((size_t)100 << 20) /* bytes */

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

/* ---- tables ------------------------------------------------------------------------------------------------ */

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

/* A zip archive, which PyTorch writes, begins with the letters PK; before 1.6 it wrote a row of pickles. */
static int read_tables(brim_store *s, int32_t file, brim_error *err) {
  static const uint8_t old[4] = {0x80, 2, 0x8a, 10};
  uint8_t bytes[4] = {0};
  if (s->files[file].size >= 4)
    BRIM_TRY(brim_store_read_bytes(&s->files[file], bytes, 4, 0, err));
  if (memcmp(bytes, old, 4) == 0)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, s->files[file].path, 0, 0,
                         "PyTorch before 1.6 wrote this file: load it with torch and save it again, best as safetensors");
  return memcmp(bytes, "PK", 2) == 0 ? brim_torch_read(s, file, err) : brim_safetensors_read(s, file, err);
}

static int open_one(brim_store *s, const char *path, brim_error *err) {
  struct stat about;
  int32_t file;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return brim_error_system(err, path, "open", errno);
  int status = fstat(descriptor, &about) == 0 ? BRIM_OK : brim_error_system(err, path, "read", errno);
  if (!status && !S_ISREG(about.st_mode))
    status = brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "this is not a file");
  if (status) {
    close(descriptor);
    return status;
  }
  BRIM_TRY(brim_store_add_file(s, path, descriptor, about.st_size, &file, err));
  return read_tables(s, file, err);
}

static int finish(brim_store *s, int status, brim_store **out) {
  if (status)
    brim_store_close(s);
  else
    *out = s;
  return status;
}

int brim_store_open(brim_runtime *runtime, const char *path, brim_store **out, brim_error *err) {
  *out = NULL;
  brim_store *s = brim_store_new(runtime);
  return s ? finish(s, open_one(s, path, err), out) : BRIM_NOMEM(err);
}

/* ---- shards ------------------------------------------------------------------------------------------------ */

static bool has_file(const brim_store *s, const char *path) {
  for (size_t i = 0; i < s->file_count; i++)
    if (strcmp(s->files[i].path, path) == 0)
      return true;
  return false;
}

/* The file of one entry "NAME": "FILE" of weight_map; it must lie in the folder itself. */
static int open_shard(brim_store *s, const brim_json_document *index, const char *folder, const brim_json_value *key,
                      brim_error *err) {
  const brim_json_value *file = brim_json_member(key);
  if (file->kind != BRIM_JSON_STRING || file->length == 0 || file->length > 255 || file->as.text[0] == '.' ||
      memchr(file->as.text, '/', file->length) || memchr(file->as.text, 0, file->length))
    return brim_json_error(index, file, err, BRIM_E_FORMAT, "weight_map must name a file in the same folder for every tensor");
  char name[256];
  memcpy(name, file->as.text, file->length);
  name[file->length] = 0;
  char *path = brim_path_join(s->runtime, folder, name);
  if (!path)
    return BRIM_NOMEM(err);
  int status = has_file(s, path) ? BRIM_OK : open_one(s, path, err);
  brim_release(s->runtime, path);
  if (!status && !brim_store_find(s, key->as.text, key->length))
    status = brim_json_error(index, key, err, BRIM_E_FORMAT, "tensor %.*s is not in %s",
                             (int)(key->length < 200 ? key->length : 200), key->as.text, name);
  return status;
}

static int open_shards(brim_store *s, const char *folder, const char *index_path, brim_error *err) {
  brim_json_document *index;
  BRIM_TRY(brim_json_load(s->runtime, index_path, INDEX_LIMIT, &index, err));
  const brim_json_value *map = brim_json_get(brim_json_root(index), "weight_map");
  int status = BRIM_OK;
  if (!map || map->kind != BRIM_JSON_OBJECT)
    status = brim_json_error(index, map, err, BRIM_E_FORMAT,
                             "an index needs a \"weight_map\" that names the file of every tensor");
  for (const brim_json_value *key = brim_json_first(map); key && !status; key = brim_json_after(map, key))
    status = open_shard(s, index, folder, key, err);
  brim_json_free(index);
  return status;
}

/* Weights under the names that Hugging Face gives them, in the order in which it looks for them. */
static int open_folder(brim_store *s, const char *folder, brim_error *err) {
  static const struct {
    const char *name;
    bool index; /* of shards */
  } files[] = {{"model.safetensors", false},
               {"model.safetensors.index.json", true},
               {"pytorch_model.bin", false},
               {"pytorch_model.bin.index.json", true}};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char *path = brim_path_join(s->runtime, folder, files[i].name);
    if (!path)
      return BRIM_NOMEM(err);
    const bool there = brim_path_exists(path);
    const int status = !there ? BRIM_OK : files[i].index ? open_shards(s, folder, path, err) : open_one(s, path, err);
    brim_release(s->runtime, path);
    if (there)
      return status;
  }
  return brim_error_at(
      err, BRIM_E_IO, folder, 0, -1,
      "there is neither model.safetensors nor pytorch_model.bin, nor an index of one (.index.json), in this folder");
}

int brim_store_open_folder(brim_runtime *runtime, const char *folder, brim_store **out, brim_error *err) {
  *out = NULL;
  brim_store *s = brim_store_new(runtime);
  return s ? finish(s, open_folder(s, folder, err), out) : BRIM_NOMEM(err);
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

int brim_store_read(const brim_store *store, const brim_stored *tensor, real *to, brim_error *err) {
  const brim_store_file *file = &store->files[tensor->file];
  const brim_widen widen = brim_widen_find(tensor->dtype);
  if (!widen.values)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, file->path, 0, tensor->offset,
                         "tensor %.200s has dtype %s: brim reads F32, F16, BF16 and F64", tensor->name, tensor->dtype);
  return tensor->strided && tensor->count > 0 ? read_view(store, tensor, &widen, to, err)
                                              : read_run(file, &widen, tensor->offset, tensor->count, to, err);
}
