/* ops_int8.c: products of bytes. Every table, with and without instructions for it, has the integers of the slow and obvious
 * version below, so that the bits of a linear layer are the same everywhere. */
#include "ops_case.h"

typedef enum kind { RANDOM, EXTREME, ZEROS, TINY, HUGE_ONES, KINDS } kind;

typedef struct shape {
  int rows, in, out, extra;
  bool bias;
} shape;

/* ---- slow and obvious */

/* What a byte stands for: NaN where the values are not all finite, 0 where they are as good as 0. */
static float obvious_row(int n, const float *x, int *q) {
  float top = 0, scale;
  for (int i = 0; i < n; i++) {
    q[i] = 0;
    if (!isfinite(x[i]))
      top = NAN;
    else if (fabsf(x[i]) > top)
      top = fabsf(x[i]);
  }
  scale = isnan(top) ? NAN : top < ldexpf(1, -100) ? 0 : top / 127;
  const float inverse = 127 / top;
  for (int i = 0; i < n && scale > 0; i++)
    q[i] = (int)nearbyintf(x[i] * inverse);
  return scale;
}

static void obvious(const shape *s, const float *x, int64_t x_stride, const float *w, const float *b, float *y,
                    int64_t y_stride) {
  int *q = malloc((size_t)s->in * sizeof *q), *p = malloc((size_t)s->in * sizeof *p);
  for (int o = 0; o < s->out; o++) {
    const float w_scale = obvious_row(s->in, w + (int64_t)o * s->in, p);
    for (int r = 0; r < s->rows; r++) {
      const float x_scale = obvious_row(s->in, x + r * x_stride, q);
      long long sum = 0;
      for (int i = 0; i < s->in; i++)
        sum += q[i] * p[i];
      const float both = x_scale * w_scale, product = (float)sum * both;
      y[r * y_stride + o] = product + (b ? b[o] : 0);
    }
  }
  free(q), free(p);
}

/* ---- inputs */

static float value_of(kind k, inputs *in) {
  const double u = 2 * next_unit(in) - 1;
  switch (k) {
  case EXTREME:
    return u < 0 ? -3 : 3; /* all bytes are 127 or -127: 16-bit sums would not hold two products of 255 * 127 */
  case ZEROS:
    return 0;
  case TINY:
    return (float)ldexp(u, -101);
  case HUGE_ONES:
    return (float)ldexp(u, 100);
  default:
    return (float)(u * u * u);
  }
}

static float *values_of(case_memory *m, inputs *in, kind k, int64_t n) {
  float *x = case_alloc(m, (size_t)n * sizeof *x);
  for (int64_t i = 0; i < n; i++)
    x[i] = value_of(k, in);
  return x;
}

/* ---- a table with its packed weight */

typedef struct place {
  brim_ops_context c;
  const brim_ops *ops;
} place;

static place open_place(const brim_ops *ops, int threads, bool vnni, const brim_ops_limits *limits) {
  place p = {.ops = ops};
  const brim_runtime_options options = {.threads = threads};
  if (brim_runtime_new(&options, &p.c.runtime, NULL))
    abort();
  if (!vnni)
    memset(p.c.runtime->dot_bytes, 0, sizeof p.c.runtime->dot_bytes);
  p.c.workspace_size = ops->workspace(&p.c, limits);
  p.c.workspace = aligned_alloc(64, (p.c.workspace_size + 127) / 64 * 64);
  if (!p.c.workspace)
    abort();
  memset(p.c.workspace, 0xff, p.c.workspace_size);
  return p;
}
static void close_place(place *p) {
  free(p->c.workspace);
  brim_runtime_free(p->c.runtime);
}

static brim_int8 pack(place *p, case_memory *m, int in, int out, const float *w, const float *b) {
  void *packed = aligned_alloc(64, (p->ops->int8_size(in, out) + 63) / 64 * 64);
  if (!packed || m->count == CASE_BLOCKS)
    abort();
  m->block[m->count++] = packed;
  memset(packed, 0xff, p->ops->int8_size(in, out));
  const brim_int8 to = {in, out, packed};
  p->ops->int8_pack(&p->c, &(brim_int8_pack){.w = w, .b = b, .to = to});
  return to;
}

static void multiply(place *p, int64_t rows, brim_int8 w, const float *x, int64_t x_stride, float *y, int64_t y_stride) {
  p->ops->int8_forward(&p->c, &(brim_int8_linear){rows, w, x, x_stride, y, y_stride});
}

