/* ops_gradients.c: every backward operation of the double-precision reference against central differences of its forward one. */
#define BRIM_REAL_DOUBLE
#include "ops_case.h"

enum { HIDDEN = 12, FEED = 10, HEADS = 3, SLOTS = 9, TEXTS = 3, WORDS = 6, POSITIONS = 5 };

/* A function of some inputs, and the gradient that the operations give for it. Each input is checked element by element. */
typedef struct check {
  const brim_ops *ops;
  brim_ops_context *c;
  brim_layout layout;
  brim_dropout dropout;
  brim_activation act;
  bool first_only;
  real *x, *w, *b, *gamma, *beta, *residual, *weights; /* weights: the loss is sum(weights * output) */
  real *dx, *dw, *db, *dgamma, *dbeta, *dresidual;
  real *scratch[8];
} check;

typedef double (*forward_fn)(check *k);

static double weighted(const check *k, const real *y, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += k->weights[i] * y[i];
  return sum;
}

/* Worst difference between gradient and central difference, relative to the gradient's largest value. */
static void compare(check *k, forward_fn forward, const char *name, real *x, const real *dx, int64_t n) {
  const double step = 1e-5;
  double worst = 0, top = 1e-9;
  for (int64_t i = 0; i < n; i++) {
    const real kept = x[i];
    x[i] = kept + step;
    const double up = forward(k);
    x[i] = kept - step;
    const double down = forward(k);
    x[i] = kept;
    top = fmax(top, fabs(dx[i]));
    worst = fmax(worst, fabs((up - down) / (2 * step) - dx[i]));
  }
  ok(worst / top < 1e-7, "%s: gradient and differences agree to %.1e", name, worst / top);
}

/* ---- linear + activation: x [SLOTS, HIDDEN] -> [SLOTS, FEED] */

static double linear_act(check *k) {
  k->ops->linear_act_forward(k->c, &(brim_linear_act){.rows = SLOTS,
                                                      .in = HIDDEN,
                                                      .out = FEED,
                                                      .x = k->x,
                                                      .w = k->w,
                                                      .b = k->b,
                                                      .act = k->act,
                                                      .pre = k->scratch[0],
                                                      .y = k->scratch[1]});
  return weighted(k, k->scratch[1], SLOTS * FEED);
}

static void zero(check *k, int64_t count, real *x) {
  k->ops->zero(k->c, &(brim_zero){.count = count, .x = x});
}

static void check_linear(check *k) {
  static const char *const names[] = {"linear", "linear, gelu", "linear, gelu_new", "linear, relu", "linear, tanh"};
  for (int act = BRIM_ACT_NONE; act <= BRIM_ACT_TANH; act++) {
    char name[64];
    k->act = (brim_activation)act;
    linear_act(k);
    k->ops->act_backward(k->c, &(brim_act_gradient){.count = SLOTS * FEED,
                                                    .act = k->act,
                                                    .pre = k->scratch[act == BRIM_ACT_TANH ? 1 : 0],
                                                    .dy = k->weights,
                                                    .dpre = k->scratch[2]});
    zero(k, HIDDEN * FEED, k->dw);
    zero(k, FEED, k->db);
    k->ops->linear_backward(k->c, &(brim_linear_gradient){.rows = SLOTS,
                                                          .in = HIDDEN,
                                                          .out = FEED,
                                                          .x = k->x,
                                                          .x_stride = HIDDEN,
                                                          .w = k->w,
                                                          .dy = k->scratch[2],
                                                          .dy_stride = FEED,
                                                          .dx = k->dx,
                                                          .dx_stride = HIDDEN,
                                                          .dw = k->dw,
                                                          .db = k->db});
    snprintf(name, sizeof name, "%s, dx", names[act]);
    compare(k, linear_act, name, k->x, k->dx, SLOTS * HIDDEN);
    snprintf(name, sizeof name, "%s, dw", names[act]);
    compare(k, linear_act, name, k->w, k->dw, HIDDEN * FEED);
    snprintf(name, sizeof name, "%s, db", names[act]);
    compare(k, linear_act, name, k->b, k->db, FEED);
  }
}

