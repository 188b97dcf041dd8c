/* safetensors.c: reads files, trusting nothing that they say. */
#include "model/safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/folder.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "model/narrow.h"

#define HEADER_LIMIT ((uint64_t)100 << 20) /* bytes, as in the reference reader */
enum { PREFIX = 8 };

typedef struct open_file {
  char *path;
  int descriptor; /* -1: parsed from memory */
} open_file;

struct brim_store {
  brim_runtime *runtime;
  brim_arena arena; /* names and paths */
  open_file *files;
  size_t file_count, file_capacity;
  brim_stored *tensors;
  size_t count, capacity;
  brim_hashmap index;
};

static const struct dtype {
  const char *name;
  int64_t size;
} dtypes[] = {
    {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"F64", 8}, {"I64", 8},  {"I32", 4},     {"I16", 2},     {"I8", 1},
    {"U64", 8}, {"U32", 4}, {"U16", 2},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1},
};

/* One file's header while it is read. */
typedef struct header {
  brim_store *store;
  const brim_json_document *document;
  const char *path;
  int64_t data, file_size; /* where the data begins and ends */
  int32_t file;
} header;

/* ---- one tensor of the header ------------------------------------------------------------------------------ */

static int read_dtype(const header *h, const brim_json_value *value, brim_stored *t, int64_t *size, brim_error *err) {
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
    if (brim_json_is_string(value, dtypes[i].name)) {
      t->dtype = dtypes[i].name;
      *size = dtypes[i].size;
      return BRIM_OK;
    }
  return brim_json_error(h->document, value, err, BRIM_E_UNSUPPORTED, "the dtype of tensor %.200s is not one that is known",
                         t->name);
}

static int read_shape(const header *h, const brim_json_value *value, brim_stored *t, brim_error *err) {
  if (!value || value->kind != BRIM_JSON_ARRAY || value->length > BRIM_STORED_RANK)
    return brim_json_error(h->document, value, err, BRIM_E_FORMAT, "tensor %.200s needs a shape of at most %d dimensions",
                           t->name, BRIM_STORED_RANK);
  t->count = 1;
  for (const brim_json_value *d = brim_json_first(value); d; d = brim_json_after(value, d)) {
    if (d->kind != BRIM_JSON_INT || d->as.integer < 0 || __builtin_mul_overflow(t->count, d->as.integer, &t->count))
      return brim_json_error(h->document, d, err, BRIM_E_FORMAT, "the shape of tensor %.200s is not one that can be", t->name);
    t->shape[t->rank++] = d->as.integer;
  }
  return BRIM_OK;
}

static int read_offsets(const header *h, const brim_json_value *value, brim_stored *t, int64_t size, brim_error *err) {
  const brim_json_value *begin = brim_json_first(value), *end = begin ? brim_json_after(value, begin) : NULL;
  if (!value || value->kind != BRIM_JSON_ARRAY || value->length != 2 || begin->kind != BRIM_JSON_INT ||
      end->kind != BRIM_JSON_INT || begin->as.integer < 0 || end->as.integer < begin->as.integer)
    return brim_json_error(h->document, value, err, BRIM_E_FORMAT, "tensor %.200s needs data_offsets [begin, end]", t->name);
  if (__builtin_mul_overflow(t->count, size, &t->bytes) || end->as.integer - begin->as.integer != t->bytes)
    return brim_json_error(h->document, value, err, BRIM_E_FORMAT,
                           "tensor %.200s has %lld elements of %lld bytes, but %lld bytes", t->name, (long long)t->count,
                           (long long)size, (long long)(end->as.integer - begin->as.integer));
  if (end->as.integer > h->file_size - h->data)
    return brim_error_at(err, BRIM_E_FORMAT, h->path, 0, h->file_size,
                         "the file is cut off: tensor %.200s ends %lld bytes further on; fetch it again", t->name,
                         (long long)(end->as.integer - (h->file_size - h->data)));
  t->offset = h->data + begin->as.integer;
  return BRIM_OK;
}

