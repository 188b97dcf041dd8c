#include "train/sum.h"

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/flat.h"
#include "model/tables.h"
#include "model/telling.h"

/* Bits of rows of tables: of each rank, and of any. */
typedef struct rows {
  size_t bytes;  /* of a rank */
  uint8_t *bits; /* [world + 1][bytes] */
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

static int join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_partials *partials,
                     int32_t count, rows *of, brim_error *err) {
  size_t row_count;
  uint8_t *touched = brim_gradient_rows(model, &row_count);
  const size_t world = (size_t)group->world_size;
  of->bytes = row_count / 8 + 1;
  of->bits = brim_alloc_array_zero(runtime, world + 1, of->bytes);
  int status = brim_group_agree(group, of->bits ? BRIM_OK : BRIM_NOMEM(err), err);
  for (int32_t i = 0; i < count && !status; i++)
    brim_partials_rows(partials, i, of->bits + world * of->bytes);
  return status ? status : join(group, runtime, touched, row_count, of, err);
}

int brim_sum_join_rows(const brim_group *group, brim_runtime *runtime, brim_model *model, const brim_partials *partials,
                       int32_t count, brim_error *err) {
  rows of;
  const int status = join_rows(group, runtime, model, partials, count, &of, err);
  brim_release(runtime, of.bits);
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

/* Each rank's own rows, sent to all of them: where these are fewer values than in sums of the rows of all. */
typedef struct own_rows {
  const rows *of;
  int64_t *counts; /* [world] values */
  float *packed;   /* of all ranks; NULL: sums are better */
} own_rows;

/* A rank sends its rows to all others; of a sum, each sends two shares of a rank to all others, or all of it where there are two.
 * It is the same on all ranks. */
static bool is_less(const brim_group *group, const int64_t *counts, int64_t of_any) {
  int64_t most = 0;
  for (int32_t rank = 0; rank < group->world_size; rank++)
    most = counts[rank] > most ? counts[rank] : most;
  return most * group->world_size < 2 * of_any;
}

static int take_room(own_rows *own, const brim_group *group, brim_runtime *runtime, const brim_model *model, brim_error *err) {
  int64_t all = 0;
  own->counts = brim_alloc_array_zero(runtime, (size_t)group->world_size, sizeof *own->counts);
  if (!own->counts)
    return BRIM_NOMEM(err);
  for (int32_t rank = 0; rank < group->world_size; rank++)
    all += own->counts[rank] = brim_tables_size(model, own->of->bits + (size_t)rank * own->of->bytes);
  if (!is_less(group, own->counts, brim_tables_size(model, NULL)))
    return BRIM_OK;
  own->packed = brim_alloc_array(runtime, (size_t)all, sizeof *own->packed);
  return own->packed ? BRIM_OK : BRIM_NOMEM(err);
}

static int gather_tables(const own_rows *own, const brim_group *group, const brim_model *model, float *gradients,
                         brim_error *err) {
  const rows *of = own->of;
  float *mine = own->packed;
  for (int32_t rank = 0; rank < group->rank; rank++)
    mine += own->counts[rank];
  brim_tables_pack(model, of->bits + (size_t)group->rank * of->bytes, gradients, mine);
  BRIM_TRY(group->gather(group->context, own->packed, own->counts, err));
  brim_tables_add_packed(model, of->bits, of->bytes, group->world_size, own->packed, gradients);
  return BRIM_OK;
}

static int sum_mapped(const brim_group *group, brim_model *model, const own_rows *own, bool dense, brim_sum_wait wait,
                      void *context, brim_error *err) {
  float *gradients;
  BRIM_TRY(brim_flat_map(model, BRIM_GRADIENTS, &gradients, err));
  int status = dense ? sum_dense(group, model, gradients, wait, context, err) : BRIM_OK;
  if (!status)
    status = own->packed ? gather_tables(own, group, model, gradients, err) : sum_tables(group, model, gradients, err);
  if (!status)
    return brim_flat_unmap_summed(model, gradients, err);
  brim_flat_unmap(model, gradients);
  return status;
}

static int sum(const brim_group *group, brim_runtime *runtime, brim_model *model, bool dense, brim_sum_wait wait, void *context,
               brim_error *err) {
  rows of;
  own_rows own = {.of = &of};
  int status = join_rows(group, runtime, model, NULL, 0, &of, err);
  if (!status && group->gather)
    status = brim_group_agree(group, take_room(&own, group, runtime, model, err), err);
  if (!status)
    status = sum_mapped(group, model, &own, dense, wait, context, err);
  brim_release(runtime, own.counts);
  brim_release(runtime, own.packed);
  brim_release(runtime, of.bits);
  return status;
}

int brim_sum_gradient(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_sum_wait wait, void *context,
                      brim_error *err) {
  return sum(group, runtime, model, true, wait, context, err);
}

int brim_sum_tables(const brim_group *group, brim_runtime *runtime, brim_model *model, brim_error *err) {
  return sum(group, runtime, model, false, NULL, NULL, err);
}
