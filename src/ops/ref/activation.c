/* activation.c: GELU in its erf form, GELU in its tanh form (gelu_new), ReLU, tanh, SiLU. */
#include "ops/ref/ref.h"

#include <math.h>

static const double sqrt_half = 0.70710678118654752440;        /* 1 / sqrt(2) */
static const double sqrt_2_over_pi = 0.79788456080286535588;   /* sqrt(2 / pi) */
static const double inverse_sqrt_2pi = 0.39894228040143267794; /* 1 / sqrt(2 pi) */

double REF(activate)(brim_activation act, double x) {
  switch (act) {
  case BRIM_ACT_GELU:
    return 0.5 * x * erfc(-x * sqrt_half);
  case BRIM_ACT_GELU_NEW:
    return 0.5 * x * (1 + tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x)));
  case BRIM_ACT_RELU:
    return x > 0 ? x : 0;
  case BRIM_ACT_TANH:
    return tanh(x);
  case BRIM_ACT_SILU:
    return x / (1 + exp(-x));
  case BRIM_ACT_NONE:
    break;
  }
  return x;
}

/* act'(x); for tanh x is the output. */
double REF(activate_slope)(brim_activation act, double x) {
  switch (act) {
  case BRIM_ACT_GELU:
    return 0.5 * erfc(-x * sqrt_half) + x * inverse_sqrt_2pi * exp(-0.5 * x * x);
  case BRIM_ACT_GELU_NEW: {
    const double t = tanh(sqrt_2_over_pi * (x + 0.044715 * x * x * x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * sqrt_2_over_pi * (1 + 3 * 0.044715 * x * x);
  }
  case BRIM_ACT_RELU:
    return x > 0 ? 1 : 0;
  case BRIM_ACT_TANH:
    return 1 - x * x;
  case BRIM_ACT_SILU: {
    const double s = 1 / (1 + exp(-x));
    return s * (1 + x * (1 - s));
  }
  case BRIM_ACT_NONE:
    break;
  }
  return 1;
}

void REF(act_backward)(brim_ops_context *c, const brim_act_gradient *g) {
  (void)c;
  for (int64_t i = 0; i < g->count; i++)
    g->dpre[i] = (real)((double)g->dy[i] * REF(activate_slope)(g->act, (double)g->pre[i]));
}
