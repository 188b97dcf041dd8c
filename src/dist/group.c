/* group.c: the group of one process. */
#include "dist/group.h"

#include "base/status.h"

static int single_sum(void *context, float *values, int64_t count, brim_error *err) {
  (void)context, (void)values, (void)count, (void)err;
  return BRIM_OK;
}

static int single_sum_double(void *context, double *values, int64_t count, brim_error *err) {
  (void)context, (void)values, (void)count, (void)err;
  return BRIM_OK;
}

brim_group brim_group_single(void) {
  return (brim_group){.rank = 0, .world_size = 1, .sum = single_sum, .sum_double = single_sum_double};
}

int brim_group_decide(int status, double failed, double cancelled, brim_error *err) {
  if (status && (status != BRIM_E_CANCELLED || failed <= 0.0))
    return status;
  if (failed > 0.0)
    return brim_error_set(err, BRIM_E_IO, "another rank failed; its message says why");
  return cancelled > 0.0 ? brim_error_cancelled(err) : BRIM_OK;
}

int brim_group_agree(const brim_group *group, int status, brim_error *err) {
  if (group->world_size <= 1)
    return status;
  double sums[2] = {status && status != BRIM_E_CANCELLED, status == BRIM_E_CANCELLED};
  brim_error ignored;
  int summed = group->sum_double(group->context, sums, 2, status ? &ignored : err);
  if (summed)
    return status ? status : summed;
  return brim_group_decide(status, sums[0], sums[1], err);
}
