/* vocabulary.c: cross entropy over a vocabulary, a block of columns at a time: the block's logits by the product of all layers,
 * then a pass over them, row by row. While blocks come, a row's outcome holds what is known of it so far. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/vecmath.h"

#include <math.h>

enum { ROWS_PER_TASK = 8 };

typedef struct block {
  const brim_vocabulary *v;
  int32_t first, width; /* columns */
} block;

static bool is_half(const brim_vocabulary *v) {
  return v->x.type == BRIM_TYPE_BF16;
}

/* logits[rows, width] of the block's columns, one row after the other. */
static void make_logits(brim_ops_context *c, const block *b) {
  const brim_vocabulary *v = b->v;
  const int64_t at = (int64_t)b->first * v->in;
  const float *bias = v->b ? v->b + b->first : NULL;
  if (is_half(v))
    CPU(bf16_forward)(c, &(brim_bf16_linear){.rows = v->rows,
                                             .in = v->in,
                                             .out = b->width,
                                             .x = v->x.at,
                                             .x_stride = v->in,
                                             .w = (const brim_bfloat *)v->w.at + at,
                                             .b = bias,
                                             .y = {BRIM_TYPE_REAL, v->logits},
                                             .y_stride = b->width});
  else
    CPU(linear_forward)(c, &(brim_linear){.rows = v->rows,
                                          .in = v->in,
                                          .out = b->width,
                                          .x = v->x.at,
                                          .x_stride = v->in,
                                          .w = (const float *)v->w.at + at,
                                          .b = bias,
                                          .y = v->logits,
                                          .y_stride = b->width});
}

static void each_block(brim_ops_context *c, const brim_vocabulary *v, void (*use)(brim_ops_context *, const block *)) {
  for (int32_t first = 0; first < v->out; first += v->block) {
    const block b = {v, first, v->out - first < v->block ? v->out - first : v->block};
    make_logits(c, &b);
    use(c, &b);
  }
}

static void run_rows(brim_ops_context *c, const block *b, brim_task_fn fn) {
  block own = *b;
  CPU(run)(c, divided(b->v->rows, ROWS_PER_TASK), fn, &own);
}

/* ---- forward */

static float top_of(const float *z, int64_t width) {
  vec top = vset(-INFINITY);
  for (int64_t i = 0; i < width; i += VEC)
    top = vmax(top, vfirst_n(vload_n(z + i, width - i), width - i, vset(-INFINITY)));
  return vtop(top);
}

/* The sum of exp(z - top); what is no number makes it none: exp is of numbers alone, and z - z of any other is NaN. */
static double sum_of(const float *z, int64_t width, float top) {
  vec sum = vset(0), odd = vset(0);
  for (int64_t i = 0; i < width; i += VEC) {
    const vec x = vload_n(z + i, width - i);
    sum = sum + vfirst_n(vexp(x - vset(top)), width - i, vset(0));
    odd = odd + (x - x);
  }
  return (double)(vsum(sum) + vsum(odd));
}

static int32_t find_top(const float *z, int32_t width, float top) {
  int32_t at = 0;
  while (at < width - 1 && z[at] != top)
    at++;
  return at;
}

/* `loss`: the largest logit; `score`: the sum of exp(logit - largest); `label_score`: the class's logit. */
static void scan_row(const block *b, int64_t row) {
  const float *z = b->v->logits + row * b->width, top = top_of(z, b->width);
  brim_outcome *o = &b->v->outcomes[row];
  const int32_t own = o->label - b->first;
  const double sum = sum_of(z, b->width, top);
  if (own >= 0 && own < b->width)
    o->label_score = (double)z[own];
  if (b->first == 0 || (double)top > o->loss) {
    o->score = (b->first == 0 ? 0 : o->score * exp(o->loss - (double)top)) + sum;
    o->loss = (double)top;
    o->predicted = b->first + find_top(z, b->width, top);
  } else {
    o->score += sum * exp((double)top - o->loss);
  }
}

