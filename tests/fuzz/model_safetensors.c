/* Safetensors of any bytes: tensors that lie within the file, or one error. The last eight bytes say how long the file is said to
 * be beyond what is there (little-endian, in bytes). */
#include "fuzz.h"
#include "model/files/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint64_t more = 0;
  if (size >= 8) {
    size -= 8;
    memcpy(&more, data + size, 8);
  }
  const int64_t file_size = (int64_t)(size + (more & 0xffffffff));
  brim_store *store;
  brim_error err = {0};
  const int status = brim_store_parse(fuzz_runtime(), "input", data, size, file_size, &store, &err);
  MUST((status == BRIM_OK) == (store != NULL));
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, file_size);
  for (int32_t i = 0; store && i < brim_store_count(store); i++) {
    const brim_stored *t = brim_store_tensor(store, i);
    MUST(t->offset >= 8 && t->bytes >= 0 && t->offset <= file_size - t->bytes && t->rank <= BRIM_STORED_RANK);
    MUST(brim_store_find(store, t->name, strlen(t->name)) == t);
  }
  brim_store_close(store);
  return 0;
}
