/* buckets.c: see buckets.h. */
#include "reduce/buckets.h"

#include <string.h>

/* ---- dense values ----------------------------------------------------------------------------------------- */

/* Values of a bucket, if as many adjoin: a share of what is left, so that the last ones, which nothing hides, are small. */
enum { LEAST = 1 << 19, SHARE = 4, REST = 1 << 14, PADDING = 16 };

/* Of the ranges that are left, but for embeddings. */
static int64_t dense_values(const brim_gradient_view *g, int32_t range) {
  int64_t values = 0;
  for (; range < g->range_count; range++) {
    const brim_update_range *r = &g->ranges[g->range_count - 1 - range];
    values += r->row_size <= 0 ? r->count : 0;
  }
  return values;
}

bool brim_bucket_next(const brim_gradient_view *g, int32_t *range, int64_t *offset, int64_t *count) {
  int64_t rest = dense_values(g, *range);
  const int64_t least = rest / SHARE < LEAST ? rest / SHARE : LEAST;
  *count = 0;
  for (; *range < g->range_count && (*count < least || rest < REST); (*range)++) {
    const brim_update_range *r = &g->ranges[g->range_count - 1 - *range];
    const int64_t end = *count > 0 ? *offset + *count : r->offset + r->count;
    const bool adjoins = *count == 0 || *offset - (r->offset + r->count) < PADDING; /* padding between tensors is zeros */
    if (r->row_size <= 0 && adjoins)
      *offset = r->offset, *count = end - r->offset, rest -= r->count;
    else if (*count > 0)
      break;
  }
  return *count > 0;
}

/* ---- embeddings ------------------------------------------------------------------------------------------- */

bool brim_bucket_next_embedding(const brim_gradient_view *g, int32_t *range, int64_t *offset, int64_t *count) {
  while (*range < g->range_count && g->ranges[*range].row_size <= 0)
    ++*range;
  if (*range == g->range_count)
    return false;
  const brim_update_range *r = &g->ranges[(*range)++];
  *offset = r->offset;
  *count = brim_rows_count(g, r) * r->row_size;
  return true;
}

int64_t brim_rows_count(const brim_gradient_view *g, const brim_update_range *embedding) {
  const uint8_t *rows = brim_gradient_rows_of(g, embedding);
  int64_t count = 0;
  for (int64_t row = 0; row < embedding->count / embedding->row_size; row++)
    count += rows[row] != 0;
  return count;
}

static void pack_embedding(const brim_gradient_view *g, const brim_update_range *range, float *values) {
  const uint8_t *rows = brim_gradient_rows_of(g, range);
  float *to = values + range->offset;
  for (int64_t row = 0; row < range->count / range->row_size; row++)
    if (rows[row]) {
      memmove(to, values + range->offset + row * range->row_size, (size_t)range->row_size * sizeof *to);
      to += range->row_size;
    }
}

static void unpack_embedding(const brim_gradient_view *g, const brim_update_range *range, float *values) {
  const uint8_t *rows = brim_gradient_rows_of(g, range);
  const size_t bytes = (size_t)range->row_size * sizeof *values;
  const int64_t all = brim_rows_count(g, range);
  int64_t packed = all;
  for (int64_t row = range->count / range->row_size - 1; row >= 0; row--) {
    float *to = values + range->offset + row * range->row_size;
    if (rows[row])
      memmove(to, values + range->offset + --packed * range->row_size, bytes);
    else if (row < all)
      memset(to, 0, bytes);
  }
}

void brim_rows_pack(const brim_gradient_view *g, float *values) {
  for (int32_t i = 0; i < g->range_count; i++)
    if (g->ranges[i].row_size > 0)
      pack_embedding(g, &g->ranges[i], values);
}

void brim_rows_unpack(const brim_gradient_view *g, float *values) {
  for (int32_t i = 0; i < g->range_count; i++)
    if (g->ranges[i].row_size > 0)
      unpack_embedding(g, &g->ranges[i], values);
}

/* ---- rows of several ranks -------------------------------------------------------------------------------- */

typedef struct walk {
  const brim_gradient_view *gradient;
  int32_t range;
  int64_t next; /* of the range's rows */
  size_t row;   /* over all embeddings */
  int64_t offset, width;
} walk;

/* All rows, one after another. */
static bool next_row(walk *w) {
  const brim_gradient_view *g = w->gradient;
  for (; w->range < g->range_count; w->range++, w->next = 0) {
    const brim_update_range *range = &g->ranges[w->range];
    if (range->row_size <= 0 || w->next * range->row_size >= range->count)
      continue;
    w->width = range->row_size;
    w->offset = range->offset + w->next * w->width;
    w->row = (size_t)(range->touched - g->first) + (size_t)w->next++;
    return true;
  }
  return false;
}

static bool has(const uint8_t *bits, size_t row) {
  return bits[row / 8] >> row % 8 & 1;
}

int64_t brim_rows_size(const brim_gradient_view *g, const uint8_t *bits) {
  int64_t values = 0;
  for (walk w = {.gradient = g}; next_row(&w);)
    values += has(bits, w.row) ? w.width : 0;
  return values;
}

void brim_rows_copy(const brim_gradient_view *g, const uint8_t *bits, const float *values, float *packed) {
  for (walk w = {.gradient = g}; next_row(&w);)
    if (has(bits, w.row)) {
      memcpy(packed, values + w.offset, (size_t)w.width * sizeof *packed);
      packed += w.width;
    }
}

/* `from` NULL: zeros. */
static void put(float *restrict to, const float *restrict from, int64_t count, bool adds) {
  for (int64_t i = 0; i < count; i++) {
    const float x = from ? from[i] : 0;
    to[i] = adds ? to[i] + x : x;
  }
}

/* The bits of whole gradients' sums, where a rank without the row has zeros: -0 + 0 is 0. */
void brim_rows_add(const brim_gradient_view *g, const uint8_t *bits, size_t bytes, int32_t world, const float *packed,
                   float *values) {
  for (int32_t rank = 0; rank < world; rank++)
    for (walk w = {.gradient = g}; next_row(&w);) {
      const bool given = has(bits + (size_t)rank * bytes, w.row);
      if (!g->rows[w.row])
        continue;
      put(values + w.offset, given ? packed : NULL, w.width, rank > 0);
      packed += given ? w.width : 0;
    }
}
