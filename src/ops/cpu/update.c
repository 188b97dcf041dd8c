/* update.c: the gradient's norm and AdamW over the flat buffers. A part is a piece of a range: CHUNK values, or a number of whole
 * rows of an embedding. Parts are counted from the ranges alone. */
#include "ops/cpu/cpu.h"

#include <math.h>

enum { CHUNK = 1 << 14, SQUARE_TASKS = 512 };

typedef struct piece {
  const brim_update_range *range;
  int64_t first, count; /* rows of a table; else values of the range */
} piece;

static int64_t piece_rows(const brim_update_range *range) {
  return range->row_size < CHUNK ? CHUNK / range->row_size : 1;
}

/* The many ranges that are no tables need no division: every task looks for its piece among all of them. */
static int64_t range_pieces(const brim_update_range *range) {
  if (range->row_size <= 0)
    return (range->count + CHUNK - 1) / CHUNK;
  const int64_t rows = piece_rows(range);
  return (range->count / range->row_size + rows - 1) / rows;
}

static int64_t piece_count(const brim_update *u) {
  int64_t total = 0;
  for (int32_t i = 0; i < u->range_count; i++)
    total += range_pieces(&u->ranges[i]);
  return total;
}

static piece piece_at(const brim_update *u, int64_t index) {
  const brim_update_range *range = u->ranges;
  for (int64_t pieces; pieces = range_pieces(range), index >= pieces; range++)
    index -= pieces;
  const bool table = range->row_size > 0;
  const int64_t size = table ? piece_rows(range) : CHUNK, total = table ? range->count / range->row_size : range->count;
  const int64_t first = index * size;
  return (piece){.range = range, .first = first, .count = total - first < size ? total - first : size};
}

/* ---- norm */

typedef struct square_work {
  const brim_update *u;
  int64_t pieces, tasks;
  double *sums; /* [tasks] */
} square_work;

static double square(const float *x, int64_t n) {
  double lanes[16] = {0}, sum = 0;
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; k++)
      lanes[k] += (double)x[i + k] * (double)x[i + k];
  for (; i < n; i++)
    sum += (double)x[i] * (double)x[i];
  for (int k = 0; k < 16; k++)
    sum += lanes[k];
  return sum;
}

static double square_piece(const brim_update *u, const piece *p) {
  const float *g = u->gradients + p->range->offset;
  const int64_t size = p->range->row_size;
  if (size <= 0)
    return square(g + p->first, p->count);
  double sum = 0;
  for (int64_t row = p->first; row < p->first + p->count; row++)
    if (!p->range->touched || p->range->touched[row])
      sum += square(g + row * size, size);
  return sum;
}

static void square_task(void *context, int64_t task, int worker) {
  (void)worker;
  const square_work *w = context;
  double sum = 0;
  for (int64_t i = w->pieces * task / w->tasks; i < w->pieces * (task + 1) / w->tasks; i++) {
    const piece p = piece_at(w->u, i);
    sum += square_piece(w->u, &p);
  }
  w->sums[task] = sum;
}

double CPU(gradient_square)(brim_ops_context *c, const brim_update *u) {
  square_work w = {.u = u, .pieces = piece_count(u), .sums = c->workspace};
  w.tasks = w.pieces < SQUARE_TASKS ? w.pieces : SQUARE_TASKS;
  CPU(run)(c, w.tasks, square_task, &w);
  double sum = 0;
  for (int64_t i = 0; i < w.tasks; i++)
    sum += w.sums[i];
  return sum;
}

size_t CPU(update_workspace)(void) {
  return SQUARE_TASKS * sizeof(double);
}

/* ---- AdamW */

typedef struct step {
  const brim_update *u;
  float clip, keep, new1, beta2, new2, root, size, eps; /* keep: 1 - lr * decay; root: 1 / sqrt(correction2) */
} step;

/* What depends on the range's own learning rate. */
static void set_rate(step *s, double rate) {
  const double lr = s->u->lr * rate;
  s->keep = (float)(1 - lr * s->u->weight_decay);
  s->size = (float)(lr / s->u->correction1);
}

static void update_values(const step *s, int64_t first, int64_t n, bool decay) {
  const brim_update *u = s->u;
  float *x = u->values + first, *g = u->gradients + first, *m1 = u->moment1 + first, *m2 = u->moment2 + first;
  const vec clip = vset(s->clip), keep = vset(decay ? s->keep : 1), new1 = vset(s->new1), beta2 = vset(s->beta2),
            new2 = vset(s->new2);
  const vec root = vset(s->root), size = vset(s->size), eps = vset(s->eps);
  for (int64_t i = 0; i < n; i += VEC) {
    const int64_t left = n - i;
    const vec d = vload_n(g + i, left) * clip, old = vload_n(m1 + i, left);
    const vec m = vmadd(d - old, new1, old), v = vmadd(d * d, new2, vload_n(m2 + i, left) * beta2);
    const vec change = m / vmadd(vsqrt(v), root, eps);
    vstore_n(m1 + i, m, left);
    vstore_n(m2 + i, v, left);
    vstore_n(x + i, vnmadd(size, change, vload_n(x + i, left) * keep), left);
    vstore_n(g + i, vzero(), left);
  }
}

static void decay_values(const step *s, int64_t first, int64_t n) {
  float *x = s->u->values + first;
  for (int64_t i = 0; i < n; i += VEC)
    vstore_n(x + i, vload_n(x + i, n - i) * vset(s->keep), n - i);
}

static void adamw_task(void *context, int64_t task, int worker) {
  (void)worker;
  step own = *(const step *)context, *s = &own;
  const piece p = piece_at(s->u, task);
  const brim_update_range *range = p.range;
  const bool decay = range->decay && s->u->weight_decay > 0;
  set_rate(s, range->rate);
  if (range->row_size <= 0) {
    update_values(s, range->offset + p.first, p.count, decay);
    return;
  }
  for (int64_t row = p.first; row < p.first + p.count; row++) {
    const bool touched = !range->touched || range->touched[row], alive = touched || !range->alive || range->alive[row];
    const int64_t first = range->offset + row * range->row_size;
    if (touched && range->alive)
      range->alive[row] = 1;
    if (alive)
      update_values(s, first, range->row_size, decay);
    else if (decay) /* gradient and moments are 0: only the decay is left */
      decay_values(s, first, range->row_size);
  }
}

void CPU(adamw)(brim_ops_context *c, const brim_update *u) {
  step s = {.u = u,
            .clip = 1,
            .new1 = (float)(1 - u->beta1),
            .beta2 = (float)u->beta2,
            .new2 = (float)(1 - u->beta2),
            .root = (float)(1 / sqrt(u->correction2)),
            .eps = (float)u->eps};
  if (u->clip > 0)
    s.clip = (float)fmin(1, u->clip / (u->norm + 1e-6));
  CPU(run)(c, piece_count(u), adamw_task, &s);
}
