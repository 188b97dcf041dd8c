/* embeddings.c: see embeddings.h. */
#include "model/run/embeddings.h"

#include <string.h>

#include "model/run/model.h"

typedef struct walk {
  const brim_model *model;
  int32_t range;
  int64_t next; /* of the range's rows */
  size_t row;   /* over all embeddings */
  int64_t offset, width;
} walk;

/* All rows, one after another. */
static bool next_row(walk *w) {
  const brim_model *m = w->model;
  for (; w->range < m->range_count; w->range++, w->next = 0) {
    const brim_update_range *range = &m->ranges[w->range];
    if (range->row_size <= 0 || w->next * range->row_size >= range->count)
      continue;
    w->width = range->row_size;
    w->offset = range->offset + w->next * w->width;
    w->row = (size_t)(range->touched - m->touched) + (size_t)w->next++;
    return true;
  }
  return false;
}

static bool has(const uint8_t *bits, size_t row) {
  return bits[row / 8] >> row % 8 & 1;
}

static bool has_gradient(const walk *w) {
  return w->model->host_touched[w->row] != 0;
}

/* `from` NULL: zeros. */
static void put(real *restrict to, const real *restrict from, int64_t count, bool adds) {
  for (int64_t i = 0; i < count; i++) {
    const real x = from ? from[i] : 0;
    to[i] = adds ? to[i] + x : x;
  }
}

int64_t brim_embeddings_size(const brim_model *model, const uint8_t *bits) {
  int64_t values = 0;
  for (walk w = {.model = model}; next_row(&w);)
    values += has(bits, w.row) ? w.width : 0;
  return values;
}

void brim_embeddings_pack(const brim_model *model, const uint8_t *bits, const real *gradient, real *packed) {
  for (walk w = {.model = model}; next_row(&w);)
    if (has(bits, w.row)) {
      memcpy(packed, gradient + w.offset, (size_t)w.width * sizeof *packed);
      packed += w.width;
    }
}

/* The bits of whole gradients' sums, where a rank without the row has zeros: -0 + 0 is 0. */
void brim_embeddings_add_packed(const brim_model *model, const uint8_t *bits, size_t bytes, int32_t world, const real *packed,
                                real *gradient) {
  for (int32_t rank = 0; rank < world; rank++)
    for (walk w = {.model = model}; next_row(&w);) {
      real *to = gradient + w.offset;
      const bool given = has(bits + (size_t)rank * bytes, w.row);
      if (!has_gradient(&w))
        continue;
      put(to, given ? packed : NULL, w.width, rank > 0);
      packed += given ? w.width : 0;
    }
}
