#include "reduce/devices.h"

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/flat.h"
#include "reduce/sum.h"

/* Values of a piece, at most, and about how many pieces a smaller gradient has. A small sum takes as long as its messages are
 * under way, so the smallest gradients are one piece. */
enum { MOST = 4 << 20, PIECES = 8, ALIGNED = 1024 };

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

/* *joined: all of them share their sums from now on. Where one cannot, none does. */
static int join(const brim_group *group, brim_runtime *runtime, brim_model *model, bool *joined, brim_error *err) {
  offer own = {0};
  brim_error why;
  double failures = 1;
  offer *all = brim_alloc_array_zero(runtime, (size_t)group->world_size, sizeof *all);
  int status = brim_group_agree(group, all ? BRIM_OK : BRIM_NOMEM(err), err);
  own.able = !status && brim_flat_ranks_key(model, own.key, &why) == BRIM_OK;
  if (!status)
    status = brim_group_gather(group, runtime, &own, sizeof own, all, err);
  if (!status && all_able(all, group->world_size)) {
    const int code = brim_flat_ranks_join(model, all[0].key, group->rank, group->world_size, &why);
    status = count_failures(group, code != BRIM_OK, &failures, err);
  }
  *joined = !status && failures == 0;
  if (!*joined)
    brim_flat_ranks_leave(model, true);
  brim_release(runtime, all);
  return status;
}

/* ---- a step's sum */

static void sum_from(brim_device_ranks *d, int64_t from) {
  for (int64_t next; d->from > from; d->from = next) {
    next = d->from > d->piece ? d->from - d->piece : 0;
    if (next < from)
      return;
    brim_flat_ranks_sum(d->model, next, d->from - next);
  }
}

static void on_complete(void *context, int64_t from) {
  sum_from(context, from);
}

int brim_device_ranks_open(brim_device_ranks *d, const brim_group *group, brim_runtime *runtime, brim_model *model,
                           brim_error *err) {
  const int64_t size = brim_model_flat_size(model) - brim_model_trained_offset(model),
                even = size / PIECES / ALIGNED * ALIGNED + ALIGNED;
  *d = (brim_device_ranks){.group = group,
                           .runtime = runtime,
                           .model = model,
                           .ready = {on_complete, d},
                           .size = size,
                           .piece = even < MOST ? even : MOST,
                           .from = size};
  if (group->world_size <= 1 || !brim_flat_has_ranks(model))
    return BRIM_OK;
  return join(group, runtime, model, &d->joined, err);
}

static void leave(brim_device_ranks *d, bool broken) {
  if (d->joined)
    brim_flat_ranks_leave(d->model, broken);
  d->joined = false;
}

void brim_device_ranks_close(brim_device_ranks *d) {
  leave(d, false);
}

void brim_device_ranks_begin(brim_device_ranks *d) {
  if (d->joined)
    brim_model_on_ready(d->model, &d->ready);
}

void brim_device_ranks_end(brim_device_ranks *d) {
  if (!d->joined)
    return;
  brim_model_on_ready(d->model, NULL);
  sum_from(d, 0);
}

int brim_device_ranks_wait(brim_device_ranks *d, brim_error *err) {
  d->from = d->size;
  BRIM_TRY(brim_sum_join_rows(d->group, d->runtime, d->model, NULL, 0, err));
  brim_flat_ranks_wait(d->model);
  return BRIM_OK;
}

void brim_device_ranks_undo(brim_device_ranks *d) {
  if (!d->joined)
    return;
  brim_model_on_ready(d->model, NULL);
  leave(d, true);
  d->given_up = true;
}
