/* The buckets in which a gradient is sent, and the rows of its embeddings. */
#include "model_case.h"
#include "reduce/buckets.h"

static const char *const golden = "deberta-v3-cls";

static brim_model *prepared(void) {
  brim_error err = {0};
  const brim_model_limits limits = {.max_slots = 32, .max_sequences = 4, .max_length = 16, .training = true};
  brim_model *model = case_load(case_golden(golden), NULL);
  if (brim_model_prepare(model, &limits, &err))
    case_stop("prepare", &err);
  return model;
}

/* From the end to the beginning, all of it but the embeddings, once; the last buckets, for which nothing is computed meanwhile,
 * are small. */
static void check_buckets(const brim_gradient_view *g) {
  int64_t at = g->size, dense = 0, sent = 0, offset, count, last = 0;
  int32_t range = 0, buckets = 0;
  bool falling = true;
  for (int32_t i = 0; i < g->range_count; i++)
    dense += g->ranges[i].row_size <= 0 ? g->ranges[i].count : 0;
  while (brim_bucket_next(g, &range, &offset, &count)) {
    falling = falling && count > 0 && offset + count <= at;
    for (int32_t i = 0; i < g->range_count; i++) {
      const brim_update_range *r = &g->ranges[i];
      const bool inside = r->offset >= offset && r->offset + r->count <= offset + count;
      falling = falling && (inside ? r->row_size <= 0 : r->offset >= offset + count || r->offset + r->count <= offset);
      sent += inside ? r->count : 0;
    }
    at = offset, last = count, buckets++;
  }
  ok(falling && sent == dense && buckets > 2 && last < dense / 2, "%d buckets of the gradient, the last of %lld of %lld values",
     (int)buckets, (long long)last, (long long)dense);
}

static float value_of(int64_t at) {
  return (float)(at % 251) + 1;
}

/* What has a gradient, written where it belongs; all else is zero. */
static void write_rows(const brim_gradient_view *g, float *values) {
  memset(values, 0, (size_t)g->size * sizeof *values);
  for (int32_t i = 0; i < g->range_count; i++) {
    const brim_update_range *r = &g->ranges[i];
    for (int64_t k = 0; k < r->count; k++)
      if (r->row_size <= 0 || brim_gradient_rows_of(g, r)[k / r->row_size])
        values[r->offset + k] = value_of(r->offset + k);
  }
}

/* Packed, an embedding begins with its rows; unpacked, all is where it was. */
static void check_packed(const brim_gradient_view *g) {
  float *values = malloc((size_t)g->size * sizeof *values), *before = malloc((size_t)g->size * sizeof *values);
  int64_t offset, count, packed = 0;
  int32_t range = 0;
  bool dense = true;
  for (size_t i = 0; i < g->row_count; i++)
    g->rows[i] = i % 3 == 1 || i % 7 == 0;
  write_rows(g, values);
  memcpy(before, values, (size_t)g->size * sizeof *values);
  brim_rows_pack(g, values);
  while (brim_bucket_next_embedding(g, &range, &offset, &count)) {
    for (int64_t k = 0; k < count; k++)
      dense = dense && values[offset + k] != 0;
    packed += count;
  }
  brim_rows_unpack(g, values);
  ok(dense && packed > 0 && memcmp(values, before, (size_t)g->size * sizeof *values) == 0,
     "%lld values of rows move together, and back", (long long)packed);
  free(values), free(before);
}

/* Each rank has rows of its own, of which some are others' too: their sum, in the order of the ranks. */
static void check_ranks(const brim_gradient_view *g) {
  enum { RANKS = 3 };
  const size_t bytes = g->row_count / 8 + 1;
  uint8_t *bits = calloc(RANKS, bytes);
  float *values = calloc((size_t)g->size, sizeof *values), *packed = malloc((size_t)(RANKS * g->size) * sizeof *packed),
        *to = packed;
  bool right = true;
  for (size_t i = 0; i < g->row_count; i++) {
    g->rows[i] = i % 2 == 0 || i % 3 == 0 || i % 5 == 0;
    for (size_t r = 0; r < RANKS; r++)
      bits[r * bytes + i / 8] |= (uint8_t)((i % (size_t[]){2, 3, 5}[r] == 0) << i % 8);
  }
  write_rows(g, values);
  for (size_t r = 0; r < RANKS; r++) {
    brim_rows_copy(g, bits + r * bytes, values, to);
    to += brim_rows_size(g, bits + r * bytes);
  }
  brim_rows_add(g, bits, bytes, RANKS, packed, values);
  for (int32_t i = 0; i < g->range_count; i++) {
    const brim_update_range *range = &g->ranges[i];
    for (int64_t k = 0; k < range->count && range->row_size > 0; k++) {
      const size_t row = (size_t)(brim_gradient_rows_of(g, range) - g->rows) + (size_t)(k / range->row_size);
      const int have = (row % 2 == 0) + (row % 3 == 0) + (row % 5 == 0);
      right = right && values[range->offset + k] == (float)have * value_of(range->offset + k);
    }
  }
  ok(right && to > packed, "rows of %d ranks are added to one another", RANKS);
  free(bits), free(values), free(packed);
}

int main(void) {
  case_start(1);
  brim_model *model = prepared();
  const brim_gradient_view g = brim_gradient_view_of(model);
  check_buckets(&g);
  if (g.values) {
    check_packed(&g);
    check_ranks(&g);
  }
  brim_model_free(model);
  brim_runtime_free(case_runtime);
  return tap_done();
}
