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

KERNEL(activate, cu_activate) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    put(a.y, i, activated(a.act, get(a.pre, i)));
}

KERNEL(activate_backward, cu_activate) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < a.count)
    put(a.y, i, get(a.dy, i) * activation_slope(a.act, get(a.pre, i)));
}

KERNEL(activate_turn, cu_activate) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= a.count)
    return;
  const float pre = get(a.pre, i);
  put(a.y, i, get(a.y, i) * activation_slope(a.act, pre));
  put(a.pre, i, activated(a.act, pre));
}