static int read_tensor(const header *h, const brim_json_value *key, brim_error *err) {
  brim_store *s = h->store;
  const brim_json_value *value = brim_json_member(key);
  brim_stored t = {.file = h->file, .name = brim_arena_copy_string(&s->arena, key->as.text, key->length)};
  bool twice = false;
  int64_t size = 0;
  if (!t.name)
    return BRIM_NOMEM(err);
  if (value->kind != BRIM_JSON_OBJECT || memchr(key->as.text, 0, key->length))
    return brim_json_error(h->document, key, err, BRIM_E_FORMAT, "a tensor is an object with dtype, shape and data_offsets");
  BRIM_TRY(read_dtype(h, brim_json_get(value, "dtype"), &t, &size, err));
  BRIM_TRY(read_shape(h, brim_json_get(value, "shape"), &t, err));
  BRIM_TRY(read_offsets(h, brim_json_get(value, "data_offsets"), &t, size, err));
  BRIM_TRY(brim_hashmap_put(&s->index, key->as.text, key->length, (int32_t)s->count, &twice, NULL, err));
  if (twice)
    return brim_json_error(h->document, key, err, BRIM_E_FORMAT, "tensor %.200s is there twice", t.name);
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->tensors, &s->capacity, s->count + 1, sizeof *s->tensors, err));
  s->tensors[s->count++] = t;
  return BRIM_OK;
}

/* ---- one header -------------------------------------------------------------------------------------------- */

static bool lies_behind(const brim_stored *a, const brim_stored *b) {
  return a->offset != b->offset ? a->offset > b->offset : a->bytes > b->bytes;
}

static void sift(brim_stored *t, size_t at, size_t count) {
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= count)
      return;
    if (child + 1 < count && lies_behind(&t[child + 1], &t[child]))
      child++;
    if (!lies_behind(&t[child], &t[at]))
      return;
    const brim_stored other = t[at];
    t[at] = t[child];
    t[child] = other;
    at = child;
  }
}

/* By place in the file: a heap sort, which needs no memory. */
static void sort_tensors(brim_stored *t, size_t count) {
  for (size_t i = count / 2; i-- > 0;)
    sift(t, i, count);
  for (size_t end = count; end-- > 1;) {
    const brim_stored last = t[end];
    t[end] = t[0];
    t[0] = last;
    sift(t, 0, end);
  }
}

/* Tensors must lie end to end over all of the data. Sorts those of this file, from `first` on. */
static int check_places(const header *h, size_t first, brim_error *err) {
  brim_store *s = h->store;
  int64_t at = h->data;
  if (s->count > first)
    sort_tensors(s->tensors + first, s->count - first);
  for (size_t i = first; i < s->count; i++) {
    const brim_stored *t = &s->tensors[i];
    if (t->offset != at)
      return brim_error_at(err, BRIM_E_FORMAT, h->path, 0, t->offset < at ? t->offset : at,
                           t->offset < at ? "tensor %.200s lies over another one" : "there is a gap before tensor %.200s",
                           t->name);
    at += t->bytes;
    BRIM_TRY(brim_hashmap_put(&s->index, t->name, strlen(t->name), (int32_t)i, NULL, NULL, err));
  }
  if (at != h->file_size)
    return brim_error_at(err, BRIM_E_FORMAT, h->path, 0, at, "there are %lld bytes behind the last tensor",
                         (long long)(h->file_size - at));
  return BRIM_OK;
}

static int read_header(header *h, const char *text, size_t length, brim_error *err) {
  brim_json_document *document;
  BRIM_TRY(brim_json_parse(h->store->runtime, text, length, h->path, &document, err));
  const brim_json_value *root = brim_json_root(document);
  const size_t first = h->store->count;
  h->document = document;
  int status = BRIM_OK;
  if (root->kind != BRIM_JSON_OBJECT)
    status = brim_json_error(document, root, err, BRIM_E_FORMAT, "the header of a safetensors file is an object, this is %s",
                             brim_json_kind_name((brim_json_kind)root->kind));
  for (const brim_json_value *key = brim_json_first(root); key && !status; key = brim_json_after(root, key))
    if (key->length != strlen("__metadata__") || memcmp(key->as.text, "__metadata__", key->length) != 0)
      status = read_tensor(h, key, err);
  if (!status)
    status = check_places(h, first, err);
  brim_json_free(document);
  return status;
}

