/* cuda_memory.h: memory of a case: the card's while a case runs on it (the host may look into an emulated card's), else malloc's.
 */
#ifndef BRIM_TESTS_CUDA_MEMORY_H
#define BRIM_TESTS_CUDA_MEMORY_H
#include <stdlib.h>

#include "ops/ops.h"

enum { CASE_ON_HOST = 0 };
/* Texts of a case: an emulated card is slow, and a block sees 32 tokens at a time. */
static inline int case_length(int length) {
  return length > 200 ? 131 + length % 61 : length;
}
static brim_ops_context *case_context; /* of the card; NULL: on the host */

static inline void *case_take(size_t bytes) {
  return case_context ? brim_ops_cuda()->alloc(case_context, bytes, false) : malloc(bytes);
}
static inline void case_give(void *memory) {
  if (case_context)
    brim_ops_cuda()->release(case_context, memory);
  else
    free(memory);
}
#endif
