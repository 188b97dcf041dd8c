/* store.h: a store, between the files that fill it. */
#ifndef BRIM_MODEL_STORE_H
#define BRIM_MODEL_STORE_H
#include "base/arena.h"
#include "base/hashmap.h"
#include "model/files/safetensors.h"

typedef struct brim_store_file {
  const char *path;
  int descriptor; /* -1: parsed from memory */
  int64_t size;
} brim_store_file;

struct brim_store {
  brim_runtime *runtime;
  brim_arena arena; /* names and paths */
  brim_store_file *files;
  size_t file_count, file_capacity;
  brim_stored *tensors;
  size_t count, capacity;
  brim_hashmap index;
};

/* The dtypes of safetensors, whose names are those of all stores. */
typedef struct brim_dtype {
  const char *name;
  int64_t size; /* of an element, in bytes */
} brim_dtype;
const brim_dtype *brim_dtype_find(const char *name, size_t length); /* NULL: unknown */

/* NULL without memory. */
brim_store *brim_store_new(brim_runtime *runtime);
/* Takes over `descriptor`, also when it fails; *out is the index of the file. */
int brim_store_add_file(brim_store *s, const char *path, int descriptor, int64_t size, int32_t *out, brim_error *err) BRIM_CHECK;
/* *twice: there is one of that name. */
int brim_store_add(brim_store *s, const brim_stored *tensor, bool *twice, brim_error *err) BRIM_CHECK;
/* Exactly `length` bytes from `offset` on; the caller has seen that the file was long enough. */
int brim_store_read_bytes(const brim_store_file *file, void *to, size_t length, int64_t offset, brim_error *err) BRIM_CHECK;

/* The tensors of one open file: safetensors_read.c, torch.c. */
int brim_safetensors_read(brim_store *s, int32_t file, brim_error *err) BRIM_CHECK;
int brim_torch_read(brim_store *s, int32_t file, brim_error *err) BRIM_CHECK;

#endif