/* The header's length, checked against the file's. */
static int header_length(const char *path, const uint8_t prefix[PREFIX], int64_t file_size, size_t *length, brim_error *err) {
  uint64_t n = 0;
  for (int i = PREFIX; i-- > 0;)
    n = n << 8 | prefix[i];
  if (n > HEADER_LIMIT)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, 0, "this is no safetensors file: its header would be %llu bytes long",
                         (unsigned long long)n);
  if ((int64_t)n > file_size - PREFIX)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, file_size,
                         "the file is cut off: its header alone is %llu bytes long; fetch it again", (unsigned long long)n);
  *length = (size_t)n;
  return BRIM_OK;
}

/* Takes over `descriptor`, also when it fails. `text` is the file's beginning with its header, the prefix made blank so that JSON
 * positions are the file's. */
static int add_file(brim_store *s, const char *path, int descriptor, const char *text, size_t header_size, int64_t file_size,
                    brim_error *err) {
  char *copy = brim_arena_copy_string(&s->arena, path, strlen(path));
  int status = copy ? brim_grow(s->runtime, (void **)&s->files, &s->file_capacity, s->file_count + 1, sizeof *s->files, err)
                    : BRIM_NOMEM(err);
  if (status) {
    if (descriptor >= 0)
      close(descriptor);
    return status;
  }
  s->files[s->file_count++] = (open_file){copy, descriptor};
  header h = {.store = s,
              .path = copy,
              .data = PREFIX + (int64_t)header_size,
              .file_size = file_size,
              .file = (int32_t)s->file_count - 1};
  return read_header(&h, text, PREFIX + header_size, err);
}

/* ---- files ------------------------------------------------------------------------------------------------- */

/* Exactly `length` bytes from `offset` on; the caller has seen that the file was long enough. */
static int read_bytes(const char *path, int descriptor, void *to, size_t length, int64_t offset, brim_error *err) {
  for (size_t done = 0; done < length;) {
    const ssize_t n = pread(descriptor, (char *)to + done, length - done, offset + (int64_t)done);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return brim_error_system(err, path, "read", errno);
    if (n == 0)
      return brim_error_at(err, BRIM_E_FORMAT, path, 0, offset + (int64_t)done, "the file became shorter while it was read");
    done += (size_t)n;
  }
  return BRIM_OK;
}

static int read_file_header(const char *path, int descriptor, brim_runtime *runtime, char **text, size_t *length,
                            int64_t *file_size, brim_error *err) {
  uint8_t prefix[PREFIX];
  struct stat about;
  if (fstat(descriptor, &about) != 0)
    return brim_error_system(err, path, "read", errno);
  if (!S_ISREG(about.st_mode))
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, -1, "this is not a file");
  *file_size = about.st_size;
  if (about.st_size < PREFIX)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, about.st_size,
                         "the file is cut off: a safetensors file has at least 8 bytes");
  BRIM_TRY(read_bytes(path, descriptor, prefix, PREFIX, 0, err));
  BRIM_TRY(header_length(path, prefix, about.st_size, length, err));
  *text = brim_alloc(runtime, PREFIX + *length);
  if (!*text)
    return BRIM_NOMEM(err);
  memset(*text, ' ', PREFIX);
  return read_bytes(path, descriptor, *text + PREFIX, *length, PREFIX, err);
}

static int open_one(brim_store *s, const char *path, brim_error *err) {
  char *text = NULL;
  size_t length = 0;
  int64_t file_size = 0;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    return brim_error_system(err, path, "open", errno);
  int status = read_file_header(path, descriptor, s->runtime, &text, &length, &file_size, err);
  if (status)
    close(descriptor);
  else
    status = add_file(s, path, descriptor, text, length, file_size, err);
  brim_release(s->runtime, text);
  return status;
}

