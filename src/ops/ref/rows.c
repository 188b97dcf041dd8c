/* rows.c: whole rows: dropout, gather, scatter, add, zero. */
#include "base/random.h"
#include "ops/ref/ref.h"

#include <string.h>

void REF(dropout_row)(const brim_dropout *d, uint32_t site, uint32_t place, uint32_t token, int32_t width, const real *x,
                      real *y) {
  if (!d->on) {
    if (y != x)
      memcpy(y, x, (size_t)width * sizeof *y);
    return;
  }
  uint32_t words[BRIM_DROPOUT_BLOCKS][4] = {{0}};
  for (int32_t i = 0; i < width; i++) {
    const int32_t column = i % BRIM_DROPOUT_STRETCH, block = column % 16 / 2, word = column / 16 % 2 * 2 + (column + 1) % 2;
    for (uint32_t b = 0; b < BRIM_DROPOUT_BLOCKS && column == 0; b++)
      brim_philox_rounds(BRIM_DROPOUT_ROUNDS,
                         (const uint32_t[4]){place, site, token, (uint32_t)i / BRIM_DROPOUT_STRETCH * BRIM_DROPOUT_BLOCKS + b},
                         d->key, words[b]);
    const uint32_t bits = words[block][word] >> (column < 32 ? 0 : 16) & 0xffff;
    y[i] = bits < d->threshold ? 0 : x[i] * d->scale;
  }
}

void REF(dropout_slot)(const brim_dropout *d, const brim_layout *layout, const brim_rows *at, int32_t r, int32_t width,
                       const real *x, real *y) {
  const bool of_text = d->on && layout->sequence;
  const int32_t slot = at->slot ? at->slot[r] : r, s = of_text ? layout->sequence[slot] : 0;
  const uint32_t token = (uint32_t)(of_text ? slot - layout->offsets[s] : slot);
  REF(dropout_row)(d, d->site, of_text ? layout->places[s] : 0, token, width, x, y);
}

void REF(gather_rows)(brim_ops_context *c, const brim_gather *g) {
  (void)c;
  for (int32_t r = 0; r < g->at.count; r++) {
    const int64_t slot = g->at.slot ? g->at.slot[r] : r;
    memcpy(g->y + (int64_t)r * g->width, g->x + slot * g->x_stride, (size_t)g->width * sizeof *g->y);
  }
}

void REF(scatter_rows)(brim_ops_context *c, const brim_scatter *s) {
  (void)c;
  for (int32_t r = 0; r < s->at.count; r++) {
    const int64_t slot = s->at.slot ? s->at.slot[r] : r;
    for (int32_t i = 0; i < s->width; i++)
      s->dx[slot * s->dx_stride + i] += s->dy[(int64_t)r * s->width + i];
  }
}

void REF(dropout)(brim_ops_context *c, const brim_dropout_rows *d) {
  (void)c;
  for (int32_t r = 0; r < d->at.count; r++)
    REF(dropout_slot)(&d->dropout, &d->layout, &d->at, r, d->width, d->x + (int64_t)r * d->width, d->y + (int64_t)r * d->width);
}

void REF(add)(brim_ops_context *c, const brim_add *a) {
  (void)c;
  for (int64_t i = 0; i < a->count; i++)
    a->y[i] += a->x[i];
}

void REF(zero)(brim_ops_context *c, const brim_zero *z) {
  (void)c;
  memset(z->x, 0, (size_t)z->count * sizeof *z->x);
}
