/* convolve.c: a convolution along texts joins a stream: residual + activation(dropout(w * x + b)). What w multiplies is gathered
 * first, row by row, so that it is a product like others; backward gathers it again.
 *
 * And branch: x by another name, whose gradient joins that of x where the branch was appended. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

/* ---- branch --------------------------------------------------------------------------------------------------- */

static void branch_forward(brim_lowering *l, const brim_operation *o) {
  brim_becomes(l, o->out.of[0], brim_read(l, o->in.of[0]));
}

static void branch_backward(brim_lowering *l, const brim_operation *o) {
  const int32_t from = o->in.of[0];
  bool add = false;
  if (!brim_wants_gradient(l, from))
    return;
  const brim_at dy = brim_gradient(l, o->out.of[0]), dx = brim_add_gradient(l, from, &add);
  if (!add) {
    brim_dropout_rows op = {.width = brim_stride(l, dy)}; /* of nothing: a copy */
    brim_fill_rows(l, &op.at, brim_rows_of(l, from));
    brim_fill(l, &op.x, dy, BRIM_READS);
    brim_fill(l, &op.y, dx, BRIM_WRITES);
    BRIM_CALL(l, dropout, op);
    return;
  }
  brim_add op = {0};
  brim_fill_count(l, &op.count, brim_rows_of(l, from), brim_stride(l, dy));
  brim_fill(l, &op.x, dy, BRIM_READS);
  brim_fill(l, &op.y, dx, BRIM_CHANGES);
  BRIM_CALL(l, add, op);
}

static const brim_kind branch = {.name = "branch",
                                 .needs = {BRIM_NEED_ALL},
                                 .reads = {.in = 1},
                                 .forward = branch_forward,
                                 .backward = branch_backward,
                                 .again = branch_forward};

int32_t brim_append_branch(brim_program *p, int32_t x) {
  const int32_t out = brim_add_value(p, "branch", BRIM_ROW_TOKENS, brim_width_of(p, x));
  const brim_operation o = {.kind = &branch, .in = BRIM_LIST(x), .out = BRIM_LIST(out)};
  brim_add_operation(p, &o);
  return out;
}

/* ---- convolve ------------------------------------------------------------------------------------------------- */

enum { X, RESIDUAL };  /* in */
enum { KEPT };         /* inner: what the activation takes, or what it gives where its slope follows from that */
enum { WEIGHT, BIAS }; /* weights */

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_program_of(l)->values[o->out.of[0]].width;
}

static int32_t width_in(brim_lowering *l, const brim_operation *o) {
  return brim_weight_columns(brim_program_of(l), o->weights.of[WEIGHT]) * o->terms.size;
}

static brim_row_kind rows_of(brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[0]);
}

static brim_at gather(brim_lowering *l, const brim_operation *o) {
  const brim_at x = brim_read(l, o->in.of[X]), y = brim_spare(l, rows_of(l, o), width_in(l, o));
  brim_neighbours op = {.width = brim_stride(l, x), .size = o->terms.size, .first_only = rows_of(l, o) == BRIM_ROW_CHOSEN};
  brim_fill_layout(l, &op.layout);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, neighbours_forward, op);
  return y;
}

static void drop(brim_lowering *l, const brim_operation *o, brim_at x) {
  brim_dropout_rows op = {.width = width_of(l, o), .dropout = brim_dropout_make(o->terms.dropout, (const uint32_t[2]){0}, 0)};
  if (!op.dropout.on)
    return;
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows_of(l, o));
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, x, BRIM_CHANGES);
  BRIM_CALL(l, dropout, op);
}

static void activate(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y, brim_access access) {
  brim_act op = {.act = o->terms.activation};
  brim_fill_count(l, &op.count, rows_of(l, o), width_of(l, o));
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, y, access);
  BRIM_CALL(l, act_forward, op);
}

