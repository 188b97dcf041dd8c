/* fake_cuda.h: what tests ask of the false libcuda besides what brim does. */
#ifndef BRIM_FAKE_CUDA_H
#define BRIM_FAKE_CUDA_H
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
void fake_cuda_seed(uint64_t value);                      /* of the order of threads and blocks */
void fake_cuda_fail(long n);                              /* the n-th call from now on (0: the next) fails; -1: none does */
long fake_cuda_calls(void);                               /* so far */
long fake_cuda_launches(void);                            /* kernels that were queued so far */
long fake_cuda_left(void);                                /* memory and contexts that were not given back */
void fake_cuda_be(int capability, int shared, int count); /* 90 and so on, bytes of shared memory of a block; cards */
long fake_cuda_products(void);                            /* products that were asked of cuBLASLt so far */
long fake_cuda_chosen(void);                              /* and algorithms */
enum { FAKE_REFUSED_ROWS = 93 };                          /* of a result, which no algorithm takes */
#ifdef __cplusplus
}
#endif
#endif