/* ---- linear + dropout + residual + norm: x [SLOTS, FEED] -> [SLOTS, HIDDEN] */

static double residual_norm(check *k) {
  k->ops->linear_norm_forward(k->c, &(brim_linear_norm){.in = FEED,
                                                        .out = HIDDEN,
                                                        .x = k->x,
                                                        .w = k->w,
                                                        .b = k->b,
                                                        .residual = {.layout = k->layout,
                                                                     .at = {.count = SLOTS},
                                                                     .dropout = k->dropout,
                                                                     .residual = k->residual,
                                                                     .gamma = k->gamma,
                                                                     .beta = k->beta,
                                                                     .eps = 1e-12},
                                                        .sum = k->scratch[0],
                                                        .mean = k->scratch[1],
                                                        .rstd = k->scratch[2],
                                                        .y = k->scratch[3]});
  return weighted(k, k->scratch[3], SLOTS * HIDDEN);
}

static void check_norm(check *k) {
  residual_norm(k);
  zero(k, HIDDEN, k->dgamma);
  zero(k, HIDDEN, k->dbeta);
  k->ops->norm_backward(k->c, &(brim_norm_gradient){.layout = k->layout,
                                                    .at = {.count = SLOTS},
                                                    .dropout = k->dropout,
                                                    .width = HIDDEN,
                                                    .sum = k->scratch[0],
                                                    .mean = k->scratch[1],
                                                    .rstd = k->scratch[2],
                                                    .gamma = k->gamma,
                                                    .dy = k->weights,
                                                    .dsum = k->dresidual,
                                                    .dbranch = k->scratch[4],
                                                    .dgamma = k->dgamma,
                                                    .dbeta = k->dbeta});
  k->ops->linear_backward(k->c, &(brim_linear_gradient){.rows = SLOTS,
                                                        .in = FEED,
                                                        .out = HIDDEN,
                                                        .w = k->w,
                                                        .dy = k->scratch[4],
                                                        .dy_stride = HIDDEN,
                                                        .dx = k->dx,
                                                        .dx_stride = FEED});
  compare(k, residual_norm, "residual and norm, dx", k->x, k->dx, SLOTS * FEED);
  compare(k, residual_norm, "residual and norm, dresidual", k->residual, k->dresidual, SLOTS * HIDDEN);
  compare(k, residual_norm, "residual and norm, dgamma", k->gamma, k->dgamma, HIDDEN);
  compare(k, residual_norm, "residual and norm, dbeta", k->beta, k->dbeta, HIDDEN);
}

/* ---- attention: x = q, k, v [SLOTS, 3 HIDDEN]; with first_only the queries are residual [TEXTS, HIDDEN] */

static brim_attention attention_of(check *k) {
  return (brim_attention){.layout = k->layout,
                          .heads = HEADS,
                          .head_size = HIDDEN / HEADS,
                          .scale = 0.5,
                          .first_only = k->first_only,
                          .dropout = k->dropout,
                          .q = k->first_only ? k->residual : k->x,
                          .k = k->x + HIDDEN,
                          .v = k->x + 2 * HIDDEN,
                          .q_stride = k->first_only ? HIDDEN : 3 * HIDDEN,
                          .kv_stride = 3 * HIDDEN,
                          .out = k->scratch[0],
                          .out_stride = HIDDEN,
                          .lse = k->scratch[1],
                          .dout = k->weights,
                          .dq = k->first_only ? k->dresidual : k->dx,
                          .dk = k->dx + HIDDEN,
                          .dv = k->dx + 2 * HIDDEN};
}

