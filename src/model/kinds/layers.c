/* layers.c: tokens of several layers as those that the head sees: their mean, of which each layer has a trained weight, or side
 * by side. Of a layer's hidden states the gradient begins here; what the layer above adds to it comes later in backward. */
#include "model/calls.h"
#include "model/kinds/kinds.h"

enum { SHARES }; /* weights; of layers side by side there are none */

static brim_row_kind rows_of(const brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[0]);
}

static int32_t shares_of(const brim_operation *o) {
  return o->weights.count > 0 ? o->weights.of[SHARES] : BRIM_NONE;
}

/* What is the same forward and backward, for layer i; *column: where it begins in a row of the output. */
static brim_mix operands_of(brim_lowering *l, const brim_operation *o, int32_t i, int32_t *column) {
  const brim_program *p = brim_program_of(l);
  const int32_t width = brim_width_of(p, o->in.of[i]);
  *column = o->weights.count > 0 ? 0 : i * width;
  return (brim_mix){
      .width = width, .stride = brim_width_of(p, o->out.of[0]), .layer = i, .layers = o->in.count, .add = *column == 0 && i > 0};
}

static void forward(brim_lowering *l, const brim_operation *o) {
  const brim_at y = brim_write(l, o->out.of[0]);
  for (int32_t i = 0; i < o->in.count; i++) {
    int32_t column;
    const brim_at x = brim_read_rows(l, o->in.of[i], rows_of(l, o));
    brim_mix op = operands_of(l, o, i, &column);
    brim_fill_count(l, &op.rows, rows_of(l, o), 1);
    brim_fill_weight(l, &op.shares, shares_of(o));
    brim_fill(l, &op.x, x, BRIM_READS);
    brim_fill(l, &op.y, (brim_at){y.version, column}, i > 0 ? BRIM_CHANGES : BRIM_WRITES);
    BRIM_CALL(l, mix_forward, op);
  }
}

/* The layer's gradient, to be written or added to. */
static brim_at gradient_of(brim_lowering *l, const brim_operation *o, int32_t i, bool *add) {
  const int32_t value = o->in.of[i];
  if (!brim_wants_gradient(l, value))
    return BRIM_NOWHERE;
  return rows_of(l, o) == BRIM_ROW_CHOSEN ? brim_add_gradient_chosen(l, value, add) : brim_add_gradient(l, value, add);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  const brim_at dy = brim_gradient(l, o->out.of[0]);
  const int32_t shares = shares_of(o);
  const bool trained = brim_has_weight_gradient(l, shares);
  for (int32_t i = 0; i < o->in.count; i++) {
    int32_t column;
    bool add = false;
    const brim_at x = trained ? brim_read_rows(l, o->in.of[i], rows_of(l, o)) : BRIM_NOWHERE, dx = gradient_of(l, o, i, &add);
    if (!trained && dx.version == BRIM_NONE)
      continue;
    brim_mix op = operands_of(l, o, i, &column);
    op.add = add;
    brim_fill_count(l, &op.rows, rows_of(l, o), 1);
    brim_fill_weight(l, &op.shares, shares);
    brim_fill(l, &op.x, x, BRIM_READS);
    brim_fill(l, &op.dy, (brim_at){dy.version, column}, BRIM_READS);
    brim_fill(l, &op.dx, dx, add ? BRIM_CHANGES : BRIM_WRITES);
    brim_fill_weight_gradient(l, &op.dshares, shares, 0);
    BRIM_CALL(l, mix_backward, op);
  }
}

static const brim_kind mean = {
    .name = "layers", .sums_texts = true, .reads = {.in = ~0U}, .forward = forward, .backward = backward};
static const brim_kind joined = {.name = "layers", .forward = forward, .backward = backward};

int32_t brim_append_layers(brim_program *p, const int32_t *layers, int32_t count, int32_t shares) {
  const bool joins = shares == BRIM_NONE;
  const int32_t width = brim_width_of(p, layers[0]),
                out = brim_add_value(p, "layers", BRIM_ROW_TOKENS, joins ? count * width : width);
  brim_operation o = {.kind = joins ? &joined : &mean, .in = {.count = count}, .out = BRIM_LIST(out)};
  for (int32_t i = 0; i < count; i++)
    o.in.of[i] = layers[i];
  if (!joins)
    o.weights = (brim_list)BRIM_LIST(shares);
  brim_add_operation(p, &o);
  return out;
}
