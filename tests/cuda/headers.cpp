// headers.cpp: what brim believes of CUDA's libraries (driver.h, numbers.h) next to their headers, which come with the wheels
// nvidia-cuda-runtime, nvidia-cuda-nvrtc, nvidia-cublas and nvidia-nccl: names, versions of names, parameters, structs, numbers.
// Nothing runs: c++ -fsyntax-only, with HAS_CUBLASLT and HAS_NCCL where their headers are (tools/test_cuda).
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <cuda.h>
#include <nvrtc.h>
#ifdef HAS_CUBLASLT
#include <cublasLt.h>
#endif
#ifdef HAS_NCCL
#include <nccl.h>
#endif

namespace ours {
#include "ops/cuda/driver.h"
#include "ops/cuda/numbers.h"
} // namespace ours

// A parameter: pointers to what is as large, through as many pointers; numbers, enumerations and structs of one size.
template <class A, class B> constexpr bool alike_values() {
  typedef std::remove_cv_t<A> a;
  typedef std::remove_cv_t<B> b;
  if constexpr (std::is_pointer_v<a> != std::is_pointer_v<b>)
    return false;
  else if constexpr (!std::is_pointer_v<a>)
    return std::is_class_v<a> == std::is_class_v<b> && std::is_floating_point_v<a> == std::is_floating_point_v<b> && sizeof(a) == sizeof(b) &&
           alignof(a) >= alignof(b);
  else {
    typedef std::remove_pointer_t<a> to;
    typedef std::remove_pointer_t<b> from;
    // A handle is a pointer to a struct that nobody sees: void * here. Theirs may promise to write nothing where ours does not.
    if constexpr (std::is_const_v<to> && !std::is_const_v<from>)
      return false;
    else if constexpr (std::is_void_v<std::remove_cv_t<to>> || std::is_void_v<std::remove_cv_t<from>>)
      return !std::is_pointer_v<to>;
    else if constexpr (std::is_function_v<to> || std::is_function_v<from>)
      return std::is_function_v<to> == std::is_function_v<from>;
    else
      return alike_values<to, from>();
  }
}

template <class A, class B> struct alike : std::false_type {};
template <class RA, class... A, class RB, class... B> struct alike<RA (*)(A...), RB (*)(B...)> {
  static constexpr bool compare() {
    if constexpr (sizeof...(A) != sizeof...(B))
      return false;
    else
      return alike_values<RA, RB>() && (alike_values<A, B>() && ...);
  }
  static constexpr bool value = compare();
};

constexpr bool same_text(const char *a, const char *b) {
  return *a == *b && (*a == 0 || same_text(a + 1, b + 1));
}

// A name that the header defines as another one is that of an older call.
#define TEXT(name)         #name
#define EXPANDED(name)     TEXT(name)
#define CALL(name, params) static_assert(alike<int(*) params, decltype(&::name)>::value, #name " has other parameters");
#define NAMED(name, ...)   static_assert(same_text(#name, EXPANDED(name)), #name " is an older version: " EXPANDED(name));
#define NUMBER(name, theirs, number) static_assert(long(name) == long(theirs), #theirs " is not " #number);

namespace ours {
BRIM_CUDA_DRIVER(CALL)
BRIM_CUDA_DRIVER(NAMED)
BRIM_CUDA_TIMES(CALL)
BRIM_CUDA_GRAPHS(CALL)
BRIM_CUDA_GRAPHS(NAMED)
BRIM_NVRTC(CALL)
BRIM_NVRTC(NAMED)
BRIM_CUDA_NUMBERS(NUMBER)
static_assert(sizeof(CUgraphExecUpdateResultInfo) <= 64, "graph.c has room for 64 bytes");
#ifdef HAS_CUBLASLT
BRIM_CUBLASLT(CALL)
BRIM_CUBLASLT(NAMED)
BRIM_LT_NUMBERS(NUMBER)
static_assert(alike<size_t (*)(void), decltype(&::cublasLtGetVersion)>::value, "cublasLtGetVersion");
static_assert(sizeof(brim_lt_algorithm) == sizeof(cublasLtMatmulAlgo_t), "an algorithm's size");
static_assert(sizeof(brim_lt_heuristic) == sizeof(cublasLtMatmulHeuristicResult_t), "a heuristic's size");
#define FIELD(name, theirs) static_assert(offsetof(brim_lt_heuristic, name) == offsetof(cublasLtMatmulHeuristicResult_t, theirs), #theirs)
FIELD(algorithm, algo);
FIELD(workspace, workspaceSize);
FIELD(state, state);
FIELD(waves, wavesCount);
FIELD(reserved, reserved);
#endif
#ifdef HAS_NCCL
BRIM_NCCL(CALL)
BRIM_NCCL_NUMBERS(NUMBER)
static_assert(sizeof(brim_nccl_key) == sizeof(ncclUniqueId), "a key's size");
#endif
} // namespace ours
