/* rows.c: whole rows: dropout, gather, scatter, add, zero. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/philox.h"

enum { ROWS_PER_TASK = 32, CHUNK = 1 << 15 };

void CPU(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int64_t r, int64_t width,
                       const real *x, real *y) {
  if (!d->on) {
    if (y != x)
      memcpy(y, x, (size_t)width * sizeof *y);
    return;
  }
  const int32_t slot = at->slot ? at->slot[r] : (int32_t)r, s = layout->sequence ? layout->sequence[slot] : 0;
  const uint32_t place = layout->sequence ? layout->places[s] : 0,
                 token = (uint32_t)(layout->sequence ? slot - layout->offsets[s] : slot);
  dropout_row(d, d->site, place, token, width, x, y);
}

static void dropout_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_dropout_rows *d = context;
  const int64_t width = d->width, count = d->at.count, first = task * ROWS_PER_TASK,
                end = first + ROWS_PER_TASK < count ? first + ROWS_PER_TASK : count;
  for (int64_t r = first; r < end; r++)
    CPU(dropout_slot)(&d->dropout, &d->layout, &d->at, r, width, d->x + r * width, d->y + r * width);
}

void CPU(dropout)(brim_ops_context *c, const brim_dropout_rows *of) {
  brim_dropout_rows d = *of;
  if (d.dropout.on || d.x != d.y)
    CPU(run)(c, (d.at.count + ROWS_PER_TASK - 1) / ROWS_PER_TASK, dropout_task, &d);
}

void CPU(gather_rows)(brim_ops_context *c, const brim_gather *g) {
  (void)c; /* a row a sequence: less than waking a thread */
  for (int64_t r = 0; r < g->at.count; r++) {
    const int64_t slot = g->at.slot ? g->at.slot[r] : r;
    memcpy(g->y + r * g->width, g->x + slot * g->x_stride, (size_t)g->width * sizeof *g->y);
  }
}

void CPU(scatter_rows)(brim_ops_context *c, const brim_scatter *s) {
  (void)c;
  const int64_t width = s->width;
  for (int64_t r = 0; r < s->at.count; r++) {
    const int64_t slot = s->at.slot ? s->at.slot[r] : r;
    const float *from = s->dy + r * width;
    float *to = s->dx + slot * s->dx_stride;
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(to + i, vload_n(to + i, width - i) + vload_n(from + i, width - i), width - i);
  }
}

static void add_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_add *a = context;
  const int64_t first = task * CHUNK, end = first + CHUNK < a->count ? first + CHUNK : a->count;
  for (int64_t i = first; i < end; i += VEC)
    vstore_n(a->y + i, vload_n(a->y + i, end - i) + vload_n(a->x + i, end - i), end - i);
}

void CPU(add)(brim_ops_context *c, const brim_add *of) {
  brim_add a = *of;
  CPU(run)(c, (a.count + CHUNK - 1) / CHUNK, add_task, &a);
}

static void zero_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_zero *z = context;
  const int64_t first = task * CHUNK, n = z->count - first < CHUNK ? z->count - first : CHUNK;
  memset(z->x + first, 0, (size_t)n * sizeof *z->x);
}

void CPU(zero)(brim_ops_context *c, const brim_zero *of) {
  brim_zero z = *of;
  CPU(run)(c, (z.count + CHUNK - 1) / CHUNK, zero_task, &z);
}
