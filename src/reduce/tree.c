/* tree.c: see tree.h. A task of the pool is a piece of a range: some values, or some rows of an embedding. */
#include "reduce/tree.h"

#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/reduce_tree.h"
#include "base/status.h"
#include "batch/collate.h"
#include "batch/share.h"
#include "dist/group.h"
#include "model/run/fits.h"
#include "model/run/queue.h"
#include "reduce/buckets.h"

/* A sum that waits. */
typedef struct buffer {
  float *values; /* [gradient's size] rows of embeddings without a gradient included: these are zero */
  uint8_t *rows; /* [rows of embeddings] that have one */
  bool borrowed; /* values */
} buffer;

struct brim_slice_sums {
  brim_runtime *runtime;
  brim_model *model;
  const brim_group *group;
  brim_slice_range run;
  buffer *waiting; /* [most] */
  int32_t most;
  /* The step's sums of this rank, as they were computed: the last one is the model's gradient, those before it wait. */
  int32_t names[BRIM_MOST_SLICES], count;
  int32_t owners[BRIM_MOST_SLICES]; /* of all ranks' sums, once they are known: as those of brim_tree_sum */
  int32_t numbers[BRIM_MOST_SLICES];
  bool host_losses; /* somebody else notes them */
  bool joins;       /* the model computes several slices at once */
  bool joined;      /* as it did last: their losses are the model's */
  bool whole;       /* no two sums of a rank meet: the last backward of a step completes its last sum */
  int32_t *offsets; /* of a slice by itself */
  int32_t *firsts;
  size_t offset_room, first_room;
  double *shared; /* [2 * slices + BRIM_SLICE_MORE] losses, owners of sums, what else ranks add up at once */
};

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
  const uint64_t each = (uint64_t)brim_gradient_size(model) * sizeof(float) + brim_gradient_row_count(model);
  return slices > 0 ? (uint64_t)most_waiting(group, slices, how) * each : 0;
}

uint64_t brim_slice_sums_memory(const brim_reduce_how *how, bool cut) {
  return memory_of(how->model, how->group, how->plan->slices, cut ? SLICE_BY_SLICE : way_of(how->model, how->plan));
}

static int take_buffers(brim_slice_sums *s, brim_error *err) {
  const size_t rows = brim_gradient_row_count(s->model);
  s->waiting = brim_alloc_array_zero(s->runtime, (size_t)s->most + 1, sizeof *s->waiting);
  for (int32_t i = 0; s->waiting && i < s->most; i++) {
    buffer *one = &s->waiting[i];
    one->values = brim_alloc_array_zero(s->runtime, (size_t)brim_gradient_size(s->model), sizeof *one->values);
    one->rows = brim_alloc_array_zero(s->runtime, rows + 1, 1);
    if (!one->values || !one->rows)
      return BRIM_NOMEM(err);
  }
  s->shared = brim_alloc_array_zero(s->runtime, 2 * (size_t)s->run.slices + BRIM_SLICE_MORE, sizeof *s->shared);
  return s->waiting && s->shared ? BRIM_OK : BRIM_NOMEM(err);
}

int brim_slice_sums_open(const brim_reduce_how *how, brim_slice_sums **out, brim_error *err) {
  const brim_group *group = how->group;
  const int32_t slices = how->plan->slices;
  const way chosen = way_of(how->model, how->plan);
  *out = NULL;
  BRIM_TRY(brim_features_fit(how->model, BRIM_FEATURE_HOST_MEMORY, err));
  brim_slice_sums *s = brim_alloc_zero(how->runtime, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  *s = (brim_slice_sums){.runtime = how->runtime,
                         .model = how->model,
                         .group = group,
                         .host_losses = how->host_losses,
                         .run = brim_slice_range_of(slices, world_of(group), group->rank),
                         .most = most_waiting(group, slices, chosen),
                         .joins = brim_model_joins_slices(how->model),
                         .whole = chosen == ROOTS};
  const int status = take_buffers(s, err);
  if (status)
    brim_slice_sums_close(s);
  else
    *out = s;
  return status;
}

void brim_slice_sums_close(brim_slice_sums *s) {
  if (!s)
    return;
  for (int32_t i = 0; s->waiting && i < s->most; i++) {
    if (!s->waiting[i].borrowed)
      brim_release(s->runtime, s->waiting[i].values);
    brim_release(s->runtime, s->waiting[i].rows);
  }
  brim_release(s->runtime, s->waiting);
  brim_release(s->runtime, s->shared);
  brim_release(s->runtime, s->offsets);
  brim_release(s->runtime, s->firsts);
  brim_release(s->runtime, s);
}

int32_t brim_slice_sums_most(const brim_slice_sums *s) {
  return s->most;
}

void brim_slice_sums_use_buffer(brim_slice_sums *s, int32_t index, float *values) {
  brim_release(s->runtime, s->waiting[index].values);
  s->waiting[index].values = values;
  s->waiting[index].borrowed = true;
}

bool brim_slice_sums_are_whole(const brim_slice_sums *s) {
  return s->whole;
}

/* ---- a sum begins to wait, or is added to the model's gradient ---------------------------------------------- */

enum { CHUNK = 1 << 15 };

typedef struct moving {
  brim_gradient_view gradient;
  buffer *with;
} moving;

static int64_t piece_size(const brim_update_range *range) {
  if (range->row_size <= 0)
    return CHUNK;
  return range->row_size < CHUNK ? CHUNK / range->row_size : 1; /* rows */
}

static int64_t items_of(const brim_update_range *range) {
  return range->row_size > 0 ? range->count / range->row_size : range->count;
}

static int64_t pieces_of(const brim_update_range *range) {
  return (items_of(range) + piece_size(range) - 1) / piece_size(range);
}

static void take_values(float *restrict to, float *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = from[i], from[i] = 0;
}

static void add_values(float *restrict to, const float *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] += from[i];
}

