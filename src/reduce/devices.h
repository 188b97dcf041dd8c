/* devices.h: the gradient of all ranks, added up by their devices while backward is under way.
 *
 * It is summed from its end to its beginning, in pieces of the same sizes on all ranks, each queued as soon as the operations
 * that complete it are. A rank without rows, and one whose device takes a backward at once, queues all of them afterwards. */
#ifndef BRIM_REDUCE_DEVICES_H
#define BRIM_REDUCE_DEVICES_H
#include "brim/dist.h"
#include "model/ready.h"

typedef struct brim_device_ranks {
  const brim_group *group;
  brim_runtime *runtime;
  brim_model *model;
  bool joined;   /* else there is nothing to do */
  bool given_up; /* after a failure: no other rank is waited for any more */
  brim_ready_hook ready;
  int64_t size, piece; /* values of the gradient, and of each piece of it but the last */
  int64_t from;        /* this step's sum is queued from here on */
} brim_device_ranks;

/* Every rank calls it. `joined`, the same on all: their devices add up gradients from now on; false where there is one rank, or
 * one of them has no such device or library, or two share a device: then ranks sum on the host. All are borrowed until close. */
int brim_device_ranks_open(brim_device_ranks *d, const brim_group *group, brim_runtime *runtime, brim_model *model,
                           brim_error *err) BRIM_CHECK;
/* Waits for all ranks, which all call it, but for those that have called brim_device_ranks_undo, as all do then. */
void brim_device_ranks_close(brim_device_ranks *d);
/* Before this rank's last part of a step, and after it: what is complete is queued in between, and the rest then. */
void brim_device_ranks_begin(brim_device_ranks *d);
void brim_device_ranks_end(brim_device_ranks *d);
/* What is queued from now on has the gradient of all ranks. No rank has failed so far. */
int brim_device_ranks_wait(brim_device_ranks *d, brim_error *err) BRIM_CHECK;
/* After a failure, in a step or outside: sums for which nothing waits yet come to nothing, there are no others, and no rank is
 * waited for, as one may be lost. */
void brim_device_ranks_undo(brim_device_ranks *d);
#endif
