/* pending.c: see pending.h. A task is a piece of a range: some values, or some rows of an embedding. */
#include "model/run/pending.h"

#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "model/run/fits.h"
#include "model/run/host.h"
#include "model/run/model.h"

enum { CHUNK = 1 << 15 };

typedef struct partial {
  real *values;  /* [trained values] */
  uint8_t *rows; /* [rows of embeddings] that have one */
  bool lent;
} partial;

struct brim_pending {
  brim_model *model;
  int32_t count;
  partial list[];
};

typedef struct moving {
  brim_model *model;
  partial *with;
} moving;

static int64_t trained_values(const brim_model *m) {
  return m->program.flat_size - m->trained;
}

uint64_t brim_pending_memory(const brim_model *model, int32_t count) {
  size_t rows = 0;
  for (size_t i = 0; i < model->program.weight_count; i++)
    if (model->program.weights[i].is.sparse_rows && model->program.weights[i].is.offset >= model->trained)
      rows += (size_t)model->program.weights[i].is.shape[0];
  return (uint64_t)count * ((uint64_t)trained_values(model) * sizeof(real) + rows);
}

int brim_pending_new(brim_model *model, int32_t count, brim_pending **out, brim_error *err) {
  *out = NULL;
  BRIM_TRY(brim_features_fit(model, BRIM_FEATURE_HOST_MEMORY, err));
  brim_pending *p = brim_alloc_zero(model->runtime, sizeof *p + (size_t)count * sizeof *p->list);
  if (!p)
    return BRIM_NOMEM(err);
  p->model = model;
  for (; p->count < count; p->count++) {
    partial *one = &p->list[p->count];
    one->values = brim_alloc_array_zero(model->runtime, (size_t)trained_values(model), sizeof *one->values);
    one->rows = brim_alloc_array_zero(model->runtime, model->embedding_rows + 1, 1);
    if (!one->values || !one->rows) {
      p->count++;
      brim_pending_free(p);
      return BRIM_NOMEM(err);
    }
  }
  *out = p;
  return BRIM_OK;
}

void brim_pending_free(brim_pending *p) {
  if (!p)
    return;
  for (int32_t i = 0; i < p->count; i++) {
    if (!p->list[i].lent)
      brim_release(p->model->runtime, p->list[i].values);
    brim_release(p->model->runtime, p->list[i].rows);
  }
  brim_release(p->model->runtime, p);
}

int32_t brim_pending_count(const brim_pending *p) {
  return p->count;
}

real *brim_pending_values(const brim_pending *p, int32_t index) {
  return p->list[index].values;
}

void brim_pending_use_buffer(brim_pending *p, int32_t index, real *values) {
  brim_release(p->model->runtime, p->list[index].values);
  p->list[index].values = values;
  p->list[index].lent = true;
}

uint8_t *brim_gradient_rows(const brim_model *model, size_t *count) {
  *count = model->embedding_rows;
  return model->host_touched;
}

void brim_pending_rows(const brim_pending *p, int32_t index, uint8_t *bits) {
  for (size_t i = 0; i < p->model->embedding_rows; i++)
    bits[i / 8] |= (uint8_t)((p->list[index].rows[i] != 0) << i % 8);
}

/* ---- pieces ----------------------------------------------------------------------------------------------- */

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

static void take_values(real *restrict to, real *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] = from[i], from[i] = 0;
}

static void add_values(real *restrict to, const real *restrict from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i] += from[i];
}

/* The piece of all ranges that has this number: its first item, and how many. */
static const brim_update_range *find(const brim_model *m, int64_t task, int64_t *first, int64_t *count) {
  const brim_update_range *range = m->ranges;
  for (int64_t pieces; pieces = pieces_of(range), task >= pieces; range++)
    task -= pieces;
  *first = task * piece_size(range);
  *count = items_of(range) - *first < piece_size(range) ? items_of(range) - *first : piece_size(range);
  return range;
}

