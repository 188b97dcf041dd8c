/* brim/device.h: what computes on this machine, and how fast. */
#ifndef BRIM_DEVICE_H
#define BRIM_DEVICE_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct brim_device_info {
  const char *kernels;  /* "cpu-avx512": recorded in checkpoints; static storage */
  const char *products; /* what multiplies matrices, one line; static storage */
  const char *bf16;     /* and what those of 16-bit values, one line; static storage */
  bool bf16_fast;       /* with instructions for them: two products and more where fp32 has one */
  int threads;
} brim_device_info;
BRIM_API brim_device_info brim_device_describe(const brim_runtime *runtime);

/* Of what numbers a product is; sums are fp32, those of bytes integers. */
typedef enum brim_product_kind { BRIM_PRODUCT_FP32 = 0, BRIM_PRODUCT_BF16, BRIM_PRODUCT_INT8 } brim_product_kind;

/* GFLOP/s of the matrix products of a layer with these shapes, all threads, the best of several runs (about 0.1 s at sizes of
 * interest). rows, in, out: 1 .. 2^20, else BRIM_E_USAGE. */
typedef struct brim_gemm_speed {
  double forward;         /* y = x w^T: [rows, in] and [out, in] */
  double input_gradient;  /* dx = dy w */
  double weight_gradient; /* dw += dy^T x; INT8 has no gradients: 0 */
} brim_gemm_speed;
BRIM_API int brim_device_gemm_speed(brim_runtime *runtime, brim_product_kind kind, int32_t rows, int32_t in, int32_t out,
                                    brim_gemm_speed *speed, brim_error *err) BRIM_CHECK;

/* What was found of a GPU, in the order in which it is needed: what came to nothing is empty, and so is what follows it. Versions
 * are 1000 * major + 10 * minor, as CUDA counts them.
 *
 * A process's own card is the one that has its number among the processes of its machine, as the launcher's variables have it
 * (Open MPI, MPICH, Intel MPI, Slurm, torchrun); the first where there is no launcher. Where there are more processes than GPUs
 * they share. What CUDA_VISIBLE_DEVICES hides does not count. */
typedef struct brim_gpu_info {
  char driver[256]; /* file of libcuda */
  int driver_version;
  char name[128];     /* of the process's own card */
  int cards;          /* how many there are */
  int capability;     /* 90: compute capability 9.0, sm_90 */
  uint64_t memory;    /* bytes of the card */
  char compiler[256]; /* file of NVRTC; or of kernels that were compiled beforehand, which have no version */
  int compiler_version;
  char products[256]; /* file of cuBLASLt; empty: brim's own kernels multiply, which is slower */
  int products_version;
} brim_gpu_info;
/* Looks for driver, card and compiler; BRIM_OK: BRIM_DEVICE_CUDA can compute. BRIM_E_UNSUPPORTED: the line says what is missing,
 * and what to install. */
BRIM_API int brim_gpu_find(brim_gpu_info *out, brim_error *err) BRIM_CHECK;

/* Memory of a card, for programs that take arrays where they are (DLPack). `card` as in brim_model_options. It holds a copy of
 * `from` [size], which is there when the call returns, or, where that is NULL, nothing yet. The runtime is borrowed until it is
 * freed. Threads: one at a time. BRIM_E_UNSUPPORTED: no driver, or no such card. */
typedef struct brim_gpu_memory brim_gpu_memory;
BRIM_API int brim_gpu_memory_new(brim_runtime *runtime, int32_t card, const void *from, size_t size, brim_gpu_memory **out,
                                 brim_error *err) BRIM_CHECK;
BRIM_API void *brim_gpu_memory_at(const brim_gpu_memory *memory); /* an address of the card */
BRIM_API int brim_gpu_memory_card(const brim_gpu_memory *memory); /* the driver's number of the card, from 0 on */
BRIM_API int brim_gpu_memory_read(const brim_gpu_memory *memory, void *to,
                                  brim_error *err) BRIM_CHECK; /* all of it, to the host's */
BRIM_API void brim_gpu_memory_free(brim_gpu_memory *memory);   /* may be NULL */

#ifdef __cplusplus
}
#endif
#endif
