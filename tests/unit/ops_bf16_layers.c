/* ops_bf16_layers.c: norms whose tensors have 16 bits, to the bit those of single precision on the same numbers, rounded; and
 * attention, near the reference, and to the bit the same with the processor's instruction and without. */
#include "ops_case.h"

/* Records a result in 16 bits; NaN where one is farther from `want` than what was rounded before it explains. */
static void emit_near(record *out, const char *name, const brim_bfloat *got, const real *want, int64_t n) {
  case_memory m = {0};
  real *wide = widened(&m, got, n), top = 0;
  for (int64_t i = 0; i < n; i++)
    top = want[i] > top ? want[i] : -want[i] > top ? -want[i] : top;
  for (int64_t i = 0; i < n; i++)
    if (!(fabs((double)(wide[i] - want[i])) <= 0.02 * (double)top))
      wide[i] = (real)NAN;
  emit(out, name, wide, n);
  ops_compared(true);
  case_free(&m);
}

/* ---- norms */

typedef struct norm_setting {
  int rows, width;
  bool dropout, frozen, gathered;
} norm_setting;

typedef struct norm_inputs {
  int64_t count;
  brim_layout layout;
  brim_rows at;
  brim_dropout dropout;
  real *gamma, *beta, *mean, *rstd;
} norm_inputs;

static norm_inputs make_norm(case_memory *m, inputs *in, const norm_setting *s) {
  const int lengths[] = {s->rows / 3 + 1, s->rows - s->rows / 3};
  const uint32_t key[2] = {5, 6};
  norm_inputs n = {.count = (int64_t)s->rows * s->width, .layout = case_layout(m, 2, lengths, 0)};
  int32_t *slot = case_alloc(m, (size_t)s->rows * sizeof *slot);
  for (int r = 0; r < s->rows; r++)
    slot[r] = r + 1;
  n.at = (brim_rows){.count = s->rows, .slot = s->gathered ? slot : NULL};
  n.dropout = brim_dropout_make(s->dropout ? 0.1 : 0, key, 9);
  n.gamma = case_values(m, in, s->width, 1);
  n.beta = case_values(m, in, s->width, 1);
  n.mean = case_values(m, in, s->rows, 0.1);
  n.rstd = case_values(m, in, s->rows, 0.2);
  for (int r = 0; r < s->rows; r++)
    n.rstd[r] += 1;
  return n;
}

static void norm_again(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_setting *s = parameters;
  case_memory m = {0};
  inputs in = {31};
  const norm_inputs n = make_norm(&m, &in, s);
  const brim_bfloat *sum = rounded(&m, case_values(&m, &in, n.count, 2), n.count);
  brim_bfloat *y = rounded(&m, case_fill(&m, n.count, 7), n.count);
  real *wide = case_fill(&m, n.count, 7);
  const real *beta = s->frozen ? NULL : n.beta;
  ops->norm_forward(c, &(brim_norm){s->rows, s->width, case_half(sum), n.mean, n.rstd, n.gamma, beta, case_half(y)});
  ops->norm_forward(
      c, &(brim_norm){s->rows, s->width, case_real(widened(&m, sum, n.count)), n.mean, n.rstd, n.gamma, beta, case_real(wide)});
  emit_rounded(out, "y", y, wide, n.count);
  case_free(&m);
}

static void norm_gradient(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_setting *s = parameters;
  case_memory m = {0};
  inputs in = {32};
  const norm_inputs n = make_norm(&m, &in, s);
  const brim_bfloat *sum = rounded(&m, case_values(&m, &in, n.count, 2), n.count);
  const real *dy = case_values(&m, &in, n.count, 1);
  brim_norm_gradient g = {.layout = n.layout,
                          .at = n.at,
                          .dropout = n.dropout,
                          .width = s->width,
                          .sum = case_half(sum),
                          .mean = n.mean,
                          .rstd = n.rstd,
                          .gamma = n.gamma,
                          .dy = dy,
                          .dsum = case_fill(&m, n.count, 7),
                          .dbranch = case_half(rounded(&m, case_fill(&m, n.count, 7), n.count)),
                          .dgamma = s->frozen ? NULL : case_fill(&m, s->width, 1),
                          .dbeta = s->frozen ? NULL : case_fill(&m, s->width, 1)};
  brim_norm_gradient wide = {.layout = n.layout,
                             .at = n.at,
                             .dropout = n.dropout,
                             .width = s->width,
                             .sum = case_real(widened(&m, sum, n.count)),
                             .mean = n.mean,
                             .rstd = n.rstd,
                             .gamma = n.gamma,
                             .dy = dy,
                             .dsum = case_fill(&m, n.count, 7),
                             .dbranch = case_real(case_fill(&m, n.count, 7)),
                             .dgamma = s->frozen ? NULL : case_fill(&m, s->width, 1),
                             .dbeta = s->frozen ? NULL : case_fill(&m, s->width, 1)};
  ops->norm_backward(c, &g);
  ops->norm_backward(c, &wide);
  emit_same(out, "dsum", g.dsum, wide.dsum, n.count);
  emit_rounded(out, "dbranch", g.dbranch.at, wide.dbranch.at, n.count);
  if (!s->frozen) {
    emit_same(out, "dgamma", g.dgamma, wide.dgamma, s->width);
    emit_same(out, "dbeta", g.dbeta, wide.dbeta, s->width);
  }
  case_free(&m);
}

