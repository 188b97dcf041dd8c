/* shards.c: where ranks share memory, each adds up its shard out of all ranks' gradients, updates it, and takes the weights of
 * the other shards from theirs (ZeRO's second stage). The bits are those of sums by messages and of updates that every rank does
 * whole. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "dist/group.h"
#include "dist/shared.h"
#include "model/run/gradient_shard.h"
#include "reduce/way.h"

typedef struct shards {
  brim_reduce *reduce;
  brim_shared *memory;
  brim_gradient_shard *shard;
  int64_t values; /* of a gradient */
} shards;

/* ---- memory: a gradient, the sums of slices that wait, squares ------------------------------------------------ */

static float *sum_of(const shards *s, int32_t rank, int32_t index) {
  return (float *)brim_shared_of(s->memory, rank) + (int64_t)index * s->values;
}

static int make_shard(shards *s, int32_t sums, brim_error *err) {
  const size_t world = (size_t)s->reduce->how.group->world_size;
  float **gradients = brim_alloc_array(s->reduce->how.runtime, world, sizeof *gradients);
  double **squares = brim_alloc_array(s->reduce->how.runtime, world, sizeof *squares);
  int status = gradients && squares ? BRIM_OK : BRIM_NOMEM(err);
  for (int32_t rank = 0; rank < s->reduce->how.group->world_size && !status; rank++) {
    gradients[rank] = sum_of(s, rank, 0);
    squares[rank] = (double *)(void *)sum_of(s, rank, sums);
  }
  if (!status)
    status = brim_gradient_shard_new(s->reduce->how.model, s->reduce->how.group->rank, s->reduce->how.group->world_size,
                                     gradients, squares, &s->shard, err);
  brim_release(s->reduce->how.runtime, gradients);
  brim_release(s->reduce->how.runtime, squares);
  return status;
}

static int take(shards *s, brim_error *err) {
  const brim_reduce *r = s->reduce;
  const int32_t sums = 1 + (r->tree ? brim_slice_sums_most(r->tree) : 0);
  BRIM_TRY(brim_group_agree(r->how.group, make_shard(s, sums, err), err));
  for (int32_t i = 0; i + 1 < sums; i++)
    brim_slice_sums_use_buffer(r->tree, i, sum_of(s, r->how.group->rank, 1 + i));
  return BRIM_OK;
}

static int shards_open(brim_reduce *r, brim_error *err) {
  enum { LINE = 16 }; /* values */
  const brim_reduce_how *how = &r->how;
  const bool able = !how->group->messages && brim_gradient_shard_can(how->model);
  const int64_t values = (brim_gradient_size(how->model) + LINE - 1) / LINE * LINE;
  const size_t sums = 1 + (r->tree ? (size_t)brim_slice_sums_most(r->tree) : 0);
  brim_shared *memory;
  BRIM_TRY(brim_shared_open(how->group, how->runtime, able,
                            sums * (size_t)values * sizeof(float) + brim_gradient_shard_squares_size(how->model), &memory, err));
  if (!memory)
    return BRIM_OK;
  shards *s = r->state = brim_alloc_zero(how->runtime, sizeof *s);
  r->way = &brim_reduce_shards;
  if (s)
    *s = (shards){.reduce = r, .memory = memory, .values = values};
  else
    brim_shared_close(memory);
  BRIM_TRY(brim_group_agree(how->group, s ? BRIM_OK : BRIM_NOMEM(err), err));
  return take(s, err);
}

static void shards_close(brim_reduce *r) {
  shards *s = r->state;
  if (s) {
    brim_gradient_shard_free(s->shard);
    brim_shared_close(s->memory);
  }
  brim_release(r->how.runtime, s);
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 10 }; /* values that stay near while all ranks' are added */

