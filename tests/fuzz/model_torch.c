/* Archives of any bytes: tensors that lie within the file, or one error; and what may be read can be. */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "model/files/safetensors.h"

static void read_all(const brim_store *store, size_t size) {
  for (int32_t i = 0; i < brim_store_count(store); i++) {
    const brim_stored *t = brim_store_tensor(store, i);
    brim_error err = {0};
    MUST(t->offset >= 0 && t->bytes >= 0 && t->bytes <= (int64_t)size && t->offset <= (int64_t)size - t->bytes);
    MUST(t->rank <= BRIM_STORED_RANK && t->count >= 0);
    if (t->count > 1 << 16) /* a view may say that it has any number of elements */
      continue;
    real *values = malloc((size_t)(t->count + 1) * sizeof *values);
    MUST(values != NULL);
    const int status = brim_store_read(store, t, values, &err);
    MUST(status == BRIM_OK || status == BRIM_E_UNSUPPORTED);
    free(values);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  const int descriptor = memfd_create("input", 0);
  MUST(descriptor >= 0 && write(descriptor, data, size) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  brim_store *store;
  brim_error err = {0};
  const int status = brim_store_open(fuzz_runtime(), path, &store, &err);
  MUST((status == BRIM_OK) == (store != NULL));
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)size);
  else
    read_all(store, size);
  brim_store_close(store);
  close(descriptor);
  return 0;
}
