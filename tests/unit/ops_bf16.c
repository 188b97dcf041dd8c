/* ops_bf16.c: products of 16-bit values: near the reference, and to the bit what src/ops/bf16.h and cpu/bf16_tile.h say. */
#include "ops_case.h"

typedef enum kind { ORDINARY, SMALL, LARGE, ANY_BITS, KINDS } kind;

typedef struct shape {
  int rows, in, out, extra; /* extra: columns between rows that belong to somebody else */
  bool bias, add, half;     /* narrow: results have 16 bits */
} shape;

/* ---- values of 16 bits */

/* Products of small ones, and sums of these, are near the smallest numbers; those of large ones near the largest. */
static brim_bfloat next_half(inputs *in, kind k) {
  const uint32_t bits = (uint32_t)(next_unit(in) * 65536), exponent = (uint32_t)(next_unit(in) * 6);
  switch (k) {
  case SMALL:
    return (brim_bfloat)((bits & 0x807f) | (62 + exponent) << 7);
  case LARGE:
    return (brim_bfloat)((bits & 0x807f) | (187 + exponent) << 7);
  case ANY_BITS:
    return (brim_bfloat)bits;
  default:
    return half_of((float)(2 * next_unit(in) - 1));
  }
}

static brim_bfloat *halves(case_memory *m, inputs *in, int64_t n, kind k) {
  brim_bfloat *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = next_half(in, k);
  return x;
}

/* A result of either type, filled with what it may be added to. */
static brim_typed results(case_memory *m, inputs *in, int64_t n, bool half) {
  if (half)
    return (brim_typed){BRIM_TYPE_BF16, halves(m, in, n, ORDINARY)};
  return (brim_typed){BRIM_TYPE_REAL, case_values(m, in, n, 1)};
}

static void emit_halves(record *out, const char *name, const brim_bfloat *x, int64_t n) {
  case_memory m = {0};
  emit(out, name, widened(&m, x, n), n);
  case_free(&m);
}

static void emit_typed(record *out, const char *name, brim_typed t, int64_t n) {
  if (t.type == BRIM_TYPE_BF16)
    emit_halves(out, name, t.at, n);
  else
    emit(out, name, t.at, n);
}

static brim_ops_limits limits_of(const shape *s) {
  return (brim_ops_limits){.max_slots = s->rows,
                           .max_sequences = 4,
                           .max_length = 64,
                           .hidden = s->in < s->out ? s->in : s->out,
                           .intermediate = s->in > s->out ? s->in : s->out,
                           .heads = 1,
                           .bf16 = true};
}

/* ---- the operations, as cases of the harness */

static void forward_of(const brim_ops *ops, brim_ops_context *c, const shape *s, kind k, record *out) {
  case_memory m = {0};
  inputs in = {21};
  const int64_t x_stride = s->in + s->extra, y_stride = s->out + s->extra;
  const brim_bfloat *x = halves(&m, &in, s->rows * x_stride, k), *w = halves(&m, &in, (int64_t)s->in * s->out, k);
  const real *b = s->bias ? case_values(&m, &in, s->out, 1) : NULL;
  const brim_typed y = results(&m, &in, s->rows * y_stride, s->half);
  ops->bf16_forward(c, &(brim_bf16_linear){s->rows, s->in, s->out, x, x_stride, w, b, y, y_stride, s->add});
  emit_typed(out, "y", y, s->rows * y_stride);
  case_free(&m);
}