static double attention(check *k) {
  const brim_attention a = attention_of(k);
  k->ops->attention_forward(k->c, &a);
  return weighted(k, k->scratch[0], (k->first_only ? TEXTS : SLOTS) * HIDDEN);
}

static void check_attention(check *k) {
  for (int first = 0; first < 2; first++) {
    k->first_only = first;
    zero(k, (int64_t)SLOTS * 3 * HIDDEN, k->dx);
    attention(k);
    const brim_attention a = attention_of(k);
    k->ops->attention_backward(k->c, &a);
    compare(k, attention, first ? "attention of first tokens, dk and dv" : "attention", k->x, k->dx, SLOTS * 3 * HIDDEN);
    if (first)
      compare(k, attention, "attention of first tokens, dq", k->residual, k->dresidual, TEXTS * HIDDEN);
  }
}

/* ---- the same with a window, and queries' heads that share keys and values: x = q, k, v [SLOTS, HIDDEN + 2 HIDDEN / HEADS] */

enum { SHARED = HIDDEN / HEADS, SHARED_ROW = HIDDEN + 2 * SHARED };

static brim_attention shared_attention_of(check *k) {
  brim_attention a = attention_of(k);
  a.group = HEADS;
  a.window = 1;
  a.k = k->x + HIDDEN;
  a.v = k->x + HIDDEN + SHARED;
  a.dk = k->dx + HIDDEN;
  a.dv = k->dx + HIDDEN + SHARED;
  a.q_stride = a.kv_stride = SHARED_ROW;
  return a;
}

static double shared_attention(check *k) {
  const brim_attention a = shared_attention_of(k);
  k->ops->attention_forward(k->c, &a);
  return weighted(k, k->scratch[0], SLOTS * HIDDEN);
}

static void check_shared_attention(check *k) {
  k->first_only = false;
  const brim_attention a = shared_attention_of(k);
  shared_attention(k);
  k->ops->attention_backward(k->c, &a);
  compare(k, shared_attention, "attention, window, shared keys and values", k->x, k->dx, SLOTS * SHARED_ROW);
}

/* ---- a norm alone: x [SLOTS, HIDDEN]; first_only: RMS */

static double prenorm(check *k) {
  k->ops->prenorm_forward(k->c, &(brim_prenorm){.rows = SLOTS,
                                                .width = HIDDEN,
                                                .rms = k->first_only,
                                                .eps = 1e-5,
                                                .x = k->x,
                                                .gamma = k->gamma,
                                                .beta = k->first_only ? NULL : k->beta,
                                                .mean = k->scratch[0],
                                                .rstd = k->scratch[1],
                                                .y = k->scratch[2]});
  return weighted(k, k->scratch[2], SLOTS * HIDDEN);
}

static void prenorm_backward(check *k, bool add) {
  k->ops->prenorm_backward(k->c, &(brim_prenorm_gradient){.rows = SLOTS,
                                                          .width = HIDDEN,
                                                          .rms = k->first_only,
                                                          .add = add,
                                                          .x = k->x,
                                                          .mean = k->scratch[0],
                                                          .rstd = k->scratch[1],
                                                          .gamma = k->gamma,
                                                          .dy = k->weights,
                                                          .dx = k->dx,
                                                          .dgamma = add ? NULL : k->dgamma,
                                                          .dbeta = add ? NULL : k->dbeta});
}

static void check_prenorm(check *k) {
  for (int rms = 0; rms < 2; rms++) {
    k->first_only = rms;
    prenorm(k);
    zero(k, HIDDEN, k->dgamma);
    zero(k, HIDDEN, k->dbeta);
    prenorm_backward(k, false);
    prenorm_backward(k, true);
    for (int i = 0; i < SLOTS * HIDDEN; i++)
      k->dx[i] /= 2;
    compare(k, prenorm, rms ? "RMS norm, dx" : "norm alone, dx", k->x, k->dx, SLOTS * HIDDEN);
    compare(k, prenorm, rms ? "RMS norm, dgamma" : "norm alone, dgamma", k->gamma, k->dgamma, HIDDEN);
    if (!rms)
      compare(k, prenorm, "norm alone, dbeta", k->beta, k->dbeta, HIDDEN);
  }
}

