/* activation.c: GELU in both forms, ReLU, tanh, SiLU. */
#include "ops/cpu/cpu.h"
#include "ops/cpu/vecmath.h"

enum { CHUNK = 1 << 14 };

#define EACH(value)                                                                                                              \
  for (int64_t i = 0; i < n; i += VEC) {                                                                                         \
    const vec v = vload_n(x + i, n - i);                                                                                         \
    vstore_n(y + i, (value), n - i);                                                                                             \
  }                                                                                                                              \
  break

void CPU(activate)(brim_activation act, int64_t n, const real *x, real *y) {
  switch (act) {
  case BRIM_ACT_GELU:
    EACH(v * vphi(v));
  case BRIM_ACT_GELU_NEW:
    EACH(v * vgelu_new_gate(v));
  case BRIM_ACT_RELU:
    EACH(vmax(v, vzero()));
  case BRIM_ACT_TANH: /* the pooler: a row a sequence, not worth a vector */
    for (int64_t i = 0; i < n; i++)
      y[i] = tanhf(x[i]);
    break;
  case BRIM_ACT_SILU:
    EACH(v * vsigmoid(v));
  case BRIM_ACT_NONE:
    EACH(v);
  }
}

#define EACH_SLOPE(value)                                                                                                        \
  for (int64_t i = 0; i < n; i += VEC) {                                                                                         \
    const vec v = vload_n(pre + i, n - i), d = vload_n(dy + i, n - i);                                                           \
    vstore_n(dpre + i, (value), n - i);                                                                                          \
  }                                                                                                                              \
  break

void CPU(activate_backward)(brim_activation act, int64_t n, const real *pre, const real *dy, real *dpre) {
  switch (act) {
  case BRIM_ACT_GELU:
    EACH_SLOPE(d * vgelu_slope(v));
  case BRIM_ACT_GELU_NEW:
    EACH_SLOPE(d * vgelu_new_slope(v));
  case BRIM_ACT_RELU:
    for (int64_t i = 0; i < n; i++)
      dpre[i] = pre[i] > 0 ? dy[i] : 0;
    break;
  case BRIM_ACT_TANH:
    EACH_SLOPE(d * vnmadd(v, v, vset(1)));
  case BRIM_ACT_SILU:
    EACH_SLOPE(d * vsilu_slope(v));
  case BRIM_ACT_NONE:
    EACH_SLOPE(((void)v, d));
  }
}

#define EACH_TURN(value, slope)                                                                                                  \
  for (int64_t i = 0; i < n; i += VEC) {                                                                                         \
    const vec v = vload_n(pre + i, n - i), d = vload_n(dy + i, n - i);                                                           \
    vstore_n(dy + i, d * (slope), n - i);                                                                                        \
    vstore_n(pre + i, (value), n - i);                                                                                           \
  }                                                                                                                              \
  break

void CPU(activate_turn)(brim_activation act, int64_t n, real *pre, real *dy) {
  switch (act) {
  case BRIM_ACT_GELU: /* the compiler makes the distribution function once */
    EACH_TURN(v * vphi(v), vgelu_slope(v));
  case BRIM_ACT_GELU_NEW:
    EACH_TURN(v * vgelu_new_gate(v), vgelu_new_slope(v));
  case BRIM_ACT_SILU:
    EACH_TURN(v * vsigmoid(v), vsilu_slope(v));
  default:
    CPU(activate_backward)(act, n, pre, dy, dy);
    CPU(activate)(act, n, pre, pre);
  }
}

typedef struct chunks {
  brim_activation act;
  int64_t count;
  const float *pre, *dy;
  float *out;
} chunks;

static void chunk_task(void *context, int64_t task, int worker) {
  (void)worker;
  const chunks *s = context;
  const int64_t at = task * CHUNK, n = s->count - at < CHUNK ? s->count - at : CHUNK;
  CPU(activate_backward)(s->act, n, s->pre + at, s->dy + at, s->out + at);
}

void CPU(act_backward)(brim_ops_context *c, const brim_act_gradient *g) {
  chunks s = {.act = g->act, .count = g->count, .pre = g->pre, .dy = g->dy, .out = g->dpre};
  CPU(run)(c, (g->count + CHUNK - 1) / CHUNK, chunk_task, &s);
}
