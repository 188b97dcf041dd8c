#include "reduce/tree.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "batch/share.h"
#include "dist/group.h"
#include "model/ready.h"
#include "model/run/flat.h"
#include "model/run/queue.h"

static int32_t world_of(const brim_group *group) {
  return group->world_size > 1 ? group->world_size : 1;
}

/* How a rank computes its run of slices. */
typedef enum way {
  ROOTS,         /* each of the run's roots at once */
  ROOT_BY_ROOT,  /* slice by slice, in the order of the roots */
  SLICE_BY_SLICE /* some at once, in the order of the slices */
} way;

static way way_of(const brim_model *model, const brim_plan_options *o) {
  if (!brim_slices_whole(o))
    return SLICE_BY_SLICE;
  return brim_model_joins_slices(model) ? ROOTS : ROOT_BY_ROOT;
}

/* Sums that wait while a rank computes another one, on the rank that has most of them. */
static int32_t most_waiting(const brim_group *group, int32_t slices, way how) {
  brim_slice_range roots[BRIM_MOST_ROOTS];
  int32_t most = 0;
  for (int32_t rank = 0; rank < world_of(group) && slices > 0; rank++) { /* a memory_limit cuts alike on all */
    const brim_slice_range run = brim_slice_range_of(slices, world_of(group), rank);
    const int32_t waiting = how == ROOTS ? brim_reduce_tree_roots(&run, true, roots) - 1
                                         : brim_reduce_tree_waiting(&run, how == ROOT_BY_ROOT);
    most = waiting > most ? waiting : most;
  }
  return most;
}

static uint64_t memory_of(const brim_model *model, const brim_group *group, int32_t slices, way how) {
  return slices > 0 ? brim_pending_memory(model, most_waiting(group, slices, how)) : 0;
}

uint64_t brim_slice_sums_memory(const brim_model *model, const brim_group *group, const brim_plan_options *plan) {
  return memory_of(model, group, plan->slices, way_of(model, plan));
}

uint64_t brim_slice_sums_memory_cut(const brim_model *model, const brim_group *group, const brim_plan_options *plan) {
  return memory_of(model, group, plan->slices, SLICE_BY_SLICE);
}

int brim_slice_sums_open(brim_slice_sums *s, brim_runtime *runtime, brim_model *model, const brim_group *group,
                         const brim_plan_options *plan, brim_error *err) {
  *s = (brim_slice_sums){.runtime = runtime,
                         .model = model,
                         .group = group,
                         .run = brim_slice_range_of(plan->slices, world_of(group), group->rank),
                         .joins = brim_model_joins_slices(model),
                         .whole = way_of(model, plan) == ROOTS};
  s->shared = brim_alloc_array_zero(runtime, 2 * (size_t)plan->slices + BRIM_SLICE_MORE, sizeof *s->shared);
  if (!s->shared)
    return BRIM_NOMEM(err);
  return brim_pending_new(model, most_waiting(group, plan->slices, way_of(model, plan)), &s->pending, err);
}

void brim_slice_sums_close(brim_slice_sums *s) {
  if (!s->runtime)
    return;
  brim_pending_free(s->pending);
  brim_release(s->runtime, s->shared);
  brim_release(s->runtime, s->offsets);
  *s = (brim_slice_sums){0};
}

/* ---- one rank --------------------------------------------------------------------------------------------- */

void brim_slice_sums_begin(brim_slice_sums *s) {
  s->count = 0;
  memset(s->shared, 0, (2 * (size_t)s->run.slices + BRIM_SLICE_MORE) * sizeof *s->shared);
}

/* Adds up what may be before `next`. */
static void meet(brim_slice_sums *s, int32_t next) {
  for (; s->count >= 2 && brim_reduce_tree_adds(&s->run, s->names[s->count - 2], s->names[s->count - 1], next); s->count--)
    brim_pending_add(s->pending, s->count - 2);
}

void brim_slice_sums_next(brim_slice_sums *s, int32_t slice) {
  meet(s, slice);
  if (s->count > 0)
    brim_pending_take(s->pending, s->count - 1);
  s->names[s->count++] = slice;
}

void brim_slice_sums_end(brim_slice_sums *s) {
  meet(s, s->run.end);
}

void brim_slice_sums_note(brim_slice_sums *s, int32_t slice, double loss) {
  s->shared[slice] = loss;
}

void brim_slice_sums_note_all(brim_slice_sums *s) {
  const int32_t *names;
  const double *losses;
  const int32_t count = brim_model_slice_losses(s->model, &names, &losses);
  for (int32_t i = 0; i < count; i++)
    s->shared[names[i]] = losses[i];
}

int brim_slice_sums_cut(brim_slice_sums *s, const brim_batch *batch, int32_t first, brim_batch *out, brim_error *err) {
  int32_t count = 1;
  while (first + count < batch->count && batch->slices[first + count] == batch->slices[first])
    count++;
  const int32_t at = batch->offsets[first];
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->offsets, &s->offset_room, (size_t)count + 1, sizeof *s->offsets, err));
  for (int32_t i = 0; i <= count; i++)
    s->offsets[i] = batch->offsets[first + i] - at;
  *out = *batch;
  out->count = count;
  out->tokens = s->offsets[count];
  out->slots = batch->width ? (int64_t)count * batch->width : out->tokens;
  out->ids += at;
  out->type_ids += out->type_ids ? at : 0;
  out->offsets = s->offsets;
  out->labels += (int64_t)first * batch->label_width;
  out->token_labels += out->token_labels ? at : 0;
  out->rows += first, out->places += first, out->slices += first;
  return BRIM_OK;
}

/* ---- all ranks -------------------------------------------------------------------------------------------- */

