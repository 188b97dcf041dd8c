/* ops_linear.c: matrix products of every table, with activations and norms, forward and backward, on even and odd shapes. */
#include "ops_case.h"

typedef struct shape {
  int rows, in, out, extra; /* extra: columns between rows of x and y that belong to somebody else */
  bool bias, dx, add, weights;
} shape;

static brim_ops_limits limits_of(const shape *s) {
  const int32_t most = s->in > s->out ? s->in : s->out;
  return (brim_ops_limits){.max_slots = s->rows,
                           .max_sequences = 4,
                           .max_length = 64,
                           .hidden = s->in < s->out ? s->in : s->out,
                           .intermediate = most,
                           .heads = 1};
}

static void forward(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const shape *s = parameters;
  case_memory m = {0};
  inputs in = {11};
  const int64_t x_stride = s->in + s->extra, y_stride = s->out + s->extra;
  const real *x = case_values(&m, &in, s->rows * x_stride, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 0.1);
  const real *b = s->bias ? case_values(&m, &in, s->out, 1) : NULL;
  real *y = case_values(&m, &in, s->rows * y_stride, 1);
  brim_linear l = {
      .rows = s->rows, .in = s->in, .out = s->out, .x = x, .x_stride = x_stride, .w = w, .b = b, .y = y, .y_stride = y_stride};
  ops->linear_forward(c, &l);
  emit(out, "y", y, s->rows * y_stride);
  l.add = true;
  ops->linear_forward(c, &l);
  emit(out, "y added to", y, s->rows * y_stride);
  case_free(&m);
}

static void backward(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const shape *s = parameters;
  case_memory m = {0};
  inputs in = {12};
  const int64_t x_stride = s->in + s->extra, y_stride = s->out + s->extra;
  const real *x = case_values(&m, &in, s->rows * x_stride, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 0.1);
  const real *b = case_values(&m, &in, s->out, 1), *dy = case_values(&m, &in, s->rows * y_stride, 1);
  real *dx = case_values(&m, &in, s->rows * x_stride, 1), *dw = case_values(&m, &in, (int64_t)s->in * s->out, 1);
  real *db = case_values(&m, &in, s->out, 1), *y = case_fill(&m, s->rows * y_stride, 7);
  ops->linear_forward(c, &(brim_linear){.rows = s->rows,
                                        .in = s->in,
                                        .out = s->out,
                                        .x = x,
                                        .x_stride = x_stride,
                                        .w = w,
                                        .b = b,
                                        .y = y,
                                        .y_stride = y_stride});
  emit_output(out, "y", y, s->rows * y_stride, dy);
  ops->linear_backward(c, &(brim_linear_gradient){.rows = s->rows,
                                                  .in = s->in,
                                                  .out = s->out,
                                                  .x = x,
                                                  .x_stride = x_stride,
                                                  .w = w,
                                                  .dy = dy,
                                                  .dy_stride = y_stride,
                                                  .dx = s->dx ? dx : NULL,
                                                  .dx_stride = x_stride,
                                                  .add = s->add,
                                                  .dw = s->weights ? dw : NULL,
                                                  .db = s->bias ? db : NULL});
  if (s->dx && (s->add || !s->extra)) /* else columns of somebody else stay as they were */
    emit_gradient(out, "dx", dx, s->rows * x_stride, x, s->add);
  else
    emit(out, "dx", dx, s->rows * x_stride);
  if (s->weights)
    emit_gradient(out, "dw", dw, (int64_t)s->in * s->out, w, true);
  else
    emit(out, "dw", dw, (int64_t)s->in * s->out);
  if (s->bias)
    emit_gradient(out, "db", db, s->out, b, true);
  else
    emit(out, "db", db, s->out);
  case_free(&m);
}

