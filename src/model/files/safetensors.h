/* safetensors.h: tensors in files, by name: safetensors (safetensors_read.c), and what torch.save writes (torch.c). */
#ifndef BRIM_MODEL_SAFETENSORS_H
#define BRIM_MODEL_SAFETENSORS_H
#include "brim/model.h"
#include "ops/ops.h"

enum { BRIM_STORED_RANK = 8 };

/* A tensor as it lies in a file. */
typedef struct brim_stored {
  const char *name; /* NUL-terminated */
  const char *dtype;
  int32_t rank;
  int64_t shape[BRIM_STORED_RANK];
  int64_t count;  /* elements */
  int64_t offset; /* in the file */
  int64_t bytes;
  int32_t file; /* index of its file */
  bool strided; /* a view: element (i, j, ..) is i * stride[0] + j * stride[1] + .. elements after the first */
  int64_t stride[BRIM_STORED_RANK];
} brim_stored;

/* Open files and what their headers list, which were checked against the files' lengths. */
typedef struct brim_store brim_store;
/* One file. */
int brim_store_open(brim_runtime *runtime, const char *path, brim_store **out, brim_error *err) BRIM_CHECK;
/* FOLDER/model.safetensors, or the shards that FOLDER/model.safetensors.index.json names; or else the same of pytorch_model.bin.
 */
int brim_store_open_folder(brim_runtime *runtime, const char *folder, brim_store **out, brim_error *err) BRIM_CHECK;
/* The same from the beginning of a file that would be `file_size` bytes long; nothing can be read from it. */
int brim_store_parse(brim_runtime *runtime, const char *name, const void *bytes, size_t length, int64_t file_size,
                     brim_store **out, brim_error *err) BRIM_CHECK;
void brim_store_close(brim_store *store);

int32_t brim_store_count(const brim_store *store);
const brim_stored *brim_store_tensor(const brim_store *store, int32_t index);                 /* in file order */
const brim_stored *brim_store_find(const brim_store *store, const char *name, size_t length); /* NULL: absent */
const char *brim_store_path(const brim_store *store, const brim_stored *tensor);              /* of its file */
/* BRIM_E_UNSUPPORTED: brim_store_read knows no such numbers. */
int brim_store_check(const brim_store *store, const brim_stored *tensor, brim_error *err) BRIM_CHECK;
/* All elements as `real`, from F32, F16, BF16 or F64; another dtype is BRIM_E_UNSUPPORTED. */
int brim_store_read(const brim_store *store, const brim_stored *tensor, real *to, brim_error *err) BRIM_CHECK;

/* Safetensors: names, shapes (rank <= 2) and float data, into a folder of brim's own (base/file.h), or the file that a user
 * named.
 */
typedef struct brim_tensor {
  const char *name;
  int32_t rank;
  int64_t shape[2];
  const float *data;
} brim_tensor;
int brim_tensors_write(brim_runtime *runtime, const char *path, const brim_tensor *tensors, int count,
                       brim_error *err) BRIM_CHECK;
int brim_tensors_write_named(brim_runtime *runtime, const char *path, const brim_tensor *tensors, int count,
                             brim_error *err) BRIM_CHECK;

#endif
