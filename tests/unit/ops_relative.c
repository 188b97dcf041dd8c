/* ops_relative.c: attention with terms by distance, of every table: biases, tables of keys and queries, both rules, lengths,
 * padding, dropout, first tokens only; and which row a distance has. */
#include "ops_case.h"

typedef struct setting {
  int n, heads, size, width; /* width 0: ragged */
  brim_distances distances;
  bool bias, embeddings, first_only, dropout;
  int lengths[6];
} setting;

static void relative(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {41};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t hidden = (int64_t)s->heads * s->size, rows = s->first_only ? s->n : layout.slots, kv = 3 * hidden;
  const int64_t embedding = s->distances.rows, stride = 2 * hidden + 3, q_stride = s->first_only ? hidden : kv;
  const uint32_t key[2] = {77, 88};
  real *qkv = case_values(&m, &in, layout.slots * kv, 1.5), *first_q = case_values(&m, &in, rows * hidden, 1.5);
  real *dqkv = case_fill(&m, layout.slots * kv + rows * hidden, 7), *first_dq = dqkv + layout.slots * kv;
  real *embeddings = case_values(&m, &in, embedding * stride, 1), *dtables = case_fill(&m, embedding * stride, 7);
  real *bias = case_values(&m, &in, embedding * s->heads, 2), *dbias = case_values(&m, &in, embedding * s->heads, 1);
  real *dout = case_values(&m, &in, rows * hidden, 1), *context = case_fill(&m, rows * hidden, 7),
       *lse = case_fill(&m, rows * s->heads, 7);
  brim_relative r = {.attention = {.layout = layout,
                                   .heads = s->heads,
                                   .head_size = s->size,
                                   .scale = (real)(1 / sqrt(3 * s->size)),
                                   .first_only = s->first_only,
                                   .dropout = brim_dropout_make(s->dropout ? 0.1 : 0, key, 100),
                                   .q = s->first_only ? first_q : qkv,
                                   .k = qkv + hidden,
                                   .v = qkv + 2 * hidden,
                                   .q_stride = q_stride,
                                   .kv_stride = kv,
                                   .out = context,
                                   .out_stride = hidden,
                                   .lse = lse,
                                   .dout = dout,
                                   .dq = s->first_only ? first_dq : dqkv,
                                   .dk = dqkv + hidden,
                                   .dv = dqkv + 2 * hidden},
                     .distances = s->distances,
                     .bias = s->bias ? bias : NULL,
                     .dbias = s->bias ? dbias : NULL,
                     .stride = stride};
  if (s->embeddings) {
    r.queries = embeddings;
    r.keys = embeddings + hidden;
    r.dqueries = dtables;
    r.dkeys = dtables + hidden;
  }
  for (int32_t t = 0; s->width && t < s->n; t++) /* padding has no gradient */
    for (int32_t i = layout.offsets[t] + layout.lengths[t]; !s->first_only && i < layout.offsets[t + 1]; i++)
      for (int64_t k = 0; k < hidden; k++)
        dout[i * hidden + k] = 0;
  ops->relative_forward(c, &r);
  emit_output(out, "context", context, rows * hidden, dout);
  emit(out, "lse", lse, rows * s->heads);
  ops->relative_backward(c, &r);
  emit(out, "dqkv", dqkv, layout.slots * kv + rows * hidden);
  emit(out, "dtables", dtables, embedding * stride);
  emit(out, "dbias", dbias, embedding * s->heads);
  for (int64_t i = 0; i < layout.slots && s->first_only; i++) /* what nobody writes has no gradient */
    memset(dqkv + i * kv, 0, (size_t)hidden * sizeof *dqkv);
  for (int64_t i = 0; i < embedding; i++)
    memset(dtables + i * stride + 2 * hidden, 0, 3 * sizeof *dtables);
  check_gradient(out, dqkv, layout.slots * kv, qkv, false);
  if (s->first_only)
    check_gradient(out, first_dq, rows * hidden, first_q, false);
  if (s->embeddings)
    check_gradient(out, dtables, embedding * stride, embeddings, false);
  if (s->bias)
    check_gradient(out, dbias, embedding * s->heads, bias, true);
  case_free(&m);
}

static void check(const setting *s) {
  char name[160];
  int longest = s->width;
  for (int i = 0; i < s->n; i++)
    longest = s->lengths[i] > longest ? s->lengths[i] : longest;
  snprintf(name, sizeof name, "%d heads of %d, %d texts up to %d, %d rows%s%s%s%s%s", s->heads, s->size, s->n, longest,
           s->distances.rows, s->bias ? ", bias" : "", s->embeddings ? ", tables" : "", s->width ? ", padded" : "",
           s->dropout ? ", dropout" : "", s->first_only ? ", first only" : "");
  const brim_ops_limits limits = {.max_slots = 4096,
                                  .max_sequences = s->n,
                                  .max_length = longest,
                                  .hidden = s->heads * s->size,
                                  .intermediate = s->heads * s->size,
                                  .heads = s->heads,
                                  .distances = s->distances.rows};
  check_case(name, &limits, relative, s, 6e-6);
}

