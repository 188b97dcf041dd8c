/* embedding.c: three tables summed, normalised, dropped out. */
#include "ops/ref/ref.h"

void REF(embed_forward)(brim_ops_context *c, const brim_embed *e) {
  (void)c;
  const int64_t width = e->hidden;
  const brim_rows all = {.count = e->layout.slots, .slot = NULL};
  for (int32_t r = 0; r < e->layout.slots; r++) {
    const real *word = e->word + e->ids[r] * width, *position = e->position ? e->position + e->positions[r] * width : NULL;
    const real *type = e->type ? e->type + (e->type_ids ? e->type_ids[r] : 0) * width : NULL;
    real *s = e->sum + r * width, *y = e->out + r * width;
    for (int64_t i = 0; i < width; i++)
      s[i] = word[i] + (position ? position[i] : 0) + (type ? type[i] : 0);
    if (e->gamma)
      REF(norm_row)(e->hidden, s, e->gamma, e->beta, e->eps, &e->mean[r], &e->rstd[r], y);
    REF(dropout_slot)(&e->dropout, &e->layout, &all, r, e->hidden, e->gamma ? y : s, y);
  }
}

static void add_row(int64_t width, const real *from, real *to) {
  for (int64_t i = 0; i < width; i++)
    to[i] += from[i];
}

void REF(embed_backward)(brim_ops_context *c, const brim_embed *e) {
  (void)c;
  const int64_t width = e->hidden;
  const brim_rows all = {.count = e->layout.slots, .slot = NULL};
  for (int32_t r = 0; r < e->layout.slots; r++) {
    real *ds = e->dsum + r * width;
    REF(dropout_slot)(&e->dropout, &e->layout, &all, r, e->hidden, e->dout + r * width, ds);
    if (e->gamma)
      REF(norm_row_backward)(e->hidden, e->sum + r * width, e->mean[r], e->rstd[r], e->gamma, ds, ds, e->dgamma, e->dbeta);
    if (e->dword)
      add_row(width, ds, e->dword + e->ids[r] * width);
    if (e->dposition)
      add_row(width, ds, e->dposition + e->positions[r] * width);
    if (e->dtype && e->type)
      add_row(width, ds, e->dtype + (e->type_ids ? e->type_ids[r] : 0) * width);
  }
}
