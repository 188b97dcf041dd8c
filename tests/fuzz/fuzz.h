/* fuzz.h: what fuzz targets share. */
#ifndef BRIM_TESTS_FUZZ_H
#define BRIM_TESTS_FUZZ_H
#include "brim/base.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUST(condition)                                                                                                          \
  do {                                                                                                                           \
    if (!(condition)) {                                                                                                          \
      fprintf(stderr, "broken promise at %s:%d: %s\n", __FILE__, __LINE__, #condition);                                          \
      abort();                                                                                                                   \
    }                                                                                                                            \
  } while (0)

/* One runtime without threads for all inputs. */
__attribute__((unused)) static brim_runtime *fuzz_runtime(void) {
  static brim_runtime *runtime;
  static const brim_runtime_options one_thread = {.threads = 1};
  MUST(runtime || brim_runtime_new(&one_thread, &runtime, NULL) == BRIM_OK);
  return runtime;
}

/* An error is one line of words with a place inside the input. */
__attribute__((unused)) static void fuzz_check_error(int status, const brim_error *err, int64_t size) {
  MUST(status == BRIM_E_FORMAT || status == BRIM_E_UNSUPPORTED || status == BRIM_E_MISMATCH || status == BRIM_E_USAGE);
  MUST(err->code == status && *err->message && !strchr(err->message, '\n'));
  MUST(err->line >= 0 && err->byte >= -1 && err->byte <= size);
}

#endif
