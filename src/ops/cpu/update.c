/* update.c: the gradient's norm, updates and mixout over the flat buffers, in pieces of ranges (ops.h). Pieces are counted from
 * the ranges alone. The many ranges that are no embeddings need no division: every task looks for its piece among all of them. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/half.h"

#include <math.h>

#include "base/random.h"

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

/* ---- rules */

/* The numbers of a step as kernels take them, each rule those that it needs. */
typedef struct step {
  bool decay; /* there is one */
  float keep; /* 1 - lr * decay, where the decay is no part of the gradient */
  float pull; /* the decay, where it is */
  float new1, beta2, new2, root, size, eps, momentum;
} step;

/* Values with all that their update reads and writes, in registers. */
typedef struct lanes {
  vec x, start, states[BRIM_MOST_STATES];
  bool decay, returns; /* of their range */
} lanes;

typedef struct update {
  const brim_update *u;
  float clip;
  step past[BRIM_UPDATE_PAST]; /* of the embeddings */
} update;

/* What decay goes by: the distance from 0, or from the value at the start. */
BRIM_INLINE vec distance(const lanes *w) {
  vec from = w->x;
  if (w->returns)
    from -= w->start;
  return from;
}

/* The values after a decay that is no part of the gradient. */
BRIM_INLINE vec decayed(const step *s, const lanes *w) {
  const vec keep = vset(w->decay ? s->keep : 1);
  if (w->returns)
    return vmadd(w->x - w->start, keep, w->start);
  return w->x * keep;
}

/* The gradient with a decay that is part of it. */
BRIM_INLINE vec pulled(const step *s, const lanes *w, vec g) {
  if (w->decay)
    g = vmadd(vset(s->pull), distance(w), g);
  return g;
}

#include "ops/cpu/rules.h"

#define ENTRY(NAME, name, ...) [BRIM_RULE_##NAME] = {name##_step, name##_task, name##_catch_up_task},
static const struct {
  step (*step)(const brim_update_step *s, double lr);
  void (*task)(void *context, int64_t task, int worker);
  void (*catch_up)(void *context, int64_t task, int worker);
} rules[] = {BRIM_RULES_LIST(ENTRY)};
#undef ENTRY

static void set_past(update *w) {
  for (int32_t i = 0; i < w->u->past_count; i++)
    w->past[i] = rules[w->u->rule].step(&w->u->past[i], w->u->past[i].lr);
}

void CPU(update)(brim_ops_context *c, const brim_update *u) {
  update w = {.u = u, .clip = 1};
  if (!isfinite(*u->square))
    return;
  if (u->clip > 0)
    w.clip = (float)fmin(1, u->clip / (sqrt(*u->square) + 1e-6));
  set_past(&w);
  CPU(run)(c, piece_count(u), rules[u->rule].task, &w);
}

void CPU(catch_up)(brim_ops_context *c, const brim_update *u) {
  brim_update embeddings = *u;
  update w = {.u = &embeddings};
  while (embeddings.range_count > 0 && !embeddings.ranges[embeddings.range_count - 1].done)
    embeddings.range_count--;
  set_past(&w);
  CPU(run)(c, piece_count(&embeddings), rules[u->rule].catch_up, &w);
}

/* ---- mixout */

typedef struct mixing {
  const brim_mixout *op;
  brim_update u; /* the ranges, for their pieces */
} mixing;

/* The bits of the block that has value `i`, 16 for each of its eight. */
static void mixout_bits(const brim_dropout *d, int64_t i, uint32_t words[4]) {
  const uint64_t block = (uint64_t)i / 8;
  const uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), BRIM_PURPOSE_MIXOUT, 0};
  brim_philox_rounds(BRIM_DROPOUT_ROUNDS, counter, d->key, words);
}

/* Factors of some neighbouring values: 0, or the scale. */
enum { MIXED = 1 << 9 };
static void mixout_factors(const brim_dropout *d, int64_t first, int64_t count, float *factors) {
  uint32_t words[4];
  for (int64_t i = first; i < first + count; i++) {
    if (i == first || i % 8 == 0)
      mixout_bits(d, i, words);
    const uint32_t bits = words[i % 8 / 2] >> (i % 2 ? 16 : 0) & 0xffff;
    factors[i - first] = bits < d->threshold ? 0 : d->scale;
  }
}

/* The next values of a piece with their factors. */
static int64_t next_mixed(const mixing *m, const piece *p, int64_t done, float factors[MIXED]) {
  const int64_t rest = p->count - done, count = rest < MIXED ? rest : MIXED;
  mixout_factors(&m->op->dropout, p->range->offset + p->first + done, count, factors);
  return count;
}

static void mix_task(void *context, int64_t task, int worker) {
  (void)worker;
  const mixing *m = context;
  const piece p = piece_at(&m->u, task);
  float factors[MIXED];
  for (int64_t done = 0, count; p.range->mixed && done < p.count; done += count) {
    count = next_mixed(m, &p, done, factors);
    const int64_t at = p.range->offset + p.first + done;
    float *values = m->op->values + p.range->frozen + at, *kept = m->op->kept + at;
    const float *start = m->op->start + at;
    for (int64_t i = 0; i < count; i++) {
      kept[i] = values[i];
      values[i] = start[i] + (factors[i] != 0 ? (values[i] - start[i]) * factors[i] : 0);
    }
  }
}

static void mix_gradient_task(void *context, int64_t task, int worker) {
  (void)worker;
  const mixing *m = context;
  const piece p = piece_at(&m->u, task);
  float factors[MIXED];
  for (int64_t done = 0, count; p.range->mixed && done < p.count; done += count) {
    count = next_mixed(m, &p, done, factors);
    float *gradient = m->op->gradients + p.range->offset + p.first + done;
    for (int64_t i = 0; i < count; i++)
      gradient[i] = factors[i] != 0 ? gradient[i] * factors[i] : 0;
  }
}

static void run_mixout(brim_ops_context *c, const brim_mixout *op, void (*task)(void *context, int64_t task, int worker)) {
  mixing m = {.op = op, .u = {.ranges = op->ranges, .range_count = op->range_count}};
  CPU(run)(c, piece_count(&m.u), task, &m);
}

void CPU(mixout_forward)(brim_ops_context *c, const brim_mixout *op) {
  run_mixout(c, op, mix_task);
}

void CPU(mixout_backward)(brim_ops_context *c, const brim_mixout *op) {
  run_mixout(c, op, mix_gradient_task);
}
