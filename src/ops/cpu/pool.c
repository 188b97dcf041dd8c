/* pool.c: a text's tokens as one row. A task is one text. */
#include "ops/cpu/cpu.h"

typedef struct pooling {
  const brim_layout *layout;
  brim_pool_list modes;
  const int32_t *skipped;
  int64_t width;
  const float *x;      /* forward: tokens; backward: gradient of the pooled rows */
  int32_t *chosen;     /* forward */
  const int32_t *from; /* backward: what forward chose */
  float *y;
} pooling;

static int32_t skipped_of(const pooling *p, int64_t s) {
  return p->skipped ? p->skipped[s] : 0;
}

/* ---- forward */

static void sum_tokens(const float *x, int64_t width, brim_pool_terms t, float *y) {
  const vec share = vset(1.0f / (float)t.divisor);
  if (t.from >= t.to) {
    memset(y, 0, (size_t)width * sizeof *y);
    return;
  }
  for (int64_t i = 0; i < width; i += VEC) {
    vec sum = vset((float)brim_pool_term(&t, t.from)) * vload_n(x + t.from * width + i, width - i);
    for (int32_t r = t.from + 1; r < t.to; r++)
      sum += vset((float)brim_pool_term(&t, r)) * vload_n(x + r * width + i, width - i);
    vstore_n(y + i, sum * share, width - i);
  }
}

static void find_largest(const pooling *p, int64_t s, brim_pool_terms t, float *best) {
  const int64_t width = p->width;
  const int32_t first = p->layout->offsets[s] + t.from;
  const float *x = p->x + first * width;
  int32_t *chosen = p->chosen + s * width;
  for (int64_t i = 0; i < width; i++) {
    best[i] = x[i];
    chosen[i] = first;
  }
  for (int32_t r = 1; r < t.to - t.from; r++)
    for (int64_t i = 0; i < width; i++) {
      const float value = x[r * width + i];
      const bool larger = value > best[i] || value != value;
      best[i] = larger ? value : best[i];
      chosen[i] = larger ? first + r : chosen[i];
    }
}

static void forward_task(void *context, int64_t s, int worker) {
  (void)worker;
  const pooling *p = context;
  float *y = p->y + s * p->modes.count * p->width;
  for (int32_t k = 0; k < p->modes.count; k++, y += p->width) {
    const brim_pool_terms t = brim_pool_terms_of(p->modes.of[k], skipped_of(p, s), p->layout->lengths[s]);
    if (p->modes.of[k] == BRIM_POOL_MAX)
      find_largest(p, s, t, y);
    else
      sum_tokens(p->x + p->layout->offsets[s] * p->width, p->width, t, y);
  }
}

/* ---- backward */

/* The gradient of token r of a text from those of the modes that add it up. */
static void share_gradient(const pooling *p, int64_t s, int32_t r, float *dx) {
  const float *dy = p->x + s * p->modes.count * p->width;
  const int64_t width = p->width;
  bool any = false;
  for (int32_t k = 0; k < p->modes.count; k++, dy += width) {
    const brim_pool_terms t = brim_pool_terms_of(p->modes.of[k], skipped_of(p, s), p->layout->lengths[s]);
    if (p->modes.of[k] == BRIM_POOL_MAX || r < t.from || r >= t.to)
      continue;
    const vec share = vset((float)brim_pool_term(&t, r) * (1.0f / (float)t.divisor));
    for (int64_t i = 0; i < width; i += VEC) {
      vec sum = vload_n(dy + i, width - i) * share;
      if (any)
        sum += vload_n(dx + i, width - i);
      vstore_n(dx + i, sum, width - i);
    }
    any = true;
  }
  if (!any)
    memset(dx, 0, (size_t)width * sizeof *dx);
}

static void backward_task(void *context, int64_t s, int worker) {
  (void)worker;
  const pooling *p = context;
  const int64_t width = p->width;
  const int32_t first = p->layout->offsets[s], end = p->layout->offsets[s + 1];
  for (int32_t r = first; r < end; r++)
    share_gradient(p, s, r - first, p->y + r * width);
  for (int32_t k = 0; k < p->modes.count; k++) {
    const float *dy = p->x + (s * p->modes.count + k) * width;
    for (int64_t i = 0; p->modes.of[k] == BRIM_POOL_MAX && i < width; i++) {
      float *dx = &p->y[p->from[s * width + i] * width + i];
      *dx = p->modes.count > 1 ? *dx + dy[i] : dy[i];
    }
  }
}

/* ---- entries */

static brim_pool_list one_mode(bool largest) {
  return (brim_pool_list){1, {largest ? BRIM_POOL_MAX : BRIM_POOL_MEAN}};
}

void CPU(pool_forward)(brim_ops_context *c, const brim_pool *of) {
  pooling p = {.layout = &of->layout,
               .modes = one_mode(of->chosen != NULL),
               .width = of->width,
               .x = of->x,
               .chosen = of->chosen,
               .y = of->y};
  CPU(run)(c, of->layout.n, forward_task, &p);
}

void CPU(pool_backward)(brim_ops_context *c, const brim_pool_gradient *of) {
  pooling p = {.layout = &of->layout,
               .modes = one_mode(of->chosen != NULL),
               .width = of->width,
               .x = of->dy,
               .from = of->chosen,
               .y = of->dx};
  CPU(run)(c, of->layout.n, backward_task, &p);
}

void CPU(pool_joined_forward)(brim_ops_context *c, const brim_pool_joined *of) {
  pooling p = {.layout = &of->layout,
               .modes = of->modes,
               .skipped = of->skipped,
               .width = of->width,
               .x = of->x,
               .chosen = of->chosen,
               .y = of->y};
  CPU(run)(c, of->layout.n, forward_task, &p);
}

void CPU(pool_joined_backward)(brim_ops_context *c, const brim_pool_joined *of) {
  pooling p = {.layout = &of->layout,
               .modes = of->modes,
               .skipped = of->skipped,
               .width = of->width,
               .x = of->dy,
               .from = of->chosen,
               .y = of->dx};
  CPU(run)(c, of->layout.n, backward_task, &p);
}