static void backward_of(const brim_ops *ops, brim_ops_context *c, const shape *s, kind k, record *out) {
  case_memory m = {0};
  inputs in = {22};
  const int64_t x_stride = s->in + s->extra, y_stride = s->out + s->extra;
  brim_bf16_linear_gradient g = {.rows = s->rows, .in = s->in, .out = s->out, .add = s->add};
  g.x = halves(&m, &in, s->rows * x_stride, k);
  g.w = halves(&m, &in, (int64_t)s->in * s->out, k);
  g.dy = halves(&m, &in, s->rows * y_stride, k);
  g.dx = results(&m, &in, s->rows * x_stride, s->half);
  g.dw = case_values(&m, &in, (int64_t)s->in * s->out, 1);
  g.db = s->bias ? case_values(&m, &in, s->out, 1) : NULL;
  g.x_stride = g.dx_stride = x_stride;
  g.dy_stride = y_stride;
  ops->bf16_backward(c, &g);
  emit_typed(out, "dx", g.dx, s->rows * x_stride);
  emit(out, "dw", g.dw, (int64_t)s->in * s->out);
  if (g.db)
    emit(out, "db", g.db, s->out);
  case_free(&m);
}

static void forward(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  forward_of(ops, c, parameters, ORDINARY, out);
}
static void backward(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  backward_of(ops, c, parameters, ORDINARY, out);
}

/* NaN where a result is further than that from the same in single precision, relative to its largest value. */
static void emit_apart(record *out, const char *name, const real *got, const real *want, int64_t n, double most) {
  double worst = 0, top = 0;
  for (int64_t i = 0; i < n; i++) {
    const double d = fabs((double)got[i] - (double)want[i]);
    worst = d <= worst || isnan(worst) ? worst : d;
    top = fmax(top, fabs((double)want[i]));
  }
  emit(out, name, &(real){worst <= most * top ? 0 : (real)NAN}, 1);
  ops_compared(true);
}

/* What is summed is exact in single precision too: another order of sums, and that of double, is all that differs. */
static void like_wide(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const shape *s = parameters;
  const double most = sizeof(real) == 8 ? 1e-12 : 3e-6;
  const int64_t xs = (int64_t)s->rows * s->in, ws = (int64_t)s->in * s->out, ys = (int64_t)s->rows * s->out;
  case_memory m = {0};
  inputs in = {27};
  const brim_bfloat *x = halves(&m, &in, xs, ORDINARY), *w = halves(&m, &in, ws, ORDINARY), *dy = halves(&m, &in, ys, ORDINARY);
  real *got = case_fill(&m, xs, 7), *want = case_fill(&m, xs, 7), *dw = case_fill(&m, ws, 0), *want_dw = case_fill(&m, ws, 0),
       *db = case_fill(&m, s->out, 0), *want_db = case_fill(&m, s->out, 0);
  ops->bf16_backward(c, &(brim_bf16_linear_gradient){.rows = s->rows,
                                                     .in = s->in,
                                                     .out = s->out,
                                                     .x = x,
                                                     .x_stride = s->in,
                                                     .w = w,
                                                     .dy = dy,
                                                     .dy_stride = s->out,
                                                     .dx = {BRIM_TYPE_REAL, got},
                                                     .dx_stride = s->in,
                                                     .dw = dw,
                                                     .db = db});
  ops->linear_backward(c, &(brim_linear_gradient){.rows = s->rows,
                                                  .in = s->in,
                                                  .out = s->out,
                                                  .x = widened(&m, x, xs),
                                                  .x_stride = s->in,
                                                  .w = widened(&m, w, ws),
                                                  .dy = widened(&m, dy, ys),
                                                  .dy_stride = s->out,
                                                  .dx = want,
                                                  .dx_stride = s->in,
                                                  .dw = want_dw,
                                                  .db = want_db});
  emit_apart(out, "dx", got, want, xs, most);
  emit_apart(out, "dw", dw, want_dw, ws, most);
  emit_apart(out, "db", db, want_db, s->out, most);
  case_free(&m);
}

typedef struct act_shape {
  shape s;
  brim_activation act;
} act_shape;