static brim_ops_limits limits_of(const shape *s) {
  return (brim_ops_limits){.max_slots = s->rows,
                           .max_sequences = 4,
                           .max_length = 64,
                           .hidden = s->in < s->out ? s->in : s->out,
                           .intermediate = s->in < s->out ? s->out : s->in,
                           .heads = 1,
                           .int8 = true};
}

/* ---- linear layers, to the bit */

/* Level -1 is the reference. */
static const brim_ops *ops_of(int level) {
  return case_counted(level < 0 ? brim_ops_ref() : brim_ops_cpu((brim_cpu_level)level));
}

static bool same_numbers(const float *a, const float *b, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    if (memcmp(&a[i], &b[i], sizeof *a) != 0 && !(isnan(a[i]) && isnan(b[i])) && !(a[i] == 0 && b[i] == 0))
      return false;
  return true;
}

static void check_linear(const shape *s, kind of_x, kind of_w) {
  case_memory m = {0};
  inputs in = {91};
  const int64_t x_stride = s->in + s->extra, y_stride = s->out + s->extra, count = s->rows * y_stride;
  float *x = values_of(&m, &in, of_x, s->rows * x_stride);
  const float *w = values_of(&m, &in, of_w, (int64_t)s->in * s->out), *b = s->bias ? values_of(&m, &in, RANDOM, s->out) : NULL;
  float *want = case_fill(&m, count, 7), *y = case_fill(&m, count, 7);
  if (s->rows > 3) { /* one row is all zeros, one has a NaN, one infinity */
    memset(x + x_stride, 0, (size_t)s->in * sizeof *x);
    x[2 * x_stride + s->in / 2] = NAN;
    x[3 * x_stride + s->in - 1] = -INFINITY;
  }
  obvious(s, x, x_stride, w, b, want, y_stride);
  const brim_ops_limits limits = limits_of(s);
  int wrong = 0, compared = 0;
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
    for (int how = 0; how < 4; how++) {
      place p = open_place(ops_of(level), how < 2 ? 1 : 3, how % 2, &limits);
      const brim_int8 packed = pack(&p, &m, s->in, s->out, w, b);
      for (int64_t i = 0; i < count; i++)
        y[i] = 7;
      multiply(&p, s->rows, packed, x, x_stride, y, y_stride);
      const bool same = same_numbers(y, want, count);
      if (!same)
        printf("# %s, %d threads%s\n", p.ops->name, how < 2 ? 1 : 3, how % 2 ? ", VNNI" : "");
      wrong += !same, compared++;
      close_place(&p);
    }
  ok(wrong == 0, "%d x %d -> %d, values %d, weights %d: %d ways give the obvious bits", s->rows, s->in, s->out, of_x, of_w,
     compared);
  case_free(&m);
}

/* A row's result is that of the row alone. */
static void check_rows(void) {
  const shape s = {29, 100, 70, 0, true};
  const brim_ops_limits limits = limits_of(&s);
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level)) {
    case_memory m = {0};
    inputs in = {92};
    place p = open_place(ops_of(level), 2, true, &limits);
    const float *x = values_of(&m, &in, RANDOM, 29 * 100), *w = values_of(&m, &in, RANDOM, 100 * 70);
    const brim_int8 packed = pack(&p, &m, 100, 70, w, NULL);
    float *all = case_fill(&m, 29 * 70, 0), *one = case_fill(&m, 70, 0);
    bool same = true;
    multiply(&p, 29, packed, x, 100, all, 70);
    for (int r = 0; r < 29; r++) {
      multiply(&p, 1, packed, x + r * 100, 100, one, 70);
      same = same && memcmp(one, all + r * 70, 70 * sizeof *one) == 0;
    }
    ok(same, "%s: a row is the same alone", p.ops->name);
    close_place(&p);
    case_free(&m);
  }
}

/* ---- with what follows: near the reference, the same bits for any number of threads, with VNNI and without */

typedef struct setting {
  shape s; /* in: hidden, out: intermediate */
  brim_activation act;
  bool dropout, gathered;
} setting;

