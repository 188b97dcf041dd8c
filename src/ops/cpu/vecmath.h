/* vecmath.h: exp, erf and the activations on vectors. */
#ifndef BRIM_OPS_CPU_VECMATH_H
#define BRIM_OPS_CPU_VECMATH_H
#include "ops/cpu/vec.h"

#define LOG2_E 1.44269504088896341f
#define LOG_2  0.69314718055994531f

typedef uint32_t uvec __attribute__((vector_size(sizeof(ivec)))); /* bits of floats: what is added to those of NaN wraps */

/* e^x within 2 ulp for x in [-87, 88]; beyond, the value at the end of that range. Cephes' expf (Moshier): x = n ln 2 + r, e^r by
 * a polynomial, 2^n through the exponent bits. */
BRIM_INLINE vec vexp(vec x) {
  const float shift = 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer, found in the low bits */
  x = vmin(vmax(x, vset(-87.33f)), vset(88.37f));
  const vec shifted = vmadd(x, vset(LOG2_E), vset(shift));
  const vec n = shifted - vset(shift);
  const vec r = vnmadd(n, vset(-2.12194440e-4f), vnmadd(n, vset(0.693359375f), x));
  vec p = vset(1.9875691500e-4f);
  p = vmadd(p, r, vset(1.3981999507e-3f));
  p = vmadd(p, r, vset(8.3334519073e-3f));
  p = vmadd(p, r, vset(4.1665795894e-2f));
  p = vmadd(p, r, vset(1.6666665459e-1f));
  p = vmadd(p, r, vset(5.0000001201e-1f));
  p = vmadd(p, r * r, r) + vset(1);
  const uvec power = (uvec)shifted << 23; /* the upper bits of the shift fall out */
  return (vec)((uvec)p + power);
}

/* 2^x within 2 ulp for x in [-125, 127]. NaN stays NaN. x = n + r, 2^r by the polynomial of degree 5 with the least relative
 * error (9e-8), 2^n through the exponent bits. */
#if BRIM_LEVEL >= 2
/* Here r is in [0, 1): there are instructions for what follows the point and for 2^floor(x). Less than 2^-126 gives 0. */
BRIM_INLINE vec vexp2(vec x) {
  const vec r = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF);
  vec p = vset(1.8671301659e-3f);
  p = vmadd(p, r, vset(9.0170297772e-3f));
  p = vmadd(p, r, vset(5.5799912661e-2f));
  p = vmadd(p, r, vset(2.4016444385e-1f));
  p = vmadd(p, r, vset(6.9315129519e-1f));
  p = vmadd(p, r, vset(1));
  return _mm512_scalef_ps(p, x);
}
#else
/* Here r is in [-1/2, 1/2]. Below -125 it gives 2^-125. */
BRIM_INLINE vec vexp2(vec x) {
  const float shift = 12582912.0f;
  x = vmax(vset(-125), x);
  const vec shifted = x + vset(shift), r = x - (shifted - vset(shift));
  vec p = vset(1.3264727313e-3f);
  p = vmadd(p, r, vset(9.6715129912e-3f));
  p = vmadd(p, r, vset(5.5507335812e-2f));
  p = vmadd(p, r, vset(2.4022242427e-1f));
  p = vmadd(p, r, vset(6.9314700365e-1f));
  p = vmadd(p, r, vset(1));
  return (vec)((uvec)p + ((uvec)shifted << 23));
}
#endif

/* log(x) within 2 ulp for finite x that are at least 2^-126; NaN stays NaN. Cephes' logf (Moshier): x = 2^n m with m from
 * sqrt(1/2) to sqrt(2), log(m) by a polynomial. */
BRIM_INLINE vec vlog(vec x) {
  const uvec bits = (uvec)x - 0x3f3504f3u; /* the exponent changes at sqrt(1/2) */
  const ivec power = (ivec)bits >> 23;
  const vec n = __builtin_convertvector(power, vec), r = (vec)((uvec)x - ((uvec)power << 23)) - vset(1), rr = r * r;
  vec p = vset(7.0376836292e-2f);
  p = vmadd(p, r, vset(-1.1514610310e-1f));
  p = vmadd(p, r, vset(1.1676998740e-1f));
  p = vmadd(p, r, vset(-1.2420140846e-1f));
  p = vmadd(p, r, vset(1.4249322787e-1f));
  p = vmadd(p, r, vset(-1.6668057665e-1f));
  p = vmadd(p, r, vset(2.0000714765e-1f));
  p = vmadd(p, r, vset(-2.4999993993e-1f));
  p = vmadd(p, r, vset(3.3333331174e-1f));
  p = vmadd(vset(-0.5f), rr, vmadd(n, vset(-2.12194440e-4f), p * r * rr)) + r;
  return vmadd(n, vset(0.693359375f), p);
}

/* erf(x) within 2e-7: an odd rational function on [-4, 4], beyond which erf is 1 in single precision (the coefficients are those
 * of Eigen's erf). */
BRIM_INLINE vec verf(vec x) {
  x = vmin(vmax(x, vset(-4)), vset(4));
  const vec s = x * x;
  vec p = vset(-2.72614225801306e-10f);
  p = vmadd(p, s, vset(2.77068142495902e-08f));
  p = vmadd(p, s, vset(-2.10102402082508e-06f));
  p = vmadd(p, s, vset(-5.69250639462346e-05f));
  p = vmadd(p, s, vset(-7.34990630326855e-04f));
  p = vmadd(p, s, vset(-2.95459980854025e-03f));
  p = vmadd(p, s, vset(-1.60960333262415e-02f));
  vec q = vset(-1.45660718464996e-05f);
  q = vmadd(q, s, vset(-2.13374055278905e-04f));
  q = vmadd(q, s, vset(-1.68282697438203e-03f));
  q = vmadd(q, s, vset(-7.37332916720468e-03f));
  q = vmadd(q, s, vset(-1.42647390514189e-02f));
  return x * p / q;
}

/* The normal distribution function: GELU(x) = x * vphi(x). */
BRIM_INLINE vec vphi(vec x) {
  return vmadd(verf(x * vset(0.70710678118654752f)), vset(0.5f), vset(0.5f));
}
BRIM_INLINE vec vgelu_slope(vec x) {
  const vec density = vset(0.39894228040143268f) * vexp2(vset(-0.5f * LOG2_E) * x * x);
  return vmadd(x, density, vphi(x));
}

/* gelu_new: x / (1 + e^(-2u)), u = sqrt(2/pi) (x + 0.044715 x^3). */
BRIM_INLINE vec vgelu_new_gate(vec x) {
  const vec u2 = vset(1.5957691216057308f) * vmadd(vset(0.044715f) * x, x * x, x);
  return vset(1) / (vset(1) + vexp(-u2));
}
BRIM_INLINE vec vgelu_new_slope(vec x) {
  const vec gate = vgelu_new_gate(x);
  const vec du2 = vset(1.5957691216057308f) * vmadd(vset(3 * 0.044715f) * x, x, vset(1));
  return vmadd(x * gate * (vset(1) - gate), du2, gate);
}

/* SiLU(x) = x * vsigmoid(x). */
BRIM_INLINE vec vsigmoid(vec x) {
  return vset(1) / (vset(1) + vexp(-x));
}
BRIM_INLINE vec vsilu_slope(vec x) {
  const vec s = vsigmoid(x);
  return vmadd(x * s, vset(1) - s, s);
}
#endif
