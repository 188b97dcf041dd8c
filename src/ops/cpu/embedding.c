/* embedding.c: three embeddings summed, normalised, dropped out. */
#include "ops/cpu/cpu.h"
#include "ops/slices.h"

enum { ROWS_PER_TASK = 16, COLUMNS_PER_TASK = 64 };

typedef struct embedding {
  const brim_embed *e;
  brim_rows all;
  float *lines, *dtype; /* backward */
  int64_t blocks;
} embedding;

static void forward_task(void *context, int64_t task, int worker) {
  (void)worker;
  const embedding *m = context;
  const brim_embed *e = m->e;
  const int64_t width = e->hidden, first = task * ROWS_PER_TASK, last = first + ROWS_PER_TASK;
  for (int64_t r = first; r < last && r < m->all.count; r++) {
    const float *word = e->word + e->ids[r] * width, *position = e->position ? e->position + e->positions[r] * width : NULL;
    const float *type = e->type ? e->type + (e->type_ids ? e->type_ids[r] : 0) * width : NULL;
    float *sum = e->sum + r * width, *y = e->out + r * width;
    for (int64_t i = 0; i < width; i += VEC) {
      vec x = vload_n(word + i, width - i);
      if (position)
        x += vload_n(position + i, width - i);
      if (type)
        x += vload_n(type + i, width - i);
      vstore_n(sum + i, x, width - i);
    }
    if (e->gamma)
      CPU(norm_row)(width, sum, e->gamma, e->beta, e->eps, &e->mean[r], &e->rstd[r], y);
    if (e->dropout.on || !e->gamma)
      CPU(dropout_slot)(&e->dropout, &e->layout, &m->all, r, width, e->gamma ? y : sum, y);
  }
}

void CPU(embed_forward)(brim_ops_context *c, const brim_embed *e) {
  embedding m = {.e = e, .all = {.count = e->layout.slots}};
  CPU(run)(c, (m.all.count + ROWS_PER_TASK - 1) / ROWS_PER_TASK, forward_task, &m);
}

/* The gradient of the sum, and the norm's lines. */
static void norm_task(void *context, int64_t task, int worker) {
  (void)worker;
  const embedding *m = context;
  const brim_embed *e = m->e;
  const int64_t width = e->hidden;
  int64_t first, end;
  CPU(norm_block)(&e->slices, m->all.count, task, &first, &end);
  float *line = m->lines ? m->lines + 2 * task * width : NULL;
  if (line)
    memset(line, 0, 2 * (size_t)width * sizeof *line);
  for (int64_t r = first; r < end; r++) {
    float *ds = e->dsum + r * width;
    CPU(dropout_slot)(&e->dropout, &e->layout, &m->all, r, width, e->dout + r * width, ds);
    if (e->gamma)
      CPU(norm_row_backward)(width, e->sum + r * width, e->mean[r], e->rstd[r], e->gamma, ds, ds, line,
                             line ? line + width : NULL);
  }
}

static void add_row(int64_t n, const float *from, float *to) {
  for (int64_t i = 0; i < n; i += VEC)
    vstore_n(to + i, vload_n(to + i, n - i) + vload_n(from + i, n - i), n - i);
}

/* A task owns some columns of all embeddings and walks the slots in order. */
static void embedding_task(void *context, int64_t task, int worker) {
  (void)worker;
  const embedding *m = context;
  const brim_embed *e = m->e;
  const int64_t width = e->hidden, at = task * COLUMNS_PER_TASK,
                n = width - at < COLUMNS_PER_TASK ? width - at : COLUMNS_PER_TASK;
  for (int64_t r = 0; r < m->all.count; r++) {
    const float *ds = e->dsum + r * width + at;
    if (e->dword)
      add_row(n, ds, e->dword + e->ids[r] * width + at);
    if (e->dposition)
      add_row(n, ds, e->dposition + e->positions[r] * width + at);
    if (m->dtype)
      add_row(n, ds, m->dtype + (e->type_ids ? e->type_ids[r] : 0) * width + at);
  }
}

/* ---- with slices: the slots are put into the order of the rows that they have, so that a row is summed at once */

enum { DIGIT = 11, DIGITS = 1 << DIGIT };

typedef struct sorted_embedding {
  const brim_embed *e;
  const int32_t *rows;  /* [R], or NULL: the types */
  const int32_t *order; /* [R] slots by row, in their order */
  const int32_t *slice; /* [R] of each slot: its slice's number */
  float *to;
} sorted_embedding;

BRIM_INLINE int32_t slot_row(const sorted_embedding *t, int32_t slot) {
  return t->rows ? t->rows[slot] : t->e->type_ids ? t->e->type_ids[slot] : 0;
}