/* Of y = x w^T + b; what is added to is 1 at first. */
typedef struct product_gradient {
  real *dx, *dw, *db;
} product_gradient;
static product_gradient backward_of(const brim_ops *ops, brim_ops_context *c, case_memory *m, int64_t rows, int in, int out,
                                    const real *x, const real *w, const real *dy) {
  const product_gradient g = {case_fill(m, rows * in, 7), case_fill(m, (int64_t)in * out, 1), case_fill(m, out, 1)};
  ops->linear_backward(c, &(brim_linear_gradient){.rows = rows,
                                                  .in = in,
                                                  .out = out,
                                                  .x = x,
                                                  .x_stride = in,
                                                  .w = w,
                                                  .dy = dy,
                                                  .dy_stride = out,
                                                  .dx = g.dx,
                                                  .dx_stride = in,
                                                  .dw = g.dw,
                                                  .db = g.db});
  return g;
}

typedef struct act_shape {
  shape s;
  brim_activation act;
  bool keep;
} act_shape;

static void activation(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const act_shape *p = parameters;
  const shape *s = &p->s;
  case_memory m = {0};
  inputs in = {13};
  const int64_t count = (int64_t)s->rows * s->out;
  const real *x = case_values(&m, &in, (int64_t)s->rows * s->in, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 1);
  const real *b = case_values(&m, &in, s->out, 1), *dy = case_values(&m, &in, count, 1);
  real *pre = case_fill(&m, count, 0), *y = case_fill(&m, count, 0), *dpre = case_fill(&m, count, 0);
  ops->linear_act_forward(c, &(brim_linear_act){.rows = s->rows,
                                                .in = s->in,
                                                .out = s->out,
                                                .x = x,
                                                .w = w,
                                                .b = b,
                                                .act = p->act,
                                                .pre = p->keep ? pre : NULL,
                                                .y = y});
  emit(out, "pre", pre, count);
  emit_output(out, "y", y, count, dy);
  ops->act_backward(
      c, &(brim_act_gradient){.count = count, .act = p->act, .pre = p->act == BRIM_ACT_TANH ? y : pre, .dy = dy, .dpre = dpre});
  emit(out, "dpre", dpre, count);
  const product_gradient g = backward_of(ops, c, &m, s->rows, s->in, s->out, x, w, dpre);
  emit_gradient(out, "dx", g.dx, (int64_t)s->rows * s->in, x, false);
  emit_gradient(out, "dw", g.dw, (int64_t)s->in * s->out, w, true);
  emit_gradient(out, "db", g.db, s->out, b, true);
  if (p->keep && p->act != BRIM_ACT_TANH) { /* backward of the weight that follows: [s->out] -> [s->in] */
    real *dz = case_values(&m, &in, (int64_t)s->rows * s->in, 1);
    ops->linear_act_backward(
        c, &(brim_linear_act_gradient){
               .rows = s->rows, .in = s->out, .out = s->in, .w = w, .dz = dz, .act = p->act, .pre = pre, .dpre = dpre});
    emit(out, "dpre of a product", dpre, count);
    emit(out, "y made again", pre, count);
  }
  case_free(&m);
}

/* z = act(x w^T + b) down^T: the activation's gradient in the product of z's. */
static void two_products(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  enum { Z = 27 };
  const act_shape *p = parameters;
  const shape *s = &p->s;
  case_memory m = {0};
  inputs in = {15};
  const int64_t count = (int64_t)s->rows * s->out;
  const real *x = case_values(&m, &in, (int64_t)s->rows * s->in, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 0.5);
  const real *b = case_values(&m, &in, s->out, 1), *down = case_values(&m, &in, (int64_t)Z * s->out, 0.5);
  const real *dz = case_values(&m, &in, (int64_t)s->rows * Z, 1);
  real *pre = case_fill(&m, count, 7), *y = case_fill(&m, count, 7), *dpre = case_fill(&m, count, 7);
  real *z = case_fill(&m, (int64_t)s->rows * Z, 7);
  ops->linear_act_forward(
      c,
      &(brim_linear_act){.rows = s->rows, .in = s->in, .out = s->out, .x = x, .w = w, .b = b, .act = p->act, .pre = pre, .y = y});
  ops->linear_forward(
      c, &(brim_linear){.rows = s->rows, .in = s->out, .out = Z, .x = y, .x_stride = s->out, .w = down, .y = z, .y_stride = Z});
  emit_output(out, "z", z, (int64_t)s->rows * Z, dz);
  ops->linear_act_backward(
      c, &(brim_linear_act_gradient){
             .rows = s->rows, .in = s->out, .out = Z, .w = down, .dz = dz, .act = p->act, .pre = pre, .dpre = dpre});
  const product_gradient up = backward_of(ops, c, &m, s->rows, s->in, s->out, x, w, dpre);
  emit_gradient(out, "dx", up.dx, (int64_t)s->rows * s->in, x, false);
  emit_gradient(out, "dw", up.dw, (int64_t)s->in * s->out, w, true);
  emit_gradient(out, "db", up.db, s->out, b, true);
  const product_gradient of_down = backward_of(ops, c, &m, s->rows, s->out, Z, pre, down, dz);
  emit_gradient(out, "dw of the second", of_down.dw, (int64_t)Z * s->out, down, true);
  case_free(&m);
}