/* The residual in 32 bits, its sum in 16, y in both; made again from the sum, y in 16 bits is the same. */
static void norm_copies(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_setting *s = parameters;
  enum { IN = 24 };
  case_memory m = {0};
  inputs in = {33};
  const norm_inputs n = make_norm(&m, &in, s);
  brim_bf16_linear_norm l = {.in = IN,
                             .out = s->width,
                             .layout = n.layout,
                             .at = n.at,
                             .dropout = n.dropout,
                             .gamma = n.gamma,
                             .beta = n.beta,
                             .eps = (real)1e-12,
                             .mean = n.mean,
                             .rstd = n.rstd};
  l.x = rounded(&m, case_values(&m, &in, (int64_t)s->rows * IN, 1), (int64_t)s->rows * IN);
  l.w = rounded(&m, case_values(&m, &in, (int64_t)s->width * IN, 1), (int64_t)s->width * IN);
  l.b = case_values(&m, &in, s->width, 1);
  l.residual = (brim_typed){BRIM_TYPE_REAL, case_values(&m, &in, n.count, 1)};
  real *y = case_fill(&m, n.count, 7), *y_alone = case_fill(&m, n.count, 7);
  brim_bfloat *sum = rounded(&m, y, n.count), *again = rounded(&m, y, n.count);
  l.sum = (brim_typed){BRIM_TYPE_BF16, sum};
  l.y = (brim_typed){BRIM_TYPE_REAL, y};
  l.rounded_y = rounded(&m, y, n.count);
  ops->bf16_norm_forward(c, &l);
  emit(out, "sum", widened(&m, sum, n.count), n.count);
  emit_rounded(out, "y in 16 bits", l.rounded_y, y, n.count);
  ops->norm_forward(c, &(brim_norm){s->rows, s->width, case_half(sum), l.mean, l.rstd, l.gamma, l.beta, case_half(again)});
  if (strcmp(ops->name, brim_ops_ref()->name) != 0 && memcmp(again, l.rounded_y, (size_t)n.count * sizeof *again) != 0)
    again[0] = 0x7fc0;
  emit(out, "y made again", widened(&m, again, n.count), n.count);
  l.rounded_y = NULL;
  l.y.at = y_alone;
  ops->bf16_norm_forward(c, &l);
  emit_same(out, "y alone", y_alone, y, n.count);
  case_free(&m);
}

/* ---- attention */

typedef struct attention_setting {
  int n, heads, size, width; /* width 0: ragged */
  int group, window;
  bool first_only, dropout;
  int lengths[6];
} attention_setting;

