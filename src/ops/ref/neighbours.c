/* neighbours.c: the tokens around each token, as one row. */
#include "ops/ref/ref.h"

/* Slot of the token `step` after row r's token; -1: the text has none there. */
static int64_t around(const brim_layout *layout, bool first_only, int64_t r, int32_t step) {
  const int32_t s = first_only ? (int32_t)r : layout->sequence[r];
  const int64_t first = layout->offsets[s], token = first_only ? 0 : r - first, at = token + step;
  return token < layout->lengths[s] && at >= 0 && at < layout->lengths[s] ? first + at : -1;
}

void REF(neighbours_forward)(brim_ops_context *c, const brim_neighbours *n) {
  (void)c;
  const int64_t rows = n->first_only ? n->layout.n : n->layout.slots, width = n->width, size = n->size;
  for (int64_t r = 0; r < rows; r++)
    for (int32_t j = 0; j < n->size; j++) {
      const int64_t from = around(&n->layout, n->first_only, r, j - n->size / 2);
      for (int64_t i = 0; i < width; i++)
        n->y[(r * width + i) * size + j] = from < 0 ? 0 : n->x[from * width + i];
    }
}

void REF(neighbours_backward)(brim_ops_context *c, const brim_neighbours_gradient *n) {
  (void)c;
  const int64_t rows = n->first_only ? n->layout.n : n->layout.slots, width = n->width, size = n->size;
  for (int64_t i = 0; i < n->layout.slots * width && !n->add; i++)
    n->dx[i] = 0;
  for (int64_t r = 0; r < rows; r++)
    for (int32_t j = 0; j < n->size; j++) {
      const int64_t to = around(&n->layout, n->first_only, r, j - n->size / 2);
      for (int64_t i = 0; i < width && to >= 0; i++)
        n->dx[to * width + i] += n->dy[(r * width + i) * size + j];
    }
}
