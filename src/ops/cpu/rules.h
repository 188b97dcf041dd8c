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
