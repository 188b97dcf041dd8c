/* reduce.c: which way gradients are added up, and a step's one decision. */
#include "reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "model/run/queue.h"
#include "reduce/devices.h"
#include "reduce/overlap.h"
#include "reduce/shards.h"
#include "reduce/sum.h"
#include "reduce/tree.h"

struct brim_reduce {
  brim_reduce_how how;
  brim_slice_sums *tree;       /* &slices, or NULL */
  brim_slice_sums slices;      /* with plan->slices */
  brim_overlapped_sum overlap; /* of this rank's backward with the sum of all ranks' gradients */
  brim_sharing sharing;        /* instead: ranks that share memory, with slices too */
  brim_device_ranks devices;   /* instead: the ranks' devices */
  brim_reduced result;
  int32_t asked[BRIM_MOST_QUEUED], asked_count; /* the slices of pieces without a loss so far; < 0: none, or several */
  bool known;                                   /* the loss is that of the whole step */
  bool joined;                                  /* the last piece has several slices, whose losses are the model's */
};

/* ---- open ------------------------------------------------------------------------------------------------- */

uint64_t brim_reduce_memory(const brim_reduce_how *how, bool cut) {
  return (cut ? brim_slice_sums_memory_cut : brim_slice_sums_memory)(how->model, how->group, how->plan);
}

/* What takes memory of this rank alone. */
static int open_own(brim_reduce *r, brim_error *err) {
  const brim_reduce_how *how = &r->how;
  if (how->plan->slices == 0)
    return BRIM_OK;
  r->tree = &r->slices;
  return brim_slice_sums_open(&r->slices, how->runtime, how->model, how->group, how->plan, err);
}

/* What ranks share is not sent while backward goes on. */
static int open_way(brim_reduce *r, brim_error *err) {
  const brim_reduce_how *how = &r->how;
  if (!r->tree)
    BRIM_TRY(brim_device_ranks_open(&r->devices, how->group, how->runtime, how->model, err));
  BRIM_TRY(brim_sharing_open(&r->sharing, how->runtime, how->model, how->group, how->plan, r->tree, err));
  int status = BRIM_OK;
  if (!r->sharing.memory)
    status = brim_overlapped_sum_open(&r->overlap, how->runtime, how->model, how->group, r->tree, err);
  return brim_group_agree(how->group, status, err);
}

int brim_reduce_open(const brim_reduce_how *how, brim_reduce **out, brim_error *err) {
  brim_reduce *r = *out = brim_alloc_zero(how->runtime, sizeof *r);
  if (r)
    r->how = *how;
  int status = brim_group_agree(how->group, r ? open_own(r, err) : BRIM_NOMEM(err), err);
  if (!status)
    status = open_way(r, err);
  if (status) {
    brim_reduce_abandon(r);
    brim_reduce_close(r);
    *out = NULL;
  }
  return status;
}

const char *brim_reduce_way(const brim_reduce *r) {
  return r->how.group->world_size <= 1 ? "alone"
         : r->sharing.memory           ? "shared memory"
         : r->devices.joined           ? "devices"
         : r->overlap.runtime          ? "messages"
                                       : "messages after backward";
}

void brim_reduce_close(brim_reduce *r) {
  if (!r)
    return;
  brim_sharing_close(&r->sharing);
  brim_overlapped_sum_close(&r->overlap);
  brim_slice_sums_close(&r->slices);
  brim_device_ranks_close(&r->devices);
  brim_release(r->how.runtime, r);
}

/* ---- what comes first ------------------------------------------------------------------------------------- */

static double began(const brim_reduce *r, const char *name) {
  brim_profile_begin(r->how.profile, BRIM_WORK_RANKS, name);
  return brim_seconds_now();
}

static void ended(const brim_reduce *r, double since, double *seconds) {
  *seconds += brim_seconds_now() - since;
  brim_profile_end(r->how.profile, 0);
}