/* What is not kept does not change y; and what backward makes again is y. */
static void activation(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const act_shape *p = parameters;
  const shape *s = &p->s;
  case_memory m = {0};
  inputs in = {23};
  const int64_t count = (int64_t)s->rows * s->out;
  brim_bf16_linear_act l = {.rows = s->rows, .in = s->in, .out = s->out, .act = p->act};
  l.x = halves(&m, &in, (int64_t)s->rows * s->in, ORDINARY);
  l.w = halves(&m, &in, (int64_t)s->in * s->out, ORDINARY);
  l.b = s->bias ? case_values(&m, &in, s->out, 1) : NULL;
  l.pre = halves(&m, &in, count, ORDINARY);
  l.y = halves(&m, &in, count, ORDINARY);
  ops->bf16_act_forward(c, &l);
  emit_halves(out, "pre", l.pre, count);
  emit_halves(out, "y", l.y, count);
  brim_bf16_linear_act alone = l;
  alone.pre = NULL;
  alone.y = halves(&m, &in, count, ORDINARY);
  ops->bf16_act_forward(c, &alone);
  if (memcmp(alone.y, l.y, (size_t)count * sizeof *l.y) != 0)
    alone.y[0] = 0x7fc0;
  emit_halves(out, "y alone", alone.y, count);
  if (p->act != BRIM_ACT_TANH) { /* backward of the weight that follows: [s->out] -> [s->in] */
    brim_bf16_linear_act_gradient g = {.rows = s->rows, .in = s->out, .out = s->in, .w = l.w, .act = p->act, .pre = l.pre};
    g.dz = halves(&m, &in, (int64_t)s->rows * s->in, ORDINARY);
    g.dpre = halves(&m, &in, count, ORDINARY);
    const int64_t ws = (int64_t)s->in * s->out, zs = (int64_t)s->rows * s->in;
    real *pre = widened(&m, l.pre, count), *dpre = case_fill(&m, count, 7);
    ops->linear_act_backward(c, &(brim_linear_act_gradient){.rows = s->rows,
                                                            .in = s->out,
                                                            .out = s->in,
                                                            .w = widened(&m, l.w, ws),
                                                            .dz = widened(&m, g.dz, zs),
                                                            .act = p->act,
                                                            .pre = pre,
                                                            .dpre = dpre});
    ops->bf16_act_backward(c, &g);
    emit_apart(out, "dpre, like that in single precision", widened(&m, g.dpre, count), dpre, count, 4e-3);
    emit_halves(out, "dpre", g.dpre, count);
    if (memcmp(g.pre, l.y, (size_t)count * sizeof *l.y) != 0)
      g.pre[0] = 0x7fc0;
    emit_halves(out, "y again", g.pre, count);
  }
  case_free(&m);
}

typedef struct norm_shape {
  shape s;
  brim_type residual, y;
  bool dropout, gathered;
} norm_shape;

static void norm_case(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_shape *p = parameters;
  const shape *s = &p->s;
  case_memory m = {0};
  inputs in = {24};
  const int64_t count = (int64_t)s->rows * s->out;
  const int lengths[] = {s->rows / 3 + 1, s->rows - s->rows / 3};
  const uint32_t key[2] = {5, 6};
  int32_t *slot = case_alloc(&m, (size_t)s->rows * sizeof *slot);
  for (int r = 0; r < s->rows; r++)
    slot[r] = r + 1;
  brim_bf16_linear_norm l = {.in = s->in,
                             .out = s->out,
                             .layout = case_layout(&m, 2, lengths, 0),
                             .at = {.count = s->rows, .slot = p->gathered ? slot : NULL},
                             .dropout = brim_dropout_make(p->dropout ? 0.1 : 0, key, 9),
                             .eps = (real)1e-12};
  l.x = halves(&m, &in, (int64_t)s->rows * s->in, ORDINARY);
  l.w = halves(&m, &in, (int64_t)s->in * s->out, ORDINARY);
  l.b = case_values(&m, &in, s->out, 1);
  l.gamma = case_values(&m, &in, s->out, 1);
  l.beta = case_values(&m, &in, s->out, 1);
  l.residual = results(&m, &in, count, p->residual == BRIM_TYPE_BF16);
  l.sum = results(&m, &in, count, p->residual == BRIM_TYPE_BF16);
  l.y = results(&m, &in, count, p->y == BRIM_TYPE_BF16);
  l.mean = case_fill(&m, s->rows, 0);
  l.rstd = case_fill(&m, s->rows, 0);
  ops->bf16_norm_forward(c, &l);
  emit_typed(out, "sum", l.sum, count);
  emit(out, "mean", l.mean, s->rows);
  emit(out, "rstd", l.rstd, s->rows);
  emit_typed(out, "y", l.y, count);
  l.sum = l.residual;
  ops->bf16_norm_forward(c, &l);
  emit_typed(out, "sum in place", l.sum, count);
  case_free(&m);
}