/* In the order of the ranks, into this one's. */
static void add_ranks(void *context, int64_t offset, int64_t count) {
  const shards *s = context;
  float *own = sum_of(s, s->reduce->how.group->rank, 0) + offset, block[BLOCK];
  for (int64_t from = 0; from < count; from += BLOCK) {
    const int64_t n = count - from < BLOCK ? count - from : BLOCK;
    memcpy(block, sum_of(s, 0, 0) + offset + from, (size_t)n * sizeof *block);
    for (int32_t rank = 1; rank < s->reduce->how.group->world_size; rank++) {
      const float *other = sum_of(s, rank, 0) + offset + from;
      for (int64_t i = 0; i < n; i++)
        block[i] += other[i];
    }
    memcpy(own + from, block, (size_t)n * sizeof *block);
  }
}

typedef struct tree {
  const shards *shards;
  int32_t names[BRIM_MOST_SLICES], count;
  float *sums[BRIM_MOST_SLICES]; /* [count] */
} tree;

static void find_sums(tree *t) {
  int32_t ranks[BRIM_MOST_SLICES], buffers[BRIM_MOST_SLICES];
  t->count = brim_slice_sums_list(t->shards->reduce->tree, t->names, ranks, buffers);
  for (int32_t i = 0; i < t->count; i++)
    t->sums[i] = sum_of(t->shards, ranks[i], 1 + buffers[i]);
}

/* Sums of no use after it are the others' too: of this rank's part nobody else reads them. */
static void add_slices(void *context, int64_t offset, int64_t count) {
  const tree *t = context;
  float *lists[BRIM_MOST_SLICES];
  for (int32_t i = 0; i < t->count; i++)
    lists[i] = t->sums[i] + offset;
  brim_tree_add(lists, t->names, t->count, (size_t)count);
  memmove(sum_of(t->shards, t->shards->reduce->how.group->rank, 0) + offset, lists[0], (size_t)count * sizeof **lists);
}

/* Embeddings are summed by messages, since texts have few of their rows. */
static int shards_sum(brim_reduce *r, brim_error *err) {
  shards *s = r->state;
  tree t = {.shards = s};
  BRIM_TRY(brim_reduce_by_messages(r, false, err));
  if (r->tree)
    find_sums(&t);
  if (!r->tree)
    brim_gradient_shard_each(s->shard, add_ranks, s);
  else if (t.count > 0)
    brim_gradient_shard_each(s->shard, add_slices, &t);
  brim_gradient_shard_squares(s->shard);
  return brim_group_agree(r->how.group, BRIM_OK, err);
}

/* ---- the update ------------------------------------------------------------------------------------------- */

static int shards_update(brim_reduce *r, const brim_adamw *options, brim_error *err) {
  return brim_gradient_shard_update(((shards *)r->state)->shard, options, err);
}

static int shards_gather(brim_reduce *r, brim_error *err) {
  BRIM_TRY(brim_group_agree(r->how.group, BRIM_OK, err));
  brim_gradient_shard_take(((shards *)r->state)->shard);
  return BRIM_OK;
}

/* All ranks have met since: nobody looks at this rank's shard of the gradient any more. */
static void shards_begin(brim_reduce *r) {
  brim_gradient_shard_clear(((shards *)r->state)->shard);
}

static int share_moment(brim_reduce *r, brim_flat moment, brim_error *err) {
  brim_gradient_shard *shard = ((shards *)r->state)->shard;
  brim_gradient_shard_show_moment(shard, moment);
  BRIM_TRY(brim_group_agree(r->how.group, BRIM_OK, err));
  brim_gradient_shard_take_moment(shard, moment);
  return brim_group_agree(r->how.group, BRIM_OK, err);
}

static int shards_states(brim_reduce *r, brim_error *err) {
  BRIM_TRY(share_moment(r, BRIM_MOMENT1, err));
  BRIM_TRY(share_moment(r, BRIM_MOMENT2, err));
  shards_begin(r);
  return BRIM_OK;
}

const brim_reduce_way brim_reduce_shards = {.name = "shared memory",
                                            .open = shards_open,
                                            .close = shards_close,
                                            .begin = shards_begin,
                                            .sum = shards_sum,
                                            .update = shards_update,
                                            .gather = shards_gather,
                                            .states = shards_states};
