/* device_ranks.h: the gradient of all ranks, added up by their devices. */
#ifndef BRIM_TRAIN_DEVICE_RANKS_H
#define BRIM_TRAIN_DEVICE_RANKS_H
#include "brim/dist.h"
#include "brim/model.h"

/* Every rank calls it. *joined, the same on all: their devices add up gradients from now on (brim_device_ranks_sum); false where
 * there is one rank, or one of them has no such device or library, or two share a device: then ranks sum on the host. */
int brim_device_ranks_open(const brim_group *group, brim_runtime *runtime, brim_model *model, bool *joined,
                           brim_error *err) BRIM_CHECK;
void brim_device_ranks_close(brim_model *model, bool joined);
/* Queued: the model's gradient is that of all ranks then. */
int brim_device_ranks_sum(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) BRIM_CHECK;
#endif
