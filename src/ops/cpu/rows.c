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
  const int32_t slot = at->slot ? at->slot[r] : (int32_t)r, s = layout->sequence[slot];
  dropout_row(d, d->site, layout->places[s], (uint32_t)(slot - layout->offsets[s]), width, x, y);
}

typedef struct rows_work {
  const brim_layout *layout;
  const brim_rows *at;
  const brim_dropout *dropout;
  int64_t width, count;
  const float *x;
  float *y;
} rows_work;

static void dropout_task(void *context, int64_t task, int worker) {
  (void)worker;
  const rows_work *w = context;
  const int64_t first = task * ROWS_PER_TASK, end = first + ROWS_PER_TASK < w->at->count ? first + ROWS_PER_TASK : w->at->count;
  for (int64_t r = first; r < end; r++)
    CPU(dropout_slot)(w->dropout, w->layout, w->at, r, w->width, w->x + r * w->width, w->y + r * w->width);
}

void CPU(dropout)(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const brim_dropout *dropout,
                  const real *x, real *y) {
  if (!dropout->on && x == y)
    return;
  rows_work w = {.layout = layout, .at = at, .dropout = dropout, .width = width, .x = x, .y = y};
  CPU(run)(c, (at->count + ROWS_PER_TASK - 1) / ROWS_PER_TASK, dropout_task, &w);
}

void CPU(gather_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *x, int64_t x_stride, real *y) {
  (void)c; /* a row a sequence: less than waking a thread */
  for (int64_t r = 0; r < at->count; r++) {
    const int64_t slot = at->slot ? at->slot[r] : r;
    memcpy(y + r * width, x + slot * x_stride, (size_t)width * sizeof *y);
  }
}

void CPU(scatter_rows)(brim_ops_context *c, const brim_rows *at, int32_t width, const real *dy, real *dx, int64_t dx_stride) {
  (void)c;
  for (int64_t r = 0; r < at->count; r++) {
    const int64_t slot = at->slot ? at->slot[r] : r;
    const float *from = dy + r * width;
    float *to = dx + slot * dx_stride;
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(to + i, vload_n(to + i, width - i) + vload_n(from + i, width - i), width - i);
  }
}

static void add_task(void *context, int64_t task, int worker) {
  (void)worker;
  const rows_work *w = context;
  const int64_t first = task * CHUNK, end = first + CHUNK < w->count ? first + CHUNK : w->count;
  for (int64_t i = first; i < end; i += VEC)
    vstore_n(w->y + i, vload_n(w->y + i, end - i) + vload_n(w->x + i, end - i), end - i);
}

void CPU(add)(brim_ops_context *c, int64_t count, const real *x, real *y) {
  rows_work w = {.count = count, .x = x, .y = y};
  CPU(run)(c, (count + CHUNK - 1) / CHUNK, add_task, &w);
}

static void zero_task(void *context, int64_t task, int worker) {
  (void)worker;
  const rows_work *w = context;
  const int64_t first = task * CHUNK, n = w->count - first < CHUNK ? w->count - first : CHUNK;
  memset(w->y + first, 0, (size_t)n * sizeof *w->y);
}

void CPU(zero)(brim_ops_context *c, int64_t count, real *x) {
  rows_work w = {.count = count, .y = x};
  CPU(run)(c, (count + CHUNK - 1) / CHUNK, zero_task, &w);
}