static void residual_norm(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  const shape *s = parameters;
  case_memory m = {0};
  inputs in = {14};
  const int64_t count = (int64_t)s->rows * s->out;
  const int lengths[] = {s->rows / 3 + 1, s->rows - s->rows / 3};
  const brim_layout layout = case_layout(&m, 2, lengths, 0);
  int32_t *slot = case_alloc(&m, (size_t)s->rows * sizeof *slot);
  for (int r = 0; r < s->rows; r++)
    slot[r] = r + 1;
  const brim_rows at = {.count = s->rows, .slot = s->extra ? slot : NULL};
  const uint32_t key[2] = {5, 6};
  const brim_dropout d = brim_dropout_make(s->add ? 0.1 : 0, key, 9);
  const real *x = case_values(&m, &in, (int64_t)s->rows * s->in, 1), *w = case_values(&m, &in, (int64_t)s->in * s->out, 0.1);
  const real *b = case_values(&m, &in, s->out, 1), *residual = case_values(&m, &in, count, 2);
  const real *gamma = case_values(&m, &in, s->out, 1), *beta = case_values(&m, &in, s->out, 1),
             *dy = case_values(&m, &in, count, 1);
  real *sum = case_fill(&m, count, 0), *y = case_fill(&m, count, 0), *mean = case_fill(&m, s->rows, 0);
  real *rstd = case_fill(&m, s->rows, 0), *dsum = case_fill(&m, count, 0), *dbranch = case_fill(&m, count, 0);
  real *dgamma = case_fill(&m, s->out, 1), *dbeta = case_fill(&m, s->out, 1);
  brim_linear_norm l = {
      .in = s->in,
      .out = s->out,
      .x = x,
      .w = w,
      .b = b,
      .residual =
          {.layout = layout, .at = at, .dropout = d, .residual = residual, .gamma = gamma, .beta = beta, .eps = (real)1e-12},
      .sum = sum,
      .mean = mean,
      .rstd = rstd,
      .y = y};
  ops->linear_norm_forward(c, &l);
  emit(out, "sum", sum, count);
  emit(out, "mean", mean, s->rows);
  emit(out, "rstd", rstd, s->rows);
  emit_output(out, "y", y, count, dy);
  real *again = case_fill(&m, count, 0);
  ops->norm_forward(c, &(brim_norm){s->rows, s->out, case_real(sum), mean, rstd, gamma, beta, case_real(again)});
  if (memcmp(again, y, (size_t)count * sizeof *y) != 0)
    again[0] = (real)NAN; /* the same bits are promised */
  emit(out, "y made again", again, count);
  ops->norm_backward(c, &(brim_norm_gradient){.layout = layout,
                                              .at = at,
                                              .dropout = d,
                                              .width = s->out,
                                              .sum = case_real(sum),
                                              .mean = mean,
                                              .rstd = rstd,
                                              .gamma = gamma,
                                              .dy = dy,
                                              .dsum = dsum,
                                              .dbranch = case_real(s->dx ? dbranch : NULL),
                                              .dgamma = s->weights ? dgamma : NULL,
                                              .dbeta = s->weights ? dbeta : NULL});
  emit_gradient(out, "dsum", dsum, count, residual, false);
  emit(out, "dbranch", dbranch, count);
  if (s->weights) {
    emit_gradient(out, "dgamma", dgamma, s->out, gamma, true);
    emit_gradient(out, "dbeta", dbeta, s->out, beta, true);
  } else {
    emit(out, "dgamma", dgamma, s->out);
    emit(out, "dbeta", dbeta, s->out);
  }
  if (s->dx) {
    const product_gradient g = backward_of(ops, c, &m, s->rows, s->in, s->out, x, w, dbranch);
    emit_gradient(out, "dx", g.dx, (int64_t)s->rows * s->in, x, false);
    emit_gradient(out, "dw", g.dw, (int64_t)s->in * s->out, w, true);
    emit_gradient(out, "db", g.db, s->out, b, true);
  }
  memcpy(sum, residual, (size_t)count * sizeof *sum); /* sum may be the residual's memory */
  l.residual.residual = sum;
  ops->linear_norm_forward(c, &l);
  emit(out, "in place", sum, count);
  case_free(&m);
}