static void attention(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const attention_setting *s = parameters;
  case_memory m = {0};
  inputs in = {34};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t hidden = (int64_t)s->heads * s->size, rows = s->first_only ? s->n : layout.slots, kv = 3 * hidden;
  const int64_t shared = hidden / s->group; /* the rest of a row belongs to nobody */
  const int64_t all = layout.slots * kv, few = rows * hidden;
  const uint32_t key[2] = {77, 88};
  const brim_bfloat *qkv = rounded(&m, case_values(&m, &in, all, 1.5), all);
  const brim_bfloat *first_q = rounded(&m, case_values(&m, &in, few, 1.5), few);
  const brim_bfloat *dout = rounded(&m, case_values(&m, &in, few, 1), few);
  brim_bfloat *dqkv = rounded(&m, case_fill(&m, all, 0.25), all), *first_dq = rounded(&m, case_fill(&m, few, 0.25), few);
  brim_bfloat *context = rounded(&m, case_fill(&m, few, 0.25), few);
  real *lse = case_fill(&m, rows * s->heads, 7);
  const brim_bf16_attention a = {.of = {.layout = layout,
                                        .heads = s->heads,
                                        .head_size = s->size,
                                        .group = s->group,
                                        .window = s->window,
                                        .scale = (real)(1 / sqrt(s->size)),
                                        .first_only = s->first_only,
                                        .dropout = brim_dropout_make(s->dropout ? 0.1 : 0, key, 100),
                                        .q_stride = s->first_only ? hidden : kv,
                                        .kv_stride = kv,
                                        .out_stride = hidden,
                                        .lse = lse},
                                 .q = s->first_only ? first_q : qkv,
                                 .k = qkv + hidden,
                                 .v = qkv + hidden + shared,
                                 .out = context,
                                 .dout = dout,
                                 .dq = s->first_only ? first_dq : dqkv,
                                 .dk = dqkv + hidden,
                                 .dv = dqkv + hidden + shared};
  brim_attention wide = a.of;
  const real *wide_qkv = widened(&m, qkv, all);
  real *wide_d = case_fill(&m, all, 0.25), *wide_first = case_fill(&m, few, 0.25), *wide_out = case_fill(&m, few, 0.25);
  wide.lse = case_fill(&m, rows * s->heads, 7);
  wide.q = s->first_only ? widened(&m, first_q, few) : wide_qkv;
  wide.k = wide_qkv + hidden;
  wide.v = wide_qkv + hidden + shared;
  wide.out = wide_out;
  wide.dout = widened(&m, dout, few);
  wide.dq = s->first_only ? wide_first : wide_d;
  wide.dk = wide_d + hidden;
  wide.dv = wide_d + hidden + shared;
  ops->bf16_attention_forward(c, &a);
  ops->attention_forward(c, &wide);
  emit_near(out, "context", context, wide_out, few);
  emit(out, "lse", lse, rows * s->heads);
  ops->bf16_attention_backward(c, &a);
  ops->attention_backward(c, &wide);
  emit_near(out, "dqkv", dqkv, wide_d, all);
  emit_near(out, "dq of first tokens", first_dq, wide_first, few);
  case_free(&m);
}

#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
static record run_way(brim_bf16_way way, int threads, const brim_ops_limits *limits, const attention_setting *s) {
  brim_runtime *runtime = case_runtime_of(threads);
  runtime->bf16 = way;
  record out = run_case(brim_ops_cpu(BRIM_CPU_AVX512), runtime, limits, attention, s);
  brim_runtime_free(runtime);
  return out;
}

static bool same_bits(const record *a, const record *b) {
  return a->count == b->count && memcmp(a->value, b->value, a->count * sizeof *a->value) == 0;
}

/* Results of 16 bits that rounding elsewhere, or none, would change. */
static double share_of_same(const record *a, const record *b) {
  size_t same = 0;
  for (size_t i = 0; i < a->count; i++)
    same += a->value[i] == b->value[i];
  return (double)same / (double)a->count;
}

/* vdpbf16ps against widened values: the same bits. AMX's emulation: another order of sums, so near them. The reference rounds
 * where they do, and sums in double precision: few results are other numbers. */
static void check_ways(const char *name, const brim_ops_limits *limits, const attention_setting *s) {
  if (!level_is_emulated() || !case_taken(name))
    return;
  record want = run_way(BRIM_BF16_WIDENED, 1, limits, s), near = run_way(BRIM_BF16_TILES_EMULATED, 1, limits, s);
  record threads = run_way(BRIM_BF16_TILES_EMULATED, 3, limits, s);
  record reference = run_case(brim_ops_ref(), NULL, limits, attention, s);
  const char *where = "";
  const double same = share_of_same(&want, &reference);
  ok(same > 0.95, "%s: %.4f of the numbers are those of the reference", name, same);
  const double difference = record_difference(&near, &want, &where);
  ok(difference < 8e-3 && same_bits(&near, &threads), "%s: tiles, emulated, within %.1e of values that are widened (%s)", name,
     difference, where);
  if (brim_cpu_describe().avx512_bf16) {
    record got = run_way(BRIM_BF16_PAIRS, 2, limits, s);
    ok(same_bits(&got, &want), "%s: the same bits with vdpbf16ps and without", name);
    record_free(&got);
  }
  if (brim_cpu_detect() == BRIM_CPU_AMX) {
    record got = run_way(BRIM_BF16_TILES, 2, limits, s);
    ok(same_bits(&got, &near), "%s: AMX has the bits of its emulation", name);
    record_free(&got);
  }
  record_free(&want), record_free(&near), record_free(&threads), record_free(&reference);
}
#endif

