/* stream.h: operations of encoders with a residual stream, rotary positions and gated feed-forwards, and of heads that see
 * several layers. Included by ops.h; letters as there. */
#ifndef BRIM_OPS_STREAM_H
#define BRIM_OPS_STREAM_H
#include <math.h>

/* ---- a norm alone
 *
 * y = (x - mean) * rstd * gamma + beta, [rows, width]; beta may be NULL. With `rms` (Zhang and Sennrich, Root Mean Square Layer
 * Normalization) nothing is subtracted: mean is 0, and rstd 1 / sqrt(mean of x^2 + eps). What forward leaves in mean and rstd
 * serves norm_forward, which gives the same bits as its y. */
typedef struct brim_prenorm {
  int64_t rows;
  int32_t width;
  bool rms;
  real eps;
  brim_typed x;
  const real *gamma, *beta;
  real *mean, *rstd;
  brim_typed y;
} brim_prenorm;

/* dx is written, or added to with `add`; dgamma, dbeta += (NULL: frozen, or there is none). */
typedef struct brim_prenorm_gradient {
  int64_t rows;
  int32_t width;
  bool rms, add;
  brim_typed x, dy;
  const real *mean, *rstd, *gamma;
  real *dx, *dgamma, *dbeta;
  brim_row_slices slices;
} brim_prenorm_gradient;

/* y = residual + dropout(x), [at.count, width]; y may be x's memory, not the residual's. `rounded_y` is y once more, in 16 bits;
 * NULL: nobody wants it. */
typedef struct brim_stream_sum {
  brim_layout layout;
  brim_rows at;
  int32_t width;
  brim_dropout dropout;
  const real *residual, *x;
  real *y;
  brim_bfloat *rounded_y;
} brim_stream_sum;

/* ---- gated activation (Shazeer, GLU Variants Improve Transformer)
 *
 * A row of pre [at.count, 2 F] is two halves: u, which the activation takes, and g; `second` says that u is the second one.
 * Forward: y = dropout(act(u) * g), [at.count, F]. Backward, from dy: dpre, which may be pre's memory, of the same type then. */
typedef struct brim_gate {
  brim_layout layout;
  brim_rows at;
  int32_t width; /* F */
  brim_activation act;
  bool second;
  brim_dropout dropout;
  brim_typed pre;
  brim_typed y;        /* forward */
  brim_typed dy, dpre; /* backward */
} brim_gate;

/* ---- rotary positions (Su et al., RoFormer)
 *
 * Columns i and i + D/2 of a head are a point in the plane, which turns by the angle of its token's position in the text; with
 * `back` the other way, which is the gradient. Rows of padding stay as they are. */
typedef struct brim_rotary {
  brim_layout layout;
  brim_rows at;
  int32_t heads, head_size; /* even */
  bool back;
  double theta;
  double factor; /* positions are divided by it; 0: as 1 */
  brim_typed x;  /* changed; row r, head a: x + r * stride + a * head_size */
  int64_t stride;
} brim_rotary;

/* theta^(-2i/D) / factor. It and its product with a position, the angle, are rounded at each step to single precision, as
 * checkpoints were trained and transformers computes them, also for models in double precision. */
static inline float brim_rotary_frequency(const brim_rotary *p, int32_t i) {
  const float exponent = (float)(2 * i) / (float)p->head_size, frequency = 1.0f / (float)pow(p->theta, (double)exponent);
  return p->factor > 0 ? frequency / (float)p->factor : frequency;
}

/* ---- several layers as one
 *
 * Layer `layer` of several that are taken as one. Mean: y = factor x, or y += with `add`, factor = shares[layer] / sum of shares
 * [layers]. Side by side (`shares` NULL): y = x, in columns of wider rows. x and dx are [rows, width]; rows of y and dy are
 * `stride` apart. Backward: dx = factor dy, or += with `add`; dshares += what this layer adds to the gradient by each of the
 * shares. Both may be NULL, and x then too. */
typedef struct brim_mix {
  int64_t rows;
  int32_t width, stride, layer, layers;
  bool add;
  const real *shares, *x;
  real *y;
  const real *dy; /* these three are of backward */
  real *dx, *dshares;
} brim_mix;
static inline double brim_mix_sum(const brim_mix *m) {
  double sum = 0;
  for (int32_t k = 0; k < m->layers; k++)
    sum += (double)m->shares[k];
  return sum;
}
#endif
