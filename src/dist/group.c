/* group.c: the group of one process, and what any group does by sums. */
#include "dist/group.h"

#include <string.h>

#include "base/memory.h"
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
    return brim_error_set(err, BRIM_E_IO, BRIM_FAILED_ELSEWHERE);
  return cancelled > 0.0 ? brim_error_cancelled(err) : BRIM_OK;
}

int brim_group_check(const brim_group *group, brim_error *err) {
  const int32_t world = group->world_size > 0 ? group->world_size : 1;
  if (group->rank < 0 || group->rank >= world)
    return brim_error_set(err, BRIM_E_USAGE, "rank %d does not exist in a group of %d", (int)group->rank, (int)world);
  if (world > 1 && (!group->sum || !group->sum_double))
    return brim_error_set(err, BRIM_E_USAGE, "a group of %d ranks needs the functions that add up (sum, sum_double)", (int)world);
  return BRIM_OK;
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

/* A double holds 32 bits, and x + 0 is x: a sum in which each rank has its own element, and zeros elsewhere, hands over that
 * element. */
int brim_group_gather(const brim_group *group, brim_runtime *runtime, const void *mine, size_t bytes, void *all,
                      brim_error *err) {
  if (group->world_size <= 1) {
    memcpy(all, mine, bytes);
    return BRIM_OK;
  }
  const size_t words = (bytes + 3) / 4, world = (size_t)group->world_size;
  double *sums = brim_alloc_array_zero(runtime, world * words, sizeof *sums);
  if (!sums)
    return BRIM_NOMEM(err);
  for (size_t i = 0; i < words; i++) {
    uint32_t word = 0;
    memcpy(&word, (const char *)mine + 4 * i, bytes - 4 * i < 4 ? bytes - 4 * i : 4);
    sums[(size_t)group->rank * words + i] = word;
  }
  const int status = group->sum_double(group->context, sums, (int64_t)(world * words), err);
  for (size_t i = 0; i < world * words && !status; i++) {
    const size_t from = i % words * 4;
    const uint32_t word = (uint32_t)sums[i];
    memcpy((char *)all + i / words * bytes + from, &word, bytes - from < 4 ? bytes - from : 4);
  }
  brim_release(runtime, sums);
  return status;
}

int brim_group_gather_texts(const brim_group *group, brim_runtime *runtime, const char *mine, char **all, brim_error *err) {
  const size_t world = group->world_size > 1 ? (size_t)group->world_size : 1;
  const uint64_t own = strlen(mine) + 1;
  uint64_t *lengths = brim_alloc_array(runtime, world, sizeof *lengths), most = 0, sum = 0;
  *all = NULL;
  int status = lengths ? brim_group_gather(group, runtime, &own, sizeof own, lengths, err) : BRIM_NOMEM(err);
  for (size_t r = 0; r < world && !status; r++)
    most = lengths[r] > most ? lengths[r] : most, sum += lengths[r];
  char *padded = status ? NULL : brim_alloc_array_zero(runtime, world + 1, most); /* each as long as the longest, and one's own */
  if (!status)
    *all = brim_alloc(runtime, sum);
  if (!status && (!padded || !*all))
    status = BRIM_NOMEM(err);
  if (!status) {
    memcpy(padded + world * most, mine, own);
    status = brim_group_gather(group, runtime, padded + world * most, most, padded, err);
  }
  char *at = *all;
  for (size_t r = 0; r < world && !status; at += lengths[r], r++)
    memcpy(at, padded + r * most, lengths[r]);
  if (status)
    brim_release(runtime, *all), *all = NULL;
  brim_release(runtime, padded);
  brim_release(runtime, lengths);
  return status;
}

int brim_group_largest(const brim_group *group, brim_runtime *runtime, uint64_t *value, brim_error *err) {
  if (group->world_size <= 1)
    return BRIM_OK;
  uint64_t *all = brim_alloc_array(runtime, (size_t)group->world_size, sizeof *all);
  int status = all ? brim_group_gather(group, runtime, value, sizeof *value, all, err) : BRIM_NOMEM(err);
  for (int32_t r = 0; r < group->world_size && !status; r++)
    *value = all[r] > *value ? all[r] : *value;
  brim_release(runtime, all);
  return status;
}
