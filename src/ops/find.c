/* find.c: which table serves a level or a recorded name. */
#include "ops/ops.h"

#include <string.h>

const brim_ops *brim_ops_cpu(brim_cpu_level level) {
  (void)level;
  return brim_ops_ref();
}

const brim_ops *brim_ops_find(const brim_runtime *runtime, const char *name) {
  if (strcmp(name, brim_ops_ref()->name) == 0) return brim_ops_ref();
  const brim_ops *best = brim_ops_cpu(brim_runtime_cpu(runtime));
  return strcmp(name, best->name) == 0 ? best : NULL;
}
