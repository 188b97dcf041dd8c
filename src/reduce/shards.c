#include "reduce/shards.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "reduce/sum.h"

/* ---- memory: a gradient, the sums of slices that wait, squares ------------------------------------------------ */

static float *sum_of(const brim_sharing *s, int32_t rank, int32_t index) {
  return (float *)brim_shared_of(s->memory, rank) + (int64_t)index * s->values;
}

static int make_shard(brim_sharing *s, int32_t sums, brim_error *err) {
  const size_t world = (size_t)s->group->world_size;
  float **gradients = brim_alloc_array(s->runtime, world, sizeof *gradients);
  double **squares = brim_alloc_array(s->runtime, world, sizeof *squares);
  int status = gradients && squares ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t rank = 0; rank < s->group->world_size && !status; rank++) {
    gradients[rank] = sum_of(s, rank, 0);
    squares[rank] = (double *)(void *)sum_of(s, rank, sums);
  }
  if (!status)
    status = brim_gradient_shard_new(s->model, s->group->rank, s->group->world_size, gradients, squares, &s->shard, err);
  brim_release(s->runtime, gradients);
  brim_release(s->runtime, squares);
  return status;
}

int brim_sharing_open(brim_sharing *s, brim_runtime *runtime, brim_model *model, const brim_group *group,
                      const brim_plan_options *plan, brim_slice_sums *slices, brim_error *err) {
  enum { LINE = 16 }; /* values */
  *s = (brim_sharing){.group = group, .runtime = runtime, .model = model, .slices = slices};
  if (group->world_size <= 1)
    return BRIM_OK;
  const bool able = !group->messages && brim_gradient_shard_can(model);
  const int32_t sums = 1 + (slices ? brim_slice_sums_most(model, group, plan) : 0);
  const int64_t values = brim_model_flat_size(model) - brim_model_trained_offset(model);
  s->values = (values + LINE - 1) / LINE * LINE;
  const size_t bytes = (size_t)sums * (size_t)s->values * sizeof(float) + brim_gradient_shard_squares_size(model);
  BRIM_TRY(brim_shared_open(group, runtime, able, bytes, &s->memory, err));
  if (!s->memory)
    return BRIM_OK;
  const int status = brim_group_agree(group, make_shard(s, sums, err), err);
  if (status) {
    brim_sharing_close(s);
    return status;
  }
  for (int32_t i = 0; slices && i < brim_pending_count(slices->pending); i++)
    brim_pending_use_buffer(slices->pending, i, sum_of(s, group->rank, 1 + i));
  if (slices)
    slices->apart = true;
  return BRIM_OK;
}

void brim_sharing_close(brim_sharing *s) {
  brim_gradient_shard_free(s->shard);
  brim_shared_close(s->memory);
  *s = (brim_sharing){0};
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 10 }; /* values that stay near while all ranks' are added */

/* In the order of the ranks, into this one's. */
static void add_ranks(void *context, int64_t offset, int64_t count) {
  const brim_sharing *s = context;
  float *own = sum_of(s, s->group->rank, 0) + offset, block[BLOCK];
  for (int64_t from = 0; from < count; from += BLOCK) {
    const int64_t n = count - from < BLOCK ? count - from : BLOCK;
    memcpy(block, sum_of(s, 0, 0) + offset + from, (size_t)n * sizeof *block);
    for (int32_t rank = 1; rank < s->group->world_size; rank++) {
      const float *other = sum_of(s, rank, 0) + offset + from;
      for (int64_t i = 0; i < n; i++)
        block[i] += other[i];
    }
    memcpy(own + from, block, (size_t)n * sizeof *block);
  }
}

typedef struct tree {
  const brim_sharing *sharing;
  int32_t names[BRIM_MOST_SLICES], count;
  float *sums[BRIM_MOST_SLICES]; /* [count] */
} tree;

/* A rank's last sum is its gradient; those before it wait. */
static void find_sums(tree *t) {
  const brim_sharing *s = t->sharing;
  const int32_t *owners = s->slices->owners;
  const brim_tree_sum sum = {.slices = s->slices->run.slices, .owners = owners};
  t->count = brim_tree_names(&sum, t->names);
  for (int32_t i = 0; i < t->count; i++) {
    const int32_t owner = owners[t->names[i]], place = s->slices->places[t->names[i]];
    t->sums[i] = sum_of(s, owner, place + 1 == brim_tree_sums_of(&sum, owner) ? 0 : 1 + place);
  }
}

/* Sums of no use after it are the others' too: of this rank's part nobody else reads them. */
static void add_slices(void *context, int64_t offset, int64_t count) {
  const tree *t = context;
  float *lists[BRIM_MOST_SLICES];
  for (int32_t i = 0; i < t->count; i++)
    lists[i] = t->sums[i] + offset;
  brim_tree_add(lists, t->names, t->count, (size_t)count);
  memmove(sum_of(t->sharing, t->sharing->group->rank, 0) + offset, lists[0], (size_t)count * sizeof **lists);
}

int brim_sharing_sum(brim_sharing *s, brim_error *err) {
  if (!s->slices) {
    BRIM_TRY(brim_sum_tables(s->group, s->runtime, s->model, err));
    brim_gradient_shard_each(s->shard, add_ranks, s);
  } else {
    tree t = {.sharing = s};
    BRIM_TRY(brim_slice_sums_add(s->slices, NULL, NULL, err));
    find_sums(&t);
    if (t.count > 0)
      brim_gradient_shard_each(s->shard, add_slices, &t);
  }
  brim_gradient_shard_squares(s->shard);
  return brim_group_agree(s->group, BRIM_OK, err);
}

/* ---- the update ------------------------------------------------------------------------------------------- */

int brim_sharing_update(brim_sharing *s, const brim_adamw *options, brim_error *err) {
  return brim_gradient_shard_update(s->shard, options, err);
}

int brim_sharing_gather(brim_sharing *s, brim_error *err) {
  BRIM_TRY(brim_group_agree(s->group, BRIM_OK, err));
  brim_gradient_shard_take(s->shard);
  return BRIM_OK;
}

void brim_sharing_done(brim_sharing *s) {
  if (s->shard)
    brim_gradient_shard_clear(s->shard);
}

static int share_moment(brim_sharing *s, brim_flat moment, brim_error *err) {
  brim_gradient_shard_show_moment(s->shard, moment);
  BRIM_TRY(brim_group_agree(s->group, BRIM_OK, err));
  brim_gradient_shard_take_moment(s->shard, moment);
  return brim_group_agree(s->group, BRIM_OK, err);
}

int brim_sharing_moments(brim_sharing *s, brim_error *err) {
  if (!s->shard)
    return BRIM_OK;
  BRIM_TRY(share_moment(s, BRIM_MOMENT1, err));
  BRIM_TRY(share_moment(s, BRIM_MOMENT2, err));
  brim_gradient_shard_clear(s->shard);
  return BRIM_OK;
}