static void take_task(void *context, int64_t task, int worker) {
  (void)worker;
  const moving *w = context;
  int64_t first, count;
  const brim_update_range *range = find(w->model, task, &first, &count);
  real *to = w->with->values + range->offset, *from = w->model->gradients + range->offset;
  if (range->row_size <= 0) {
    take_values(to + first, from + first, count);
    return;
  }
  const uint8_t *now = w->model->host_touched + (range->touched - w->model->touched);
  const uint8_t *before = w->with->rows + (range->touched - w->model->touched);
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
  const brim_update_range *range = find(w->model, task, &first, &count);
  real *to = w->model->gradients + range->offset, *from = w->with->values + range->offset;
  if (range->row_size <= 0) {
    add_values(to + first, from + first, count);
    return;
  }
  const uint8_t *rows = w->with->rows + (range->touched - w->model->touched);
  for (int64_t row = first; row < first + count; row++)
    if (rows[row])
      add_values(to + row * range->row_size, from + row * range->row_size, range->row_size);
}

static void run(brim_pending *p, int32_t index, brim_task_fn task) {
  moving w = {p->model, &p->list[index]};
  int64_t tasks = 0;
  for (int32_t i = 0; i < p->model->range_count; i++)
    tasks += pieces_of(&p->model->ranges[i]);
  brim_pool_run(p->model->runtime, tasks, task, &w);
}

void brim_pending_take(brim_pending *p, int32_t index) {
  brim_model *m = p->model;
  run(p, index, take_task);
  memcpy(p->list[index].rows, m->host_touched, m->embedding_rows);
  memset(m->host_touched, 0, m->embedding_rows);
  m->dirty = false;
}

void brim_pending_add(brim_pending *p, int32_t index) {
  brim_model *m = p->model;
  const uint8_t *rows = p->list[index].rows;
  run(p, index, add_task);
  for (size_t i = 0; i < m->embedding_rows; i++)
    m->host_touched[i] |= rows[i];
  m->dirty = true;
}

/* ---- packed ----------------------------------------------------------------------------------------------- */

static const uint8_t *rows_of(const brim_model *m, const brim_update_range *range) {
  return m->host_touched + (range->touched - m->touched);
}

int64_t brim_gradient_rows_of(const brim_model *m, const brim_update_range *range) {
  const uint8_t *rows = rows_of(m, range);
  int64_t count = 0;
  for (int64_t row = 0; row < items_of(range); row++)
    count += rows[row] != 0;
  return count;
}

static void pack_embedding(const brim_model *m, const brim_update_range *range, real *values) {
  const uint8_t *rows = rows_of(m, range);
  real *to = values + range->offset;
  for (int64_t row = 0; row < items_of(range); row++)
    if (rows[row]) {
      memmove(to, values + range->offset + row * range->row_size, (size_t)range->row_size * sizeof *to);
      to += range->row_size;
    }
}

static void unpack_embedding(const brim_model *m, const brim_update_range *range, real *values) {
  const uint8_t *rows = rows_of(m, range);
  const size_t bytes = (size_t)range->row_size * sizeof *values;
  const int64_t all = brim_gradient_rows_of(m, range);
  int64_t packed = all;
  for (int64_t row = items_of(range) - 1; row >= 0; row--) {
    real *to = values + range->offset + row * range->row_size;
    if (rows[row])
      memmove(to, values + range->offset + --packed * range->row_size, bytes);
    else if (row < all)
      memset(to, 0, bytes);
  }
}

void brim_gradient_pack(const brim_model *model, real *values) {
  for (int32_t i = 0; i < model->range_count; i++)
    if (model->ranges[i].row_size > 0)
      pack_embedding(model, &model->ranges[i], values);
}

void brim_gradient_unpack(const brim_model *model, real *values) {
  for (int32_t i = 0; i < model->range_count; i++)
    if (model->ranges[i].row_size > 0)
      unpack_embedding(model, &model->ranges[i], values);
}

void brim_pending_used(brim_pending *p, int32_t index) {
  const brim_model *m = p->model;
  for (int32_t i = 0; i < m->range_count; i++) {
    const brim_update_range *range = &m->ranges[i];
    if (range->row_size <= 0)
      continue;
    const int64_t packed = brim_gradient_rows_of(m, range);
    uint8_t *rows = p->list[index].rows + (range->touched - m->touched);
    for (int64_t row = 0; row < packed; row++)
      rows[row] = 1;
  }
}