/* Digit by digit; returns where the order is then. */
static const int32_t *sort_slots(const sorted_embedding *t, int32_t count, int32_t *order, int32_t *other) {
  int32_t top = 0;
  for (int32_t r = 0; r < count; r++) {
    order[r] = r;
    top |= slot_row(t, r);
  }
  for (int shift = 0; shift < 31 && top >> shift; shift += DIGIT) {
    int32_t starts[DIGITS + 1] = {0};
    for (int32_t r = 0; r < count; r++)
      starts[(slot_row(t, r) >> shift & (DIGITS - 1)) + 1]++;
    for (int32_t i = 0; i < DIGITS; i++)
      starts[i + 1] += starts[i];
    for (int32_t i = 0; i < count; i++)
      other[starts[slot_row(t, order[i]) >> shift & (DIGITS - 1)]++] = order[i];
    int32_t *const sorted = other;
    other = order;
    order = sorted;
  }
  return order;
}

typedef struct waiting_rows {
  float sums[BRIM_SLICE_DEPTH][COLUMNS_PER_TASK];
  int32_t names[BRIM_SLICE_DEPTH], count;
} waiting_rows;

static void join(waiting_rows *w, int64_t n, int32_t next) {
  for (int32_t joins = brim_slice_joins_before(w->names, w->count, next); joins > 0; joins--, w->count--)
    add_row(n, w->sums[w->count - 1], w->sums[w->count - 2]);
}

/* A task owns some columns, and walks the rows. */
static void sorted_task(void *context, int64_t task, int worker) {
  (void)worker;
  const sorted_embedding *t = context;
  const brim_embed *e = t->e;
  const int64_t width = e->hidden, at = task * COLUMNS_PER_TASK, n = least(width - at, COLUMNS_PER_TASK);
  waiting_rows w;
  for (int32_t i = 0; i < e->layout.slots;) {
    const int32_t row = slot_row(t, t->order[i]);
    w.count = 0;
    for (; i < e->layout.slots && slot_row(t, t->order[i]) == row; i++) {
      const int32_t slot = t->order[i], name = e->slices.names[t->slice[slot]];
      if (w.count == 0 || w.names[w.count - 1] != name) {
        join(&w, n, name);
        w.names[w.count] = name;
        memset(w.sums[w.count++], 0, (size_t)n * sizeof(float));
      }
      add_row(n, e->dsum + slot * width + at, w.sums[w.count - 1]);
    }
    join(&w, n, -1);
    add_row(n, w.sums[0], t->to + row * width + at);
  }
}

/* `room`: three numbers a slot. */
static void add_slices(brim_ops_context *c, const embedding *m, int32_t *room) {
  const brim_embed *e = m->e;
  const int32_t slots = e->layout.slots;
  int32_t *slice = room, *order = room + slots, *other = order + slots;
  const int32_t *rows[] = {e->ids, e->positions, NULL};
  float *const to[] = {e->dword, e->dposition, m->dtype};
  for (int32_t k = 0, r = 0; k < e->slices.count; k++)
    for (; r < e->slices.ends[k]; r++)
      slice[r] = k;
  for (int i = 0; i < 3; i++) {
    sorted_embedding t = {.e = e, .rows = rows[i], .slice = slice, .to = to[i]};
    if (!t.to)
      continue;
    t.order = sort_slots(&t, slots, order, other);
    CPU(run)(c, divided(e->hidden, COLUMNS_PER_TASK), sorted_task, &t);
  }
}

size_t CPU(embed_workspace)(const brim_ops_limits *limits) {
  return limits->slices > 0 ? 3 * (size_t)limits->max_slots * sizeof(int32_t) : 0;
}

/* ---- entry */

void CPU(embed_backward)(brim_ops_context *c, const brim_embed *e) {
  const bool wanted = e->dgamma || e->dbeta;
  embedding m = {
      .e = e, .all = {.count = e->layout.slots}, .lines = wanted ? c->workspace : NULL, .dtype = e->type ? e->dtype : NULL};
  m.blocks = CPU(norm_blocks)(&e->slices, m.all.count);
  CPU(run)(c, m.blocks, norm_task, &m);
  if (wanted)
    CPU(norm_sum_blocks)(c, &e->slices, m.all.count, e->hidden, m.lines, e->dgamma, e->dbeta);
  if (e->slices.count > 0)
    add_slices(c, &m, c->workspace);
  else if (e->dword || e->dposition || m.dtype)
    CPU(run)(c, (e->hidden + COLUMNS_PER_TASK - 1) / COLUMNS_PER_TASK, embedding_task, &m);
}
