/* host.c: where a model's memory is. */
#include "model/run/host.h"

#include "model/run/model.h"

bool brim_model_is_host(const brim_model *m) {
  return m->ops->features & BRIM_FEATURE_HOST_MEMORY;
}
