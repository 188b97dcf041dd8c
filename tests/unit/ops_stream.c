/* ops_stream.c: norms alone, sums of a stream, gated activations and rotary positions of every table, in 32 bits and in 16. */
#include "ops_case.h"

typedef struct setting {
  int n, hidden, heads, width; /* width 0: ragged */
  bool dropout, second;
  brim_activation act;
  int lengths[4];
} setting;

/* Layer and RMS norms, written and added, with and without bias. */
typedef struct norm_setting {
  const setting *s;
  int variant;
} norm_setting;
static void norms(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_setting *p = parameters;
  const setting *s = p->s;
  const int variant = p->variant;
  case_memory m = {0};
  inputs in = {61};
  const int64_t rows = case_layout(&m, s->n, s->lengths, s->width).slots, count = rows * s->hidden;
  const real *x = case_values(&m, &in, count, 2), *gamma = case_values(&m, &in, s->hidden, 1),
             *beta = case_values(&m, &in, s->hidden, 1), *dy = case_values(&m, &in, count, 1);
  real *mean = case_fill(&m, rows, 7), *rstd = case_fill(&m, rows, 7), *y = case_fill(&m, count, 7),
       *same = case_fill(&m, count, 7);
  real *dx = case_values(&m, &in, count, 1), *dgamma = case_fill(&m, s->hidden, 1), *dbeta = case_fill(&m, s->hidden, 1);
  const bool rms = variant & 1, add = variant & 2;
  const real *bias = variant == 3 ? NULL : beta;
  ops->prenorm_forward(c, &(brim_prenorm){.rows = rows,
                                          .width = s->hidden,
                                          .rms = rms,
                                          .eps = (real)1e-5,
                                          .x = case_real(x),
                                          .gamma = gamma,
                                          .beta = bias,
                                          .mean = mean,
                                          .rstd = rstd,
                                          .y = case_real(y)});
  ops->norm_forward(c, &(brim_norm){rows, s->hidden, case_real(x), mean, rstd, gamma, bias, case_real(same)});
  if (memcmp(y, same, (size_t)count * sizeof *y) != 0)
    ok(false, "norm_forward gives the same bits (variant %d)", variant);
  emit_output(out, "y", y, count, dy);
  emit(out, "rstd", rstd, rows);
  ops->prenorm_backward(c, &(brim_prenorm_gradient){.rows = rows,
                                                    .width = s->hidden,
                                                    .rms = rms,
                                                    .add = add,
                                                    .x = case_real(x),
                                                    .dy = case_real(dy),
                                                    .mean = mean,
                                                    .rstd = rstd,
                                                    .gamma = gamma,
                                                    .dx = dx,
                                                    .dgamma = variant == 2 ? NULL : dgamma,
                                                    .dbeta = bias ? dbeta : NULL});
  emit_gradient(out, "dx", dx, count, x, add);
  if (variant != 2)
    emit_gradient(out, "dgamma", dgamma, s->hidden, gamma, true);
  else
    emit(out, "dgamma", dgamma, s->hidden);
  if (bias)
    emit_gradient(out, "dbeta", dbeta, s->hidden, beta, true);
  else
    emit(out, "dbeta", dbeta, s->hidden);
  case_free(&m);
}

static void streams(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {62};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden;
  const uint32_t key[2] = {5, 6};
  const brim_dropout dropout = brim_dropout_make(s->dropout ? 0.25 : 0, key, 9);
  const brim_rows all = {.count = layout.slots}, few = {.count = s->n, .slot = layout.offsets};
  real *x = case_values(&m, &in, count, 1), *y = case_fill(&m, count, 7);
  const real *residual = case_values(&m, &in, count, 1), *dy = case_values(&m, &in, count, 1);
  real *dx = case_fill(&m, count, 7), *dresidual = case_fill(&m, count, 7);
  brim_stream_sum sum = {
      .layout = layout, .at = all, .width = s->hidden, .dropout = dropout, .residual = residual, .x = x, .y = y};
  ops->stream_sum(c, &sum);
  emit_output(out, "sum", y, count, dy);
  ops->dropout(c, &(brim_dropout_rows){.layout = layout, .at = all, .width = s->hidden, .dropout = dropout, .x = dy, .y = dx});
  emit_gradient(out, "dx", dx, count, x, false);
  memcpy(dresidual, dy, (size_t)count * sizeof *dy);
  emit_gradient(out, "dresidual", dresidual, count, residual, false);
  sum.y = x;
  sum.at = few;
  ops->stream_sum(c, &sum);
  emit(out, "in place, of few rows", x, count);
  case_free(&m);
}

