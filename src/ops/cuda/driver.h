/* driver.h: what brim calls of libcuda, NVRTC and cuBLASLt, found when the program runs. The types are those of their interfaces,
 * which are stable: CUresult is int, CUdeviceptr unsigned long long, a handle a pointer. */
#ifndef BRIM_CUDA_DRIVER_H
#define BRIM_CUDA_DRIVER_H
#include "brim/base.h"

typedef unsigned long long brim_cuda_address;

#define BRIM_CUDA_DRIVER(X)                                                                                                      \
  X(cuInit, (unsigned flags))                                                                                                    \
  X(cuDriverGetVersion, (int *version))                                                                                          \
  X(cuDeviceGetCount, (int *count))                                                                                              \
  X(cuDeviceGet, (int *device, int ordinal))                                                                                     \
  X(cuDeviceGetName, (char *name, int size, int device))                                                                         \
  X(cuDeviceTotalMem_v2, (size_t *bytes, int device))                                                                            \
  X(cuDeviceGetAttribute, (int *value, int attribute, int device))                                                               \
  X(cuDevicePrimaryCtxRetain, (void **context, int device))                                                                      \
  X(cuDevicePrimaryCtxRelease_v2, (int device))                                                                                  \
  X(cuCtxSetCurrent, (void *context))                                                                                            \
  X(cuGetErrorName, (int code, const char **name))                                                                               \
  X(cuStreamCreate, (void **stream, unsigned flags))                                                                             \
  X(cuStreamSynchronize, (void *stream))                                                                                         \
  X(cuStreamDestroy_v2, (void *stream))                                                                                          \
  X(cuStreamWaitEvent, (void *stream, void *event, unsigned flags))                                                              \
  X(cuEventCreate, (void **event, unsigned flags))                                                                               \
  X(cuEventRecord, (void *event, void *stream))                                                                                  \
  X(cuEventQuery, (void *event))                                                                                                 \
  X(cuEventSynchronize, (void *event))                                                                                           \
  X(cuEventDestroy_v2, (void *event))                                                                                            \
  X(cuMemHostAlloc, (void **memory, size_t size, unsigned flags))                                                                \
  X(cuMemFreeHost, (void *memory))                                                                                               \
  X(cuMemAlloc_v2, (brim_cuda_address * memory, size_t size))                                                                    \
  X(cuMemAllocManaged, (brim_cuda_address * memory, size_t size, unsigned flags))                                                \
  X(cuMemFree_v2, (brim_cuda_address memory))                                                                                    \
  X(cuMemcpyHtoDAsync_v2, (brim_cuda_address to, const void *from, size_t size, void *stream))                                   \
  X(cuMemcpyDtoHAsync_v2, (void *to, brim_cuda_address from, size_t size, void *stream))                                         \
  X(cuMemcpyDtoDAsync_v2, (brim_cuda_address to, brim_cuda_address from, size_t size, void *stream))                             \
  X(cuMemsetD8Async, (brim_cuda_address to, unsigned char value, size_t size, void *stream))                                     \
  X(cuModuleLoadData, (void **module, const void *image))                                                                        \
  X(cuModuleUnload, (void *module))                                                                                              \
  X(cuModuleGetFunction, (void **function, void *module, const char *name))                                                      \
  X(cuFuncSetAttribute, (void *function, int attribute, int value))                                                              \
  X(cuLaunchKernel, (void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,                 \
                     unsigned threads_z, unsigned shared, void *stream, void **args, void **extra))

/* Of a profile, which may do without. Newer headers give the name to a call that returns the same more exactly. */
#define BRIM_CUDA_TIMES(X) X(cuEventElapsedTime, (float *milliseconds, void *begin, void *end))

/* Of graphs, which older drivers lack. */
#define BRIM_CUDA_GRAPHS(X)                                                                                                      \
  X(cuStreamBeginCapture_v2, (void *stream, int mode))                                                                           \
  X(cuStreamEndCapture, (void *stream, void **graph))                                                                            \
  X(cuGraphInstantiateWithFlags, (void **exec, void *graph, unsigned long long flags))                                           \
  X(cuGraphExecUpdate_v2, (void *exec, void *graph, void *result))                                                               \
  X(cuGraphLaunch, (void *exec, void *stream))                                                                                   \
  X(cuGraphDestroy, (void *graph))                                                                                               \
  X(cuGraphExecDestroy, (void *exec))

#define BRIM_NVRTC(X)                                                                                                            \
  X(nvrtcVersion, (int *major, int *minor))                                                                                      \
  X(nvrtcCreateProgram, (void **program, const char *text, const char *name, int header_count, const char *const *headers,       \
                         const char *const *header_names))                                                                       \
  X(nvrtcCompileProgram, (void *program, int option_count, const char *const *options))                                          \
  X(nvrtcGetProgramLogSize, (void *program, size_t *size))                                                                       \
  X(nvrtcGetProgramLog, (void *program, char *log))                                                                              \
  X(nvrtcGetCUBINSize, (void *program, size_t *size))                                                                            \
  X(nvrtcGetCUBIN, (void *program, char *image))                                                                                 \
  X(nvrtcDestroyProgram, (void **program))

