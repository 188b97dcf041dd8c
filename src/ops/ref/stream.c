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
    for (int32_t i = 0; s->rounded_y && i < s->width; i++)
      REF(put)((brim_typed){BRIM_TYPE_BF16, s->rounded_y}, row + i, (double)s->y[row + i]);
  }
}

/* ---- gated activation */

/* A row of y, or of dy after dropout, in the working memory. */
void REF(gate_forward)(brim_ops_context *c, const brim_gate *g) {
  real *y = c->workspace;
  for (int32_t r = 0; r < g->at.count; r++) {
    const int64_t row = (int64_t)r * 2 * g->width, u = row + (g->second ? g->width : 0), other = row + (g->second ? 0 : g->width);
    for (int32_t i = 0; i < g->width; i++)
      y[i] = (real)(REF(activate)(g->act, REF(element)(g->pre, u + i)) * REF(element)(g->pre, other + i));
    REF(dropout_slot)(&g->dropout, &g->layout, &g->at, r, g->width, y, y);
    for (int32_t i = 0; i < g->width; i++)
      REF(put)(g->y, (int64_t)r * g->width + i, (double)y[i]);
  }
}

void REF(gate_backward)(brim_ops_context *c, const brim_gate *g) {
  real *dy = c->workspace;
  for (int32_t r = 0; r < g->at.count; r++) {
    const int64_t row = (int64_t)r * 2 * g->width, u = row + (g->second ? g->width : 0), other = row + (g->second ? 0 : g->width);
    for (int32_t i = 0; i < g->width; i++)
      dy[i] = (real)REF(element)(g->dy, (int64_t)r * g->width + i);
    REF(dropout_slot)(&g->dropout, &g->layout, &g->at, r, g->width, dy, dy);
    for (int32_t i = 0; i < g->width; i++) {
      const double before = REF(element)(g->pre, u + i), value = REF(activate)(g->act, before), d = (double)dy[i];
      const double slope = REF(activate_slope)(g->act, g->act == BRIM_ACT_TANH ? value : before);
      REF(put)(g->dpre, u + i, d * REF(element)(g->pre, other + i) * slope);
      REF(put)(g->dpre, other + i, d * value);
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
        const int64_t at = r * p->stride + (int64_t)head * p->head_size + i;
        const double a = REF(element)(p->x, at), b = REF(element)(p->x, at + half);
        REF(put)(p->x, at, a * cosine - b * sine);
        REF(put)(p->x, at + half, b * cosine + a * sine);
      }
    }
  }
}
