/* brim/dist.h: ranks. Today one process; the seam for MPI and NCCL. */
#ifndef BRIM_DIST_H
#define BRIM_DIST_H
#include "brim/base.h"
#ifdef __cplusplus
extern "C" {
#endif

/* A group of ranks. `sum` adds count floats over all ranks, in place, in an order that does not depend on timing. */
typedef struct brim_group {
  int32_t rank, world_size;
  int (*sum)(void *context, float *values, int64_t count, brim_error *err);
  int (*sum_double)(void *context, double *values, int64_t count, brim_error *err);
  void *context;
} brim_group;

/* The group of one process: sums are the identity. */
BRIM_API brim_group brim_group_single(void);

#ifdef __cplusplus
}
#endif
#endif