/* With a copy in 16 bits. */
static void copied_streams(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {68};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden;
  const uint32_t key[2] = {5, 6};
  real *y = case_fill(&m, count, 7);
  brim_bfloat *copy = rounded(&m, y, count);
  ops->stream_sum(c, &(brim_stream_sum){.layout = layout,
                                        .at = {.count = layout.slots},
                                        .width = s->hidden,
                                        .dropout = brim_dropout_make(s->dropout ? 0.25 : 0, key, 9),
                                        .residual = case_values(&m, &in, count, 1),
                                        .x = case_values(&m, &in, count, 1),
                                        .y = y,
                                        .rounded_y = copy});
  emit(out, "sum", y, count);
  emit_rounded(out, "the copy", copy, y, count);
  case_free(&m);
}

static void gates(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {63};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden;
  const uint32_t key[2] = {7, 8};
  real *pre = case_values(&m, &in, 2 * count, 3), *y = case_fill(&m, count, 7), *dy = case_values(&m, &in, count, 1),
       *dpre = case_fill(&m, 2 * count, 7);
  brim_gate g = {.layout = layout,
                 .at = {.count = layout.slots},
                 .width = s->hidden,
                 .act = s->act,
                 .second = s->second,
                 .dropout = brim_dropout_make(s->dropout ? 0.25 : 0, key, 9),
                 .pre = case_real(pre),
                 .y = case_real(y),
                 .dy = case_real(dy),
                 .dpre = case_real(dpre)};
  ops->gate_forward(c, &g);
  emit_output(out, "gated", y, count, dy);
  ops->gate_backward(c, &g);
  emit_gradient(out, "dpre", dpre, 2 * count, pre, false);
  g.dpre = g.pre;
  ops->gate_backward(c, &g);
  emit(out, "dpre in place", pre, 2 * count);
  case_free(&m);
}

static void rotations(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {64};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t stride = s->hidden + 5, count = layout.slots * stride;
  real *x = case_values(&m, &in, count, 1), *before = case_alloc(&m, (size_t)count * sizeof *before);
  int32_t *last = case_alloc(&m, (size_t)s->n * sizeof *last);
  brim_rotary p = {.layout = layout,
                   .at = {.count = layout.slots},
                   .heads = s->heads,
                   .head_size = s->hidden / s->heads,
                   .theta = 10000,
                   .x = case_real(x),
                   .stride = stride};
  real *weight = case_values(&m, &in, count, 1);
  memcpy(before, x, (size_t)count * sizeof *x);
  ops->rotate(c, &p);
  emit_output(out, "rotated", x, count, weight);
  p.back = true;
  p.x = case_real(weight);
  ops->rotate(c, &p);
  emit_gradient(out, "the gradient, rotated back", weight, count, x, false);
  p.x = case_real(x);
  ops->rotate(c, &p);
  emit(out, "rotated back", x, count);
  double worst = 0;
  for (int64_t i = 0; i < count; i++)
    worst = fmax(worst, fabs((double)(x[i] - before[i])));
  if (worst > 1e-6)
    ok(false, "rotated back it is not what it was: %g", worst);
  for (int i = 0; i < s->n; i++) /* the places of rows are those of their slots */
    last[i] = layout.offsets[i] + layout.lengths[i] - 1;
  p.at = (brim_rows){.count = s->n, .slot = last};
  ops->rotate(c, &p);
  emit(out, "of few rows", x, count);
  case_free(&m);
}

/* ---- in 16 bits: to the bit what single precision gives from the same numbers, rounded */