/* ---- gate: x [SLOTS, 2 HIDDEN]; first_only: the second half is activated */

static brim_gate gate_of(check *k) {
  return (brim_gate){.layout = k->layout,
                     .at = {.count = SLOTS},
                     .width = HIDDEN,
                     .act = k->act,
                     .second = k->first_only,
                     .dropout = k->dropout,
                     .pre = k->x,
                     .y = k->scratch[0],
                     .dy = k->scratch[1],
                     .dpre = k->dx};
}

static double gate(check *k) {
  const brim_gate g = gate_of(k);
  k->ops->gate_forward(k->c, &g);
  return weighted(k, k->scratch[0], SLOTS * HIDDEN);
}

static void check_gate(check *k) {
  for (int act = BRIM_ACT_NONE; act <= BRIM_ACT_SILU; act++) {
    char name[64];
    k->act = (brim_activation)act;
    k->first_only = act % 2;
    const brim_gate g = gate_of(k);
    memcpy(g.dy, k->weights, SLOTS * HIDDEN * sizeof(real));
    k->ops->gate_backward(k->c, &g);
    snprintf(name, sizeof name, "gate, activation %d", act);
    compare(k, gate, name, k->x, k->dx, 2 * SLOTS * HIDDEN);
  }
}

/* ---- rotary positions: x [SLOTS, HIDDEN] */

static void rotate(check *k, real *x, bool back) {
  k->ops->rotate(k->c, &(brim_rotary){.layout = k->layout,
                                      .at = {.count = SLOTS},
                                      .heads = HEADS,
                                      .head_size = HIDDEN / HEADS,
                                      .back = back,
                                      .theta = 10,
                                      .x = x,
                                      .stride = HIDDEN});
}

static double rotary(check *k) {
  memcpy(k->scratch[0], k->x, SLOTS * HIDDEN * sizeof(real));
  rotate(k, k->scratch[0], false);
  return weighted(k, k->scratch[0], SLOTS * HIDDEN);
}

static void check_rotary(check *k) {
  memcpy(k->dx, k->weights, SLOTS * HIDDEN * sizeof(real));
  rotate(k, k->dx, true);
  compare(k, rotary, "rotary positions", k->x, k->dx, SLOTS * HIDDEN);
}

/* ---- embedding: x = words, w = positions, b = types */

static brim_embed embed_of(check *k) {
  static const int32_t ids[SLOTS] = {1, 5, 0, 1, 1, 2, 3, 5, 1}, positions[SLOTS] = {0, 1, 0, 1, 2, 3, 4, 0, 1};
  static const uint8_t types[SLOTS] = {0, 1, 0, 0, 1, 1, 1, 0, 0};
  return (brim_embed){.layout = k->layout,
                      .ids = ids,
                      .type_ids = types,
                      .positions = positions,
                      .word = k->x,
                      .position = k->w,
                      .type = k->b,
                      .gamma = k->gamma,
                      .beta = k->beta,
                      .eps = 1e-12,
                      .hidden = HIDDEN,
                      .dropout = k->dropout,
                      .sum = k->scratch[0],
                      .mean = k->scratch[1],
                      .rstd = k->scratch[2],
                      .out = k->scratch[3],
                      .dout = k->weights,
                      .dsum = k->scratch[4],
                      .dword = k->dx,
                      .dposition = k->dw,
                      .dtype = k->db,
                      .dgamma = k->dgamma,
                      .dbeta = k->dbeta};
}

static double embedding(check *k) {
  const brim_embed e = embed_of(k);
  k->ops->embed_forward(k->c, &e);
  return weighted(k, k->scratch[3], SLOTS * HIDDEN);
}

