/* pickle.h: the tensors that a pickle of PyTorch's describes. https://docs.python.org/3/library/pickletools.html
 *
 * A pickle is a program for a small stack machine, and one that may call anything. Here it may make numbers, texts, tuples, lists
 * and dictionaries, and call what rebuilds a tensor from a storage; whatever else it asks for is refused. Nothing is executed. */
#ifndef BRIM_MODEL_PICKLE_H
#define BRIM_MODEL_PICKLE_H
#include "brim/base.h"

enum { BRIM_PICKLE_RANK = 8 };

/* A view of `storage`, which holds `elements` values: element (i, j, ..) is value offset + i * stride[0] + j * stride[1] + .. */
typedef struct brim_pickled_tensor {
  const char *dtype;   /* as safetensors name it: "F32" */
  const char *storage; /* its key, not NUL-terminated */
  size_t storage_length;
  int64_t elements, offset;
  int32_t rank;
  int64_t shape[BRIM_PICKLE_RANK], stride[BRIM_PICKLE_RANK];
  int64_t byte; /* where the file asks for it */
} brim_pickled_tensor;

typedef int (*brim_pickled_fn)(void *context, const char *name, size_t name_length, const brim_pickled_tensor *tensor,
                               brim_error *err);

/* Calls `fn` for each entry of the dictionary that the pickle makes, in its order. `path` and `base`, where the pickle begins in
 * it, are for messages. BRIM_E_UNSUPPORTED names what is not read and its byte; BRIM_E_FORMAT: damaged. */
int brim_pickle_read(brim_runtime *runtime, const char *path, int64_t base, const uint8_t *bytes, size_t length,
                     brim_pickled_fn fn, void *context, brim_error *err) BRIM_CHECK;

#endif
