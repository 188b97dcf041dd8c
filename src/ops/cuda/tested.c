/* tested.c: nobody tests. This function is alone in its file, so that a program which has another is linked without
 * it. */
#include "ops/cuda/cuda.h"

brim_cuda_tested brim_cuda_how_tested(void) {
  return (brim_cuda_tested){0};
}
