/* devices.c: the ranks' devices add up gradients themselves, while backward is under way: from the end to the beginning, in
 * pieces of the same sizes on all ranks, each queued as soon as the operations that complete it are. A rank without rows, and one
 * whose device takes a backward at once, queues all of them afterwards. */
#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/ready.h"
#include "model/run/flat.h"
#include "reduce/way.h"

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

/* ---- a step's sum ----------------------------------------------------------------------------------------- */

typedef struct devices {
  brim_model *model;
  bool joined;
  brim_ready_hook ready;
  int64_t size, piece; /* values of the gradient, and of each piece of it but the last */
  int64_t from;        /* this step's sum is queued from here on */
} devices;

static void sum_from(devices *d, int64_t from) {
  for (int64_t next; d->from > from; d->from = next) {
    next = d->from > d->piece ? d->from - d->piece : 0;
    if (next < from)
      return;
    brim_flat_ranks_sum(d->model, next, d->from - next);
  }
}

static void on_ready(void *context, int64_t from) {
  sum_from(context, from);
}

/* Where one rank has no such device or library, or two share a device, none joins. Slices have no tree on a device. */
static int devices_open(brim_reduce *r, brim_error *err) {
  const int64_t size = brim_gradient_size(r->how.model), even = size / PIECES / ALIGNED * ALIGNED + ALIGNED;
  bool joined;
  if (r->tree || !brim_flat_has_ranks(r->how.model))
    return BRIM_OK;
  BRIM_TRY(join(r->how.group, r->how.runtime, r->how.model, &joined, err));
  if (!joined)
    return BRIM_OK;
  devices *d = r->state = brim_alloc_zero(r->how.runtime, sizeof *d);
  r->way = &brim_reduce_devices;
  if (d)
    *d = (devices){.model = r->how.model,
                   .joined = true,
                   .ready = {on_ready, d},
                   .size = size,
                   .piece = even < MOST ? even : MOST,
                   .from = size};
  else
    brim_flat_ranks_leave(r->how.model, true);
  return brim_group_agree(r->how.group, d ? BRIM_OK : BRIM_NOMEM(err), err);
}

static void leave(devices *d, bool broken) {
  if (d && d->joined) {
    brim_flat_ranks_leave(d->model, broken);
    d->joined = false;
  }
}

/* Waits for all ranks, but for those that have given up, as all do then. */
static void devices_close(brim_reduce *r) {
  leave(r->state, false);
  brim_release(r->how.runtime, r->state);
}

/* What is complete is queued during this rank's last part, and the rest after it. */
static void devices_last(brim_reduce *r) {
  devices *d = r->state;
  brim_model_on_ready(d->model, &d->ready);
}

static void devices_over(brim_reduce *r) {
  brim_model_on_ready(r->how.model, NULL);
  sum_from(r->state, 0);
}

/* What is queued from now on has the gradient of all ranks. No rank has failed so far. */
static int devices_sum(brim_reduce *r, brim_error *err) {
  devices *d = r->state;
  d->from = d->size;
  BRIM_TRY(brim_reduce_join_rows(r, err));
  brim_flat_ranks_wait(d->model);
  return BRIM_OK;
}

/* Sums for which nothing waits yet come to nothing, there are no others, and no rank is waited for, as one may be lost. */
static void devices_abandon(brim_reduce *r) {
  devices *d = r->state;
  if (!d || !d->joined)
    return;
  brim_model_on_ready(d->model, NULL);
  leave(d, true);
  r->broken = true;
}

const brim_reduce_way brim_reduce_devices = {.name = "devices",
                                             .open = devices_open,
                                             .close = devices_close,
                                             .last = devices_last,
                                             .over = devices_over,
                                             .sum = devices_sum,
                                             .abandon = devices_abandon};
