/* stream.c: sums of a residual stream, gated activations, rotary positions. */
#include "ops/ref/ref.h"

#include <math.h>

void REF(stream_sum)(brim_ops_context *c, const brim_stream_sum *s) {
  (void)c;
  for (int32_t r = 0; r < s->at.count; r++) {
    const int64_t row = (int64_t)r * s->width;
    REF(dropout_slot)(&s->dropout, &s->layout, &s->at, r, s->width, s->x + row, s->y + row);
    for (int32_t i = 0; i < s->width; i++)
      s->y[row + i] += s->residual[row + i];
  }
}

/* ---- gated activation */

void REF(gate_forward)(brim_ops_context *c, const brim_gate *g) {
  (void)c;
  for (int32_t r = 0; r < g->at.count; r++) {
    const real *first = g->pre + (int64_t)r * 2 * g->width, *second = first + g->width;
    const real *u = g->second ? second : first, *other = g->second ? first : second;
    real *y = g->y + (int64_t)r * g->width;
    for (int32_t i = 0; i < g->width; i++)
      y[i] = (real)(REF(activate)(g->act, (double)u[i]) * (double)other[i]);
    REF(dropout_slot)(&g->dropout, &g->layout, &g->at, r, g->width, y, y);
  }
}

void REF(gate_backward)(brim_ops_context *c, const brim_gate *g) {
  (void)c;
  for (int32_t r = 0; r < g->at.count; r++) {
    const int64_t row = (int64_t)r * 2 * g->width, u = row + (g->second ? g->width : 0), other = row + (g->second ? 0 : g->width);
    real *dy = g->dy + (int64_t)r * g->width;
    REF(dropout_slot)(&g->dropout, &g->layout, &g->at, r, g->width, dy, dy);
    for (int32_t i = 0; i < g->width; i++) {
      const double before = (double)g->pre[u + i], value = REF(activate)(g->act, before), d = (double)dy[i];
      const double slope = REF(activate_slope)(g->act, g->act == BRIM_ACT_TANH ? value : before);
      g->dpre[u + i] = (real)(d * (double)g->pre[other + i] * slope);
      g->dpre[other + i] = (real)(d * value);
    }
  }
}

/* ---- rotary positions */

void REF(rotate)(brim_ops_context *c, const brim_rotary *p) {
  (void)c;
  const int32_t half = p->head_size / 2;
  for (int32_t r = 0; r < p->at.count; r++) {
    const int32_t slot = p->at.slot ? p->at.slot[r] : r, s = p->layout.sequence[slot], token = slot - p->layout.offsets[s];
    for (int32_t i = 0; i < half && token < p->layout.lengths[s]; i++) {
      const double angle = (double)((float)token * brim_rotary_frequency(p, i));
      const double cosine = (double)(float)cos(angle), sine = (double)(float)sin(p->back ? -angle : angle);
      for (int32_t head = 0; head < p->heads; head++) {
        real *x = p->x + r * p->stride + (int64_t)head * p->head_size + i;
        const double a = (double)x[0], b = (double)x[half];
        x[0] = (real)(a * cosine - b * sine);
        x[half] = (real)(b * cosine + a * sine);
      }
    }
  }
}
