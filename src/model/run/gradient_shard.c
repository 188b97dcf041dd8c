/* gradient_shard.c: see shard.h. Parts are whole pieces of ranges (ops.h), so that the gradient's norm can be added up as ever.
 */
#include "model/run/gradient_shard.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "model/run/flat.h"
#include "model/run/host.h"
#include "model/run/mixout.h"
#include "model/run/model.h"

/* What a rank has of a range. */
typedef struct part {
  int32_t owner, range;  /* owner < 0: a table, which all have */
  int64_t from, count;   /* values of the range */
  int64_t piece, pieces; /* its first one among those of all ranges */
} part;

struct brim_gradient_shard {
  brim_model *model;
  int32_t rank, world;
  real *own; /* the model's own gradient meanwhile */
  real **gradients;
  double **squares, *sums; /* sums: [pieces] */
  part *parts;             /* in the order of the ranges */
  brim_update_range *ranges;
  int32_t part_count;
  int64_t pieces;
};

bool brim_gradient_shard_can(const brim_model *m) {
  return brim_model_is_host(m) && m->ops->squares != NULL;
}

static int64_t count_pieces(const brim_model *m) {
  int64_t all = 0;
  for (int32_t i = 0; i < m->range_count; i++)
    all += brim_update_pieces(&m->ranges[i]);
  return all;
}

size_t brim_gradient_shard_squares_size(const brim_model *model) {
  return (size_t)count_pieces(model) * sizeof(double);
}

/* ---- parts ------------------------------------------------------------------------------------------------ */

static int64_t dense_values(const brim_model *m) {
  int64_t all = 0;
  for (int32_t i = 0; i < m->range_count; i++)
    all += m->ranges[i].row_size > 0 ? 0 : m->ranges[i].count;
  return all > 0 ? all : 1;
}

/* Ranks have as many values each, to a piece. */
static void make_parts(brim_gradient_shard *s) {
  const brim_model *m = s->model;
  const int64_t all = dense_values(m);
  int64_t before = 0;
  for (int32_t i = 0; i < m->range_count; i++) {
    const brim_update_range *range = &m->ranges[i];
    const int64_t pieces = brim_update_pieces(range);
    part *last = NULL;
    if (range->row_size > 0)
      s->parts[s->part_count++] = (part){.owner = -1, .range = i, .count = range->count, .piece = s->pieces, .pieces = pieces};
    for (int64_t k = 0; k < pieces && range->row_size <= 0; k++) {
      const int64_t from = k * BRIM_UPDATE_PIECE, rest = range->count - from;
      const int32_t owner = (int32_t)((before + from) * s->world / all);
      if (!last || last->owner != owner) {
        last = &s->parts[s->part_count++];
        *last = (part){.owner = owner, .range = i, .from = from, .piece = s->pieces + k};
      }
      last->count += rest < BRIM_UPDATE_PIECE ? rest : BRIM_UPDATE_PIECE;
      last->pieces++;
    }
    before += range->row_size > 0 ? 0 : range->count;
    s->pieces += pieces;
  }
}

/* The model's own gradient, which is zero, takes no memory meanwhile. */
static void rest(const brim_gradient_shard *s) {
  const size_t size = (size_t)(s->model->program.flat_size - s->model->trained) * sizeof *s->own;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)s->own + page - 1) / page * page;
  const uintptr_t to = ((uintptr_t)s->own + size) / page * page;
  if (from < to)
    (void)madvise((void *)from, to - from, MADV_DONTNEED);
}