/* The piece of all ranges that has this number: its first item, and how many. */
static const brim_update_range *find(const brim_gradient_view *g, int64_t task, int64_t *first, int64_t *count) {
  const brim_update_range *range = g->ranges;
  for (int64_t pieces; pieces = pieces_of(range), task >= pieces; range++)
    task -= pieces;
  *first = task * piece_size(range);
  *count = items_of(range) - *first < piece_size(range) ? items_of(range) - *first : piece_size(range);
  return range;
}

/* Those of a buffer. */
static uint8_t *rows_of(const moving *w, const brim_update_range *range) {
  return w->with->rows + (range->touched - w->gradient.first);
}

static void take_task(void *context, int64_t task, int worker) {
  (void)worker;
  const moving *w = context;
  int64_t first, count;
  const brim_update_range *range = find(&w->gradient, task, &first, &count);
  float *to = w->with->values + range->offset, *from = w->gradient.values + range->offset;
  if (range->row_size <= 0) {
    take_values(to + first, from + first, count);
    return;
  }
  const uint8_t *now = brim_gradient_rows_of(&w->gradient, range), *before = rows_of(w, range);
  for (int64_t row = first; row < first + count; row++) {
    const int64_t at = row * range->row_size;
    if (now[row])
      take_values(to + at, from + at, range->row_size);
    else if (before[row])
      memset(to + at, 0, (size_t)range->row_size * sizeof *to);
  }
}

static void add_task(void *context, int64_t task, int worker) {
  (void)worker;
  const moving *w = context;
  int64_t first, count;
  const brim_update_range *range = find(&w->gradient, task, &first, &count);
  float *to = w->gradient.values + range->offset, *from = w->with->values + range->offset;
  if (range->row_size <= 0) {
    add_values(to + first, from + first, count);
    return;
  }
  const uint8_t *rows = rows_of(w, range);
  for (int64_t row = first; row < first + count; row++)
    if (rows[row])
      add_values(to + row * range->row_size, from + row * range->row_size, range->row_size);
}

static void move(brim_slice_sums *s, moving *w, brim_task_fn task) {
  int64_t tasks = 0;
  for (int32_t i = 0; i < w->gradient.range_count; i++)
    tasks += pieces_of(&w->gradient.ranges[i]);
  brim_pool_run(s->runtime, tasks, task, w);
}

/* The model's gradient becomes number `index`, and is zero then. */
static void take(brim_slice_sums *s, int32_t index) {
  moving w = {brim_gradient_view_of(s->model), &s->waiting[index]};
  move(s, &w, take_task);
  memcpy(w.with->rows, w.gradient.rows, w.gradient.row_count);
  memset(w.gradient.rows, 0, w.gradient.row_count);
  brim_gradient_changed(s->model, true);
}

/* Number `index` is added to it. */
static void add(brim_slice_sums *s, int32_t index) {
  moving w = {brim_gradient_view_of(s->model), &s->waiting[index]};
  move(s, &w, add_task);
  for (size_t i = 0; i < w.gradient.row_count; i++)
    w.gradient.rows[i] |= w.with->rows[i];
  brim_gradient_changed(s->model, false);
}

/* ---- one rank --------------------------------------------------------------------------------------------- */

void brim_slice_sums_begin(brim_slice_sums *s) {
  s->count = 0;
  s->joined = false;
  memset(s->shared, 0, (2 * (size_t)s->run.slices + BRIM_SLICE_MORE) * sizeof *s->shared);
}

/* Adds up what may be before `next`. */
static void meet(brim_slice_sums *s, int32_t next) {
  for (; s->count >= 2 && brim_reduce_tree_adds(&s->run, s->names[s->count - 2], s->names[s->count - 1], next); s->count--)
    add(s, s->count - 2);
}

/* The losses of the forward that was queued last. */
static void note_joined(brim_slice_sums *s) {
  const int32_t *names;
  const double *losses;
  const int32_t count = s->joined ? brim_model_slice_losses(s->model, &names, &losses) : 0;
  for (int32_t i = 0; i < count; i++)
    s->shared[names[i]] = losses[i];
  s->joined = false;
}

