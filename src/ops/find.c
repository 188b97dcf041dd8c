/* find.c: which table serves a level or a recorded name. */
#include "ops/ops.h"

#include <string.h>

const brim_ops *brim_plain_table(void);
#if defined(__x86_64__)
const brim_ops *brim_avx2_table(void);
const brim_ops *brim_avx512_table(void);
#endif

const brim_ops *brim_ops_cpu(brim_cpu_level level) {
#if defined(__x86_64__)
  if (level == BRIM_CPU_AVX512)
    return brim_avx512_table();
  if (level == BRIM_CPU_AVX2)
    return brim_avx2_table();
#endif
  (void)level;
  return brim_plain_table();
}

const brim_ops *brim_ops_find(const brim_runtime *runtime, const char *name) {
  if (strcmp(name, brim_ops_ref()->name) == 0)
    return brim_ops_ref();
  if (strcmp(name, brim_ops_cuda()->name) == 0)
    return brim_ops_cuda();
  for (int level = BRIM_CPU_PLAIN; level <= (int)brim_runtime_cpu(runtime); level++) {
    const brim_ops *ops = brim_ops_cpu((brim_cpu_level)level);
    if (strcmp(name, ops->name) == 0)
      return ops;
  }
  return NULL;
}
