/* mix.c: several layers as one, a layer at a time. Rows are cut into blocks by their number, and sums of blocks are added in
 * order. */
#include "ops/cpu/cpu.h"

enum { BLOCKS = 64 };

typedef struct mixing {
  const brim_mix *of;
  float factor;
  int64_t rows; /* of a block */
  double along[BLOCKS];
} mixing;

static mixing mixing_of(const brim_mix *m) {
  return (mixing){.of = m,
                  .factor = m->shares ? (float)((double)m->shares[m->layer] / brim_mix_sum(m)) : 1,
                  .rows = divided(m->rows, BLOCKS)};
}

/* y = factor x, or y += */
static void put_row(float factor, const float *x, int64_t width, bool add, float *y) {
  for (int64_t i = 0; i < width; i += VEC) {
    vec sum = vset(factor) * vload_n(x + i, width - i);
    if (add)
      sum += vload_n(y + i, width - i);
    vstore_n(y + i, sum, width - i);
  }
}

static void mix_task(void *context, int64_t block, int worker) {
  (void)worker;
  const mixing *t = context;
  const brim_mix *m = t->of;
  for (int64_t r = block * t->rows; r < least(m->rows, (block + 1) * t->rows); r++)
    put_row(t->factor, m->x + r * m->width, m->width, m->add, m->y + r * m->stride);
}

static double dot(const float *x, const float *y, int64_t width) {
  float lanes[VEC];
  double sum = 0;
  vec all = vset(0);
  for (int64_t i = 0; i < width; i += VEC)
    all += vload_n(x + i, width - i) * vload_n(y + i, width - i);
  vstore(lanes, all);
  for (int k = 0; k < VEC; k++)
    sum += (double)lanes[k];
  return sum;
}

static void mix_back_task(void *context, int64_t block, int worker) {
  (void)worker;
  mixing *t = context;
  const brim_mix *m = t->of;
  for (int64_t r = block * t->rows; r < least(m->rows, (block + 1) * t->rows); r++) {
    const float *dy = m->dy + r * m->stride;
    if (m->dshares)
      t->along[block] += dot(dy, m->x + r * m->width, m->width);
    if (m->dx)
      put_row(t->factor, dy, m->width, m->add, m->dx + r * m->width);
  }
}

void CPU(mix_forward)(brim_ops_context *c, const brim_mix *m) {
  mixing t = mixing_of(m);
  if (m->rows > 0)
    CPU(run)(c, divided(m->rows, t.rows), mix_task, &t);
}

void CPU(mix_backward)(brim_ops_context *c, const brim_mix *m) {
  mixing t = mixing_of(m);
  double along = 0;
  if (m->rows > 0)
    CPU(run)(c, divided(m->rows, t.rows), mix_back_task, &t);
  for (int k = 0; k < BLOCKS; k++)
    along += t.along[k];
  for (int32_t k = 0; m->dshares && k < m->layers; k++)
    m->dshares[k] += (float)(((k == m->layer) - (double)m->shares[m->layer] / brim_mix_sum(m)) * along / brim_mix_sum(m));
}
