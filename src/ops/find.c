/* find.c: which device serves a level or a recorded name. */
#include "base/runtime.h"
#include "ops/ops.h"

#include <string.h>

/* Of levels that this build has not (the option `levels`) the next lower one serves. */
const brim_ops *brim_plain_ops(void);
const brim_ops *brim_avx2_ops(void);
const brim_ops *brim_avx512_ops(void);
const brim_ops *brim_amx_ops(void);

const brim_ops *brim_ops_cpu(brim_cpu_level level) {
#ifdef BRIM_HAS_AVX512
  if (level == BRIM_CPU_AMX)
    return brim_amx_ops();
  if (level == BRIM_CPU_AVX512)
    return brim_avx512_ops();
#endif
#ifdef BRIM_HAS_AVX2
  if (level >= BRIM_CPU_AVX2)
    return brim_avx2_ops();
#endif
  (void)level;
  return brim_plain_ops();
}

/* AMX sums in another order, and its emulation is slow: separate names. "cpu-avx512-amx" are runs of 16 bits that were
 * begun when products of fp32 were AVX-512's everywhere; they continue with these. */
static const char *class_of(const brim_ops *ops, const brim_runtime *runtime, bool bf16) {
#ifdef BRIM_HAS_AVX512
  const bool emulated = runtime->bf16 == BRIM_BF16_TILES_EMULATED;
  if (strcmp(ops->name, brim_amx_ops()->name) == 0 && emulated)
    return "cpu-amx-emulated";
  if (strcmp(ops->name, brim_avx512_ops()->name) == 0 && bf16 && (emulated || runtime->bf16 == BRIM_BF16_TILES))
    return emulated ? "cpu-avx512-amx-emulated" : "cpu-avx512-amx";
#endif
  (void)runtime, (void)bf16;
  return ops->name;
}

const char *brim_ops_class(const brim_ops *ops, const brim_ops_context *c, bool bf16) {
  return ops->exact_name ? ops->exact_name(c, bf16) : class_of(ops, c->runtime, bf16);
}

/* "cuda", or "cuda-" and an architecture. */
static bool is_cuda(const char *name) {
  const char *cuda = brim_ops_cuda()->name;
  const size_t length = strlen(cuda);
  return strncmp(name, cuda, length) == 0 && (name[length] == 0 || name[length] == '-');
}

bool brim_ops_is_tf32(const char *name) {
  const size_t length = strlen(name), end = strlen(BRIM_TF32_NAME);
  return is_cuda(name) && length > end && strcmp(name + length - end, BRIM_TF32_NAME) == 0;
}

const brim_ops *brim_ops_find(const brim_runtime *runtime, const char *name) {
  if (strcmp(name, brim_ops_ref()->name) == 0)
    return brim_ops_ref();
  if (is_cuda(name))
    return brim_ops_cuda();
  for (int level = BRIM_CPU_PLAIN; level <= (int)brim_runtime_cpu(runtime); level++) {
    const brim_ops *ops = brim_ops_cpu((brim_cpu_level)level);
    if (strcmp(name, ops->name) == 0 || strcmp(name, class_of(ops, runtime, true)) == 0)
      return ops;
  }
  return NULL;
}
