/* shards.h: the gradient's sum and the update, where ranks share memory: each adds up its part out of all ranks' gradients,
 * updates it, and takes the weights of the other parts from theirs. The bits are those of sums by messages and of updates that
 * every rank does whole. */
#ifndef BRIM_REDUCE_SHARDS_H
#define BRIM_REDUCE_SHARDS_H
#include "dist/shared.h"
#include "model/run/gradient_shard.h"
#include "reduce/tree.h"

typedef struct brim_sharing {
  brim_shared *memory; /* NULL: ranks share none */
  brim_gradient_shard *shard;
  const brim_group *group;
  brim_runtime *runtime;
  brim_model *model;
  int64_t values;          /* of a gradient */
  brim_slice_sums *slices; /* NULL: there are none */
} brim_sharing;

/* Every rank calls it; the model is prepared for training, and has no gradient. All are borrowed. `slices` is open, or NULL; sums
 * that wait are in shared memory from now on. */
int brim_sharing_open(brim_sharing *sharing, brim_runtime *runtime, brim_model *model, const brim_group *group,
                      const brim_plan_options *plan, brim_slice_sums *slices, brim_error *err) BRIM_CHECK;
/* Before `slices` is closed. */
void brim_sharing_close(brim_sharing *sharing);

/* A step of every rank: of each rank's gradient its part is the sum of all, and the tables are. */
int brim_sharing_sum(brim_sharing *sharing, brim_error *err) BRIM_CHECK;
/* Then of its part and the tables; brim_model_answers has the norm. */
int brim_sharing_update(brim_sharing *sharing, const brim_adamw *options, brim_error *err) BRIM_CHECK;
/* Then all weights of all ranks. */
int brim_sharing_gather(brim_sharing *sharing, brim_error *err) BRIM_CHECK;
/* After all ranks have met again: the gradient is zero. */
void brim_sharing_done(brim_sharing *sharing);

/* Every rank gets all moments. */
int brim_sharing_moments(brim_sharing *sharing, brim_error *err) BRIM_CHECK;
#endif
