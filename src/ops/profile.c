/* profile.c: a table that times another one. */
#include "brim/profile.h"
#include "ops/ops.h"

/* Returns the operations counted so far, for `end`. */
static double begin(brim_ops_context *c, brim_work work, const char *name) {
  brim_profile_begin(c->profile, work, name);
  return c->stats.gemm_flops + c->stats.attention_flops;
}

static void end(brim_ops_context *c, double before) {
  brim_profile_end(c->profile, c->stats.gemm_flops + c->stats.attention_flops - before);
}

#define TIMED(work, name, call)                                                                                                  \
  const double before = begin(c, work, name);                                                                                    \
  c->inner->call;                                                                                                                \
  end(c, before)

static void embed_forward(brim_ops_context *c, const brim_embed *e, real *sum, real *mean, real *rstd, real *out) {
  TIMED(BRIM_WORK_EMBEDDING, "embedding", embed_forward(c, e, sum, mean, rstd, out));
}

static void embed_backward(brim_ops_context *c, const brim_embed *e, const real *sum, const real *mean, const real *rstd,
                           const real *dout, real *dsum, real *dword, real *dposition, real *dtype, real *dgamma, real *dbeta) {
  TIMED(BRIM_WORK_EMBEDDING, "embedding gradient",
        embed_backward(c, e, sum, mean, rstd, dout, dsum, dword, dposition, dtype, dgamma, dbeta));
}

static void linear_forward(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                           const real *w, const real *b, real *y, int64_t y_stride) {
  TIMED(BRIM_WORK_PRODUCT, "linear", linear_forward(c, rows, in, out, x, x_stride, w, b, y, y_stride));
}

static void linear_act_forward(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, const real *w,
                               const real *b, brim_activation act, real *pre, real *y) {
  TIMED(BRIM_WORK_PRODUCT, "linear, activation", linear_act_forward(c, rows, in, out, x, w, b, act, pre, y));
}

static void linear_residual_norm_forward(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t in,
                                         int32_t out, const real *x, const real *w, const real *b, const brim_dropout *dropout,
                                         const real *residual, const real *gamma, const real *beta, real eps, real *sum,
                                         real *mean, real *rstd, real *y) {
  TIMED(BRIM_WORK_PRODUCT, "linear, dropout, residual, norm",
        linear_residual_norm_forward(c, layout, at, in, out, x, w, b, dropout, residual, gamma, beta, eps, sum, mean, rstd, y));
}

static void linear_backward(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *x, int64_t x_stride,
                            const real *w, const real *dy, int64_t dy_stride, real *dx, int64_t dx_stride, bool add, real *dw,
                            real *db) {
  const char *name = !dx ? "weight gradient" : dw || db ? "input and weight gradients" : "input gradient";
  TIMED(BRIM_WORK_PRODUCT, name, linear_backward(c, rows, in, out, x, x_stride, w, dy, dy_stride, dx, dx_stride, add, dw, db));
}

static void linear_act_backward(brim_ops_context *c, int64_t rows, int32_t in, int32_t out, const real *w, const real *dz,
                                brim_activation act, real *pre, real *dpre) {
  TIMED(BRIM_WORK_PRODUCT, "input gradient, activation", linear_act_backward(c, rows, in, out, w, dz, act, pre, dpre));
}

static void norm_forward(brim_ops_context *c, int64_t rows, int32_t width, const real *sum, const real *mean, const real *rstd,
                         const real *gamma, const real *beta, real *y) {
  TIMED(BRIM_WORK_NORM, "norm", norm_forward(c, rows, width, sum, mean, rstd, gamma, beta, y));
}

static void act_backward(brim_ops_context *c, int64_t count, brim_activation act, const real *pre, const real *dy, real *dpre) {
  TIMED(BRIM_WORK_ELEMENTWISE, "activation gradient", act_backward(c, count, act, pre, dy, dpre));
}

static void norm_backward(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const real *sum,
                          const real *mean, const real *rstd, const real *gamma, const brim_dropout *dropout, const real *dy,
                          real *dsum, real *dbranch, real *dgamma, real *dbeta) {
  TIMED(BRIM_WORK_NORM, "norm gradient",
        norm_backward(c, layout, at, width, sum, mean, rstd, gamma, dropout, dy, dsum, dbranch, dgamma, dbeta));
}

static void attention_forward(brim_ops_context *c, const brim_attention *a) {
  TIMED(BRIM_WORK_ATTENTION, "attention", attention_forward(c, a));
}

static void attention_backward(brim_ops_context *c, const brim_attention *a) {
  TIMED(BRIM_WORK_ATTENTION, "attention gradient", attention_backward(c, a));
}

static void gather_rows(brim_ops_context *c, const brim_rows *at, int32_t width, const real *x, int64_t x_stride, real *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "gather rows", gather_rows(c, at, width, x, x_stride, y));
}

