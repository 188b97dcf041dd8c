/* ops_window.c: attention with a window against plain loops over all pairs in double precision, at every level: windows and texts
 * whose ends meet those of blocks and spans, and a long text. */
#include "ops_case.h"

typedef struct pass {
  int length, size;
  const real *q, *k, *v, *dout; /* [length, size] */
  double *out, *dq, *dk, *dv;
} pass;

static double dot(const real *x, const real *y, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += (double)x[i] * (double)y[i];
  return sum;
}

/* One query: its probabilities p over first .. end - 1, and all that follows from them. */
static void slow_query(const pass *s, int t, int first, int end, double *p) {
  const double scale = 1 / sqrt(s->size);
  const real *q = s->q + t * s->size, *dout = s->dout + t * s->size;
  double sum = 0, delta = 0;
  for (int j = first; j < end; j++)
    sum += p[j] = exp(scale * dot(q, s->k + j * s->size, s->size));
  for (int j = first; j < end; j++) {
    p[j] /= sum;
    delta += p[j] * dot(dout, s->v + j * s->size, s->size);
  }
  for (int j = first; j < end; j++) {
    const double ds = scale * p[j] * (dot(dout, s->v + j * s->size, s->size) - delta);
    for (int i = 0; i < s->size; i++) {
      s->out[t * s->size + i] += p[j] * (double)s->v[j * s->size + i];
      s->dv[j * s->size + i] += p[j] * (double)dout[i];
      s->dq[t * s->size + i] += ds * (double)s->k[j * s->size + i];
      s->dk[j * s->size + i] += ds * (double)q[i];
    }
  }
}

static void slow(const pass *s, int window) {
  double *p = malloc((size_t)s->length * sizeof *p);
  if (!p)
    abort();
  for (int t = 0; t < s->length; t++) {
    int first = 0, end = 0;
    for (int j = 0; j < s->length; j++)
      if (abs(t - j) <= window) {
        first = end == 0 ? j : first;
        end = j + 1;
      }
    slow_query(s, t, first, end, p);
  }
  free(p);
}

static double apart(const real *got, const double *want, int count) {
  double worst = 0, top = 0;
  for (int i = 0; i < count; i++) {
    worst = fmax(worst, fabs((double)got[i] - want[i]));
    top = fmax(top, fabs(want[i]));
  }
  return worst / top;
}

static double compare(const brim_ops *ops, brim_ops_context *c, case_memory *m, const pass *s, int window) {
  const int count = s->length * s->size, lengths[1] = {s->length};
  real *out = case_fill(m, count, 7), *lse = case_fill(m, s->length, 7), *dq = case_fill(m, count, 7),
       *dk = case_fill(m, count, 7), *dv = case_fill(m, count, 7);
  const brim_attention a = {.layout = case_layout(m, 1, lengths, 0),
                            .heads = 1,
                            .head_size = s->size,
                            .window = window,
                            .scale = (real)(1 / sqrt(s->size)),
                            .q = s->q,
                            .k = s->k,
                            .v = s->v,
                            .q_stride = s->size,
                            .kv_stride = s->size,
                            .out = out,
                            .out_stride = s->size,
                            .lse = lse,
                            .dout = s->dout,
                            .dq = dq,
                            .dk = dk,
                            .dv = dv};
  ops->attention_forward(c, &a);
  ops->attention_backward(c, &a);
  return fmax(fmax(apart(out, s->out, count), apart(dq, s->dq, count)), fmax(apart(dk, s->dk, count), apart(dv, s->dv, count)));
}

static double *zeros(case_memory *m, int count) {
  double *x = case_alloc(m, (size_t)count * sizeof *x);
  for (int i = 0; i < count; i++)
    x[i] = 0;
  return x;
}

/* Pairs of a query and a key that it sees. */
static double pairs_of(int length, int window) {
  double pairs = 0;
  for (int t = 0; t < length; t++)
    pairs += fmin(length - 1, t + window) - fmax(0, t - window) + 1;
  return pairs;
}

static void check_ops(const brim_ops *ops, brim_ops_context *c, const pass *s, int window) {
  const brim_ops_limits limits = {
      .max_slots = s->length, .max_sequences = 1, .max_length = s->length, .hidden = s->size, .heads = 1, .window = window};
  case_memory own = {0};
  c->workspace_size = (ops->workspace(c, &limits) + 63) / 64 * 64;
  c->workspace = aligned_alloc(64, c->workspace_size + BEYOND);
  if (!c->workspace)
    abort();
  memset(c->workspace, 0xff, c->workspace_size + BEYOND);
  c->stats.attention_flops = 0;
  const double worst = compare(ops, c, &own, s, window);
  ok(worst <= 3e-6 && c->stats.attention_flops == 14 * pairs_of(s->length, window) * s->size,
     "%s: %d tokens, window %d, head of %d: %.1e", brim_ops_class(ops, c, false), s->length, window, s->size, worst);
  case_check_beyond(ops, c);
  free(c->workspace);
  case_free(&own);
}

static void check(brim_ops_context *c, int length, int window, int size) {
  if (!tap_takes_all() && length > 1000) /* more of the same */
    return;
  case_memory m = {0};
  inputs in = {(uint64_t)(length * 100 + window)};
  const int count = length * size;
  const pass s = {.length = length,
                  .size = size,
                  .q = case_values(&m, &in, count, 2),
                  .k = case_values(&m, &in, count, 2),
                  .v = case_values(&m, &in, count, 2),
                  .dout = case_values(&m, &in, count, 2),
                  .out = zeros(&m, count),
                  .dq = zeros(&m, count),
                  .dk = zeros(&m, count),
                  .dv = zeros(&m, count)};
  slow(&s, window);
  for (int level = level_after(-2); level < LEVEL_END; level = level_after(level))
    check_ops(level < 0 ? brim_ops_ref() : brim_ops_cpu((brim_cpu_level)level), c, &s, window);
  if (level_is_emulated()) {
    const brim_bf16_way own = c->runtime->bf16;
    c->runtime->bf16 = BRIM_BF16_TILES_EMULATED;
    check_ops(brim_ops_cpu(BRIM_CPU_AMX), c, &s, window);
    c->runtime->bf16 = own;
  }
  case_free(&m);
}

CASES(window) {
  static const int windows[] = {1, 2, 16, 64}, lengths[] = {63, 64, 65, 66, 128, 129, 130, 255, 257, 511, 513, 600, 8192};
  static const int sizes[] = {16, 40}; /* three parts on AMX are those of wide heads */
  brim_ops_context c = {0};
  if (ops_only_calls())
    return;
  c.runtime = case_runtime_of(2);
  for (size_t w = 0; w < sizeof windows / sizeof *windows; w++)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
      for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (tap_takes("windows", (w * (sizeof lengths / sizeof *lengths) + i) * 2 + k))
          check(&c, lengths[i], windows[w], sizes[k]);
  brim_runtime_free(c.runtime);
}
