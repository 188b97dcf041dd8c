#include "reduce/sum.h"

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/ready.h"
#include "model/run/flat.h"
#include "model/run/tables.h"

/* Rows of tables: of each rank, and of any. */
typedef struct rows {
  size_t bytes;    /* of a rank's bits */
  uint8_t *bits;   /* [world + 1][bytes] */
  int64_t *counts; /* [world] values of a rank's rows */
  float *packed;   /* the rows of all ranks, where they are gathered */
} rows;

static int join(const brim_group *group, brim_runtime *runtime, uint8_t *touched, size_t count, const rows *of, brim_error *err) {
  const size_t world = (size_t)group->world_size;
  uint8_t *any = of->bits + world * of->bytes;
  for (size_t i = 0; i < count; i++)
    any[i / 8] |= (uint8_t)((touched[i] != 0) << i % 8);
  BRIM_TRY(brim_group_gather(group, runtime, any, of->bytes, of->bits, err));
  for (size_t rank = 0; rank < world; rank++)
    for (size_t i = 0; i < of->bytes; i++)
      any[i] |= of->bits[rank * of->bytes + i];
  for (size_t i = 0; i < count; i++)
    touched[i] = any[i / 8] >> i % 8 & 1;
  return BRIM_OK;
}

static int join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_pending *pending,
                     int32_t count, rows *of, brim_error *err) {
  size_t row_count;
  uint8_t *touched = brim_gradient_rows(model, &row_count);
  const size_t world = (size_t)group->world_size;
  *of = (rows){.bytes = row_count / 8 + 1};
  of->bits = brim_alloc_array_zero(runtime, world + 1, of->bytes);
  of->counts = brim_alloc_array_zero(runtime, world, sizeof *of->counts);
  int status = brim_group_agree(group, of->bits && of->counts ? BRIM_OK : BRIM_NOMEM(err), err);
  for (int32_t i = 0; i < count && !status; i++)
    brim_pending_rows(pending, i, of->bits + world * of->bytes);
  return status ? status : join(group, runtime, touched, row_count, of, err);
}

static void free_rows(brim_runtime *runtime, rows *of) {
  brim_release(runtime, of->bits);
  brim_release(runtime, of->counts);
  brim_release(runtime, of->packed);
}

int brim_sum_join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_pending *pending,
                       int32_t count, brim_error *err) {
  rows of;
  const int status = join_rows(group, runtime, model, pending, count, &of, err);
  free_rows(runtime, &of);
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

/* The rows that any rank's texts have. */
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

static int64_t values_of_any(const brim_model *model) {
  int64_t all = 0;
  int32_t range = 0;
  for (int64_t offset, count; brim_gradient_next_table(model, &range, &offset, &count);)
    all += count;
  return all;
}

/* Whether ranks that send their own rows to all others send less than in sums of the rows of any: a rank sends each other one its
 * own values there, and here 2 / world of all; two ranks send each other all, which is as many. The same on all ranks. *all:
 * values of the rows of each. */
static bool is_less(const brim_group *group, const brim_model *model, const rows *of, int64_t *all) {
  const int64_t of_any = values_of_any(model);
  *all = 0;
  for (int32_t rank = 0; rank < group->world_size; rank++) {
    of->counts[rank] = brim_tables_size(model, of->bits + (size_t)rank * of->bytes);
    if (of->counts[rank] * group->world_size >= 2 * of_any)
      return false;
    *all += of->counts[rank];
  }
  return true;
}

static int gather_tables(const brim_group *group, const brim_model *model, const rows *of, float *gradients, brim_error *err) {
  float *own = of->packed;
  for (int32_t rank = 0; rank < group->rank; rank++)
    own += of->counts[rank];
  brim_tables_pack(model, of->bits + (size_t)group->rank * of->bytes, gradients, own);
  BRIM_TRY(group->gather_values(group->context, of->packed, of->counts, err));
  brim_tables_add_packed(model, of->bits, of->bytes, group->world_size, of->packed, gradients);
  return BRIM_OK;
}

static int sum_mapped(const brim_group *group, brim_model *model, const rows *of, bool dense, brim_sum_wait wait, void *context,
                      brim_error *err) {
  float *gradients;
  BRIM_TRY(brim_flat_map(model, BRIM_GRADIENTS, &gradients, err));
  int status = dense ? sum_dense(group, model, gradients, wait, context, err) : BRIM_OK;
  if (!status)
    status = of->packed ? gather_tables(group, model, of, gradients, err) : sum_tables(group, model, gradients, err);
  if (!status)
    return brim_flat_unmap_summed(model, gradients, err);
  brim_flat_unmap(model, gradients);
  return status;
}

static int sum(const brim_group *group, brim_runtime *runtime, brim_model *model, bool dense, brim_sum_wait wait, void *context,
               brim_error *err) {
  rows of;
  int64_t all;
  int status = join_rows(group, runtime, model, NULL, 0, &of, err);
  if (!status && group->gather_values && is_less(group, model, &of, &all)) {
    of.packed = brim_alloc_array(runtime, (size_t)all, sizeof *of.packed);
    status = brim_group_agree(group, of.packed ? BRIM_OK : BRIM_NOMEM(err), err);
  }
  if (!status)
    status = sum_mapped(group, model, &of, dense, wait, context, err);
  free_rows(runtime, &of);
  return status;
}

int brim_sum_gradient(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_sum_wait wait, void *context,
                      brim_error *err) {
  return sum(group, runtime, model, true, wait, context, err);
}

int brim_sum_tables(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) {
  return sum(group, runtime, model, false, NULL, NULL, err);
}
