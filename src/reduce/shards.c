/* shards.c: where ranks share memory, each adds up its shard out of all ranks' gradients, updates it, and takes the weights of
 * the other shards from theirs (ZeRO's second stage). The bits are those of sums by messages and of updates that every rank does
 * whole. Embeddings are in no shard: their few rows are summed by messages, and every rank updates them.
 *
 *   each rank's gradient -> shards_sum -> shards_update -> shards_gather -> (all have taken the weights) -> shards_begin
 *
 * Shards are whole pieces of ranges (ops.h), so that the gradient's norm can be added up as ever. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "dist/group.h"
#include "dist/shared.h"
#include "model/run/extents.h"
#include "model/run/flat.h"
#include "reduce/way.h"

/* What a rank has of a range. */
typedef struct extent {
  int32_t owner; /* < 0: an embedding, which all have */
  brim_extent is;
  int64_t piece, pieces; /* its first one among those of all ranges */
} extent;

typedef struct shards {
  brim_reduce *reduce;
  int32_t rank, world;
  brim_shared *memory; /* of each rank: its gradient, the sums of slices that wait, squares */
  int64_t values;      /* of a gradient */
  int32_t sums;        /* of a rank, its gradient included */
  float *own;          /* the model's own gradient meanwhile */
  extent *extents;     /* [extent_count] in the order of the ranges */
  int32_t extent_count;
  int64_t pieces;
  brim_extent *mine; /* [extent_count] this rank's, and room for what is made of them */
  brim_update_range *ranges;
  double *squares; /* [pieces] */
} shards;

static float *sum_of(const shards *s, int32_t rank, int32_t index) {
  return (float *)brim_shared_of(s->memory, rank) + (int64_t)index * s->values;
}

static double *squares_of(const shards *s, int32_t rank) {
  return (double *)(void *)sum_of(s, rank, s->sums);
}

/* ---- who has what ----------------------------------------------------------------------------------------- */

static int64_t count_pieces(const brim_gradient_view *g) {
  int64_t all = 0;
  for (int32_t i = 0; i < g->range_count; i++)
    all += brim_update_pieces(&g->ranges[i]);
  return all;
}

static int64_t dense_values(const brim_gradient_view *g) {
  int64_t all = 0;
  for (int32_t i = 0; i < g->range_count; i++)
    all += g->ranges[i].row_size > 0 ? 0 : g->ranges[i].count;
  return all > 0 ? all : 1;
}

/* Ranks have as many values each, to a piece. */
static void make_extents(shards *s, const brim_gradient_view *g) {
  const int64_t all = dense_values(g);
  int64_t before = 0;
  for (int32_t i = 0; i < g->range_count; i++) {
    const brim_update_range *range = &g->ranges[i];
    const int64_t pieces = brim_update_pieces(range);
    extent *last = NULL;
    if (range->row_size > 0)
      s->extents[s->extent_count++] = (extent){-1, {i, 0, range->count}, s->pieces, pieces};
    for (int64_t k = 0; k < pieces && range->row_size <= 0; k++) {
      const int64_t from = k * BRIM_UPDATE_PIECE, rest = range->count - from;
      const int32_t owner = (int32_t)((before + from) * s->world / all);
      if (!last || last->owner != owner) {
        last = &s->extents[s->extent_count++];
        *last = (extent){owner, {i, from, 0}, s->pieces + k, 0};
      }
      last->is.count += rest < BRIM_UPDATE_PIECE ? rest : BRIM_UPDATE_PIECE;
      last->pieces++;
    }
    before += range->row_size > 0 ? 0 : range->count;
    s->pieces += pieces;
  }
}

/* This rank's, and embeddings where they are wanted, into `mine`. */
static int32_t find_mine(shards *s, bool embeddings) {
  int32_t count = 0;
  for (int32_t i = 0; i < s->extent_count; i++)
    if (s->extents[i].owner == s->rank || (s->extents[i].owner < 0 && embeddings))
      s->mine[count++] = s->extents[i].is;
  return count;
}

/* ---- open ------------------------------------------------------------------------------------------------- */

