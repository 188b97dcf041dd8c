/* pool.c: a text's tokens as one row. A task is one text. */
#include "ops/cpu/cpu.h"

typedef struct pooling {
  const brim_layout *layout;
  int64_t width;
  const float *x;      /* forward: tokens; backward: gradient of the pooled rows */
  int32_t *chosen;     /* forward */
  const int32_t *from; /* backward: what forward chose */
  float *y;
} pooling;

static void mean_task(void *context, int64_t s, int worker) {
  (void)worker;
  const pooling *p = context;
  const int64_t width = p->width;
  const int32_t count = p->layout->lengths[s];
  const float *x = p->x + p->layout->offsets[s] * width;
  const vec share = vset(1.0f / (float)count);
  for (int64_t i = 0; i < width; i += VEC) {
    vec sum = vload_n(x + i, width - i);
    for (int32_t r = 1; r < count; r++)
      sum += vload_n(x + r * width + i, width - i);
    vstore_n(p->y + s * width + i, sum * share, width - i);
  }
}

static void largest_task(void *context, int64_t s, int worker) {
  (void)worker;
  const pooling *p = context;
  const int64_t width = p->width;
  const int32_t first = p->layout->offsets[s];
  const float *x = p->x + first * width;
  float *best = p->y + s * width;
  int32_t *chosen = p->chosen + s * width;
  for (int64_t i = 0; i < width; i++) {
    best[i] = x[i];
    chosen[i] = first;
  }
  for (int32_t r = 1; r < p->layout->lengths[s]; r++)
    for (int64_t i = 0; i < width; i++) {
      const float value = x[r * width + i];
      const bool larger = value > best[i] || value != value;
      best[i] = larger ? value : best[i];
      chosen[i] = larger ? first + r : chosen[i];
    }
}

void CPU(pool_forward)(brim_ops_context *c, const brim_pool *of) {
  pooling p = {.layout = &of->layout, .width = of->width, .x = of->x, .chosen = of->chosen, .y = of->y};
  CPU(run)(c, of->layout.n, of->chosen ? largest_task : mean_task, &p);
}

static void backward_task(void *context, int64_t s, int worker) {
  (void)worker;
  const pooling *p = context;
  const int64_t width = p->width;
  const int32_t first = p->layout->offsets[s], count = p->layout->lengths[s], end = p->layout->offsets[s + 1];
  const float *dy = p->x + s * width;
  const vec share = vset(1.0f / (float)count);
  for (int32_t r = first; r < end; r++) {
    float *dx = p->y + r * width;
    if (p->from || r - first >= count) {
      memset(dx, 0, (size_t)width * sizeof *dx);
      continue;
    }
    for (int64_t i = 0; i < width; i += VEC)
      vstore_n(dx + i, vload_n(dy + i, width - i) * share, width - i);
  }
  for (int64_t i = 0; p->from && i < width; i++)
    p->y[p->from[s * width + i] * width + i] = dy[i];
}

void CPU(pool_backward)(brim_ops_context *c, const brim_pool_gradient *of) {
  pooling p = {.layout = &of->layout, .width = of->width, .x = of->dy, .from = of->chosen, .y = of->dx};
  CPU(run)(c, of->layout.n, backward_task, &p);
}
