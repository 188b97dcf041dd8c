/* rules.h: the rules of updates (ops/rules.h) on vectors: of each, its numbers of a step and one update of some values, of which
 * update_rule.h makes the loops. Part of update.c. */

/* ---- AdamW */
#define RULE adamw

static step adamw_step(const brim_update_step *s, double lr) {
  return (step){.decay = s->weight_decay > 0,
                .keep = s->weight_decay > 0 ? (float)(1 - lr * s->weight_decay) : 1,
                .new1 = (float)(1 - s->beta1),
                .beta2 = (float)s->beta2,
                .new2 = (float)(1 - s->beta2),
                .root = (float)(1 / sqrt(s->correction2)),
                .size = (float)(lr / s->correction1),
                .eps = (float)s->eps};
}

BRIM_INLINE void adamw_advance(const step *s, vec g, lanes *w) {
  vec *m = &w->states[0], *v = &w->states[1];
  *m = vmadd(g - *m, vset(s->new1), *m);
  *v = vmadd(g * g, vset(s->new2), *v * vset(s->beta2));
  const vec change = *m / vmadd(vsqrt(*v), vset(s->root), vset(s->eps));
  w->x = vnmadd(vset(s->size), change, decayed(s, w));
}

#include "ops/cpu/update_rule.h"
#undef RULE

/* ---- SGD with momentum */
#define RULE sgd

static step sgd_step(const brim_update_step *s, double lr) {
  return (step){.decay = s->weight_decay > 0, .pull = (float)s->weight_decay, .momentum = (float)s->momentum, .size = (float)lr};
}

BRIM_INLINE void sgd_advance(const step *s, vec g, lanes *w) {
  vec *m = &w->states[0];
  *m = vmadd(*m, vset(s->momentum), pulled(s, w, g));
  w->x = vnmadd(vset(s->size), *m, w->x);
}

#include "ops/cpu/update_rule.h"
#undef RULE

/* ---- MADGRAD */
#define RULE madgrad

static step madgrad_step(const brim_update_step *s, double lr) {
  return (step){.decay = s->weight_decay > 0,
                .pull = (float)s->weight_decay,
                .size = (float)(lr > 0 ? (lr + s->eps) * sqrt((double)s->number) : 0),
                .new1 = (float)(1 - s->momentum),
                .eps = (float)s->eps};
}

/* The cube root within 3 ulp for x from 1e-36 on, below which it is that of 1e-36. A third of the exponent, then Halley's
 * y (y^3 + 2 x) / (2 y^3 + x) twice. */
BRIM_INLINE vec cube_root(vec x) {
  x = vmax(x, vset(1e-36f));
  const vec third = __builtin_convertvector((ivec)x, vec) * vset(1.0f / 3);
  vec y = (vec)(__builtin_convertvector(third, ivec) + 709921077);
  for (int i = 0; i < 2; i++) {
    const vec cube = y * y * y;
    y *= vmadd(vset(2), x, cube) / vmadd(vset(2), cube, x);
  }
  return y;
}

BRIM_INLINE void madgrad_advance(const step *s, vec g, lanes *w) {
  vec *q = &w->states[0], *sum = &w->states[1];
  g = pulled(s, w, g);
  *q = vmadd(g * g, vset(s->size), *q);
  *sum = vmadd(g, vset(s->size), *sum);
  const vec end = w->start - *sum / (cube_root(*q) + vset(s->eps));
  w->x = vmadd(end - w->x, vset(s->new1), w->x);
}

#include "ops/cpu/update_rule.h"
#undef RULE
