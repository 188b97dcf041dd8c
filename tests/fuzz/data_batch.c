/* JSON batches of any bytes: a dataset whose rows are in range, or one error. */
#include <sys/mman.h>
#include <unistd.h>

#include "brim/data.h"
#include "data/facts.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  brim_runtime *runtime = fuzz_runtime();
  int file = memfd_create("input", 0);
  MUST(file >= 0 && write(file, data, size) == (ssize_t)size);
  char path[64];
  snprintf(path, sizeof path, "/dev/fd/%d", file);
  brim_dataset *dataset;
  brim_error err = {0};
  int status = brim_dataset_read_json(runtime, path, &dataset, &err);
  MUST((status == BRIM_OK) == (dataset != NULL));
  if (status != BRIM_OK)
    fuzz_check_error(status, &err, (int64_t)size);
  for (uint64_t row = 0; dataset && row < brim_dataset_rows(dataset); row++) {
    brim_sample sample;
    brim_dataset_sample(dataset, row, &sample);
    MUST(sample.length >= 1 && sample.length <= brim_dataset_longest(dataset));
    for (int32_t i = 0; i < sample.length; i++)
      MUST(sample.ids[i] >= 0 && sample.ids[i] <= brim_dataset_highest_id(dataset));
  }
  brim_dataset_free(dataset);
  close(file);
  return 0;
}