static void scatter_rows(brim_ops_context *c, const brim_rows *at, int32_t width, const real *dy, real *dx, int64_t dx_stride) {
  TIMED(BRIM_WORK_ELEMENTWISE, "scatter rows", scatter_rows(c, at, width, dy, dx, dx_stride));
}

static void pool_forward(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *x, int32_t *chosen, real *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "pooling", pool_forward(c, layout, width, x, chosen, y));
}

static void pool_backward(brim_ops_context *c, const brim_layout *layout, int32_t width, const real *dy, const int32_t *chosen,
                          real *dx) {
  TIMED(BRIM_WORK_ELEMENTWISE, "pooling gradient", pool_backward(c, layout, width, dy, chosen, dx));
}

static void dropout(brim_ops_context *c, const brim_layout *layout, const brim_rows *at, int32_t width, const brim_dropout *d,
                    const real *x, real *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "dropout", dropout(c, layout, at, width, d, x, y));
}

static void loss(brim_ops_context *c, const brim_loss *l) {
  TIMED(BRIM_WORK_LOSS, "loss", loss(c, l));
}

static void add(brim_ops_context *c, int64_t count, const real *x, real *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "add", add(c, count, x, y));
}

static void zero(brim_ops_context *c, int64_t count, real *x) {
  TIMED(BRIM_WORK_ELEMENTWISE, "zero", zero(c, count, x));
}

static void narrow(brim_ops_context *c, int64_t count, const real *x, brim_bfloat *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "narrow", narrow(c, count, x, y));
}

static void widen(brim_ops_context *c, int64_t count, const brim_bfloat *x, real *y) {
  TIMED(BRIM_WORK_ELEMENTWISE, "widen", widen(c, count, x, y));
}

static void int8_pack(brim_ops_context *c, int32_t in, int32_t out, const real *w, const real *b, void *packed) {
  TIMED(BRIM_WORK_ELEMENTWISE, "int8 weights", int8_pack(c, in, out, w, b, packed));
}

static void int8_forward(brim_ops_context *c, int64_t rows, const brim_int8 *w, const real *x, int64_t x_stride, real *y,
                         int64_t y_stride) {
  TIMED(BRIM_WORK_PRODUCT, "int8 linear", int8_forward(c, rows, w, x, x_stride, y, y_stride));
}

static void int8_norm_forward(brim_ops_context *c, const brim_int8 *w, const real *x, const brim_residual *r, real *y) {
  TIMED(BRIM_WORK_PRODUCT, "int8 linear, residual, norm", int8_norm_forward(c, w, x, r, y));
}

static void int8_feed_forward(brim_ops_context *c, const brim_int8 *up, brim_activation act, const brim_int8 *down, const real *x,
                              const brim_residual *r, real *y) {
  TIMED(BRIM_WORK_PRODUCT, "int8 feed-forward, residual, norm", int8_feed_forward(c, up, act, down, x, r, y));
}

static double gradient_square(brim_ops_context *c, const brim_update *u) {
  brim_profile_begin(c->profile, BRIM_WORK_OPTIMIZER, "gradient's norm");
  const double square = c->inner->gradient_square(c, u);
  brim_profile_end(c->profile, 0);
  return square;
}

static void adamw(brim_ops_context *c, const brim_update *u) {
  TIMED(BRIM_WORK_OPTIMIZER, "AdamW", adamw(c, u));
}

static void catch_up(brim_ops_context *c, const brim_update *u, bool all) {
  TIMED(BRIM_WORK_OPTIMIZER, "AdamW, late rows", catch_up(c, u, all));
}

void brim_ops_profile(brim_ops_context *c, struct brim_profile *profile, const brim_ops *inner, brim_ops *table) {
  c->profile = profile;
  c->inner = inner;
  *table = (brim_ops){.name = inner->name,
                      .workspace = inner->workspace,
                      .int8_size = inner->int8_size,
                      .embed_forward = embed_forward,
                      .embed_backward = embed_backward,
                      .linear_forward = linear_forward,
                      .linear_act_forward = linear_act_forward,
                      .linear_residual_norm_forward = linear_residual_norm_forward,
                      .linear_backward = linear_backward,
                      .linear_act_backward = linear_act_backward,
                      .norm_forward = norm_forward,
                      .act_backward = act_backward,
                      .norm_backward = norm_backward,
                      .attention_forward = attention_forward,
                      .attention_backward = attention_backward,
                      .gather_rows = gather_rows,
                      .scatter_rows = scatter_rows,
                      .pool_forward = pool_forward,
                      .pool_backward = pool_backward,
                      .dropout = dropout,
                      .loss = loss,
                      .add = add,
                      .zero = zero,
                      .narrow = narrow,
                      .widen = widen,
                      .int8_pack = int8_pack,
                      .int8_forward = int8_forward,
                      .int8_norm_forward = int8_norm_forward,
                      .int8_feed_forward = int8_feed_forward,
                      .gradient_square = gradient_square,
                      .adamw = adamw,
                      .catch_up = catch_up};
}