static void run_branches(place *p, const setting *t, record *out) {
  const int hidden = t->s.in, wide = t->s.out, rows = t->s.rows;
  case_memory m = {0};
  inputs in = {93};
  const int lengths[] = {rows / 3 + 1, rows - rows / 3};
  const brim_layout layout = case_layout(&m, 2, lengths, 0);
  int32_t *slot = case_alloc(&m, (size_t)rows * sizeof *slot);
  for (int r = 0; r < rows; r++)
    slot[r] = r + 1;
  const brim_rows at = {.count = rows, .slot = t->gathered ? slot : NULL};
  const uint32_t key[2] = {5, 6};
  const brim_dropout dropout = brim_dropout_make(t->dropout ? 0.2 : 0, key, 9);
  const int64_t count = (int64_t)rows * hidden;
  const float *x = case_values(&m, &in, count, 1);
  const brim_residual r = {.layout = layout,
                           .at = at,
                           .dropout = dropout,
                           .residual = case_values(&m, &in, count, 2),
                           .gamma = case_values(&m, &in, hidden, 1),
                           .beta = case_values(&m, &in, hidden, 1),
                           .eps = 1e-12f};
  const brim_int8 own = pack(p, &m, hidden, hidden, case_values(&m, &in, (int64_t)hidden * hidden, 0.2),
                             case_values(&m, &in, hidden, 1));
  const brim_int8 up = pack(p, &m, hidden, wide, case_values(&m, &in, (int64_t)hidden * wide, 0.2),
                            case_values(&m, &in, wide, 1));
  const brim_int8 down = pack(p, &m, wide, hidden, case_values(&m, &in, (int64_t)wide * hidden, 0.2),
                              case_values(&m, &in, hidden, 1));
  float *y = case_fill(&m, count, 7);
  p->ops->int8_norm_forward(&p->c, &(brim_int8_norm){.w = own, .x = x, .residual = r, .y = y});
  emit(out, "norm", y, count);
  brim_residual again = r;
  again.residual = y; /* as in a layer: the input is the residual */
  float *z = case_fill(&m, count, 7);
  p->ops->int8_feed_forward(&p->c, &(brim_int8_feed){.up = up, .down = down, .act = t->act, .x = y, .residual = again, .y = z});
  emit(out, "feed-forward", z, count);
  case_free(&m);
}

static void check_branches(const setting *t) {
  const brim_ops_limits limits = limits_of(&t->s);
  record want = {0};
  place reference = open_place(ops_of(-1), 1, false, &limits);
  run_branches(&reference, t, &want);
  close_place(&reference);
  for (int level = level_after(LEVEL_REF); level < LEVEL_END; level = level_after(level)) {
    record first = {0};
    bool same = true;
    for (int how = 0; how < 6; how++) {
      record other = {0};
      place p = open_place(ops_of(level), how / 2 + 1, how % 2, &limits);
      run_branches(&p, t, &other);
      close_place(&p);
      same = same && (how == 0 || memcmp(first.value, other.value, other.count * sizeof *other.value) == 0);
      if (how == 0)
        first = other;
      else
        record_free(&other);
    }
    const char *where = "";
    const double apart = record_difference(&first, &want, &where);
    /* Rounding in GELU or a norm may turn a byte that lies between two: a step of 127. */
    ok(same && apart < 2e-2, "%s: %d x %d x %d, activation %d%s: near the reference (%.1e in %s), same bits in six ways%s",
       ops_of(level)->name, t->s.rows, t->s.in, t->s.out, t->act, t->dropout ? ", dropout" : "", apart, where,
       same ? "" : ": NOT");
    record_free(&first);
  }
  record_free(&want);
}

CASES(int8) {
  for (int rows = 1; rows <= 17; rows++) {
    const shape s = {rows, 36, 48, rows % 2, rows % 3 > 0};
    if (tap_takes("rows", (uint64_t)rows))
      check_linear(&s, RANDOM, RANDOM);
  }
  static const shape shapes[] = {{5, 1, 1, 0, true},     {7, 37, 33, 3, false},  {29, 384, 100, 0, true}, {57, 130, 384, 0, true},
                                 {130, 63, 32, 1, true}, {900, 33, 31, 0, true}, {6, 4099, 5, 0, false},  {3, 66, 130, 0, true}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    if (tap_takes("shapes", i))
      check_linear(&shapes[i], RANDOM, RANDOM);
  for (kind k = EXTREME; k < KINDS; k++) {
    if (!tap_takes("kinds", (uint64_t)k))
      continue;
    check_linear(&shapes[3], k, RANDOM);
    check_linear(&shapes[3], RANDOM, k);
    check_linear(&shapes[6], k, RANDOM);
    check_linear(&shapes[6], k, k);
  }
  check_rows();
  static const setting settings[] = {
      {{1, 48, 96, 0, true}, BRIM_ACT_GELU, false, false},     {{17, 50, 130, 0, true}, BRIM_ACT_GELU_NEW, true, true},
      {{70, 384, 1536, 0, true}, BRIM_ACT_GELU, false, false}, {{33, 36, 37, 0, true}, BRIM_ACT_RELU, true, false},
      {{300, 64, 40, 0, true}, BRIM_ACT_GELU, false, true},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
    if (tap_takes("branches", i))
      check_branches(&settings[i]);
}