/* Rows of distances 0, 1, 2, .. and of their negatives, where the row changes; from transformers' functions. */
static void check_rows(const char *name, brim_distances d, const int *changes, int count) {
  int wrong = 0;
  for (int sign = -1; sign <= 1; sign += 2) {
    int row = 0;
    for (int i = 0; i <= 700; i++) {
      while (row + 1 < count && i >= changes[row + 1])
        row++;
      const int want = d.rule == BRIM_DISTANCE_HALVES     ? row + (sign < 0 && i > 0 ? d.rows / 2 : 0)
                       : d.rows / 2 + sign * row < d.rows ? d.rows / 2 + sign * row
                                                          : d.rows - 1;
      wrong += brim_distance_row(&d, sign * i) != want;
    }
  }
  ok(wrong == 0, "%s: rows of 1,401 distances (%d wrong)", name, wrong);
}

/* These terms are in single precision beside 16-bit products too. */
static void check_room(void) {
#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
  brim_ops_limits limits = {
      .max_slots = 1024, .max_sequences = 1, .max_length = 1024, .hidden = 64, .intermediate = 64, .heads = 1, .distances = 32};
  brim_runtime *runtime = case_runtime_of(8);
  const brim_ops_context c = {.runtime = runtime};
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level)) {
    const brim_ops *ops = brim_ops_cpu((brim_cpu_level)level);
    limits.bf16 = false;
    const size_t single = ops->workspace(&c, &limits);
    limits.bf16 = true;
    const size_t half = ops->workspace(&c, &limits);
    ok(half >= single, "%s: room for terms by distance beside 16-bit products: %zu bytes, %zu in fp32", ops->name, half, single);
  }
  brim_runtime_free(runtime);
#endif
}

CASES(relative) {
  check_room();
  static const int mpnet[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91};
  static const int deberta[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 24, 33, 47, 67, 96};
  check_rows("MPNet", (brim_distances){BRIM_DISTANCE_HALVES, 32, 128}, mpnet, 16);
  check_rows("DeBERTa", (brim_distances){BRIM_DISTANCE_CENTERED, 32, 96}, deberta, 17);
  static const brim_distances halves = {BRIM_DISTANCE_HALVES, 32, 128}, small = {BRIM_DISTANCE_CENTERED, 32, 96},
                              plain = {BRIM_DISTANCE_CENTERED, 20, 0}, wide = {BRIM_DISTANCE_CENTERED, 512, 512},
                              sparse = {BRIM_DISTANCE_CENTERED, 256, 80}; /* its rows lie farther apart than distances do */
  const setting settings[] = {
      {1, 1, 8, 0, halves, true, false, false, false, {1}},
      {4, 3, 12, 0, halves, true, false, false, false, {1, 2, 64, 7}},
      {3, 2, 32, 40, halves, true, false, false, false, {1, 40, 17}},
      {2, 2, 32, 0, halves, true, true, false, false, {130, 57}},
      {1, 1, 8, 0, small, false, true, false, false, {1}},
      {4, 3, 12, 0, small, false, true, false, false, {1, 2, 64, 7}},
      {3, 2, 10, 0, plain, false, true, false, false, {31, 33, 32}},
      {3, 2, 32, 40, small, false, true, false, false, {1, 40, 17}},
      {2, 1, 36, 70, plain, false, true, false, false, {69, 2}},
      {3, 2, 64, 0, wide, false, true, false, false, {300, 57, 1}},
      {2, 2, 16, 0, sparse, false, true, false, false, {79, 70}},
      {2, 1, 65, 0, small, true, true, false, false, {33, 1}},
      {3, 2, 48, 0, halves, true, false, false, false, {100, 64, 63}}, /* three parts on AMX, from 64 tokens on */
      {2, 1, 65, 100, small, true, true, false, false, {99, 65}},
      {0, 2, 16, 0, small, true, true, false, false, {0}},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    for (int variant = 0; variant < 4; variant++) {
      setting s = settings[i];
      s.first_only = variant & 1;
      s.dropout = variant & 2;
      for (int t = 0; t < s.n; t++)
        s.lengths[t] = case_length(s.lengths[t]);
      s.width = case_length(s.width);
      check(&s);
    }
  }
}