int brim_reduce_sum(brim_reduce *r, int status, double *values, int32_t count, brim_error *err) {
  const brim_group *group = r->how.group;
  double shared[2 + BRIM_REDUCE_MOST_SUMS] = {status && status != BRIM_E_CANCELLED, status == BRIM_E_CANCELLED};
  brim_error ignored;
  if (group->world_size <= 1)
    return status;
  memcpy(shared + 2, values, (size_t)count * sizeof *values);
  const double since = began(r, "sums before the step");
  const int summed = group->sum_double(group->context, shared, 2 + count, status ? &ignored : err);
  ended(r, since, &r->result.waited);
  if (summed)
    return status ? status : summed;
  memcpy(values, shared + 2, (size_t)count * sizeof *values);
  return brim_group_decide(status, shared[0], shared[1], err);
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

void brim_reduce_begin(brim_reduce *r) {
  brim_sharing_done(&r->sharing);
  if (r->tree)
    brim_slice_sums_begin(r->tree);
  r->result = (brim_reduced){0};
  r->asked_count = 0;
  r->joined = r->known = false;
}

/* Those of the forward that was queued last. */
static void note_joined(brim_reduce *r) {
  if (r->joined)
    brim_slice_sums_note_all(r->tree);
  r->joined = false;
}

/* *slice: the piece's only one, or -1. */
static int next_slices(brim_reduce *r, const brim_batch *part, int32_t first, brim_batch *piece, int32_t *slice,
                       brim_error *err) {
  note_joined(r);
  if (!r->tree->joins)
    BRIM_TRY(brim_slice_sums_cut(r->tree, part, first, piece, err));
  brim_slice_sums_next(r->tree, piece->slices[0]);
  const bool several = piece->slices[0] != piece->slices[piece->count - 1];
  r->joined = several && !r->how.host_losses;
  *slice = several ? -1 : piece->slices[0];
  return BRIM_OK;
}

int brim_reduce_part(brim_reduce *r, const brim_batch *part, bool last, int32_t *first, brim_batch *piece, brim_error *err) {
  int32_t slice = -1;
  *piece = *part;
  if (last) {
    brim_overlapped_sum_begin(&r->overlap);
    brim_device_ranks_begin(&r->devices);
  }
  if (r->tree) {
    BRIM_TRY(next_slices(r, part, *first, piece, &slice, err));
    brim_overlapped_sum_early(&r->overlap);
  }
  if (!r->how.host_losses)
    r->asked[r->asked_count++] = slice;
  *first += piece->count;
  return BRIM_OK;
}

void brim_reduce_losses(brim_reduce *r, const double *losses, int32_t count) {
  for (int32_t i = 0; i < count; i++) {
    r->result.loss += losses[i];
    if (r->asked[i] >= 0)
      brim_slice_sums_note(r->tree, r->asked[i], losses[i]);
  }
  r->asked_count = 0;
}

void brim_reduce_loss(brim_reduce *r, int32_t slice, double loss) {
  r->result.loss += loss;
  if (slice >= 0)
    brim_slice_sums_note(r->tree, slice, loss);
}

void brim_reduce_loss_of_all(brim_reduce *r, double loss) {
  r->result.loss = loss;
  r->known = true;
}

bool brim_reduce_needs_losses(const brim_reduce *r) {
  return r->tree || r->how.group->world_size > 1;
}

/* ---- all ranks -------------------------------------------------------------------------------------------- */

/* What is left of the sum that backward has begun. Also where this rank has failed, since the others wait for its share. */
static int join(brim_reduce *r, int status, brim_error *err) {
  brim_error ignored;
  if (!r->overlap.runtime)
    return status;
  const double since = began(r, "gradient of all processes");
  const int joined = brim_overlapped_sum_end(&r->overlap, status ? &ignored : err);
  ended(r, since, &r->result.sent);
  return status ? status : joined;
}

/* The loss over all ranks, and one decision for all of them. */
static int decide(brim_reduce *r, int status, brim_error *err) {
  const brim_group *group = r->how.group;
  double shared[4] = {r->result.loss, status && status != BRIM_E_CANCELLED, status == BRIM_E_CANCELLED,
                      brim_runtime_cancelled(r->how.runtime)};
  brim_error ignored, *why = status ? &ignored : err;
  const double since = began(r, "waiting for all processes");
  const int summed = r->tree ? brim_slice_sums_share(r->tree, &shared[0], shared + 1, 3, why)
                             : group->sum_double(group->context, shared, 4, why);
  ended(r, since, &r->result.waited);
  if (summed)
    return status ? status : summed;
  if (!r->known)
    r->result.loss = shared[0];
  r->result.cancel = shared[3] > 0.0;
  return brim_group_decide(status, shared[1], shared[2], err);
}

/* The gradient of all slices and all ranks, where backward has not begun to sum it. */
static int sum(brim_reduce *r, brim_error *err) {
  const brim_reduce_how *how = &r->how;
  if (how->group->world_size <= 1 || r->overlap.runtime || !isfinite(r->result.loss))
    return BRIM_OK;
  const double since = began(r, "gradient of all processes");
  const int status = r->sharing.memory   ? brim_sharing_sum(&r->sharing, err)
                     : r->tree           ? brim_slice_sums_add(r->tree, NULL, NULL, err)
                     : r->devices.joined ? brim_device_ranks_wait(&r->devices, err)
                                         : brim_sum_gradient(how->group, how->runtime, how->model, NULL, NULL, err);
  ended(r, since, &r->result.sent);
  return status;
}

int brim_reduce_finish(brim_reduce *r, int status, brim_error *err) {
  if (!status) {
    brim_device_ranks_end(&r->devices);
    if (r->tree) {
      note_joined(r);
      brim_slice_sums_end(r->tree);
    }
  }
  status = join(r, status, err);
  BRIM_TRY(decide(r, status, err));
  return sum(r, err);
}

const brim_reduced *brim_reduce_result(const brim_reduce *r) {
  return &r->result;
}

/* ---- the update ------------------------------------------------------------------------------------------- */

int brim_reduce_update(brim_reduce *r, const brim_adamw *options, brim_error *err) {
  return r->sharing.memory ? brim_sharing_update(&r->sharing, options, err) : brim_model_queue_update(r->how.model, options, err);
}

int brim_reduce_gather(brim_reduce *r, brim_error *err) {
  if (!r->sharing.memory)
    return BRIM_OK;
  const double since = began(r, "weights of all processes");
  const int status = brim_sharing_gather(&r->sharing, err);
  ended(r, since, &r->result.sent);
  return status;
}

void brim_reduce_abandon(brim_reduce *r) {
  brim_answers unused;
  brim_error ignored;
  if (!r)
    return;
  brim_device_ranks_undo(&r->devices);
  (void)!brim_model_answers(r->how.model, &unused, &ignored);
  brim_model_zero_gradients(r->how.model);
}

bool brim_reduce_is_broken(const brim_reduce *r) {
  return r->devices.given_up;
}

int brim_reduce_states(brim_reduce *r, brim_error *err) {
  return brim_sharing_moments(&r->sharing, err);
}