static void half_norms(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const norm_setting *p = parameters;
  const setting *s = p->s;
  case_memory m = {0};
  inputs in = {65};
  const int64_t rows = case_layout(&m, s->n, s->lengths, s->width).slots, count = rows * s->hidden;
  const brim_bfloat *x = rounded(&m, case_values(&m, &in, count, 2), count),
                    *dy = rounded(&m, case_values(&m, &in, count, 1), count);
  const real *gamma = case_values(&m, &in, s->hidden, 1), *beta = case_values(&m, &in, s->hidden, 1);
  real *wide = case_fill(&m, count, 7), *y = case_fill(&m, count, 7);
  brim_bfloat *half = rounded(&m, y, count), *again = rounded(&m, y, count);
  brim_prenorm f = {.rows = rows,
                    .width = s->hidden,
                    .rms = p->variant & 1,
                    .eps = (real)1e-5,
                    .x = case_real(widened(&m, x, count)),
                    .gamma = gamma,
                    .beta = p->variant == 3 ? NULL : beta,
                    .mean = case_fill(&m, rows, 7),
                    .rstd = case_fill(&m, rows, 7),
                    .y = case_real(wide)};
  ops->prenorm_forward(c, &f);
  f.x = case_half(x);
  f.mean = case_fill(&m, rows, 7);
  f.rstd = case_fill(&m, rows, 7);
  f.y = case_real(y);
  ops->prenorm_forward(c, &f);
  emit_same(out, "y in 32 bits", y, wide, count);
  f.y = case_half(half);
  ops->prenorm_forward(c, &f);
  emit_rounded(out, "y", half, wide, count);
  ops->norm_forward(c, &(brim_norm){rows, s->hidden, f.x, f.mean, f.rstd, gamma, f.beta, case_half(again)});
  emit_rounded(out, "y made again", again, wide, count);
  brim_prenorm_gradient g = {.rows = rows,
                             .width = s->hidden,
                             .rms = f.rms,
                             .add = p->variant & 2,
                             .x = case_real(widened(&m, x, count)),
                             .dy = case_real(widened(&m, dy, count)),
                             .mean = f.mean,
                             .rstd = f.rstd,
                             .gamma = gamma,
                             .dx = case_fill(&m, count, 1),
                             .dgamma = case_fill(&m, s->hidden, 1),
                             .dbeta = case_fill(&m, s->hidden, 1)};
  brim_prenorm_gradient h = g;
  ops->prenorm_backward(c, &g);
  h.x = f.x;
  h.dy = case_half(dy);
  h.dx = case_fill(&m, count, 1);
  h.dgamma = case_fill(&m, s->hidden, 1);
  h.dbeta = case_fill(&m, s->hidden, 1);
  ops->prenorm_backward(c, &h);
  emit_same(out, "dx", h.dx, g.dx, count);
  emit_same(out, "dgamma", h.dgamma, g.dgamma, s->hidden);
  emit_same(out, "dbeta", h.dbeta, g.dbeta, s->hidden);
  case_free(&m);
}

static void half_gates(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {66};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t count = (int64_t)layout.slots * s->hidden;
  const uint32_t key[2] = {7, 8};
  brim_bfloat *pre = rounded(&m, case_values(&m, &in, 2 * count, 3), 2 * count);
  const brim_bfloat *dy = rounded(&m, case_values(&m, &in, count, 1), count);
  real *wide = case_fill(&m, count, 7), *wide_dpre = case_fill(&m, 2 * count, 7);
  brim_bfloat *y = rounded(&m, wide, count);
  brim_gate g = {.layout = layout,
                 .at = {.count = layout.slots},
                 .width = s->hidden,
                 .act = s->act,
                 .second = s->second,
                 .dropout = brim_dropout_make(s->dropout ? 0.25 : 0, key, 9),
                 .pre = case_real(widened(&m, pre, 2 * count)),
                 .y = case_real(wide),
                 .dy = case_real(widened(&m, dy, count)),
                 .dpre = case_real(wide_dpre)};
  ops->gate_forward(c, &g);
  ops->gate_backward(c, &g);
  g.pre = g.dpre = case_half(pre);
  g.dy = case_half(dy);
  g.y = case_half(y);
  ops->gate_forward(c, &g);
  emit_rounded(out, "gated", y, wide, count);
  ops->gate_backward(c, &g);
  emit_rounded(out, "dpre", pre, wide_dpre, 2 * count);
  case_free(&m);
}