#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
/* ---- numbers that are not finite */

typedef enum poison { CLEAN, VALUE, KEY, GRADIENT } poison;
enum { TEXTS = 2, HEADS = 2, SIZE = 16, HIDDEN = HEADS * SIZE, LENGTH = 21 };

typedef struct poisoned {
  poison what;
  brim_bfloat bits;
} poisoned;

/* One number of the first text's first head is another. Contexts and gradients as bits: first those of this head, then others. */
static void spoil(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const poisoned *p = parameters;
  enum { ROWS = TEXTS * LENGTH, ALL = ROWS * 3 * HIDDEN, FEW = ROWS * HIDDEN };
  case_memory m = {0};
  inputs in = {35};
  const int lengths[TEXTS] = {LENGTH, LENGTH};
  brim_bfloat *qkv = rounded(&m, case_values(&m, &in, ALL, 1.5), ALL), *dout = rounded(&m, case_values(&m, &in, FEW, 1), FEW);
  brim_bfloat *context = rounded(&m, case_fill(&m, FEW, 0), FEW), *dqkv = rounded(&m, case_fill(&m, ALL, 0), ALL);
  enum { ROW = 4 };
  if (p->what == VALUE)
    qkv[ROW * 3 * HIDDEN + 2 * HIDDEN] = p->bits;
  else if (p->what == KEY)
    qkv[ROW * 3 * HIDDEN + HIDDEN] = p->bits;
  else if (p->what == GRADIENT)
    dout[ROW * HIDDEN] = p->bits;
  const brim_bf16_attention a = {.of = {.layout = case_layout(&m, TEXTS, lengths, 0),
                                        .heads = HEADS,
                                        .head_size = SIZE,
                                        .group = 1,
                                        .scale = 0.25f,
                                        .q_stride = 3 * HIDDEN,
                                        .kv_stride = 3 * HIDDEN,
                                        .out_stride = HIDDEN,
                                        .lse = case_fill(&m, ROWS * HEADS, 7)},
                                 .q = qkv,
                                 .k = qkv + HIDDEN,
                                 .v = qkv + 2 * HIDDEN,
                                 .out = context,
                                 .dout = dout,
                                 .dq = dqkv,
                                 .dk = dqkv + HIDDEN,
                                 .dv = dqkv + 2 * HIDDEN};
  ops->bf16_attention_forward(c, &a);
  ops->bf16_attention_backward(c, &a);
  const real *gradients = widened(&m, dqkv, ALL), *contexts = widened(&m, context, FEW);
  for (int others = 0; others < 2; others++) {
    real *all = case_fill(&m, ALL + FEW, 0);
    int64_t count = 0;
    for (int i = 0; i < ROWS * HEADS; i++)
      for (int part = 0; part < 4 && (i >= LENGTH * HEADS || i % HEADS > 0) == others; part++, count += SIZE) {
        const real *from = part == 3 ? contexts + i / HEADS * HIDDEN : gradients + i / HEADS * 3 * HIDDEN + part * HIDDEN;
        memcpy(all + count, from + i % HEADS * SIZE, SIZE * sizeof *all);
      }
    emit(out, others ? "other heads and texts" : "the head", all, count);
  }
  case_free(&m);
}

static record run_spoiled(brim_bf16_way way, const brim_ops_limits *limits, const poisoned *p) {
  brim_runtime *runtime = case_runtime_of(1);
  runtime->bf16 = way;
  record out = run_case(brim_ops_cpu(brim_cpu_detect()), runtime, limits, spoil, p);
  brim_runtime_free(runtime);
  return out;
}

