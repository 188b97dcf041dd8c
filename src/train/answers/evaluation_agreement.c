/* evaluation_agreement.c: what all ranks must have alike that predict together. */
#include "train/answers/evaluation_agreement.h"
#include "model/run/ask.h"

#include <string.h>

#include "base/hashmap.h"
#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "train/folder/hashes.h"

/* What differs is reported as one: there are few things to look at. */
int brim_evaluation_agree(brim_runtime *runtime, brim_model *model, const brim_dataset *dataset, const brim_eval_options *o,
                          brim_error *err) {
  const brim_group *group = &o->group;
  if (group->world_size <= 1)
    return BRIM_OK;
  enum { OPTIONS, VERSION, WEIGHTS, ROWS, THINGS };
  static const char *const names[THINGS] = {"options", "build of brim or kernels", "weights of the model", "rows"};
  const int64_t given[] = {o->batching, o->padding, o->batch_size, o->max_tokens, o->max_length, o->precision};
  char build[BRIM_BUILD_SIZE];
  brim_build(build);
  uint64_t own[THINGS] = {
      [VERSION] = brim_hash64(build, strlen(build), 0),
      [ROWS] = brim_dataset_fingerprint(dataset),
      [OPTIONS] = brim_hash64(given, sizeof given, 0),
  };
  const char *kernels = brim_model_kernels_for(model, o->precision);
  own[VERSION] ^= brim_hash64(kernels, strlen(kernels), 1);
  uint64_t (*all)[THINGS] = brim_alloc_array(runtime, (size_t)group->world_size, sizeof *all);
  int status = all ? brim_model_weights_hash(model, &own[WEIGHTS], err) : BRIM_NOMEM(err);
  status = brim_group_agree(group, status, err);
  if (!status)
    status = brim_group_gather(group, runtime, own, sizeof own, all, err);
  for (int i = 0; i < THINGS && !status; i++)
    for (int32_t r = 1; r < group->world_size && !status; r++)
      if (all[r][i] != all[0][i])
        status = brim_error_set(err, BRIM_E_MISMATCH,
                                "rank %d has other %s than rank 0: start all ranks with the same files and options", (int)r,
                                names[i]);
  brim_release(runtime, all);
  return status;
}