/* Each rank puts a number from 1 on where its sums are: of the rank, and of the sum among its own. */
static void put_names(const brim_slice_sums *s, double *numbers) {
  for (int32_t i = 0; i < s->count; i++)
    numbers[s->names[i]] = i * world_of(s->group) + s->group->rank + 1;
}

static void take_owners(brim_slice_sums *s, const double *numbers) {
  for (int32_t i = 0; i < s->run.slices; i++) {
    const int32_t number = (int32_t)numbers[i] - 1, world = world_of(s->group);
    s->owners[i] = number < 0 ? -1 : number % world;
    s->places[i] = number < 0 ? 0 : number / world;
  }
}

int brim_slice_sums_share(brim_slice_sums *s, double *loss, double *more, int count, brim_error *err) {
  const size_t slices = (size_t)s->run.slices;
  put_names(s, s->shared + slices);
  memcpy(s->shared + 2 * slices, more, (size_t)count * sizeof *more);
  BRIM_TRY(s->group->sum_double(s->group->context, s->shared, (int64_t)slices * 2 + count, err));
  memcpy(more, s->shared + 2 * slices, (size_t)count * sizeof *more);
  *loss = 0;
  for (size_t i = 0; i < slices; i++)
    *loss += s->shared[i];
  take_owners(s, s->shared + slices);
  return BRIM_OK;
}

int32_t brim_slice_sums_most(const brim_model *model, const brim_group *group, const brim_plan_options *plan) {
  return most_waiting(group, plan->slices, way_of(model, plan));
}

static int find_owners(brim_slice_sums *s, brim_error *err) {
  double numbers[BRIM_MOST_SLICES] = {0};
  put_names(s, numbers);
  BRIM_TRY(s->group->sum_double(s->group->context, numbers, s->run.slices, err));
  take_owners(s, numbers);
  return BRIM_OK;
}

static bool any_waits(const brim_slice_sums *s) {
  for (int32_t i = 0; i < s->run.slices; i++)
    if (s->places[i] > 0)
      return true;
  return false;
}

/* Along the tree, the values of each sum from `offset` on. */
static int add_piece(brim_slice_sums *s, float *gradients, brim_tree_call call, int64_t offset, int64_t count, brim_error *err) {
  float *sums[BRIM_MOST_SLICES], *rooms[BRIM_MOST_SLICES];
  const int32_t last = s->count > 0 ? s->count - 1 : 0;
  for (int32_t i = 0; i < brim_pending_count(s->pending); i++)
    rooms[i] = brim_pending_values(s->pending, i) + offset;
  memcpy(sums, rooms, (size_t)last * sizeof *sums);
  sums[last] = gradients ? gradients + offset : NULL;
  const brim_tree_sum tree = {.slices = s->run.slices,
                              .owners = s->owners,
                              .places = s->places,
                              .sums = sums,
                              .out = sums[last],
                              .count = count,
                              .call = call,
                              .rooms = rooms};
  return count > 0 ? brim_group_sum_tree(s->group, s->runtime, &tree, err) : BRIM_OK;
}

static int add_dense(brim_slice_sums *s, float *gradients, brim_tree_call call, brim_sum_wait wait, void *context,
                     brim_error *err) {
  int32_t range = 0;
  for (int64_t offset, count; brim_gradient_next_dense(s->model, &range, &offset, &count);) {
    if (wait)
      wait(context, offset);
    BRIM_TRY(add_piece(s, gradients, call, offset, count, err));
  }
  return BRIM_OK;
}

static int add_tables(brim_slice_sums *s, float *gradients, int32_t waiting, brim_error *err) {
  int status = BRIM_OK;
  int32_t range = 0;
  for (int32_t i = 0; i < waiting; i++)
    brim_gradient_pack(s->model, brim_pending_values(s->pending, i));
  brim_gradient_pack(s->model, gradients);
  for (int64_t offset, count; !status && brim_gradient_next_table(s->model, &range, &offset, &count);)
    status = add_piece(s, gradients, BRIM_TREE_ALL, offset, count, err);
  for (int32_t i = 0; i < waiting; i++)
    brim_pending_used(s->pending, i);
  brim_gradient_unpack(s->model, gradients);
  return status;
}

/* While this rank's last part is under way: the sums that wait are sent in its forward. */
static int add_early(brim_slice_sums *s, brim_sum_wait wait, void *context, brim_tree_call *rest, brim_error *err) {
  BRIM_TRY(find_owners(s, err));
  *rest = any_waits(s) ? BRIM_TREE_LATE : BRIM_TREE_ALL;
  if (*rest == BRIM_TREE_LATE)
    BRIM_TRY(add_dense(s, NULL, BRIM_TREE_EARLY, NULL, NULL, err));
  wait(context, BRIM_SUM_BEGUN);
  return BRIM_OK;
}

int brim_slice_sums_add(brim_slice_sums *s, brim_sum_wait wait, void *context, brim_error *err) {
  float *gradients;
  brim_tree_call call = BRIM_TREE_ALL;
  const int32_t waiting = s->count > 0 ? s->count - 1 : 0;
  if (s->group->world_size <= 1)
    return BRIM_OK; /* the only sum is the gradient */
  if (wait)
    BRIM_TRY(add_early(s, wait, context, &call, err));
  BRIM_TRY(brim_sum_join_rows(s->group, s->runtime, s->model, s->pending, waiting, err));
  BRIM_TRY(brim_flat_map(s->model, BRIM_GRADIENTS, &gradients, err));
  int status = s->apart ? BRIM_OK : add_dense(s, gradients, call, wait, context, err);
  if (wait)
    wait(context, 0);
  if (!status)
    status = add_tables(s, gradients, waiting, err);
  if (!status)
    return brim_flat_unmap_summed(s->model, gradients, err);
  brim_flat_unmap(s->model, gradients);
  return status;
}