/* What is not finite shows, so that a run can stop for it; and it stays within its text and head. */
static void check_spoiled(void) {
  static const char *const names[] = {"nothing", "a value", "a key", "an output's gradient"};
  const brim_ops_limits limits = {.max_slots = TEXTS * LENGTH,
                                  .max_sequences = TEXTS,
                                  .max_length = LENGTH,
                                  .hidden = HIDDEN,
                                  .intermediate = HIDDEN,
                                  .heads = HEADS,
                                  .bf16 = true};
  const size_t of_head = (size_t)LENGTH * 4 * SIZE;
  for (int way = BRIM_BF16_WIDENED; way <= (int)BRIM_BF16_TILES_EMULATED; way++) {
    if ((way != BRIM_BF16_WIDENED && brim_cpu_detect() < BRIM_CPU_AVX512) ||
        (way == BRIM_BF16_PAIRS && !brim_cpu_describe().avx512_bf16) ||
        (way == BRIM_BF16_TILES && brim_cpu_detect() != BRIM_CPU_AMX))
      continue;
    const poisoned none = {CLEAN, 0};
    record clean = run_spoiled((brim_bf16_way)way, &limits, &none);
    for (int what = VALUE; what <= (int)GRADIENT; what++)
      for (int nan = 0; nan < 2; nan++) {
        const poisoned p = {(poison)what, nan ? 0x7fc0 : 0x7f80};
        record got = run_spoiled((brim_bf16_way)way, &limits, &p);
        size_t strange = 0;
        for (size_t i = 0; i < of_head; i++)
          strange += !isfinite(got.value[i]);
        const size_t rest = (got.count - of_head) * sizeof *got.value;
        ok(strange > 0 && memcmp(got.value + of_head, clean.value + of_head, rest) == 0,
           "way %d: %s that is %s shows in its head, and in no other", way, names[what], nan ? "no number" : "infinite");
        record_free(&got);
      }
    record_free(&clean);
  }
}
#endif

CASES(bf16_layers) {
  char name[128];
#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
  if (!ops_only_calls())
    check_spoiled();
#endif
  for (int i = 0; i < 8; i++) {
    const norm_setting s = {i & 1 ? 45 : 1100, i & 2 ? 50 : 384, i & 1, i & 4, i & 2};
    const brim_ops_limits limits = {.max_slots = s.rows + 1,
                                    .max_sequences = 2,
                                    .max_length = s.rows,
                                    .hidden = s.width,
                                    .intermediate = s.width,
                                    .heads = 1,
                                    .bf16 = true};
    snprintf(name, sizeof name, "norm of %d x %d made again in 16 bits, setting %d", s.rows, s.width, i);
    check_case(name, &limits, norm_again, &s, 1e-2);
    snprintf(name, sizeof name, "gradient of a norm of %d x %d in 16 bits%s%s", s.rows, s.width, s.dropout ? ", dropout" : "",
             s.frozen ? ", frozen" : "");
    check_case(name, &limits, norm_gradient, &s, 1e-2);
    snprintf(name, sizeof name, "norm of %d x %d with copies in 16 bits, setting %d", s.rows, s.width, i);
    check_case(name, &limits, norm_copies, &s, 1e-2);
  }
  static const attention_setting settings[] = {{1, 1, 8, 0, 1, 0, false, false, {1}},
                                               {4, 3, 12, 0, 1, 0, false, false, {1, 2, 64, 7}},
                                               {3, 2, 10, 40, 2, 0, false, false, {1, 40, 17}},
                                               {3, 4, 10, 40, 2, 5, false, false, {1, 40, 17}},
                                               {2, 2, 32, 0, 1, 0, false, false, {130, 27}},
                                               {2, 2, 64, 0, 1, 0, false, false, {81, 33}},
                                               {3, 1, 35, 0, 1, 9, false, false, {129, 65, 31}},
                                               {3, 4, 12, 0, 1, 8, false, false, {90, 66, 1}},
                                               {2, 4, 12, 90, 1, 8, false, false, {90, 33}}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    for (int variant = 0; variant < 4; variant++) {
      attention_setting s = settings[i];
      s.first_only = variant & 1;
      s.dropout = variant & 2;
      const brim_ops_limits limits = {.max_slots = 256,
                                      .max_sequences = s.n,
                                      .max_length = 130,
                                      .hidden = s.heads * s.size,
                                      .intermediate = s.heads * s.size,
                                      .heads = s.heads,
                                      .bf16 = true};
      snprintf(name, sizeof name, "attention in 16 bits, %d heads of %d, %d texts%s%s%s%s", s.heads, s.size, s.n,
               s.width ? ", padded" : "", s.window ? ", window" : "", s.dropout ? ", dropout" : "",
               s.first_only ? ", first only" : "");
      check_case(name, &limits, attention, &s, 8e-3);
#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
      check_ways(name, &limits, &s);
#endif
    }
}
