/* numbers.h: the numbers that brim gives to CUDA's libraries and gets from them: brim's name, the name in their headers, which a
 * build does not have, and the number. tests/cuda/headers.cpp compares them with the headers where those are. */
#ifndef BRIM_CUDA_NUMBERS_H
#define BRIM_CUDA_NUMBERS_H

/* cuda.h: what failed. LOST: nothing can be done on the context any more. */
#define BRIM_CUDA_LOST(X)                                                                                                        \
  X(CUDA_UNAVAILABLE, CUDA_ERROR_DEVICE_UNAVAILABLE, 46)                                                                         \
  X(CUDA_BAD_MEMORY, CUDA_ERROR_ECC_UNCORRECTABLE, 214)                                                                          \
  X(CUDA_BAD_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS, 700)                                                                           \
  X(CUDA_TIMED_OUT, CUDA_ERROR_LAUNCH_TIMEOUT, 702)                                                                              \
  X(CUDA_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED, 709)                                                                        \
  X(CUDA_ASSERTED, CUDA_ERROR_ASSERT, 710)                                                                                       \
  X(CUDA_BAD_STACK, CUDA_ERROR_HARDWARE_STACK_ERROR, 714)                                                                        \
  X(CUDA_BAD_INSTRUCTION, CUDA_ERROR_ILLEGAL_INSTRUCTION, 715)                                                                   \
  X(CUDA_MISALIGNED, CUDA_ERROR_MISALIGNED_ADDRESS, 716)                                                                         \
  X(CUDA_BAD_SPACE, CUDA_ERROR_INVALID_ADDRESS_SPACE, 717)                                                                       \
  X(CUDA_BAD_PC, CUDA_ERROR_INVALID_PC, 718)                                                                                     \
  X(CUDA_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED, 719)                                                                           \
  X(CUDA_UNKNOWN, CUDA_ERROR_UNKNOWN, 999)

#define BRIM_CUDA_NUMBERS(X)                                                                                                     \
  BRIM_CUDA_LOST(X)                                                                                                              \
  X(CUDA_NO_MEMORY, CUDA_ERROR_OUT_OF_MEMORY, 2)                                                                                 \
  X(CUDA_NOT_READY, CUDA_ERROR_NOT_READY, 600)                                                                                   \
  X(CUDA_ATTRIBUTE_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                                                     \
  X(CUDA_ATTRIBUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                                                      \
  X(CUDA_ATTRIBUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                                                      \
  X(CUDA_ATTRIBUTE_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97)                                            \
  X(CUDA_KERNEL_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)                                                      \
  X(CUDA_STREAM_ALONE, CU_STREAM_NON_BLOCKING, 1)                                                                                \
  X(CUDA_EVENT_NO_TIMING, CU_EVENT_DISABLE_TIMING, 2)                                                                            \
  X(CUDA_ATTACH_GLOBAL, CU_MEM_ATTACH_GLOBAL, 1)                                                                                 \
  X(CUDA_CAPTURE_RELAXED, CU_STREAM_CAPTURE_MODE_RELAXED, 2)

/* cublasLt.h, library_types.h. */
#define BRIM_LT_NUMBERS(X)                                                                                                       \
  X(LT_COMPUTE_32F, CUBLAS_COMPUTE_32F, 68)                                                                                      \
  X(LT_COMPUTE_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                                                           \
  X(LT_R_32F, CUDA_R_32F, 0)                                                                                                     \
  X(LT_R_16F, CUDA_R_16F, 2)                                                                                                     \
  X(LT_R_16BF, CUDA_R_16BF, 14)                                                                                                  \
  X(LT_OP_N, CUBLAS_OP_N, 0)                                                                                                     \
  X(LT_OP_T, CUBLAS_OP_T, 1)                                                                                                     \
  X(LT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                                                              \
  X(LT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                                                              \
  X(LT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                                                          \
  X(LT_DESC_BIAS, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                                                          \
  X(LT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                                                                 \
  X(LT_LAYOUT_ROWS, CUBLASLT_MATRIX_LAYOUT_ROWS, 2)                                                                              \
  X(LT_LAYOUT_COLUMNS, CUBLASLT_MATRIX_LAYOUT_COLS, 3)                                                                           \
  X(LT_PREFER_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                                                            \
  X(LT_PREFER_REDUCTION, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                                                          \
  X(LT_PREFER_ALIGNED_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                                                          \
  X(LT_PREFER_ALIGNED_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                                                          \
  X(LT_REDUCTION_NOT_IN_PLACE, CUBLASLT_REDUCTION_SCHEME_MASK & ~CUBLASLT_REDUCTION_SCHEME_INPLACE, 6)

/* nccl.h. */
#define BRIM_NCCL_NUMBERS(X)                                                                                                     \
  X(NCCL_FLOAT32, ncclFloat32, 7)                                                                                                \
  X(NCCL_SUM, ncclSum, 0)

#define BRIM_CUDA_NUMBER_IS(name, theirs, number) name = number,
enum { BRIM_CUDA_NUMBERS(BRIM_CUDA_NUMBER_IS) BRIM_LT_NUMBERS(BRIM_CUDA_NUMBER_IS) BRIM_NCCL_NUMBERS(BRIM_CUDA_NUMBER_IS) };
#undef BRIM_CUDA_NUMBER_IS
#endif
