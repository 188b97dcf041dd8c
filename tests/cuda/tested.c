/* In place of src/ops/cuda/tested.c, for programs that run on a real card too (tools/try_card). */
#include "ops/cuda/cuda.h"
#include <stdlib.h>

brim_cuda_tested brim_cuda_how_tested(void) {
  return (brim_cuda_tested){.shares = getenv("BRIM_CUDA_MANAGED") != NULL, .keeps = getenv("BRIM_CUDA_KEEP") != NULL};
}
