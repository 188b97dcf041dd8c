#include "train/sum.h"

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/flat.h"
#include "model/telling.h"

static int join(const brim_group *group, brim_runtime *runtime, uint8_t *rows, size_t count, uint8_t *bits, brim_error *err) {
  const size_t bytes = count / 8 + 1, world = (size_t)group->world_size;
  uint8_t *own = bits + world * bytes;
  for (size_t i = 0; i < count; i++)
    own[i / 8] |= (uint8_t)((rows[i] != 0) << i % 8);
  BRIM_TRY(brim_group_gather(group, runtime, own, bytes, bits, err));
  for (size_t rank = 1; rank < world; rank++)
    for (size_t i = 0; i < bytes; i++)
      bits[i] |= bits[rank * bytes + i];
  for (size_t i = 0; i < count; i++)
    rows[i] = bits[i / 8] >> i % 8 & 1;
  return BRIM_OK;
}

int brim_sum_join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_partials *partials,
                       int32_t count, brim_error *err) {
  size_t row_count;
  uint8_t *rows = brim_gradient_rows(model, &row_count);
  const size_t bytes = row_count / 8 + 1, world = (size_t)group->world_size;
  uint8_t *bits = brim_alloc_array_zero(runtime, world + 1, bytes);
  int status = brim_group_agree(group, bits ? BRIM_OK : BRIM_NOMEM(err), err);
  for (int32_t i = 0; i < count && !status; i++)
    brim_partials_rows(partials, i, bits + world * bytes);
  if (!status)
    status = join(group, runtime, rows, row_count, bits, err);
  brim_release(runtime, bits);
  return status;
}

/* In the order in which backward completes them. */
static int sum_dense(const brim_group *group, const brim_model *model, float *gradients, brim_sum_wait wait, void *context,
                     brim_error *err) {
  int32_t range = 0;
  for (int64_t offset, count; brim_gradient_next_dense(model, &range, &offset, &count);) {
    if (wait)
      wait(context, offset);
    BRIM_TRY(group->sum(group->context, gradients + offset, count, err));
  }
  if (wait)
    wait(context, 0);
  return BRIM_OK;
}

/* The rows that all ranks' texts have. */
static int sum_tables(const brim_group *group, const brim_model *model, float *gradients, brim_error *err) {
  int status = BRIM_OK;
  int32_t range = 0;
  brim_gradient_pack(model, gradients);
  for (int64_t offset, count; !status && brim_gradient_next_table(model, &range, &offset, &count);)
    if (count > 0)
      status = group->sum(group->context, gradients + offset, count, err);
  brim_gradient_unpack(model, gradients);
  return status;
}

static int sum(const brim_group *group, brim_runtime *runtime, brim_model *model, bool dense, brim_sum_wait wait, void *context,
               brim_error *err) {
  float *gradients;
  BRIM_TRY(brim_sum_join_rows(group, runtime, model, NULL, 0, err));
  BRIM_TRY(brim_flat_map(model, BRIM_GRADIENTS, &gradients, err));
  int status = dense ? sum_dense(group, model, gradients, wait, context, err) : BRIM_OK;
  if (!status)
    status = sum_tables(group, model, gradients, err);
  if (!status)
    return brim_flat_unmap_summed(model, gradients, err);
  brim_flat_unmap(model, gradients);
  return status;
}

int brim_sum_gradient(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_sum_wait wait, void *context,
                      brim_error *err) {
  return sum(group, runtime, model, true, wait, context, err);
}

int brim_sum_tables(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) {
  return sum(group, runtime, model, false, NULL, NULL, err);
}