static void check_against_reference(void) {
  static const shape shapes[] = {
      {1, 1, 1, 0, true, false, false},       {1, 384, 50, 0, true, false, true},    {5, 36, 50, 0, true, true, true},
      {29, 37, 108, 3, true, true, false},    {64, 64, 32, 0, false, false, true},   {113, 51, 33, 5, true, false, false},
      {57, 96, 384, 0, true, true, true},     {700, 40, 72, 0, true, false, false},  {1037, 33, 17, 1, true, true, false},
      {2100, 17, 65, 2, false, false, false}, {16, 385, 2, 0, true, false, false},   {61, 448, 31, 0, false, true, false},
      {15, 1101, 40, 1, true, false, false},  {15, 40, 1101, 1, true, false, false}, {3, 4301, 35, 0, true, false, false},
      {0, 37, 50, 0, true, false, false},
  };
  char name[128];
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    const brim_ops_limits limits = limits_of(s);
    const double tolerance = s->half ? 5e-3 : 3e-6;
    snprintf(name, sizeof name, "bf16 linear %d x %d -> %d", s->rows, s->in, s->out);
    check_case(name, &limits, forward, s, tolerance);
    snprintf(name, sizeof name, "gradient of bf16 linear %d x %d -> %d", s->rows, s->in, s->out);
    check_case(name, &limits, backward, s, tolerance);
    snprintf(name, sizeof name, "gradient of bf16 linear %d x %d -> %d like that in single precision", s->rows, s->in, s->out);
    check_case(name, &limits, like_wide, s, 0);
  }
  static const brim_activation acts[] = {BRIM_ACT_NONE, BRIM_ACT_GELU, BRIM_ACT_GELU_NEW, BRIM_ACT_RELU, BRIM_ACT_TANH};
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
    const act_shape p = {{70, 37, 50, 0, i % 2 == 0, false, true}, acts[i]};
    const brim_ops_limits limits = limits_of(&p.s);
    snprintf(name, sizeof name, "bf16 linear, activation %d", (int)acts[i]);
    check_case(name, &limits, activation, &p, 8e-3);
  }
  for (int i = 0; i < 16; i++) {
    const norm_shape p = {{45, 37, 50, 0, true, false, false}, i & 1, i >> 1 & 1, i & 4, i & 8};
    const brim_ops_limits limits = limits_of(&p.s);
    snprintf(name, sizeof name, "bf16 linear, residual of %d bits, norm to %d%s%s", p.residual ? 16 : 32, p.y ? 16 : 32,
             p.dropout ? ", dropout" : "", p.gathered ? ", some rows" : "");
    check_case(name, &limits, norm_case, &p, p.residual || p.y ? 1e-2 : 2e-5);
  }
}

#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
/* ---- to the bit: c = fma(odd), then fma(even), in exact arithmetic */

__extension__ typedef
#ifdef __SIZEOF_FLOAT128__
    __float128
#else
    long double /* quadruple where there is no other type for it */
#endif
        quad;

static float flushed(quad x) {
  const quad least = (quad)0x1p-126f;
  if (x > -least && x < least && x != 0) { /* as if exponents had no end; what then is below the least counts as 0 */
    const float scaled = (float)(x * 0x1p64f);
    return scaled > -0x1p-62f && scaled < 0x1p-62f ? (x < 0 ? -0.0f : 0.0f) : scaled * 0x1p-64f;
  }
  return (float)x;
}

