/* embedding.c: three tables summed, normalised, dropped out. */
#include "ops/cpu/cpu.h"

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
  const int64_t width = e->hidden, first = m->all.count * task / m->blocks, end = m->all.count * (task + 1) / m->blocks;
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

/* A task owns some columns of all tables and walks the slots in order. */
static void table_task(void *context, int64_t task, int worker) {
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

void CPU(embed_backward)(brim_ops_context *c, const brim_embed *e) {
  const bool wanted = e->dgamma || e->dbeta;
  embedding m = {
      .e = e, .all = {.count = e->layout.slots}, .lines = wanted ? c->workspace : NULL, .dtype = e->type ? e->dtype : NULL};
  m.blocks = CPU(norm_blocks)(m.all.count);
  CPU(run)(c, m.blocks, norm_task, &m);
  if (wanted)
    CPU(norm_sum_blocks)(c, m.blocks, e->hidden, m.lines, e->dgamma, e->dbeta);
  if (e->dword || e->dposition || m.dtype)
    CPU(run)(c, (e->hidden + COLUMNS_PER_TASK - 1) / COLUMNS_PER_TASK, table_task, &m);
}
