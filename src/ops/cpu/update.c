/* update.c: the gradient's norm and AdamW over the flat buffers, in pieces of ranges (ops.h). Pieces are counted from the ranges
 * alone. The many ranges that are no embeddings need no division: every task looks for its piece among all of them. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"

#include <math.h>

enum { SQUARE_TASKS = 512 };

typedef struct piece {
  const brim_update_range *range;
  int64_t first, count; /* rows of an embedding; else values of the range */
} piece;

static int64_t piece_count(const brim_update *u) {
  int64_t total = 0;
  for (int32_t i = 0; i < u->range_count; i++)
    total += brim_update_pieces(&u->ranges[i]);
  return total;
}

static piece piece_at(const brim_update *u, int64_t index) {
  const brim_update_range *range = u->ranges;
  for (int64_t pieces; pieces = brim_update_pieces(range), index >= pieces; range++)
    index -= pieces;
  const bool sparse = range->row_size > 0;
  const int64_t size = sparse ? brim_update_rows(range) : BRIM_UPDATE_PIECE,
                total = sparse ? range->count / range->row_size : range->count;
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
  for (; i + 16 <= n; i += 16) {
    __builtin_prefetch(x + i + 1024); /* 4 KiB: two threads alone do not ask for enough at a time */
    for (int k = 0; k < 16; k++)
      lanes[k] += (double)x[i + k] * (double)x[i + k];
  }
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

/* What the tasks have found, and whether there are losses that are not finite. */
static void add_tasks(const square_work *w) {
  double sum = 0;
  for (int64_t i = 0; i < w->tasks; i++)
    sum += w->sums[i];
  for (int32_t i = 0; i < w->u->loss_count; i++)
    sum += 0 * w->u->losses[i]; /* NaN unless it is finite */
  *w->u->square = sum;
}

static square_work square_work_of(brim_ops_context *c, const brim_update *u) {
  square_work w = {.u = u, .pieces = piece_count(u), .sums = c->workspace};
  w.tasks = w.pieces < SQUARE_TASKS ? w.pieces : SQUARE_TASKS;
  return w;
}

void CPU(gradient_square)(brim_ops_context *c, const brim_update *u) {
  square_work w = square_work_of(c, u);
  CPU(run)(c, w.tasks, square_task, &w);
  add_tasks(&w);
}

static void piece_task(void *context, int64_t task, int worker) {
  (void)worker;
  const square_work *w = context;
  const piece p = piece_at(w->u, task);
  w->sums[task] = square_piece(w->u, &p);
}

void CPU(squares)(brim_ops_context *c, const brim_update *u, double *sums) {
  square_work w = {.u = u, .sums = sums};
  CPU(run)(c, piece_count(u), piece_task, &w);
}

void CPU(square_of)(brim_ops_context *c, const brim_update *u, const double *sums) {
  const square_work w = square_work_of(c, u);
  for (int64_t task = 0; task < w.tasks; task++) {
    w.sums[task] = 0;
    for (int64_t i = w.pieces * task / w.tasks; i < w.pieces * (task + 1) / w.tasks; i++)
      w.sums[task] += sums[i];
  }
  add_tasks(&w);
}

size_t CPU(update_workspace)(void) {
  return SQUARE_TASKS * sizeof(double);
}

/* ---- AdamW */

/* An update as the kernels take it. */
typedef struct step {
  bool decay;                                     /* there is one */
  float keep, new1, beta2, new2, root, size, eps; /* keep: 1 - lr * decay; root: 1 / sqrt(correction2) */
} step;

typedef struct update {
  const brim_update *u;
  float clip;
  step past[BRIM_UPDATE_PAST]; /* of the embeddings */
} update;

static step make_step(const brim_update_step *s, double rate) {
  const double lr = s->lr * rate;
  return (step){.decay = s->weight_decay > 0,
                .keep = s->weight_decay > 0 ? (float)(1 - lr * s->weight_decay) : 1,
                .new1 = (float)(1 - s->beta1),
                .beta2 = (float)s->beta2,
                .new2 = (float)(1 - s->beta2),
                .root = (float)(1 / sqrt(s->correction2)),
                .size = (float)(lr / s->correction1),
                .eps = (float)s->eps};
}

static void set_past(update *w) {
  for (int32_t i = 0; i < w->u->past_count; i++)
    w->past[i] = make_step(&w->u->past[i], 1);
}

/* One update of a value x and its moments m and v, d being its gradient. */
BRIM_INLINE void advance(const step *s, bool decay, vec d, vec *x, vec *m, vec *v) {
  *m = vmadd(d - *m, vset(s->new1), *m);
  *v = vmadd(d * d, vset(s->new2), *v * vset(s->beta2));
  const vec change = *m / vmadd(vsqrt(*v), vset(s->root), vset(s->eps));
  *x = vnmadd(vset(s->size), change, *x * vset(decay ? s->keep : 1));
}

/* `copy`: of these values, or NULL. `leaves`: they go to where the gradient was too. */
static void update_values(const update *w, const step *of, bool decay, bool leaves, int64_t first, int64_t n, brim_bfloat *copy) {
  const brim_update *u = w->u;
  const step s = *of; /* so that no store may change it */
  float *values = u->values + first, *g = u->gradients + first, *m1 = u->moment1 + first, *m2 = u->moment2 + first;
  const vec clip = vset(w->clip);
  for (int64_t i = 0; i < n; i += VEC) {
    const int64_t left = n - i;
    vec x = vload_n(values + i, left), m = vload_n(m1 + i, left), v = vload_n(m2 + i, left);
    advance(&s, decay, vload_n(g + i, left) * clip, &x, &m, &v);
    vstore_n(m1 + i, m, left);
    vstore_n(m2 + i, v, left);
    vstore_n(values + i, x, left);
    if (copy)
      hstore_n(copy + i, x, left);
    vstore_n(g + i, leaves ? x : vzero(), left);
  }
}

/* Gradient and moments are 0: only the decay is left. */
static void decay_values(const update *w, const step *steps, int32_t count, int64_t first, int64_t n) {
  float *values = w->u->values + first;
  for (int64_t i = 0; i < n; i += VEC) {
    vec x = vload_n(values + i, n - i);
    for (int32_t k = 0; k < count; k++)
      if (steps[k].decay)
        x *= vset(steps[k].keep);
    vstore_n(values + i, x, n - i);
  }
}

/* Updates with a gradient of 0. */
static void replay_values(const update *w, const step *steps, int32_t count, bool decay, int64_t first, int64_t n) {
  float *values = w->u->values + first, *m1 = w->u->moment1 + first, *m2 = w->u->moment2 + first;
  for (int64_t i = 0; i < n; i += VEC) {
    const int64_t left = n - i;
    vec x = vload_n(values + i, left), m = vload_n(m1 + i, left), v = vload_n(m2 + i, left);
    for (int32_t k = 0; k < count; k++)
      advance(&steps[k], decay, vzero(), &x, &m, &v);
    vstore_n(m1 + i, m, left);
    vstore_n(m2 + i, v, left);
    vstore_n(values + i, x, left);
  }
}

/* Some updates of a row that had no gradient in them. */
static void rest_row(const update *w, const brim_update_range *range, int64_t row, const step *steps, int32_t count) {
  const int64_t first = range->offset + row * range->row_size;
  if (!range->alive || range->alive[row])
    replay_values(w, steps, count, range->decay, first, range->row_size);
  else if (range->decay)
    decay_values(w, steps, count, first, range->row_size);
}

static void catch_up_row(const update *w, const brim_update_range *range, int64_t row) {
  const int32_t done = range->done[row], count = w->u->past_count;
  if (done < count)
    rest_row(w, range, row, w->past + done, count - done);
  range->done[row] = (uint8_t)count;
}

static void touch_row(const update *w, const brim_update_range *range, int64_t row, const step *s) {
  if (range->done) {
    catch_up_row(w, range, row);
    range->done[row]++;
  }
  if (range->alive)
    range->alive[row] = 1;
  update_values(w, s, range->decay, false, range->offset + row * range->row_size, range->row_size, NULL);
}

static void adamw_task(void *context, int64_t task, int worker) {
  (void)worker;
  const update *w = context;
  const piece p = piece_at(w->u, task);
  const brim_update_range *range = p.range;
  const step s = make_step(&w->u->step, range->rate);
  if (range->row_size <= 0) {
    update_values(w, &s, range->decay, w->u->leaves, range->offset + p.first, p.count,
                  range->copy ? range->copy + p.first : NULL);
    return;
  }
  for (int64_t row = p.first; row < p.first + p.count; row++)
    if (!range->touched || range->touched[row])
      touch_row(w, range, row, &s);
    else if (!range->done)
      rest_row(w, range, row, &s, 1);
}

void CPU(adamw)(brim_ops_context *c, const brim_update *u) {
  update w = {.u = u, .clip = 1};
  if (!isfinite(*u->square))
    return;
  if (u->clip > 0)
    w.clip = (float)fmin(1, u->clip / (sqrt(*u->square) + 1e-6));
  set_past(&w);
  CPU(run)(c, piece_count(u), adamw_task, &w);
}

static void catch_up_task(void *context, int64_t task, int worker) {
  (void)worker;
  const update *w = context;
  const piece p = piece_at(w->u, task);
  for (int64_t row = p.first; p.range->done && row < p.first + p.count; row++)
    if (w->u->all || p.range->wanted[row])
      catch_up_row(w, p.range, row);
}

void CPU(catch_up)(brim_ops_context *c, const brim_update *u) {
  brim_update embeddings = *u;
  update w = {.u = &embeddings};
  while (embeddings.range_count > 0 && !embeddings.ranges[embeddings.range_count - 1].done)
    embeddings.range_count--;
  set_past(&w);
  CPU(run)(c, piece_count(&embeddings), catch_up_task, &w);
}