static brim_store *new_store(brim_runtime *runtime) {
  brim_store *s = brim_alloc_zero(runtime, sizeof *s);
  if (s) {
    s->runtime = runtime;
    brim_arena_init(&s->arena, runtime, 0);
    brim_hashmap_init(&s->index, runtime);
  }
  return s;
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
  brim_store *s = new_store(runtime);
  return s ? finish(s, open_one(s, path, err), out) : BRIM_NOMEM(err);
}

int brim_store_parse(brim_runtime *runtime, const char *name, const void *bytes, size_t length, int64_t file_size,
                     brim_store **out, brim_error *err) {
  *out = NULL;
  size_t header_size = 0;
  if (length < PREFIX || file_size < (int64_t)length)
    return brim_error_at(err, BRIM_E_FORMAT, name, 0, (int64_t)length,
                         "the file is cut off: a safetensors file has at least 8 bytes");
  BRIM_TRY(header_length(name, bytes, (int64_t)length, &header_size, err));
  brim_store *s = new_store(runtime);
  char *text = brim_alloc(runtime, PREFIX + header_size);
  if (!s || !text) {
    brim_store_close(s);
    brim_release(runtime, text);
    return BRIM_NOMEM(err);
  }
  memset(text, ' ', PREFIX);
  memcpy(text + PREFIX, (const char *)bytes + PREFIX, header_size);
  int status = add_file(s, name, -1, text, header_size, file_size, err);
  brim_release(runtime, text);
  return finish(s, status, out);
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
  BRIM_TRY(brim_json_load(s->runtime, index_path, HEADER_LIMIT, &index, err));
  const brim_json_value *map = brim_json_get(brim_json_root(index), "weight_map");
  int status = BRIM_OK;
  if (!map || map->kind != BRIM_JSON_OBJECT)
    status =
        brim_json_error(index, map, err, BRIM_E_FORMAT, "an index needs a \"weight_map\" that names the file of every tensor");
  for (const brim_json_value *key = brim_json_first(map); key && !status; key = brim_json_after(map, key))
    status = open_shard(s, index, folder, key, err);
  brim_json_free(index);
  return status;
}

static int open_folder(brim_store *s, const char *folder, const char *single, const char *index, brim_error *err) {
  if (!brim_path_exists(single) && brim_path_exists(index))
    return open_shards(s, folder, index, err);
  if (!brim_path_exists(single))
    return brim_error_at(err, BRIM_E_IO, folder, 0, -1,
                         "there is neither model.safetensors nor model.safetensors.index.json in this folder");
  return open_one(s, single, err);
}

int brim_store_open_folder(brim_runtime *runtime, const char *folder, brim_store **out, brim_error *err) {
  *out = NULL;
  brim_store *s = new_store(runtime);
  char *single = brim_path_join(runtime, folder, "model.safetensors");
  char *index = brim_path_join(runtime, folder, "model.safetensors.index.json");
  int status = s && single && index ? open_folder(s, folder, single, index, err) : BRIM_NOMEM(err);
  brim_release(runtime, index);
  brim_release(runtime, single);
  return finish(s, status, out);
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

int brim_store_read(const brim_store *store, const brim_stored *tensor, real *to, brim_error *err) {
  const open_file *file = &store->files[tensor->file];
  const brim_widen widen = brim_widen_find(tensor->dtype);
  if (!widen.values)
    return brim_error_at(err, BRIM_E_UNSUPPORTED, file->path, 0, tensor->offset,
                         "tensor %.200s has dtype %s: brim reads F32, F16, BF16 and F64", tensor->name, tensor->dtype);
  uint8_t chunk[16384];
  const int64_t room = (int64_t)(sizeof chunk / widen.size);
  for (int64_t done = 0; done < tensor->count; done += room) {
    const int64_t n = tensor->count - done < room ? tensor->count - done : room;
    BRIM_TRY(read_bytes(file->path, file->descriptor, chunk, (size_t)n * widen.size, tensor->offset + done * (int64_t)widen.size,
                        err));
    widen.values(chunk, n, to + done);
  }
  return BRIM_OK;
}
