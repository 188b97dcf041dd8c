/* neighbours.c: the tokens around each token, as one row. A task is some rows. */
#include "ops/cpu/cpu.h"

enum { ROWS_PER_TASK = 16 };

/* A row's place: its text's first slot, its token, and how many tokens there are. */
typedef struct place {
  int64_t first;
  int32_t token, length;
} place;

static place place_of(const brim_layout *layout, bool first_only, int64_t r) {
  const int32_t s = first_only ? (int32_t)r : layout->sequence[r];
  return (place){layout->offsets[s], first_only ? 0 : (int32_t)r - layout->offsets[s], layout->lengths[s]};
}

static void fill_row(const brim_neighbours *n, place at, float *y) {
  const int64_t width = n->width, size = n->size;
  for (int64_t j = 0; j < size; j++) {
    const int64_t token = at.token + j - size / 2;
    const bool there = at.token < at.length && token >= 0 && token < at.length;
    const float *x = n->x + (there ? at.first + token : 0) * width;
    for (int64_t i = 0; i < width; i++)
      y[i * size + j] = there ? x[i] : 0;
  }
}

static void forward_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_neighbours *n = context;
  const int64_t rows = n->first_only ? n->layout.n : n->layout.slots, first = task * ROWS_PER_TASK,
                end = least(first + ROWS_PER_TASK, rows);
  for (int64_t r = first; r < end; r++)
    fill_row(n, place_of(&n->layout, n->first_only, r), n->y + r * n->width * n->size);
}

void CPU(neighbours_forward)(brim_ops_context *c, const brim_neighbours *of) {
  brim_neighbours n = *of;
  CPU(run)(c, divided(n.first_only ? n.layout.n : n.layout.slots, ROWS_PER_TASK), forward_task, &n);
}

/* What the rows that took slot r give back to it: those of the tokens around it, which are first tokens with `first_only`. */
static void gather_gradient(const brim_neighbours_gradient *n, int64_t r, float *dx) {
  const int64_t width = n->width, size = n->size;
  const place at = place_of(&n->layout, false, r);
  if (!n->add)
    memset(dx, 0, (size_t)width * sizeof *dx);
  for (int64_t j = 0; j < size && at.token < at.length; j++) {
    const int64_t token = at.token - (j - size / 2);
    if (token < 0 || token >= at.length || (n->first_only && token > 0))
      continue;
    const float *dy = n->dy + (n->first_only ? n->layout.sequence[r] : at.first + token) * width * size + j;
    for (int64_t i = 0; i < width; i++)
      dx[i] += dy[i * size];
  }
}

static void backward_task(void *context, int64_t task, int worker) {
  (void)worker;
  const brim_neighbours_gradient *n = context;
  const int64_t first = task * ROWS_PER_TASK, end = least(first + ROWS_PER_TASK, n->layout.slots);
  for (int64_t r = first; r < end; r++)
    gather_gradient(n, r, n->dx + r * n->width);
}

void CPU(neighbours_backward)(brim_ops_context *c, const brim_neighbours_gradient *of) {
  brim_neighbours_gradient n = *of;
  CPU(run)(c, divided(n.layout.slots, ROWS_PER_TASK), backward_task, &n);
}