int brim_gradient_shard_new(brim_model *model, int32_t rank, int32_t world, float *const *gradients, double *const *squares,
                            brim_gradient_shard **out, brim_error *err) {
  *out = NULL;
  brim_runtime *r = model->runtime;
  brim_gradient_shard *s = brim_alloc_zero(r, sizeof *s);
  if (!s)
    return BRIM_NOMEM(err);
  *s = (brim_gradient_shard){.model = model, .rank = rank, .world = world};
  const size_t most = (size_t)model->range_count + (size_t)world; /* a rank's end cuts a range at most once */
  s->gradients = brim_alloc_array(r, (size_t)world, sizeof *s->gradients);
  s->squares = brim_alloc_array(r, (size_t)world, sizeof *s->squares);
  s->parts = brim_alloc_array(r, most, sizeof *s->parts);
  s->ranges = brim_alloc_array(r, most, sizeof *s->ranges);
  s->sums = brim_alloc_array_zero(r, (size_t)count_pieces(model) + 1, sizeof *s->sums);
  if (!s->gradients || !s->squares || !s->parts || !s->ranges || !s->sums) {
    brim_gradient_shard_free(s);
    return BRIM_NOMEM(err);
  }
  memcpy(s->gradients, gradients, (size_t)world * sizeof *gradients);
  memcpy(s->squares, squares, (size_t)world * sizeof *squares);
  make_parts(s);
  brim_model_zero_gradients(model);
  s->own = model->gradients;
  rest(s);
  model->gradients = s->gradients[rank];
  *out = s;
  return BRIM_OK;
}

void brim_gradient_shard_free(brim_gradient_shard *s) {
  if (!s)
    return;
  brim_model *m = s->model;
  if (s->own) {
    memset(m->host_touched, 0, m->table_rows);
    m->dirty = false;
    m->gradients = s->own;
    brim_flat_clear(m, BRIM_GRADIENTS); /* which other memory than the system's may need */
  }
  brim_release(m->runtime, s->gradients);
  brim_release(m->runtime, s->squares);
  brim_release(m->runtime, s->parts);
  brim_release(m->runtime, s->ranges);
  brim_release(m->runtime, s->sums);
  brim_release(m->runtime, s);
}

/* ---- pieces ----------------------------------------------------------------------------------------------- */

typedef struct pieces {
  brim_gradient_shard *shard;
  bool own; /* or those of others */
  void (*fn)(struct pieces *p, const part *of, int64_t offset, int64_t count);
  brim_gradient_shard_fn given;
  void *context;
  float *values, *zero; /* of a move; `zero` may be NULL */
} pieces;

static bool is_meant(const pieces *p, const part *of) {
  return of->owner >= 0 && (of->owner == p->shard->rank) == p->own;
}

static void piece_task(void *context, int64_t task, int worker) {
  (void)worker;
  pieces *p = context;
  const part *of = p->shard->parts;
  for (; !is_meant(p, of) || task >= of->pieces; of++)
    task -= is_meant(p, of) ? of->pieces : 0;
  const int64_t from = task * BRIM_UPDATE_PIECE, rest = of->count - from;
  p->fn(p, of, p->shard->model->ranges[of->range].offset + of->from + from, rest < BRIM_UPDATE_PIECE ? rest : BRIM_UPDATE_PIECE);
}

static void run(pieces *p) {
  int64_t tasks = 0;
  for (int32_t i = 0; i < p->shard->part_count; i++)
    tasks += is_meant(p, &p->shard->parts[i]) ? p->shard->parts[i].pieces : 0;
  brim_pool_run(p->shard->model->runtime, tasks, piece_task, p);
}

static void give_piece(pieces *p, const part *of, int64_t offset, int64_t count) {
  (void)of;
  p->given(p->context, offset, count);
}

void brim_gradient_shard_each(brim_gradient_shard *s, brim_gradient_shard_fn fn, void *context) {
  run(&(pieces){.shard = s, .own = true, .fn = give_piece, .given = fn, .context = context});
}

static void take_piece(pieces *p, const part *of, int64_t offset, int64_t count) {
  memcpy(p->values + offset, p->shard->gradients[of->owner] + offset, (size_t)count * sizeof *p->values);
  if (p->zero)
    memset(p->zero + offset, 0, (size_t)count * sizeof *p->zero);
}

static void show_piece(pieces *p, const part *of, int64_t offset, int64_t count) {
  (void)of;
  memcpy(p->shard->model->gradients + offset, p->values + offset, (size_t)count * sizeof *p->values);
}