/* The model's own gradient, which is zero, takes no memory meanwhile. */
static void let_go(float *values, int64_t count) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)values + page - 1) / page * page;
  const uintptr_t to = ((uintptr_t)values + (size_t)count * sizeof *values) / page * page;
  if (from < to)
    (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

static int take_memory(shards *s, brim_error *err) {
  brim_runtime *runtime = s->reduce->how.runtime;
  const brim_gradient_view g = brim_gradient_view_of(s->reduce->how.model);
  const size_t most = (size_t)g.range_count + (size_t)s->world; /* a rank's end cuts a range at most once */
  s->extents = brim_alloc_array(runtime, most, sizeof *s->extents);
  s->mine = brim_alloc_array(runtime, most, sizeof *s->mine);
  s->ranges = brim_alloc_array(runtime, most, sizeof *s->ranges);
  s->squares = brim_alloc_array_zero(runtime, (size_t)count_pieces(&g) + 1, sizeof *s->squares);
  return s->extents && s->mine && s->ranges && s->squares ? BRIM_OK : BRIM_NOMEM(err);
}

/* This rank's gradient is where the others read it, and so are sums of slices that wait. */
static int take(shards *s, brim_error *err) {
  const brim_reduce_how *how = &s->reduce->how;
  const brim_gradient_view g = brim_gradient_view_of(how->model);
  BRIM_TRY(brim_group_agree(how->group, take_memory(s, err), err));
  make_extents(s, &g);
  brim_model_zero_gradients(how->model);
  s->own = brim_gradient_swap(how->model, sum_of(s, s->rank, 0));
  let_go(s->own, g.size);
  for (int32_t i = 1; i < s->sums; i++)
    brim_slice_sums_use_buffer(s->reduce->tree, i - 1, sum_of(s, s->rank, i));
  return BRIM_OK;
}

static int shards_open(brim_reduce *r, brim_error *err) {
  enum { LINE = 16 }; /* values */
  const brim_reduce_how *how = &r->how;
  const brim_gradient_view g = brim_gradient_view_of(how->model);
  const int64_t values = (g.size + LINE - 1) / LINE * LINE;
  const int32_t sums = 1 + (r->tree ? brim_slice_sums_most(r->tree) : 0);
  const size_t bytes = (size_t)sums * (size_t)values * sizeof(float) + (size_t)count_pieces(&g) * sizeof(double);
  brim_shared *memory;
  BRIM_TRY(
      brim_shared_open(how->group, how->runtime, !how->group->messages && brim_extents_can(how->model), bytes, &memory, err));
  if (!memory)
    return BRIM_OK;
  shards *s = r->state = brim_alloc_zero(how->runtime, sizeof *s);
  r->way = &brim_reduce_shards;
  if (s)
    *s = (shards){
        .reduce = r, .rank = how->group->rank, .world = how->group->world_size, .memory = memory, .values = values, .sums = sums};
  else
    brim_shared_close(memory);
  BRIM_TRY(brim_group_agree(how->group, s ? BRIM_OK : BRIM_NOMEM(err), err));
  return take(s, err);
}

/* The model has its own gradient again, which other memory than the system's may not have kept. */
static void give_back(const shards *s) {
  brim_model *model = s->reduce->how.model;
  const brim_gradient_view g = brim_gradient_view_of(model);
  memset(g.rows, 0, g.row_count);
  brim_gradient_swap(model, s->own);
  brim_gradient_changed(model, true);
  brim_flat_clear(model, BRIM_GRADIENTS);
}

static void shards_close(brim_reduce *r) {
  shards *s = r->state;
  if (!s)
    return;
  if (s->own)
    give_back(s);
  brim_shared_close(s->memory);
  brim_release(r->how.runtime, s->extents);
  brim_release(r->how.runtime, s->mine);
  brim_release(r->how.runtime, s->ranges);
  brim_release(r->how.runtime, s->squares);
  brim_release(r->how.runtime, s);
}

/* ---- pieces, by the pool's threads ------------------------------------------------------------------------ */

typedef struct pieces {
  shards *shards;
  bool own; /* or those of others */
  void (*fn)(const struct pieces *p, const extent *of, int64_t offset, int64_t count);
  const void *context;
  float *values; /* of a move: a state, or the model's */
  bool gathers;  /* these; the gradient becomes zero */
} pieces;

static bool is_meant(const pieces *p, const extent *of) {
  return of->owner >= 0 && (of->owner == p->shards->rank) == p->own;
}

static void piece_task(void *context, int64_t task, int worker) {
  (void)worker;
  const pieces *p = context;
  const brim_gradient_view g = brim_gradient_view_of(p->shards->reduce->how.model);
  const extent *of = p->shards->extents;
  for (; !is_meant(p, of) || task >= of->pieces; of++)
    task -= is_meant(p, of) ? of->pieces : 0;
  const int64_t from = task * BRIM_UPDATE_PIECE, rest = of->is.count - from;
  p->fn(p, of, g.ranges[of->is.range].offset + of->is.from + from, rest < BRIM_UPDATE_PIECE ? rest : BRIM_UPDATE_PIECE);
}

static void run(pieces *p) {
  int64_t tasks = 0;
  for (int32_t i = 0; i < p->shards->extent_count; i++)
    tasks += is_meant(p, &p->shards->extents[i]) ? p->shards->extents[i].pieces : 0;
  brim_pool_run(p->shards->reduce->how.runtime, tasks, piece_task, p);
}

static float *gradient_of(const pieces *p) {
  return sum_of(p->shards, p->shards->rank, 0);
}

/* What is in the owner's gradient. */
static void take_piece(const pieces *p, const extent *of, int64_t offset, int64_t count) {
  const brim_gradient_view g = brim_gradient_view_of(p->shards->reduce->how.model);
  const int64_t frozen = p->gathers ? g.ranges[of->is.range].frozen : 0;
  memcpy(p->values + frozen + offset, sum_of(p->shards, of->owner, 0) + offset, (size_t)count * sizeof *p->values);
  if (p->gathers)
    memset(gradient_of(p) + offset, 0, (size_t)count * sizeof(float));
}

static void show_piece(const pieces *p, const extent *of, int64_t offset, int64_t count) {
  (void)of;
  memcpy(gradient_of(p) + offset, p->values + offset, (size_t)count * sizeof *p->values);
}

static void clear_piece(const pieces *p, const extent *of, int64_t offset, int64_t count) {
  (void)of;
  memset(gradient_of(p) + offset, 0, (size_t)count * sizeof(float));
}

/* ---- sums ------------------------------------------------------------------------------------------------- */

enum { BLOCK = 1 << 10 }; /* values that stay near while all ranks' are added */

/* In the order of the ranks, into this one's. */
static void add_ranks(const pieces *p, const extent *of, int64_t offset, int64_t count) {
  const shards *s = p->shards;
  float *own = sum_of(s, s->rank, 0) + offset, block[BLOCK];
  (void)of;
  for (int64_t from = 0; from < count; from += BLOCK) {
    const int64_t n = count - from < BLOCK ? count - from : BLOCK;
    memcpy(block, sum_of(s, 0, 0) + offset + from, (size_t)n * sizeof *block);
    for (int32_t rank = 1; rank < s->world; rank++) {
      const float *other = sum_of(s, rank, 0) + offset + from;
      for (int64_t i = 0; i < n; i++)
        block[i] += other[i];
    }
    memcpy(own + from, block, (size_t)n * sizeof *block);
  }
}

typedef struct tree {
  int32_t names[BRIM_MOST_SLICES], count;
  float *sums[BRIM_MOST_SLICES]; /* [count] */
} tree;

static void find_sums(const shards *s, tree *t) {
  int32_t ranks[BRIM_MOST_SLICES], buffers[BRIM_MOST_SLICES];
  t->count = brim_slice_sums_list(s->reduce->tree, t->names, ranks, buffers);
  for (int32_t i = 0; i < t->count; i++)
    t->sums[i] = sum_of(s, ranks[i], 1 + buffers[i]);
}

/* Sums of no use after it are the others' too: of this rank's shard nobody else reads them. */
static void add_slices(const pieces *p, const extent *of, int64_t offset, int64_t count) {
  const tree *t = p->context;
  (void)of;
  float *lists[BRIM_MOST_SLICES];
  for (int32_t i = 0; i < t->count; i++)
    lists[i] = t->sums[i] + offset;
  brim_tree_add(lists, t->names, t->count, (size_t)count);
  memmove(gradient_of(p) + offset, lists[0], (size_t)count * sizeof **lists);
}

/* Those of embeddings are the first rank's. */
static bool has_squares(int32_t rank, const extent *e) {
  return e->owner == rank || (e->owner < 0 && rank == 0);
}

/* Of this rank's shard, now that it is the sum of all, to where the others read them. */
static void show_squares(shards *s) {
  int64_t done = 0;
  brim_extents_squares(s->reduce->how.model, s->mine, find_mine(s, s->rank == 0), s->ranges, s->squares);
  for (int32_t i = 0; i < s->extent_count; i++)
    if (has_squares(s->rank, &s->extents[i])) {
      const extent *e = &s->extents[i];
      memcpy(squares_of(s, s->rank) + e->piece, s->squares + done, (size_t)e->pieces * sizeof *s->squares);
      done += e->pieces;
    }
}

static int shards_sum(brim_reduce *r, brim_error *err) {
  shards *s = r->state;
  tree t;
  pieces p = {.shards = s, .own = true, .fn = r->tree ? add_slices : add_ranks, .context = &t};
  BRIM_TRY(brim_reduce_by_messages(r, false, err));
  if (r->tree)
    find_sums(s, &t);
  if (!r->tree || t.count > 0)
    run(&p);
  show_squares(s);
  return brim_group_agree(r->how.group, BRIM_OK, err);
}

/* ---- the update ------------------------------------------------------------------------------------------- */

static int shards_update(brim_reduce *r, const brim_update_options *options, brim_error *err) {
  shards *s = r->state;
  for (int32_t i = 0; i < s->extent_count; i++) {
    const extent *e = &s->extents[i];
    memcpy(s->squares + e->piece, squares_of(s, e->owner < 0 ? 0 : e->owner) + e->piece, (size_t)e->pieces * sizeof *s->squares);
  }
  return brim_extents_update(r->how.model, options, s->squares, s->mine, find_mine(s, true), s->ranges, err);
}

/* The values of the other shards; their gradient becomes zero. */
static int shards_gather(brim_reduce *r, brim_error *err) {
  shards *s = r->state;
  pieces p = {.shards = s, .fn = take_piece, .gathers = true};
  BRIM_TRY(brim_group_agree(r->how.group, BRIM_OK, err));
  if (!brim_extents_were_updated(r->how.model))
    return BRIM_OK;
  p.values = brim_flat_at(r->how.model, BRIM_VALUES);
  run(&p);
  for (int32_t i = 0; i < s->extent_count; i++)
    if (s->extents[i].owner >= 0 && s->extents[i].owner != s->rank)
      brim_extents_written(r->how.model, &s->extents[i].is);
  return BRIM_OK;
}

/* All ranks have met since: nobody looks at this rank's shard of the gradient any more. */
static void shards_begin(brim_reduce *r) {
  run(&(pieces){.shards = r->state, .own = true, .fn = clear_piece});
}

/* Each rank has its shard of a state only: by way of the gradients, which are zero meanwhile. */
static int share_state(brim_reduce *r, brim_flat state, brim_error *err) {
  pieces p = {.shards = r->state, .own = true, .fn = show_piece, .values = brim_flat_at(r->how.model, state)};
  run(&p);
  BRIM_TRY(brim_group_agree(r->how.group, BRIM_OK, err));
  p.own = false, p.fn = take_piece;
  run(&p);
  return brim_group_agree(r->how.group, BRIM_OK, err);
}

static int shards_states(brim_reduce *r, brim_error *err) {
  for (brim_flat state = BRIM_STATE0; state <= BRIM_STATE1; state++)
    if (brim_flat_at(r->how.model, state))
      BRIM_TRY(share_state(r, state, err));
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