static float whole(float x) {
  return x > -0x1p-126f && x < 0x1p-126f ? copysignf(0, x) : x;
}

/* One of the two; numbers that are not finite follow C. */
static float one_more(float c, brim_bfloat a, brim_bfloat b) {
  const float x = whole(wide_of(a)), y = whole(wide_of(b));
  c = whole(c);
  if (!isfinite(x) || !isfinite(y))
    return x * y + c;
  if (!isfinite(c))
    return c;
  const quad sum = (quad)x * y + c;
  return sum == 0 ? x * y + c : flushed(sum); /* the sign of 0 */
}

typedef struct side { /* value k of a row or column */
  const brim_bfloat *at;
  int64_t step;
} side;

static float obvious_sum(float c, int64_t depth, side a, side b) {
  for (int64_t k = 0; k < depth; k += 2) {
    const bool pair = k + 1 < depth;
    c = one_more(c, pair ? a.at[(k + 1) * a.step] : 0, pair ? b.at[(k + 1) * b.step] : 0);
    c = one_more(c, a.at[k * a.step], b.at[k * b.step]);
  }
  return c;
}

static void put(brim_typed t, int64_t at, float x, bool add) {
  if (t.type == BRIM_TYPE_BF16) {
    brim_bfloat *y = t.at;
    y[at] = half_of(whole(add ? whole(wide_of(y[at])) + x : x));
  } else {
    float *y = t.at;
    y[at] = whole(add ? whole(y[at]) + x : x);
  }
}

static void obvious_forward(brim_ops_context *c, const brim_bf16_linear *l) {
  (void)c;
  for (int64_t r = 0; r < l->rows; r++)
    for (int64_t o = 0; o < l->out; o++)
      put(l->y, r * l->y_stride + o,
          obvious_sum(l->b ? l->b[o] : 0, l->in, (side){l->x + r * l->x_stride, 1}, (side){l->w + o * l->in, 1}), l->add);
}

static void obvious_backward(brim_ops_context *c, const brim_bf16_linear_gradient *g) {
  enum { STRETCH = 1024 };
  (void)c;
  for (int64_t r = 0; r < g->rows; r++)
    for (int64_t i = 0; i < g->in; i++)
      put(g->dx, r * g->dx_stride + i, obvious_sum(0, g->out, (side){g->dy + r * g->dy_stride, 1}, (side){g->w + i, g->in}),
          g->add);
  const int64_t stretches = (g->rows + STRETCH - 1) / STRETCH;
  for (int64_t s = 0; s < stretches; s++) {
    const int64_t row = g->rows * s / stretches, depth = g->rows * (s + 1) / stretches - row;
    for (int64_t o = 0; o < g->out; o++) {
      const side dy = {g->dy + row * g->dy_stride + o, g->dy_stride};
      float sum = 0;
      for (int64_t r = 0; r < depth; r++)
        sum = whole(sum + whole(wide_of(dy.at[r * dy.step])));
      if (g->db)
        g->db[o] = whole(whole(g->db[o]) + sum);
      for (int64_t i = 0; i < g->in; i++)
        put((brim_typed){BRIM_TYPE_REAL, g->dw}, o * g->in + i,
            obvious_sum(0, depth, dy, (side){g->x + row * g->x_stride + i, g->x_stride}), true);
    }
  }
}

typedef void (*kind_fn)(const brim_ops *ops, brim_ops_context *c, const shape *s, kind k, record *out);

