/* safetensors_read.c: reads the header of a safetensors file, trusting nothing that it says
 * (https://github.com/huggingface/safetensors, "Format"):
 *
 *   8 bytes   length N of the header, little-endian
 *   N bytes   JSON {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, .., "__metadata__": {..}} and spaces
 *   the rest  data; offsets count from here, tensors follow one another without a gap */
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "model/files/store.h"

#define HEADER_LIMIT ((uint64_t)100 << 20) /* bytes, as in the reference reader */
enum { PREFIX = 8 };

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
  const brim_dtype *known = value && value->kind == BRIM_JSON_STRING ? brim_dtype_find(value->as.text, value->length) : NULL;
  if (known) {
    t->dtype = known->name;
    *size = known->size;
    return BRIM_OK;
  }
  return brim_json_error(h->document, value, err, BRIM_E_UNSUPPORTED,
                         "tensor %.200s has a dtype that brim does not know: save it as F32, F16 or BF16", t->name);
}

static int read_shape(const header *h, const brim_json_value *value, brim_stored *t, brim_error *err) {
  if (!value || value->kind != BRIM_JSON_ARRAY || value->length > BRIM_STORED_RANK)
    return brim_json_error(h->document, value, err, BRIM_E_FORMAT, "tensor %.200s needs a shape of at most %d dimensions",
                           t->name, BRIM_STORED_RANK);
  t->count = 1;
  for (const brim_json_value *d = brim_json_first(value); d; d = brim_json_after(value, d)) {
    if (d->kind != BRIM_JSON_INT || d->as.integer < 0 || __builtin_mul_overflow(t->count, d->as.integer, &t->count))
      return brim_json_error(h->document, d, err, BRIM_E_FORMAT,
                             "the shape of tensor %.200s is impossible: the file is damaged; fetch it again", t->name);
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
  BRIM_TRY(brim_store_add(s, &t, &twice, err));
  return twice ? brim_json_error(h->document, key, err, BRIM_E_FORMAT,
                                 "tensor %.200s is there twice: the file is damaged; fetch it again", t.name)
               : BRIM_OK;
}

/* ---- one header -------------------------------------------------------------------------------------------- */

static bool comes_later(const void *one, const void *other, const void *context) {
  const brim_stored *a = one, *b = other;
  (void)context;
  return a->offset != b->offset ? a->offset > b->offset : a->bytes > b->bytes;
}

/* Tensors must follow one another over all of the data. Sorts those of this file, from `first` on. */
static int check_offsets(const header *h, size_t first, brim_error *err) {
  brim_store *s = h->store;
  int64_t at = h->data;
  if (s->count > first)
    brim_sort(s->tensors + first, s->count - first, sizeof *s->tensors, comes_later, NULL);
  for (size_t i = first; i < s->count; i++) {
    const brim_stored *t = &s->tensors[i];
    if (t->offset != at)
      return brim_error_at(err, BRIM_E_FORMAT, h->path, 0, t->offset < at ? t->offset : at,
                           t->offset < at ? "tensor %.200s overlaps another one: the file is damaged; fetch it again"
                                          : "there is a gap before tensor %.200s: the file is damaged; fetch it again",
                           t->name);
    at += t->bytes;
    BRIM_TRY(brim_hashmap_put(&s->index, t->name, strlen(t->name), (int32_t)i, NULL, NULL, err));
  }
  if (at != h->file_size)
    return brim_error_at(err, BRIM_E_FORMAT, h->path, 0, at,
                         "there are %lld bytes after the last tensor: the file is damaged; fetch it again",
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
    status = check_offsets(h, first, err);
  brim_json_free(document);
  return status;
}

/* What lies in the place of weights as a rule: the page of a server that did not have them, or what Git keeps instead of them. */
static const char *what_else(const uint8_t prefix[PREFIX]) {
  if (memcmp(prefix, "version ", PREFIX) == 0)
    return "this is Git LFS's note of where the weights are, not the weights: fetch them with git lfs pull";
  if (prefix[0] == '<' || prefix[0] == '{')
    return "this is a page or a message of a server, not weights: fetch the file again";
  if (prefix[0] == 'P' && prefix[1] == 'K')
    return "this is no safetensors file, but one of PyTorch: name it pytorch_model.bin";
  return NULL;
}

/* The header's length, checked against the file's. */
static int header_length(const char *path, const uint8_t prefix[PREFIX], int64_t file_size, size_t *length, brim_error *err) {
  uint64_t n = 0;
  for (int i = PREFIX; i-- > 0;)
    n = n << 8 | prefix[i];
  const char *other = n > HEADER_LIMIT ? what_else(prefix) : NULL;
  if (other)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, 0, "%s", other);
  if (n > HEADER_LIMIT)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, 0, "this is not a safetensors file: its header would be %llu bytes long",
                         (unsigned long long)n);
  if ((int64_t)n > file_size - PREFIX)
    return brim_error_at(err, BRIM_E_FORMAT, path, 0, file_size,
                         "the file is cut off: its header alone is %llu bytes long; fetch it again", (unsigned long long)n);
  *length = (size_t)n;
  return BRIM_OK;
}

/* `text` is the file's beginning with its header, the prefix overwritten with spaces so that JSON positions are the file's. */
static int read_text(brim_store *s, int32_t file, char *text, size_t header_size, brim_error *err) {
  header h = {.store = s,
              .path = s->files[file].path,
              .data = PREFIX + (int64_t)header_size,
              .file_size = s->files[file].size,
              .file = file};
  memset(text, ' ', PREFIX);
  return read_header(&h, text, PREFIX + header_size, err);
}

int brim_safetensors_read(brim_store *s, int32_t file, brim_error *err) {
  const brim_store_file *f = &s->files[file];
  uint8_t prefix[PREFIX];
  size_t length = 0;
  if (f->size < PREFIX)
    return brim_error_at(err, BRIM_E_FORMAT, f->path, 0, f->size, "the file is cut off: a safetensors file has at least 8 bytes");
  BRIM_TRY(brim_store_read_bytes(f, prefix, PREFIX, 0, err));
  BRIM_TRY(header_length(f->path, prefix, f->size, &length, err));
  char *text = brim_alloc(s->runtime, PREFIX + length);
  if (!text)
    return BRIM_NOMEM(err);
  int status = brim_store_read_bytes(f, text + PREFIX, length, PREFIX, err);
  if (!status)
    status = read_text(s, file, text, length, err);
  brim_release(s->runtime, text);
  return status;
}

int brim_store_parse(brim_runtime *runtime, const char *name, const void *bytes, size_t length, int64_t file_size,
                     brim_store **out, brim_error *err) {
  *out = NULL;
  size_t header_size = 0;
  int32_t file;
  if (length < PREFIX || file_size < (int64_t)length)
    return brim_error_at(err, BRIM_E_FORMAT, name, 0, (int64_t)length,
                         "the file is cut off: a safetensors file has at least 8 bytes");
  BRIM_TRY(header_length(name, bytes, (int64_t)length, &header_size, err));
  brim_store *s = brim_store_new(runtime);
  char *text = brim_alloc(runtime, PREFIX + header_size);
  int status = s && text ? brim_store_add_file(s, name, -1, file_size, &file, err) : BRIM_NOMEM(err);
  if (!status) {
    memcpy(text + PREFIX, (const char *)bytes + PREFIX, header_size);
    status = read_text(s, file, text, header_size, err);
  }
  brim_release(runtime, text);
  if (status)
    brim_store_close(s);
  else
    *out = s;
  return status;
}
