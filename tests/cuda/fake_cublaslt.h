// fake_cublaslt.h: how the false cuBLASLt and NCCL get into the order of the false driver's streams.
#ifndef BRIM_FAKE_CUBLASLT_H
#define BRIM_FAKE_CUBLASLT_H
#include <cstdint>
#include <functional>

int fake_cuda_enqueue(void *stream, std::function<int()> work);
int fake_cuda_card(); // of the context that is current
#endif