static void clear_piece(pieces *p, const part *of, int64_t offset, int64_t count) {
  (void)of;
  memset(p->shard->model->gradients + offset, 0, (size_t)count * sizeof(float));
}

void brim_gradient_shard_clear(brim_gradient_shard *s) {
  run(&(pieces){.shard = s, .own = true, .fn = clear_piece});
}

/* ---- a step ----------------------------------------------------------------------------------------------- */

/* This rank's ranges: its part's, and tables where they are wanted. */
static int32_t own_ranges(brim_gradient_shard *s, bool tables) {
  const brim_model *m = s->model;
  int32_t count = 0;
  for (int32_t i = 0; i < s->part_count; i++) {
    const part *p = &s->parts[i];
    if (p->owner != s->rank && !(p->owner < 0 && tables))
      continue;
    brim_update_range *range = &s->ranges[count++];
    *range = m->ranges[p->range];
    range->offset += p->from;
    range->count = p->count;
    range->copy = range->copy ? range->copy + p->from : NULL;
  }
  return count;
}

/* Those of the tables are the first rank's. */
static bool has_square(int32_t rank, const part *p) {
  return p->owner == rank || (p->owner < 0 && rank == 0);
}

void brim_gradient_shard_squares(brim_gradient_shard *s) {
  brim_model *m = s->model;
  const brim_update u = {.gradients = m->gradients, .ranges = s->ranges, .range_count = own_ranges(s, s->rank == 0)};
  int64_t done = 0;
  brim_model_enter(m, &m->train);
  brim_model_mix_gradient(m, u.ranges, u.range_count);
  m->ops->squares(&m->context, &u, s->sums);
  for (int32_t i = 0; i < s->part_count; i++)
    if (has_square(s->rank, &s->parts[i])) {
      memcpy(s->squares[s->rank] + s->parts[i].piece, s->sums + done, (size_t)s->parts[i].pieces * sizeof *s->sums);
      done += s->parts[i].pieces;
    }
}

int brim_gradient_shard_update(brim_gradient_shard *s, const brim_update_options *options, brim_error *err) {
  brim_model *m = s->model;
  brim_update u;
  BRIM_TRY(brim_model_begin_update(m, options, &u, err));
  for (int32_t i = 0; i < s->part_count; i++) {
    const part *p = &s->parts[i];
    memcpy(s->sums + p->piece, s->squares[p->owner < 0 ? 0 : p->owner] + p->piece, (size_t)p->pieces * sizeof *s->sums);
  }
  m->ops->square_of(&m->context, &u, s->sums);
  u.range_count = own_ranges(s, true);
  u.ranges = s->ranges;
  u.leaves = true;
  m->ops->update(&m->context, &u);
  return BRIM_OK;
}

void brim_gradient_shard_take(brim_gradient_shard *s) {
  brim_model *m = s->model;
  if (!isfinite(m->answers[BRIM_ANSWER_SQUARE]))
    return;
  run(&(pieces){.shard = s, .fn = take_piece, .values = m->values + m->trained, .zero = m->gradients});
  for (int32_t i = 0; i < s->part_count; i++) {
    const part *p = &s->parts[i];
    const brim_update_range *range = &m->ranges[p->range];
    if (p->owner < 0 || p->owner == s->rank || !range->copy)
      continue;
    m->ops->narrow(
        &m->context,
        &(brim_to_bfloat){.count = p->count, .x = m->values + m->trained + range->offset + p->from, .y = range->copy + p->from});
  }
}

/* ---- states ----------------------------------------------------------------------------------------------- */

void brim_gradient_shard_show_state(brim_gradient_shard *s, brim_flat state) {
  run(&(pieces){.shard = s, .own = true, .fn = show_piece, .values = brim_flat_at(s->model, state)});
}

void brim_gradient_shard_take_state(brim_gradient_shard *s, brim_flat state) {
  run(&(pieces){.shard = s, .fn = take_piece, .values = brim_flat_at(s->model, state)});
}
