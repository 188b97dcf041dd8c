/* ops_attention.c: attention of every table, forward and backward: lengths, padding, odd heads, dropout, first tokens only,
 * windows, queries' heads that share keys and values. */
#include "ops_case.h"

typedef struct setting {
  int n, heads, size, width; /* width 0: ragged */
  bool first_only, dropout;
  int lengths[6];
  double spread; /* of queries, keys and values; 0: 1.5 */
  int window, group;
} setting;

static void attention(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {21};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t hidden = (int64_t)s->heads * s->size, shared = s->group ? hidden / s->group : hidden,
                rows = s->first_only ? s->n : layout.slots, kv = hidden + 2 * shared, slots = layout.slots;
  const int64_t q_stride = s->first_only ? hidden : kv;
  const uint32_t key[2] = {77, 88};
  const double spread = s->spread > 0 ? s->spread : 1.5;
  real *qkv = case_values(&m, &in, slots * kv, spread), *first_q = case_values(&m, &in, rows * hidden, spread);
  real *dqkv = case_fill(&m, slots * kv + rows * hidden, 7), *first_dq = dqkv + slots * kv;
  real *dout = case_values(&m, &in, rows * hidden, 1), *context = case_fill(&m, rows * hidden, 7),
       *lse = case_fill(&m, rows * s->heads, 7);
  brim_attention a = {.layout = layout,
                      .heads = s->heads,
                      .head_size = s->size,
                      .group = s->group,
                      .window = s->window,
                      .scale = (real)(1 / sqrt(s->size)),
                      .first_only = s->first_only,
                      .dropout = brim_dropout_make(s->dropout ? 0.1 : 0, key, 100),
                      .q = s->first_only ? first_q : qkv,
                      .k = qkv + hidden,
                      .v = qkv + hidden + shared,
                      .q_stride = q_stride,
                      .kv_stride = kv,
                      .out = context,
                      .out_stride = hidden,
                      .lse = lse,
                      .dout = dout,
                      .dq = s->first_only ? first_dq : dqkv,
                      .dk = dqkv + hidden,
                      .dv = dqkv + hidden + shared};
  ops->attention_forward(c, &a);
  emit_output(out, "context", context, rows * hidden, dout);
  emit(out, "lse", lse, rows * s->heads);
  ops->attention_backward(c, &a);
  emit(out, "dqkv", dqkv, slots * kv + rows * hidden); /* as one: with a single key dq is 0, but for rounding */
  for (int64_t r = 0; s->first_only && r < slots; r++) /* queries that nobody asked */
    memset(dqkv + r * kv, 0, (size_t)hidden * sizeof *dqkv);
  check_gradient(out, dqkv, slots * kv, qkv, false);
  if (s->first_only)
    check_gradient(out, first_dq, rows * hidden, first_q, false);
  case_free(&m);
}

static void check(const setting *s) {
  char name[128];
  int longest = 0;
  for (int i = 0; i < s->n; i++)
    longest = s->lengths[i] > longest ? s->lengths[i] : longest;
  snprintf(name, sizeof name, "%d heads of %d, %d texts up to %d, %s%s%s, window %d, groups of %d", s->heads, s->size, s->n,
           longest, s->width ? "padded" : "ragged", s->dropout ? ", dropout" : "", s->first_only ? ", first only" : "", s->window,
           s->group);
  const brim_ops_limits limits = {.max_slots = 4096,
                                  .max_sequences = s->n,
                                  .max_length = longest,
                                  .hidden = s->heads * s->size,
                                  .intermediate = s->heads * s->size,
                                  .heads = s->heads};
  check_case(name, &limits, attention, s,
             4e-6 * (s->spread > 0 ? s->spread * s->spread / 2.25 : 1)); /* errors grow with the scores */
}

CASES(attention) {
  static const setting settings[] = {
      {1, 1, 8, 0, false, false, {1}, 0, 0, 0},
      {4, 3, 12, 0, false, false, {1, 2, 64, 7}, 0, 0, 0},
      {3, 2, 10, 0, false, false, {31, 33, 32}, 0, 0, 0},
      {2, 2, 32, 0, false, false, {65, 27}, 0, 0, 0},
      {5, 2, 64, 0, false, false, {13, 14, 15, 130, 57}, 0, 0, 0},
      {1, 1, 32, 0, false, false, {512}, 0, 0, 0},
      {3, 2, 32, 40, false, false, {1, 40, 17}, 0, 0, 0},
      {2, 1, 36, 70, false, false, {69, 2}, 0, 0, 0},
      {2, 1, 32, 0, false, false, {400, 97}, 6, 0, 0},
      {1, 2, 32, 0, false, false, {130}, 16, 0, 0}, /* later keys have far larger scores than the first, here and there */
      {3, 2, 16, 0, false, false, {63, 65, 1}, 0, 1, 0},
      {5, 1, 32, 0, false, false, {64, 66, 3, 130, 128}, 0, 2, 0},
      {2, 2, 24, 150, false, false, {129, 5}, 0, 16, 0},
      {3, 1, 64, 0, false, false, {700, 64, 300}, 0, 64, 0},
      {2, 1, 32, 300, false, false, {257, 40}, 0, 40, 0},
      {1, 1, 32, 0, false, false, {590}, 16, 50, 0}, /* the same, where a query's first keys are not its own */
      {3, 6, 16, 0, false, false, {33, 1, 90}, 0, 0, 3},
      {2, 4, 12, 80, false, false, {80, 31}, 0, 0, 2},
      {2, 4, 20, 0, false, false, {300, 17}, 0, 7, 4},
      {3, 1, 65, 0, false, false, {1, 130, 33}, 0, 0, 0},
      {3, 4, 40, 0, false, false, {150, 64, 63}, 0, 0, 2}, /* three parts on AMX, from 64 tokens on */
      {2, 2, 48, 200, false, false, {199, 65}, 0, 20, 2},
      {1, 1, 64, 0, false, false, {130}, 16, 0, 0},
      {2, 1, 65, 100, false, false, {99, 1}, 0, 9, 0},
      {0, 2, 16, 0, false, false, {0}, 0, 0, 0},
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
