/* product.c: see product.h. */
#include "model/kinds/product.h"

brim_at brim_read_factor(brim_lowering *l, int32_t value) {
  return brim_uses_half(l) ? brim_read_half(l, value) : brim_read(l, value);
}

brim_at brim_read_chosen_factor(brim_lowering *l, int32_t value) {
  return brim_uses_half(l) ? brim_read_chosen_half(l, value) : brim_read_chosen(l, value);
}

brim_at brim_gradient_factor(brim_lowering *l, int32_t value) {
  return brim_uses_half(l) ? brim_gradient_half(l, value) : brim_gradient(l, value);
}

brim_at brim_spare_factor(brim_lowering *l, brim_row_kind rows, int32_t width) {
  return brim_uses_half(l) ? brim_spare_half(l, rows, width) : brim_spare(l, rows, width);
}

/* Sizes of a product: what was said, or the weight's. */
typedef struct sizes {
  int32_t in, out;
} sizes;

static sizes sizes_of(const brim_lowering *l, int32_t weight, int32_t in, int32_t out) {
  const brim_program *p = brim_program_of(l);
  return (sizes){in > 0 ? in : brim_weight_columns(p, weight), out > 0 ? out : brim_weight_rows(p, weight)};
}

static void forward_half(brim_lowering *l, const brim_product_call *p) {
  const sizes n = sizes_of(l, p->weight, p->in, p->out);
  brim_bf16_linear op = {.in = n.in, .out = n.out, .x_stride = brim_stride(l, p->x), .y_stride = brim_stride(l, p->y)};
  brim_fill_count(l, &op.rows, p->rows, 1);
  brim_fill(l, &op.x, p->x, BRIM_READS);
  brim_fill_weight_half(l, &op.w, p->weight, p->first * n.in);
  brim_fill_weight_from(l, &op.b, p->bias, p->first);
  brim_fill_typed(l, &op.y, p->y, BRIM_WRITES);
  BRIM_CALL(l, bf16_forward, op);
}

/* A side of a product of these rows. */
static void fill_side(brim_lowering *l, void *field, brim_at at, brim_access access, brim_row_kind rows) {
  (rows == BRIM_ROW_REACHED ? brim_fill_reached : brim_fill)(l, field, at, access);
}

void brim_product_forward_real(brim_lowering *l, const brim_product_call *p) {
  const sizes n = sizes_of(l, p->weight, p->in, p->out);
  brim_linear op = {.in = n.in, .out = n.out, .x_stride = brim_stride(l, p->x), .y_stride = brim_stride(l, p->y)};
  brim_fill_count(l, &op.rows, p->rows, 1);
  fill_side(l, &op.x, p->x, BRIM_READS, p->rows);
  brim_fill_weight_from(l, &op.w, p->weight, p->first * n.in);
  brim_fill_weight_from(l, &op.b, p->bias, p->first);
  fill_side(l, &op.y, p->y, BRIM_WRITES, p->rows);
  BRIM_CALL(l, linear_forward, op);
}

void brim_product_forward(brim_lowering *l, const brim_product_call *p) {
  (brim_uses_half(l) ? forward_half : brim_product_forward_real)(l, p);
}

void brim_product_of_bytes(brim_lowering *l, const brim_operation *o, int which, brim_at x, brim_at y, brim_row_kind rows) {
  brim_int8_linear op = {.x_stride = brim_stride(l, x), .y_stride = brim_stride(l, y)};
  brim_fill_count(l, &op.rows, rows, 1);
  brim_fill_packed(l, &op.w, o, which);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, int8_forward, op);
}

/* Backward is two calls: the gradient of the weight comes first, since it may be sent to other ranks during the rest. Both
 * have x, though the first alone reads it: where dx could have its memory, tensors of other layers found worse places. */
typedef struct gradient_side {
  bool weight; /* or the gradient of x */
  sizes n;
} gradient_side;

static void fill_weight_gradients(brim_lowering *l, const brim_product_gradient *g, sizes n, real **dw, real **db) {
  brim_fill_weight_gradients(l, dw, g->weight, g->first * n.in, (int64_t)n.in * n.out);
  brim_fill_weight_gradients(l, db, g->bias, g->first, n.out);
}

static void gradient_half(brim_lowering *l, const brim_product_gradient *g, gradient_side h) {
  brim_bf16_linear_gradient op = {
      .in = h.n.in, .out = h.n.out, .x_stride = brim_stride(l, g->x), .dy_stride = brim_stride(l, g->dy), .dx_stride = h.n.in};
  brim_fill_count(l, &op.rows, g->rows, 1);
  brim_fill(l, &op.x, g->x, BRIM_READS);
  brim_fill(l, &op.dy, g->dy, BRIM_READS);
  if (h.weight) {
    brim_fill_slices(l, &op.slices, g->rows);
    fill_weight_gradients(l, g, h.n, &op.dw, &op.db);
  } else {
    op.add = g->add;
    brim_fill_weight_half(l, &op.w, g->weight, g->first * h.n.in);
    brim_fill_typed(l, &op.dx, g->dx, g->add ? BRIM_CHANGES : BRIM_WRITES);
  }
  BRIM_CALL(l, bf16_backward, op);
}

static void gradient_real(brim_lowering *l, const brim_product_gradient *g, gradient_side h) {
  brim_linear_gradient op = {
      .in = h.n.in, .out = h.n.out, .x_stride = brim_stride(l, g->x), .dy_stride = brim_stride(l, g->dy), .dx_stride = h.n.in};
  brim_fill_count(l, &op.rows, g->rows, 1);
  fill_side(l, &op.x, g->x, BRIM_READS, g->rows);
  fill_side(l, &op.dy, g->dy, BRIM_READS, g->rows);
  if (h.weight) {
    brim_fill_slices(l, &op.slices, g->rows);
    fill_weight_gradients(l, g, h.n, &op.dw, &op.db);
  } else {
    op.add = g->add;
    brim_fill_weight_from(l, &op.w, g->weight, g->first * h.n.in);
    fill_side(l, &op.dx, g->dx, g->add ? BRIM_CHANGES : BRIM_WRITES, g->rows);
  }
  BRIM_CALL(l, linear_backward, op);
}

static void backward(brim_lowering *l, const brim_product_gradient *g,
                     void (*write)(brim_lowering *, const brim_product_gradient *, gradient_side)) {
  const sizes n = sizes_of(l, g->weight, g->in, g->out);
  if (brim_has_weight_gradient(l, g->weight) || brim_has_weight_gradient(l, g->bias))
    write(l, g, (gradient_side){true, n});
  if (g->dx.version != BRIM_NONE)
    write(l, g, (gradient_side){false, n});
}

void brim_product_backward_real(brim_lowering *l, const brim_product_gradient *g) {
  backward(l, g, gradient_real);
}

void brim_product_backward(brim_lowering *l, const brim_product_gradient *g) {
  backward(l, g, brim_uses_half(l) ? gradient_half : gradient_real);
}

int brim_one_product(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]) {
  out[0] = brim_product_of(p, o->weights.of[0]);
  return 1;
}

double brim_one_product_flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS],
                              double length) {
  (void)length;
  return brim_product_flops(s->program, o->weights.of[0], rows[s->values[o->out.of[0]].rows]);
}