/* The rows of the texts first .. first + out->count - 1, which are whole. */
static int cut_rows(brim_slice_sums *s, const brim_batch *batch, int32_t first, brim_batch *out, brim_error *err) {
  int32_t row = batch->firsts ? 0 : first, count = out->count;
  while (batch->firsts && batch->firsts[row] < first)
    row++;
  if (batch->firsts)
    for (count = 0; batch->firsts[row + count] < first + out->count;)
      count++;
  out->row_count = count;
  brim_batch_skip(out, row, first, batch->offsets[first]);
  out->rows += row;
  if (!batch->firsts)
    return BRIM_OK;
  BRIM_TRY(brim_grow(s->runtime, (void **)&s->firsts, &s->first_room, (size_t)count + 1, sizeof *s->firsts, err));
  for (int32_t i = 0; i <= count; i++)
    s->firsts[i] = batch->firsts[row + i] - first;
  out->firsts = s->firsts;
  return BRIM_OK;
}

/* The slice that begins with text `first`. */
static int cut(brim_slice_sums *s, const brim_batch *batch, int32_t first, brim_batch *out, brim_error *err) {
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
  out->places += first, out->slices += first;
  return cut_rows(s, batch, first, out, err);
}

int brim_slice_sums_next(brim_slice_sums *s, const brim_batch *part, int32_t first, brim_batch *out, brim_error *err) {
  note_joined(s);
  *out = *part;
  if (!s->joins)
    BRIM_TRY(cut(s, part, first, out, err));
  meet(s, out->slices[0]);
  if (s->count > 0)
    take(s, s->count - 1);
  s->names[s->count++] = out->slices[0];
  s->joined = !s->host_losses && out->slices[0] != out->slices[out->count - 1];
  return BRIM_OK;
}

void brim_slice_sums_end(brim_slice_sums *s) {
  note_joined(s);
  meet(s, s->run.end);
}

void brim_slice_sums_note(brim_slice_sums *s, int32_t slice, double loss) {
  s->shared[slice] = loss;
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
    s->numbers[i] = number < 0 ? 0 : number / world;
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

int brim_slice_sums_find_owners(brim_slice_sums *s, brim_error *err) {
  double numbers[BRIM_MOST_SLICES] = {0};
  put_names(s, numbers);
  BRIM_TRY(s->group->sum_double(s->group->context, numbers, s->run.slices, err));
  take_owners(s, numbers);
  return BRIM_OK;
}

bool brim_slice_sums_any_waits(const brim_slice_sums *s) {
  for (int32_t i = 0; i < s->run.slices; i++)
    if (s->numbers[i] > 0)
      return true;
  return false;
}

static int32_t waiting_now(const brim_slice_sums *s) {
  return s->count > 0 ? s->count - 1 : 0;
}

void brim_slice_sums_rows(const brim_slice_sums *s, uint8_t *bits) {
  const size_t rows = brim_gradient_row_count(s->model);
  for (int32_t k = 0; k < waiting_now(s); k++)
    for (size_t i = 0; i < rows; i++)
      bits[i / 8] |= (uint8_t)((s->waiting[k].rows[i] != 0) << i % 8);
}

/* What is packed is added to, so that these rows are no zeros any more. */
void brim_slice_sums_pack(brim_slice_sums *s, const brim_gradient_view *g) {
  for (int32_t k = 0; k < waiting_now(s); k++) {
    const moving w = {*g, &s->waiting[k]};
    brim_rows_pack(g, s->waiting[k].values);
    for (int32_t i = 0; i < g->range_count; i++)
      if (g->ranges[i].row_size > 0)
        memset(rows_of(&w, &g->ranges[i]), 1, (size_t)brim_rows_count(g, &g->ranges[i]));
  }
}

int brim_slice_sums_add(brim_slice_sums *s, float *gradients, brim_tree_call call, int64_t offset, int64_t count,
                        brim_error *err) {
  float *sums[BRIM_MOST_SLICES], *rooms[BRIM_MOST_SLICES];
  const int32_t last = waiting_now(s);
  for (int32_t i = 0; i < s->most; i++)
    rooms[i] = s->waiting[i].values + offset;
  memcpy(sums, rooms, (size_t)last * sizeof *sums);
  sums[last] = gradients ? gradients + offset : NULL;
  const brim_tree_sum tree = {.slices = s->run.slices,
                              .owners = s->owners,
                              .numbers = s->numbers,
                              .sums = sums,
                              .out = sums[last],
                              .count = count,
                              .call = call,
                              .rooms = rooms};
  return brim_group_sum_tree(s->group, s->runtime, &tree, err);
}

int32_t brim_slice_sums_list(const brim_slice_sums *s, int32_t *names, int32_t *ranks, int32_t *buffers) {
  const brim_tree_sum sum = {.slices = s->run.slices, .owners = s->owners};
  const int32_t count = brim_tree_names(&sum, names);
  for (int32_t i = 0; i < count; i++) {
    ranks[i] = s->owners[names[i]];
    buffers[i] = s->numbers[names[i]];
    if (buffers[i] + 1 == brim_tree_sums_of(&sum, ranks[i]))
      buffers[i] = -1; /* its last */
  }
  return count;
}