static record run_way(const brim_ops *ops, brim_bf16_way way, int threads, const shape *s, kind k, kind_fn fn) {
  const brim_ops_limits limits = limits_of(s);
  const brim_runtime_options options = {.threads = threads};
  brim_ops_context c = {0};
  record out = {0};
  if (brim_runtime_new(&options, &c.runtime, NULL))
    abort();
  c.runtime->bf16 = way;
  c.workspace_size = ops->workspace ? ops->workspace(&c, &limits) : 0;
  c.workspace = aligned_alloc(64, (c.workspace_size + 64) / 64 * 64);
  if (!c.workspace)
    abort();
  memset(c.workspace, 0xff, c.workspace_size);
  fn(ops, &c, s, k, &out);
  free(c.workspace);
  brim_runtime_free(c.runtime);
  return out;
}

/* Zeros have a sign; NaN is NaN. */
static bool same_values(const record *a, const record *b) {
  bool same = a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++)
    same = memcmp(&a->value[i], &b->value[i], sizeof a->value[i]) == 0 || (isnan(a->value[i]) && isnan(b->value[i]));
  return same;
}

static void check_bits(const shape *s, kind k, kind_fn fn, const char *name) {
  const brim_ops obvious = {.name = "obvious", .bf16_forward = obvious_forward, .bf16_backward = obvious_backward};
  record want = run_way(&obvious, BRIM_BF16_WIDENED, 1, s, k, fn);
  const bool pairs = brim_cpu_describe().avx512_bf16;
  int wrong = 0, compared = 0;
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level))
    for (int way = BRIM_BF16_WIDENED; way <= (pairs && level == BRIM_CPU_AVX512 ? BRIM_BF16_PAIRS : BRIM_BF16_WIDENED); way++)
      for (int threads = 1; threads < 4; threads += 2) {
        record got = run_way(brim_ops_cpu((brim_cpu_level)level), (brim_bf16_way)way, threads, s, k, fn);
        const bool same = same_values(&got, &want);
        if (!same)
          printf("# %s, way %d, %d threads\n", brim_cpu_name((brim_cpu_level)level), way, threads);
        wrong += !same, compared++;
        record_free(&got);
      }
  ok(wrong == 0, "%s %d x %d -> %d, values %d: %d ways give the obvious bits", name, s->rows, s->in, s->out, (int)k, compared);
  record_free(&want);
}

static void check_all_bits(void) {
  static const shape shapes[] = {
      {1, 1, 1, 0, true, false, false},     {17, 37, 45, 3, true, true, false},  {31, 64, 33, 0, false, false, true},
      {9, 1101, 12, 1, true, false, false}, {5, 20, 1101, 0, true, true, false}, {2, 4301, 7, 1, true, false, true},
      {1037, 9, 15, 2, true, true, false},  {2051, 6, 5, 1, true, false, false}, {40, 130, 70, 0, true, true, true},
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < KINDS; k++) {
      if (!tap_takes("bits", i * KINDS + (size_t)k))
        continue;
      check_bits(&shapes[i], (kind)k, forward_of, "bits of bf16 linear");
      check_bits(&shapes[i], (kind)k, backward_of, "bits of its gradient");
    }
}

/* ---- AMX: what is around its five operations; and these, where there is a processor */

/* The unit and its emulation, with one thread and three: numbers near both ends of the range, infinities, NaN, any bits. */
static void check_unit(const shape *s, kind k, bool back) {
  const brim_ops *ops = brim_ops_cpu(BRIM_CPU_AVX512);
  const kind_fn fn = back ? backward_of : forward_of;
  record want = run_way(ops, BRIM_BF16_TILES_EMULATED, 1, s, k, fn), got = run_way(ops, BRIM_BF16_TILES, 1, s, k, fn),
         threads = run_way(ops, BRIM_BF16_TILES, 3, s, k, fn);
  ok(same_values(&got, &want) && same_values(&threads, &want), "AMX has the bits of its emulation: %d x %d -> %d%s, values %d",
     s->rows, s->in, s->out, back ? ", gradient" : "", (int)k);
  record_free(&want), record_free(&got), record_free(&threads);
}

