/* embedding.c: three embeddings summed, normalised, dropped out. */
#include "ops/ref/ref.h"
#include "ops/slices.h"

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

typedef enum which_embedding { WORD, POSITION, TYPE } which_embedding;

static int64_t row_of(const brim_embed *e, which_embedding of, int32_t slot) {
  if (of == WORD)
    return e->ids[slot];
  return of == POSITION ? e->positions[slot] : e->type_ids ? e->type_ids[slot] : 0;
}

/* Column i of the row that the slot has, over all slots with it, slice by slice. */
static real slice_sum(const brim_embed *e, which_embedding of, int32_t slot, int64_t i) {
  const brim_row_slices *s = &e->slices;
  const int64_t row = row_of(e, of, slot);
  brim_pending_sums w = {.count = 0};
  for (int32_t k = 0; k < s->count; k++) {
    real sum = 0;
    bool there = false;
    for (int32_t r = (int32_t)brim_slice_first(s, k); r < s->ends[k]; r++)
      if (row_of(e, of, r) == row)
        sum += e->dsum[r * (int64_t)e->hidden + i], there = true;
    if (!there)
      continue;
    for (int32_t joins = brim_slice_joins_before(w.names, w.count, s->names[k]); joins > 0; joins--, w.count--)
      w.sums[w.count - 2] += w.sums[w.count - 1];
    w.names[w.count] = s->names[k];
    brim_pending_sums_add(&w, sum, 0);
  }
  for (; w.count > 1; w.count--)
    w.sums[w.count - 2] += w.sums[w.count - 1];
  return w.sums[0];
}

static void add_slices(const brim_embed *e, which_embedding of, real *to) {
  const int64_t width = e->hidden;
  for (int32_t r = 0; to && r < e->layout.slots; r++) {
    int32_t before = 0;
    while (row_of(e, of, before) != row_of(e, of, r))
      before++;
    for (int64_t i = 0; before == r && i < width; i++)
      to[row_of(e, of, r) * width + i] += slice_sum(e, of, r, i);
  }
}

static void add_rows(const brim_embed *e) {
  const int64_t width = e->hidden;
  for (int32_t r = 0; r < e->layout.slots; r++) {
    const real *ds = e->dsum + r * width;
    if (e->dword)
      add_row(width, ds, e->dword + row_of(e, WORD, r) * width);
    if (e->dposition)
      add_row(width, ds, e->dposition + row_of(e, POSITION, r) * width);
    if (e->dtype && e->type)
      add_row(width, ds, e->dtype + row_of(e, TYPE, r) * width);
  }
}

void REF(embed_backward)(brim_ops_context *c, const brim_embed *e) {
  (void)c;
  const int64_t width = e->hidden;
  const bool cut = e->slices.count > 0;
  const brim_rows all = {.count = e->layout.slots, .slot = NULL};
  real *dgamma = cut ? NULL : e->dgamma, *dbeta = cut ? NULL : e->dbeta;
  for (int32_t r = 0; r < e->layout.slots; r++)
    REF(dropout_slot)(&e->dropout, &e->layout, &all, r, e->hidden, e->dout + r * width, e->dsum + r * width);
  if (e->gamma && cut)
    REF(norm_sums)(&(REF(norm_rows)){.slices = &e->slices,
                                     .width = e->hidden,
                                     .x = {BRIM_TYPE_REAL, e->sum},
                                     .dy = {BRIM_TYPE_REAL, e->dsum},
                                     .mean = e->mean,
                                     .rstd = e->rstd},
                   e->dgamma, e->dbeta);
  for (int32_t r = 0; e->gamma && r < e->layout.slots; r++) {
    real *ds = e->dsum + r * width;
    REF(norm_row_backward)(e->hidden, e->sum + r * width, e->mean[r], e->rstd[r], e->gamma, ds, ds, dgamma, dbeta);
  }
  if (!cut) {
    add_rows(e);
    return;
  }
  add_slices(e, WORD, e->dword);
  add_slices(e, POSITION, e->dposition);
  add_slices(e, TYPE, e->type ? e->dtype : NULL);
}