static void add_residual(brim_lowering *l, const brim_operation *o, brim_at x, brim_at y, brim_access access) {
  const brim_at residual = brim_read_rows(l, o->in.of[RESIDUAL], rows_of(l, o));
  brim_stream_sum op = {.width = width_of(l, o)};
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows_of(l, o));
  brim_fill(l, &op.residual, residual, BRIM_READS);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, y, access);
  BRIM_CALL(l, stream_sum, op);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at x = gather(l, o), kept = brim_write(l, o->inner.of[KEPT]);
  brim_product_forward_real(l, &(brim_product_call){.weight = o->weights.of[WEIGHT],
                                                    .bias = o->weights.of[BIAS],
                                                    .in = width_in(l, o),
                                                    .rows = rows_of(l, o),
                                                    .x = x,
                                                    .y = kept});
  drop(l, o, kept);
  const brim_at y = brim_write(l, o->out.of[0]);
  if (o->terms.activation == BRIM_ACT_TANH) {
    activate(l, o, kept, kept, BRIM_CHANGES);
    add_residual(l, o, kept, y, BRIM_WRITES);
  } else {
    activate(l, o, kept, y, BRIM_WRITES);
    add_residual(l, o, y, y, BRIM_CHANGES);
  }
}

/* The gradient of w * x + b, from that of the sum. */
static brim_at activation_backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]), d = brim_spare(l, rows_of(l, o), width_of(l, o));
  brim_act_gradient op = {.act = o->terms.activation};
  brim_fill_count(l, &op.count, rows_of(l, o), width_of(l, o));
  brim_fill(l, &op.pre, brim_read(l, o->inner.of[KEPT]), BRIM_READS);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dpre, d, BRIM_WRITES);
  BRIM_CALL(l, act_backward, op);
  drop(l, o, d);
  return d;
}

static void scatter(brim_lowering *l, const brim_operation *o, brim_at dy) {
  brim_neighbours_gradient op = {.width = brim_program_of(l)->values[o->in.of[X]].width,
                                 .size = o->terms.size,
                                 .first_only = rows_of(l, o) == BRIM_ROW_CHOSEN};
  const brim_at dx = brim_add_gradient(l, o->in.of[X], &op.add);
  brim_fill_layout(l, &op.layout);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dx, dx, op.add ? BRIM_CHANGES : BRIM_WRITES);
  BRIM_CALL(l, neighbours_backward, op);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const bool wanted = brim_wants_gradient(l, o->in.of[X]);
  const brim_at d = activation_backward(l, o), x = gather(l, o),
                dx = wanted ? brim_spare(l, rows_of(l, o), width_in(l, o)) : BRIM_NOWHERE;
  brim_product_backward_real(l, &(brim_product_gradient){.weight = o->weights.of[WEIGHT],
                                                         .bias = o->weights.of[BIAS],
                                                         .in = width_in(l, o),
                                                         .rows = rows_of(l, o),
                                                         .x = x,
                                                         .dy = d,
                                                         .dx = dx});
  if (wanted)
    scatter(l, o, dx);
  brim_share_gradient(l, o->out.of[0], o->in.of[RESIDUAL]);
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  (void)length;
  return o->terms.size * brim_product_flops(s->program, o->weights.of[WEIGHT], rows[s->values[o->out.of[0]].rows]);
}

static const brim_kind convolve = {.name = "convolve",
                                   .needs = {BRIM_NEED_ALL, BRIM_NEED_SAME},
                                   .reads = {.in = 1 << X, .inner = 1 << KEPT},
                                   .forward = forward,
                                   .backward = backward,
                                   .flops = flops};

int32_t brim_append_convolve(brim_program *p, int32_t x, int32_t residual, int32_t linear, brim_activation activation,
                             brim_drop_at drop_at) {
  const int32_t width = brim_width_of(p, residual), kept = brim_add_value(p, "before activation", BRIM_ROW_TOKENS, width),
                out = brim_add_value(p, "stream", BRIM_ROW_TOKENS, width);
  const brim_operation o = {.kind = &convolve,
                            .in = BRIM_LIST(x, residual),
                            .out = BRIM_LIST(out),
                            .inner = BRIM_LIST(kept),
                            .weights = BRIM_LIST(linear, brim_bias_of(p, linear)),
                            .terms = {.dropout = drop_at.rate,
                                      .site = drop_at.site,
                                      .activation = activation,
                                      .size = p->status ? 0 : (int32_t)p->weights[linear].is.shape[2]}};
  brim_add_operation(p, &o);
  return out;
}