static void half_rotations(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const setting *s = parameters;
  case_memory m = {0};
  inputs in = {67};
  const brim_layout layout = case_layout(&m, s->n, s->lengths, s->width);
  const int64_t stride = s->hidden + 5, count = layout.slots * stride;
  brim_bfloat *x = rounded(&m, case_values(&m, &in, count, 1), count);
  real *wide = widened(&m, x, count);
  brim_rotary p = {.layout = layout,
                   .at = {.count = layout.slots},
                   .heads = s->heads,
                   .head_size = s->hidden / s->heads,
                   .back = s->second,
                   .theta = 10000,
                   .x = case_real(wide),
                   .stride = stride};
  ops->rotate(c, &p);
  p.x = case_half(x);
  ops->rotate(c, &p);
  emit_rounded(out, "rotated", x, wide, count);
  case_free(&m);
}

CASES(stream) {
  static const setting settings[] = {
      {1, 8, 2, 0, false, false, BRIM_ACT_GELU, {1}},
      {3, 36, 3, 0, true, true, BRIM_ACT_SILU, {5, 17, 2}},
      {4, 96, 4, 20, true, false, BRIM_ACT_SILU, {20, 3, 11, 1}},
      {2, 300, 5, 0, false, true, BRIM_ACT_GELU, {64, 60}},
      {2, 768, 12, 70, true, false, BRIM_ACT_GELU_NEW, {40, 64}},
      {2, 20, 1, 0, false, false, BRIM_ACT_RELU, {9, 4}},
      {2, 20, 2, 0, true, true, BRIM_ACT_TANH, {9, 4}},
      {2, 65, 1, 0, true, true, BRIM_ACT_SILU, {1, 33}},
      {2, 66, 1, 0, false, false, BRIM_ACT_NONE, {1, 69}},
      {0, 34, 1, 0, true, true, BRIM_ACT_GELU, {0}},
  };
  char name[128];
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const setting *s = &settings[i];
    const brim_ops_limits limits = {.max_slots = 400,
                                    .max_sequences = s->n,
                                    .max_length = 70,
                                    .hidden = s->hidden,
                                    .intermediate = s->hidden,
                                    .heads = s->heads};
    for (int variant = 0; variant < 4; variant++) {
      snprintf(name, sizeof name, "norm %d alone, width %d, setting %zu", variant, s->hidden, i);
      check_case(name, &limits, norms, &(norm_setting){s, variant}, 1e-5);
      snprintf(name, sizeof name, "norm %d alone in 16 bits, width %d, setting %zu", variant, s->hidden, i);
      check_case(name, &limits, half_norms, &(norm_setting){s, variant}, 1e-2);
    }
    snprintf(name, sizeof name, "sums of a stream, width %d%s, setting %zu", s->hidden, s->dropout ? ", dropout" : "", i);
    check_case(name, &limits, streams, s, 1e-6);
    snprintf(name, sizeof name, "sums of a stream in 16 bits too, width %d%s, setting %zu", s->hidden,
             s->dropout ? ", dropout" : "", i);
    check_case(name, &limits, copied_streams, s, 1e-2);
    snprintf(name, sizeof name, "gate, width %d, activation %d%s", s->hidden, (int)s->act, s->dropout ? ", dropout" : "");
    check_case(name, &limits, gates, s, 2e-6);
    snprintf(name, sizeof name, "gate in 16 bits, width %d, activation %d%s", s->hidden, (int)s->act,
             s->dropout ? ", dropout" : "");
    check_case(name, &limits, half_gates, s, 1e-2);
    snprintf(name, sizeof name, "rotary positions, %d heads of %d", s->heads, s->hidden / s->heads);
    if (s->hidden / s->heads % 2 == 0)
      check_case(name, &limits, rotations, s, 1e-6);
    snprintf(name, sizeof name, "rotary positions in 16 bits, %d heads of %d", s->heads, s->hidden / s->heads);
    if (s->hidden / s->heads % 2 == 0)
      check_case(name, &limits, half_rotations, s, 1e-2);
  }
}