static void scan_task(void *context, int64_t task, int worker) {
  const block *b = context;
  (void)worker;
  for (int64_t r = task * ROWS_PER_TASK; r < least((task + 1) * ROWS_PER_TASK, b->v->rows); r++)
    scan_row(b, r);
}

static void scan(brim_ops_context *c, const block *b) {
  run_rows(c, b, scan_task);
}

static void finish(const brim_vocabulary *v) {
  double loss = 0;
  for (int64_t r = 0; r < v->rows; r++) {
    brim_outcome *o = &v->outcomes[r];
    const double lse = brim_log_sum_exp(o->loss, o->score), top = o->loss, own = o->label_score;
    v->lse[r] = (float)lse;
    o->predicted = isfinite(lse) ? o->predicted : 0;
    o->loss = isfinite(lse) ? lse - own : (double)NAN;
    o->score = exp(top - lse);
    o->label_score = exp(own - lse);
    loss += o->loss;
  }
  if (v->loss)
    *v->loss = loss / v->divisor;
}

void CPU(vocabulary_forward)(brim_ops_context *c, const brim_vocabulary *v) {
  for (int64_t r = 0; r < v->rows; r++)
    v->outcomes[r] = (brim_outcome){.label = v->classes[r]};
  each_block(c, v, scan);
  finish(v);
}

/* ---- backward */

/* Logits become their gradient. */
static void turn_row(const block *b, int64_t row) {
  const brim_vocabulary *v = b->v;
  float *z = v->logits + row * b->width;
  const int32_t own = v->classes[row] - b->first;
  const float scale = (float)(1 / v->divisor);
  const vec lse = vset(v->lse[row]);
  for (int64_t i = 0; i < b->width; i += VEC)
    vstore_n(z + i, vexp(vload_n(z + i, b->width - i) - lse) * vset(scale), b->width - i);
  if (own >= 0 && own < b->width)
    z[own] -= scale;
}

static void turn_task(void *context, int64_t task, int worker) {
  const block *b = context;
  (void)worker;
  for (int64_t r = task * ROWS_PER_TASK; r < least((task + 1) * ROWS_PER_TASK, b->v->rows); r++)
    turn_row(b, r);
}

static void pass_on(brim_ops_context *c, const block *b) {
  const brim_vocabulary *v = b->v;
  const int64_t at = (int64_t)b->first * v->in;
  CPU(linear_backward)(c, &(brim_linear_gradient){.rows = v->rows,
                                                  .in = v->in,
                                                  .out = b->width,
                                                  .x = v->x.at,
                                                  .x_stride = v->in,
                                                  .w = (const float *)v->w.at + at,
                                                  .dy = v->logits,
                                                  .dy_stride = b->width,
                                                  .dx = v->dx,
                                                  .dx_stride = v->in,
                                                  .add = b->first > 0,
                                                  .dw = v->dw ? v->dw + at : NULL,
                                                  .db = v->db ? v->db + b->first : NULL});
}

static void pass_on_half(brim_ops_context *c, const block *b) {
  const brim_vocabulary *v = b->v;
  const int64_t at = (int64_t)b->first * v->in;
  CPU(narrow)(c, &(brim_to_bfloat){.count = v->rows * b->width, .x = v->logits, .y = v->half});
  CPU(bf16_backward)(c, &(brim_bf16_linear_gradient){.rows = v->rows,
                                                     .in = v->in,
                                                     .out = b->width,
                                                     .x = v->x.at,
                                                     .x_stride = v->in,
                                                     .w = (const brim_bfloat *)v->w.at + at,
                                                     .dy = v->half,
                                                     .dy_stride = b->width,
                                                     .dx = {BRIM_TYPE_REAL, v->dx},
                                                     .dx_stride = v->in,
                                                     .add = b->first > 0,
                                                     .dw = v->dw ? v->dw + at : NULL,
                                                     .db = v->db ? v->db + b->first : NULL});
}

static void turn(brim_ops_context *c, const block *b) {
  run_rows(c, b, turn_task);
  (is_half(b->v) ? pass_on_half : pass_on)(c, b);
}

void CPU(vocabulary_backward)(brim_ops_context *c, const brim_vocabulary *v) {
  each_block(c, v, turn);
}