/* A classifier with more outputs than the working memory was made for. */
static void wide_classifier(const brim_ops *ops, brim_ops_context *c, const void *parameters, record *out) {
  forward(ops, c, parameters, out);
  backward(ops, c, parameters, out);
}

CASES(linear) {
  static const shape shapes[] = {
      {1, 1, 1, 0, true, true, false, true},       {5, 36, 50, 0, true, true, false, true},
      {29, 36, 108, 3, true, true, true, true},    {64, 64, 32, 0, false, true, false, true},
      {113, 50, 36, 5, true, true, false, true},   {57, 96, 384, 0, true, true, true, true},
      {700, 40, 72, 0, true, true, false, true},   {1100, 33, 17, 1, true, true, true, true},
      {16, 384, 2, 0, true, true, false, true},    {61, 32, 448, 0, true, false, false, true},
      {61, 448, 32, 0, false, true, false, false}, {40, 64, 64, 0, true, true, false, false},
      {1, 65, 37, 0, true, true, false, true},     {0, 36, 50, 0, true, true, false, true},
      {512, 65, 3, 0, true, true, true, true},
  };
  char name[128];
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const shape *s = &shapes[i];
    const brim_ops_limits limits = limits_of(s);
    snprintf(name, sizeof name, "linear %d x %d -> %d", s->rows, s->in, s->out);
    check_case(name, &limits, forward, s, 3e-6);
    snprintf(name, sizeof name, "gradient of linear %d x %d -> %d", s->rows, s->in, s->out);
    check_case(name, &limits, backward, s, 3e-6);
    snprintf(name, sizeof name, "linear, residual, norm %d x %d -> %d", s->rows, s->in, s->out);
    if (s->out > 8)
      check_case(name, &limits, residual_norm, s, 2e-5);
  }
  static const brim_activation acts[] = {BRIM_ACT_NONE, BRIM_ACT_GELU, BRIM_ACT_GELU_NEW,
                                         BRIM_ACT_RELU, BRIM_ACT_TANH, BRIM_ACT_SILU};
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
    for (int keep = 0; keep < 2; keep++) {
      const act_shape p = {{70, 36, 50, 0, true, true, false, true}, acts[i], keep};
      const brim_ops_limits limits = limits_of(&p.s);
      snprintf(name, sizeof name, "activation %d, %s", (int)acts[i], keep ? "kept" : "not kept");
      if (keep || acts[i] == BRIM_ACT_TANH)
        check_case(name, &limits, activation, &p, 3e-6);
      snprintf(name, sizeof name, "activation %d between two products", (int)acts[i]);
      if (keep && acts[i] != BRIM_ACT_TANH)
        check_case(name, &limits, two_products, &p, 3e-6);
    }
  }
  const shape wide = {9, 40, 1000, 0, true, true, false, true};
  const brim_ops_limits small = {
      .max_slots = 9, .max_sequences = 1, .max_length = 9, .hidden = 40, .intermediate = 80, .heads = 1};
  check_case("classifier of 1000 outputs", &small, wide_classifier, &wide, 3e-6);
}