static void check_embedding(check *k) {
  const brim_embed e = embed_of(k);
  embedding(k);
  zero(k, WORDS * HIDDEN, k->dx);
  zero(k, POSITIONS * HIDDEN, k->dw);
  zero(k, 2 * HIDDEN, k->db);
  zero(k, HIDDEN, k->dgamma);
  zero(k, HIDDEN, k->dbeta);
  k->ops->embed_backward(k->c, &e);
  compare(k, embedding, "embedding, words", k->x, k->dx, WORDS * HIDDEN);
  compare(k, embedding, "embedding, positions", k->w, k->dw, POSITIONS * HIDDEN);
  compare(k, embedding, "embedding, types", k->b, k->db, 2 * HIDDEN);
  compare(k, embedding, "embedding, gamma", k->gamma, k->dgamma, HIDDEN);
}

/* ---- loss: x = logits */

static double loss(check *k) {
  static const float labels[SLOTS] = {0, 3, 2, 1, 1, 0, 3, 2, 2};
  double value;
  const brim_loss l = {.n = SLOTS,
                       .outputs = k->first_only ? 1 : 4,
                       .kind = k->first_only ? BRIM_LOSS_SQUARED_ERROR : BRIM_LOSS_CROSS_ENTROPY,
                       .logits = k->x,
                       .labels = labels,
                       .divisor = 11,
                       .loss = &value,
                       .dlogits = k->dx};
  k->ops->loss(k->c, &l);
  return value;
}

static void check_loss(check *k) {
  for (int regression = 0; regression < 2; regression++) {
    k->first_only = regression;
    const int64_t n = regression ? SLOTS : 4 * SLOTS;
    loss(k);
    memcpy(k->scratch[0], k->dx, (size_t)n * sizeof(real));
    compare(k, loss, regression ? "squared error" : "cross entropy", k->x, k->scratch[0], n);
  }
}

int main(void) {
  enum { MOST = SLOTS * 3 * HIDDEN };
  case_memory m = {0};
  inputs in = {51};
  brim_ops_context c = {0};
  const int lengths[TEXTS] = {2, 5, 2};
  const uint32_t key[2] = {3, 4};
  const brim_ops_limits limits = {
      .max_slots = SLOTS, .max_sequences = TEXTS, .max_length = 5, .hidden = HIDDEN, .intermediate = HIDDEN, .heads = HEADS};
  c.workspace_size = brim_ops_ref()->workspace(&c, &limits);
  c.workspace = case_alloc(&m, c.workspace_size);
  check k = {.ops = brim_ops_ref(), .c = &c, .layout = case_layout(&m, TEXTS, lengths, 0)};
  real **const in_values[] = {&k.x, &k.w, &k.b, &k.gamma, &k.beta, &k.residual, &k.weights};
  real **const out_values[] = {&k.dx, &k.dw, &k.db, &k.dgamma, &k.dbeta, &k.dresidual};
  for (size_t i = 0; i < sizeof in_values / sizeof *in_values; i++)
    *in_values[i] = case_values(&m, &in, MOST, 1);
  for (size_t i = 0; i < sizeof out_values / sizeof *out_values; i++)
    *out_values[i] = case_fill(&m, MOST, 0);
  for (int i = 0; i < 8; i++)
    k.scratch[i] = case_fill(&m, MOST, 0);
  for (int dropout = 0; dropout < 2; dropout++) {
    k.dropout = brim_dropout_make(dropout ? 0.3 : 0, key, 17);
    printf("# dropout %s\n", dropout ? "on" : "off");
    check_linear(&k);
    check_norm(&k);
    check_attention(&k);
    check_shared_attention(&k);
    check_prenorm(&k);
    check_gate(&k);
    check_rotary(&k);
    check_embedding(&k);
    check_loss(&k);
  }
  case_free(&m);
  return tap_done();
}