/* Of cuBLASLt: an algorithm, and what it says of one. */
typedef struct brim_lt_algorithm {
  uint64_t data[8];
} brim_lt_algorithm;
typedef struct brim_lt_heuristic {
  brim_lt_algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} brim_lt_heuristic;

#define BRIM_CUBLASLT(X)                                                                                                         \
  X(cublasLtCreate, (void **handle))                                                                                             \
  X(cublasLtDestroy, (void *handle))                                                                                             \
  X(cublasLtMatmulDescCreate, (void **desc, int compute, int scale))                                                             \
  X(cublasLtMatmulDescDestroy, (void *desc))                                                                                     \
  X(cublasLtMatmulDescSetAttribute, (void *desc, int attribute, const void *value, size_t size))                                 \
  X(cublasLtMatrixLayoutCreate, (void **layout, int type, uint64_t rows, uint64_t columns, int64_t stride))                      \
  X(cublasLtMatrixLayoutDestroy, (void *layout))                                                                                 \
  X(cublasLtMatrixLayoutSetAttribute, (void *layout, int attribute, const void *value, size_t size))                             \
  X(cublasLtMatmulPreferenceCreate, (void **preference))                                                                         \
  X(cublasLtMatmulPreferenceDestroy, (void *preference))                                                                         \
  X(cublasLtMatmulPreferenceSetAttribute, (void *preference, int attribute, const void *value, size_t size))                     \
  X(cublasLtMatmulAlgoGetHeuristic, (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int most,   \
                                     brim_lt_heuristic *found, int *count))                                                      \
  X(cublasLtMatmulAlgoCheck, (void *handle, void *desc, void *a, void *b, void *c, void *d, const brim_lt_algorithm *algorithm,  \
                              brim_lt_heuristic *result))                                                                        \
  X(cublasLtMatmul, (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b, void *b_layout,  \
                     const void *beta, const void *c, void *c_layout, void *d, void *d_layout,                                   \
                     const brim_lt_algorithm *algorithm, void *workspace, size_t size, void *stream))

/* Of NCCL: what rank 0 makes and all join by, handed over by value. */
typedef struct brim_nccl_key {
  char bytes[128];
} brim_nccl_key;

#define BRIM_NCCL(X)                                                                                                             \
  X(ncclGetUniqueId, (brim_nccl_key * key))                                                                                      \
  X(ncclCommInitRank, (void **communicator, int world, brim_nccl_key key, int rank))                                             \
  X(ncclAllReduce, (const void *from, void *to, size_t count, int type, int operation, void *communicator, void *stream))        \
  X(ncclCommDestroy, (void *communicator))                                                                                       \
  X(ncclCommAbort, (void *communicator))

#define BRIM_CUDA_POINTER(name, parameters) int(*name) parameters;

typedef struct brim_cuda_graph_calls {
  BRIM_CUDA_GRAPHS(BRIM_CUDA_POINTER)
} brim_cuda_graph_calls;

typedef struct brim_cuda_driver {
  void *library;
  char path[256]; /* where it was found */
  BRIM_CUDA_DRIVER(BRIM_CUDA_POINTER)
  BRIM_CUDA_TIMES(BRIM_CUDA_POINTER) /* NULL: there is none */
  brim_cuda_graph_calls graph;
  bool has_graphs;
} brim_cuda_driver;

typedef struct brim_nvrtc {
  void *library;
  char path[256];
  BRIM_NVRTC(BRIM_CUDA_POINTER)
} brim_nvrtc;

typedef struct brim_cublaslt {
  void *library; /* NULL: there is none */
  char path[256];
  size_t (*cublasLtGetVersion)(void); /* 130100: 13.1.0 */
  BRIM_CUBLASLT(BRIM_CUDA_POINTER)
} brim_cublaslt;

typedef struct brim_nccl {
  void *library; /* NULL: there is none */
  char path[256];
  const char *(*ncclGetErrorString)(int code);
  BRIM_NCCL(BRIM_CUDA_POINTER)
} brim_nccl;

/* BRIM_E_UNSUPPORTED with a line that says what to install. Freed with their close, which may be called for what is all zero. */
int brim_cuda_driver_open(brim_cuda_driver *driver, brim_error *err) BRIM_CHECK;
void brim_cuda_driver_close(brim_cuda_driver *driver);
int brim_nvrtc_open(brim_nvrtc *nvrtc, brim_error *err) BRIM_CHECK;
void brim_nvrtc_close(brim_nvrtc *nvrtc);
/* False: it was not found, or BRIM_CUBLASLT is "none". */
bool brim_cublaslt_open(brim_cublaslt *lt);
void brim_cublaslt_close(brim_cublaslt *lt);
/* False: it was not found, or BRIM_NCCL is "none". */
bool brim_nccl_open(brim_nccl *nccl);
void brim_nccl_close(brim_nccl *nccl);

/* Which of `cards` GPUs a process computes on that names none, from 0 on: its own, as brim/device.h says. */
int brim_gpu_own(int cards);

#endif