static void check_tiles(void) {
  static const shape shapes[] = {
      {1, 1, 1, 0, true, false, false},     {17, 37, 45, 3, true, true, false},   {32, 64, 32, 0, true, false, false},
      {33, 63, 65, 1, false, false, false}, {70, 129, 97, 0, true, true, false},  {1040, 31, 47, 2, true, false, false},
      {5, 4301, 40, 0, true, false, false}, {600, 48, 150, 0, true, true, false}, {49, 36, 33, 0, true, true, true},
      {47, 64, 65, 3, true, true, false},   {70, 4301, 40, 0, true, true, false}, {530, 96, 40, 0, true, true, true}};
  if (!level_is_emulated())
    return;
  const brim_ops *ops = brim_ops_cpu(BRIM_CPU_AVX512);
  const bool real_ones = brim_cpu_detect() == BRIM_CPU_AMX;
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int back = 0; back < 2; back++) {
      if (!tap_takes("tiles", 2 * i + (size_t)back))
        continue;
      const kind_fn fn = back ? backward_of : forward_of;
      const char *where = "";
      record want = run_way(brim_ops_ref(), BRIM_BF16_WIDENED, 1, &shapes[i], ORDINARY, fn);
      record got = run_way(ops, BRIM_BF16_TILES_EMULATED, 1, &shapes[i], ORDINARY, fn);
      record threads = run_way(ops, BRIM_BF16_TILES_EMULATED, 3, &shapes[i], ORDINARY, fn);
      const double difference = record_difference(&got, &want, &where), most = shapes[i].half ? 5e-3 : 3e-6;
      ok(difference < most && same_values(&got, &threads), "tiles, emulated, %d x %d -> %d%s: %.1e from the reference",
         shapes[i].rows, shapes[i].in, shapes[i].out, back ? ", gradient" : "", difference);
      for (int k = 0; real_ones && k < KINDS; k++)
        check_unit(&shapes[i], (kind)k, back);
      record_free(&want), record_free(&got), record_free(&threads);
    }
  if (!real_ones)
    printf("# no AMX here: its emulation is not compared with it\n");
}

/* ---- which way a processor takes */

static void check_choice(void) {
  static const struct {
    const char *name;
    brim_cpu_model model;
    bool allowed;
    brim_bf16_way way;
  } rows[] = {
      {"Zen 3", {"AuthenticAMD", 25, 1, 0, false, false, false}, false, BRIM_BF16_WIDENED},
      {"Zen 4", {"AuthenticAMD", 25, 17, 1, true, false, false}, false, BRIM_BF16_PAIRS},
      {"Zen 5", {"AuthenticAMD", 26, 2, 1, true, false, false}, false, BRIM_BF16_PAIRS},
      {"Cascade Lake", {"GenuineIntel", 6, 85, 7, false, false, false}, false, BRIM_BF16_WIDENED},
      {"Cooper Lake", {"GenuineIntel", 6, 85, 11, true, false, false}, false, BRIM_BF16_PAIRS},
      {"Sapphire Rapids", {"GenuineIntel", 6, 143, 8, true, true, true}, true, BRIM_BF16_TILES},
      {"Sapphire Rapids, system says no", {"GenuineIntel", 6, 143, 8, true, true, true}, false, BRIM_BF16_WIDENED},
      {"Sapphire Rapids, AMX masked", {"GenuineIntel", 6, 143, 8, true, false, false}, false, BRIM_BF16_WIDENED},
      {"unknown", {"", 0, 0, 0, true, false, false}, false, BRIM_BF16_WIDENED},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ok_int(brim_cpu_bf16_of(&rows[i].model, rows[i].allowed), rows[i].way, rows[i].name);
  ok_int(brim_cpu_bf16(BRIM_CPU_AVX2), BRIM_BF16_WIDENED, "below AVX-512 values are widened");
}

#endif

CASES(bf16) {
  check_against_reference();
#if !defined(BRIM_REAL_DOUBLE) && !defined(BRIM_CASE_CUDA)
  if (ops_only_calls())
    return;
  check_all_bits();
  check_tiles();
  check_choice();
#endif
}
