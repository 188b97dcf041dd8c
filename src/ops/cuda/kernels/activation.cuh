/* activation.cuh: GELU in its erf form (1), in its tanh form (2), ReLU (3), tanh (4), SiLU (5): the numbers of brim_activation.
 */

DEVICE float activated(int act, float x) {
  switch (act) {
  case 1:
    return 0.5f * x * erfcf(-x * 0.70710678118654752440f);
  case 2:
    return 0.5f * x * (1 + tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x)));
  case 3:
    return x > 0 ? x : 0;
  case 4:
    return tanhf(x);
  case 5:
    return x / (1 + expf(-x));
  default:
    return x;
  }
}

/* act'(x); for tanh x is the output. */
DEVICE float activation_slope(int act, float x) {
  switch (act) {
  case 1:
    return fmaf(x * 0.39894228040143267794f, expf(-0.5f * x * x), 0.5f * erfcf(-x * 0.70710678118654752440f));
  case 2: {
    const float t = tanhf(0.79788456080286535588f * (x + 0.044715f * x * x * x));
    return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456080286535588f * (1 + 3 * 0.044715f * x * x);
  }
  case 3:
    return x > 0 ? 1 : 0;
  case 4:
    return 1 - x * x;
  case 5: {
    const float s = 1 / (1 + expf(-x));
    return s * (1 + x * (1 - s));
  }
  default:
    return 1;
  }
}

/* ---- a thread has CU_EACH values, a block's threads apart */

DEVICE long long activation_at(int n) {
  return ((long long)blockIdx.x * CU_EACH + n) * blockDim.x + threadIdx.x;
}

DEVICE void take_values(const cu_activate &a, const cu_typed &from, unsigned (&bits)[CU_EACH]) {
  UNROLL
  for (int n = 0; n < CU_EACH; n++)
    bits[n] = activation_at(n) < a.count ? bits_at(from, activation_at(n)) : 0;
}

KERNEL(activate, cu_activate) {
  unsigned pre[CU_EACH];
  take_values(a, a.pre, pre);
  UNROLL
  for (int n = 0; n < CU_EACH; n++)
    if (activation_at(n) < a.count)
      put(a.y, activation_at(n), activated(a.act, value_of(a.pre, pre[n])));
}

KERNEL(activate_backward, cu_activate) {
  unsigned pre[CU_EACH], dy[CU_EACH];
  take_values(a, a.pre, pre);
  take_values(a, a.dy, dy);
  UNROLL
  for (int n = 0; n < CU_EACH; n++)
    if (activation_at(n) < a.count)
      put(a.y, activation_at(n), value_of(a.dy, dy[n]) * activation_slope(a.act, value_of(a.pre, pre[n])));
}

KERNEL(activate_turn, cu_activate) {
  unsigned before[CU_EACH], dy[CU_EACH];
  take_values(a, a.pre, before);
  take_values(a, a.y, dy);
  UNROLL
  for (int n = 0; n < CU_EACH; n++)
    if (activation_at(n) < a.count) {
      const float pre = value_of(a.pre, before[n]);
      put(a.y, activation_at(n), value_of(a.y, dy[n]) * activation_slope(a.act, pre));
      put(a.pre, activation_at(n), activated(a.act, pre));
    }
}
