/* moments.c: flat buffers to and from safetensors, by parameter name. */
#include "train/moments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"

#define HEADER_LIMIT (64u << 20) /* bytes of a safetensors header */

uint64_t brim_flat_hash(const brim_model *model, const float *flat, uint64_t seed) {
  for (int32_t i = 0; i < brim_model_parameter_count(model); i++) {
    const brim_parameter *p = brim_model_parameter(model, i);
    seed = brim_hash64(flat + p->offset, (size_t)p->count * sizeof *flat, seed);
  }
  return seed;
}

/* "moment1.NAME" in the arena, or NULL. */
static char *moment_name(brim_arena *arena, int moment, const char *parameter) {
  size_t prefix = strlen("moment1."), length = strlen(parameter);
  char *name = brim_arena_alloc(arena, prefix + length + 1);
  if (!name)
    return NULL;
  memcpy(name, moment ? "moment2." : "moment1.", prefix);
  memcpy(name + prefix, parameter, length + 1);
  return name;
}

/* ---- writing ---------------------------------------------------------------------------------------------- */

int brim_moments_write(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  int32_t count = brim_model_parameter_count(model);
  brim_arena arena;
  brim_arena_init(&arena, runtime, 0);
  brim_tensor *tensors = brim_arena_alloc_array(&arena, 2 * (size_t)count, sizeof *tensors);
  int status = tensors ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t i = 0; i < 2 * count && !status; i++) {
    int moment = i >= count;
    const brim_parameter *p = brim_model_parameter(model, i % count);
    const float *flat = moment ? brim_model_moment2(model) : brim_model_moment1(model);
    tensors[i] = (brim_tensor){.name = moment_name(&arena, moment, p->name),
                               .rank = p->rank,
                               .shape = {p->shape[0], p->shape[1]},
                               .data = flat + p->offset};
    if (!tensors[i].name)
      status = BRIM_NOMEM(err);
  }
  if (!status)
    status = brim_tensors_write(runtime, path, tensors, 2 * count, err);
  brim_arena_free(&arena);
  return status;
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

/* An open file whose header was parsed: 8 bytes of header length, the header (JSON), then the data. */
typedef struct moments_file {
  brim_runtime *runtime;
  const char *path;
  int file;
  uint64_t size, data; /* bytes of the file, and where the data begins */
  char *header;
  brim_json_document *document;
} moments_file;

static int moments_pread(const moments_file *f, void *buffer, uint64_t size, uint64_t at, brim_error *err) {
  if (at > f->size || size > f->size - at)
    return brim_error_at(err, BRIM_E_FORMAT, f->path, 0, (int64_t)f->size, "the file is cut short");
  for (uint64_t done = 0; done < size;) {
    ssize_t got = pread(f->file, (char *)buffer + done, (size_t)(size - done), (off_t)(at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return brim_error_system(err, f->path, "read", errno);
    if (got == 0)
      return brim_error_at(err, BRIM_E_FORMAT, f->path, 0, (int64_t)(at + done), "the file is cut short");
    done += (uint64_t)got;
  }
  return BRIM_OK;
}

static int moments_open(moments_file *f, brim_error *err) {
  struct stat info;
  uint8_t bytes[8];
  uint64_t length = 0;
  f->file = open(f->path, O_RDONLY | O_CLOEXEC);
  if (f->file < 0 || fstat(f->file, &info) != 0)
    return brim_error_system(err, f->path, "open", errno);
  f->size = (uint64_t)info.st_size;
  BRIM_TRY(moments_pread(f, bytes, 8, 0, err));
  for (int i = 7; i >= 0; i--)
    length = length << 8 | bytes[i];
  if (length > HEADER_LIMIT)
    return brim_error_at(err, BRIM_E_FORMAT, f->path, 0, 0, "this is not a safetensors file");
  f->data = 8 + length;
  f->header = brim_alloc(f->runtime, (size_t)length);
  if (!f->header)
    return BRIM_NOMEM(err);
  BRIM_TRY(moments_pread(f, f->header, length, 8, err));
  return brim_json_parse(f->runtime, f->header, (size_t)length, f->path, &f->document, err);
}

static void moments_close(moments_file *f) {
  if (f->document)
    brim_json_free(f->document);
  brim_release(f->runtime, f->header);
  if (f->file >= 0)
    close(f->file);
}

static int moments_read_tensor(const moments_file *f, const char *name, float *target, int64_t count, brim_error *err) {
  const brim_json_value *tensor = brim_json_get(brim_json_root(f->document), name);
  const brim_json_value *offsets = brim_json_get(tensor, "data_offsets"), *first = brim_json_first(offsets);
  const brim_json_value *last = first ? brim_json_after(offsets, first) : NULL;
  uint64_t bytes = (uint64_t)count * sizeof *target;
  bool sound = last && brim_json_is_string(brim_json_get(tensor, "dtype"), "F32") && first->kind == BRIM_JSON_INT &&
               last->kind == BRIM_JSON_INT && first->as.integer >= 0 && last->as.integer - first->as.integer == (int64_t)bytes;
  if (!sound)
    return brim_error_at(err, BRIM_E_FORMAT, f->path, 0, -1, "the tensor \"%s\" is missing or not of %lld floats", name,
                         (long long)count);
  return moments_pread(f, target, bytes, f->data + (uint64_t)first->as.integer, err);
}

static int moments_read_all(const moments_file *f, brim_model *model, brim_error *err) {
  brim_arena arena;
  brim_arena_init(&arena, f->runtime, 0);
  brim_arena_mark mark = brim_arena_mark_now(&arena);
  int32_t count = brim_model_parameter_count(model);
  int status = BRIM_OK;
  for (int32_t i = 0; i < 2 * count && !status; i++) {
    int moment = i >= count;
    const brim_parameter *p = brim_model_parameter(model, i % count);
    float *flat = moment ? brim_model_moment2(model) : brim_model_moment1(model);
    brim_arena_reset(&arena, mark);
    char *name = moment_name(&arena, moment, p->name);
    status = name ? moments_read_tensor(f, name, flat + p->offset, p->count, err) : BRIM_NOMEM(err);
  }
  brim_arena_free(&arena);
  return status;
}

int brim_moments_read(brim_runtime *runtime, brim_model *model, const char *path, brim_error *err) {
  moments_file file = {.runtime = runtime, .path = path, .file = -1};
  int status = moments_open(&file, err);
  if (!status)
    status = moments_read_all(&file, model, err);
  moments_close(&file);
  return status;
}
