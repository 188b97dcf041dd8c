/* host.h: where a model's memory is. */
#ifndef BRIM_MODEL_HOST_H
#define BRIM_MODEL_HOST_H
#include "brim/model.h"

/* Whether the device's memory is the host's, which may look into it. */
bool brim_model_is_host(const brim_model *model);

#endif
