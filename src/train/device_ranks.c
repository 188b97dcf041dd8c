#include "train/device_ranks.h"

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/flat.h"
#include "train/sum.h"

typedef struct offer {
  char able, key[BRIM_RANKS_KEY];
} offer;

static bool all_able(const offer *offers, int32_t count) {
  for (int32_t i = 0; i < count; i++)
    if (!offers[i].able)
      return false;
  return true;
}

/* How many ranks could not. */
static int count_failures(const brim_group *group, bool failed, double *failures, brim_error *err) {
  *failures = failed;
  return group->sum_double(group->context, failures, 1, err);
}

int brim_device_ranks_open(const brim_group *group, brim_runtime *runtime, brim_model *model, bool *joined, brim_error *err) {
  offer own = {0};
  brim_error why;
  double failures = 1;
  *joined = false;
  if (group->world_size <= 1 || !brim_flat_has_ranks(model))
    return BRIM_OK;
  offer *all = brim_alloc_array_zero(runtime, (size_t)group->world_size, sizeof *all);
  BRIM_TRY(brim_group_agree(group, all ? BRIM_OK : BRIM_NOMEM(err), err));
  own.able = brim_flat_ranks_key(model, own.key, &why) == BRIM_OK;
  int status = brim_group_gather(group, runtime, &own, sizeof own, all, err);
  if (!status && all_able(all, group->world_size)) {
    const int code = brim_flat_ranks_join(model, all[0].key, group->rank, group->world_size, &why);
    status = count_failures(group, code != BRIM_OK, &failures, err);
  }
  *joined = !status && failures == 0;
  if (!*joined)
    brim_flat_ranks_leave(model);
  brim_release(runtime, all);
  return status;
}

void brim_device_ranks_close(brim_model *model, bool joined) {
  if (joined)
    brim_flat_ranks_leave(model);
}

int brim_device_ranks_sum(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) {
  BRIM_TRY(brim_sum_join_rows(group, runtime, model, NULL, 0, err));
  brim_flat_ranks_sum(model);
  return BRIM_OK;
}
