/* protocol.c: the calls of reduce.h, in their order, whatever the way is. */
#include "reduce/reduce.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/runtime.h"
#include "base/status.h"
#include "dist/group.h"
#include "reduce/way.h"

/* ---- open ------------------------------------------------------------------------------------------------- */

static const brim_reduce_way alone = {.name = "alone"};
/* The first that is one for all ranks. */
static const brim_reduce_way *const ways[] = {&brim_reduce_devices, &brim_reduce_shards, &brim_reduce_messages};

uint64_t brim_reduce_memory(const brim_reduce_how *how, bool cut) {
  return how->plan->slices > 0 ? brim_slice_sums_memory(how, cut) : 0;
}

static int open_tree(brim_reduce *r, brim_error *err) {
  return r->how.plan->slices > 0 ? brim_slice_sums_open(&r->how, &r->tree, err) : BRIM_OK;
}

static int open_way(brim_reduce *r, brim_error *err) {
  r->way = r->how.group->world_size <= 1 ? &alone : NULL;
  for (size_t i = 0; !r->way; i++)
    BRIM_TRY(ways[i]->open(r, err));
  return BRIM_OK;
}

int brim_reduce_open(const brim_reduce_how *how, brim_reduce **out, brim_error *err) {
  brim_reduce *r = *out = brim_alloc_zero(how->runtime, sizeof *r);
  if (r)
    r->how = *how;
  int status = brim_group_agree(how->group, r ? open_tree(r, err) : BRIM_NOMEM(err), err);
  if (!status)
    status = open_way(r, err);
  if (status) {
    brim_reduce_abandon(r);
    brim_reduce_close(r);
    *out = NULL;
  }
  return status;
}

const char *brim_reduce_way_name(const brim_reduce *r) {
  return r->way->name;
}

void brim_reduce_close(brim_reduce *r) {
  if (!r)
    return;
  if (r->way && r->way->close)
    r->way->close(r);
  brim_slice_sums_close(r->tree);
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
  if (r->way->begin)
    r->way->begin(r);
  if (r->tree)
    brim_slice_sums_begin(r->tree);
  r->result = (brim_reduced){0};
  r->asked_count = 0;
  r->known = false;
}

int brim_reduce_part(brim_reduce *r, const brim_batch *part, bool last, int32_t *first, brim_batch *piece, brim_error *err) {
  *piece = *part;
  if (r->tree)
    BRIM_TRY(brim_slice_sums_next(r->tree, part, *first, piece, err));
  const bool one = r->tree && piece->slices[0] == piece->slices[piece->count - 1];
  if (!r->how.host_losses)
    r->asked[r->asked_count++] = one ? piece->slices[0] : -1;
  *first += piece->count;
  if (last && *first == part->count && r->way->last)
    r->way->last(r);
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
  return r->tree || r->way != &alone;
}

/* ---- all ranks -------------------------------------------------------------------------------------------- */

/* What is left of the sum that backward has begun. Also where this rank has failed, since the others wait for its share. */
static int join(brim_reduce *r, int status, brim_error *err) {
  if (!r->way->join)
    return status;
  const double since = began(r, "gradient of all processes");
  status = r->way->join(r, status, err);
  ended(r, since, &r->result.sent);
  return status;
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

/* The gradient of all slices and all ranks. */
static int sum(brim_reduce *r, brim_error *err) {
  if (!r->way->sum || !isfinite(r->result.loss))
    return BRIM_OK;
  const double since = began(r, "gradient of all processes");
  const int status = r->way->sum(r, err);
  ended(r, since, &r->result.sent);
  return status;
}

int brim_reduce_finish(brim_reduce *r, int status, brim_error *err) {
  if (!status && r->way->over)
    r->way->over(r);
  if (!status && r->tree)
    brim_slice_sums_end(r->tree);
  status = join(r, status, err);
  BRIM_TRY(decide(r, status, err));
  return sum(r, err);
}

const brim_reduced *brim_reduce_result(const brim_reduce *r) {
  return &r->result;
}

/* ---- the update ------------------------------------------------------------------------------------------- */

int brim_reduce_update(brim_reduce *r, const brim_adamw *options, brim_error *err) {
  return r->way->update ? r->way->update(r, options, err) : brim_model_queue_update(r->how.model, options, err);
}

int brim_reduce_gather(brim_reduce *r, brim_error *err) {
  if (!r->way->gather)
    return BRIM_OK;
  const double since = began(r, "weights of all processes");
  const int status = r->way->gather(r, err);
  ended(r, since, &r->result.sent);
  return status;
}

void brim_reduce_abandon(brim_reduce *r) {
  brim_answers unused;
  brim_error ignored;
  if (!r)
    return;
  if (r->way && r->way->abandon)
    r->way->abandon(r);
  (void)!brim_model_answers(r->how.model, &unused, &ignored);
  brim_model_zero_gradients(r->how.model);
}

bool brim_reduce_is_broken(const brim_reduce *r) {
  return r->broken;
}

int brim_reduce_states(brim_reduce *r, brim_error *err) {
  return r->way->states ? r->way->states(r, err) : BRIM_OK;
}
