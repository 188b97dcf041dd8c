/* project.c: queries, keys and values of all tokens, in one product; where few queries are wanted, keys and values of all tokens,
 * and queries of those few. */
#include "model/kind.h"
#include "model/kinds/kinds.h"

enum { QUERIES, KEYS_VALUES };                                /* out */
enum { QUERY, KEY, VALUE, QUERY_BIAS, KEY_BIAS, VALUE_BIAS }; /* weights */

static int32_t width_of(brim_lowering *l, const brim_operation *o) {
  return brim_weight_columns(brim_program_of(l), o->weights.of[QUERY]);
}

static bool few_queries(const brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[QUERIES]) != brim_rows_of(l, o->out.of[KEYS_VALUES]);
}

/* y = x w: of `out` columns, whose weight is `weight` and those that adjoin. */
static void product(brim_lowering *l, const brim_operation *o, int weight, int32_t out, brim_at x, brim_at y,
                    brim_row_kind rows) {
  brim_linear op = {.in = width_of(l, o), .out = out, .x_stride = brim_stride(l, x), .y_stride = brim_stride(l, y)};
  brim_fill_count(l, &op.rows, rows, 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[weight]);
  brim_fill_weight(l, &op.b, o->weights.of[weight + QUERY_BIAS]);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, linear_forward, op);
}

static void product_of_bytes(brim_lowering *l, const brim_operation *o, int which, brim_at x, brim_at y, brim_row_kind rows) {
  brim_int8_linear op = {.x_stride = brim_stride(l, x), .y_stride = brim_stride(l, y)};
  brim_fill_count(l, &op.rows, rows, 1);
  brim_fill_packed(l, &op.w, o, which);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill(l, &op.y, y, BRIM_WRITES);
  BRIM_CALL(l, int8_forward, op);
}

static void forward_all(brim_lowering *l, const brim_operation *o) {
  const int32_t width = width_of(l, o);
  const brim_at x = brim_read(l, o->in.of[0]);
  brim_at keys_values;
  const brim_at queries = brim_write_beside(l, o->out.of[QUERIES], o->out.of[KEYS_VALUES], &keys_values);
  if (brim_in_bytes(l)) {
    product_of_bytes(l, o, QUERIES, x, queries, BRIM_ROW_TOKENS);
    product_of_bytes(l, o, KEYS_VALUES, x, keys_values, BRIM_ROW_TOKENS);
  } else {
    product(l, o, QUERY, 3 * width, x, queries, BRIM_ROW_TOKENS);
  }
}

static void forward_few(brim_lowering *l, const brim_operation *o) {
  const int32_t width = width_of(l, o), queries = o->out.of[QUERIES];
  const brim_at x = brim_read(l, o->in.of[0]), keys_values = brim_write(l, o->out.of[KEYS_VALUES]);
  brim_keep_wide(l, queries);
  if (brim_in_bytes(l)) {
    product_of_bytes(l, o, KEYS_VALUES, x, keys_values, BRIM_ROW_TOKENS);
    product_of_bytes(l, o, QUERIES, brim_read_chosen(l, o->in.of[0]), brim_write(l, queries), BRIM_ROW_CHOSEN);
  } else {
    product(l, o, KEY, 2 * width, x, keys_values, BRIM_ROW_TOKENS);
    const brim_at few = brim_read_chosen(l, o->in.of[0]);
    product(l, o, QUERY, width, few, brim_write(l, queries), BRIM_ROW_CHOSEN);
  }
}

static void forward(brim_lowering *l, const brim_operation *o) {
  if (few_queries(l, o))
    forward_few(l, o);
  else
    forward_all(l, o);
}

static void gradient(brim_lowering *l, const brim_operation *o, int weight, int32_t out, brim_at x, brim_at dy, brim_at dx,
                     bool add, brim_row_kind rows) {
  brim_linear_gradient op = {.in = width_of(l, o),
                             .out = out,
                             .x_stride = brim_stride(l, x),
                             .dy_stride = brim_stride(l, dy),
                             .dx_stride = width_of(l, o),
                             .add = add};
  brim_fill_count(l, &op.rows, rows, 1);
  brim_fill(l, &op.x, x, BRIM_READS);
  brim_fill_weight(l, &op.w, o->weights.of[weight]);
  brim_fill(l, &op.dy, dy, BRIM_READS);
  brim_fill(l, &op.dx, dx, add ? BRIM_CHANGES : BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dw, o->weights.of[weight], 0);
  brim_fill_weight_gradient(l, &op.db, o->weights.of[weight + QUERY_BIAS], 0);
  BRIM_CALL(l, linear_backward, op);
}

/* One chain of sums over queries', keys' and values' columns. */
static void backward_all(brim_lowering *l, const brim_operation *o) {
  const int32_t x = o->in.of[0];
  const brim_at input = brim_read(l, x), dy = brim_gradient(l, o->out.of[QUERIES]);
  bool add = true;
  const brim_at dx = brim_wants_gradient(l, x) ? brim_add_gradient(l, x, &add) : BRIM_NOWHERE;
  gradient(l, o, QUERY, 3 * width_of(l, o), input, dy, dx, add, BRIM_ROW_TOKENS);
}

/* The chosen rows' gradient is complete after their queries'; it joins that of all rows, which keys and values begin. */
static void backward_few(brim_lowering *l, const brim_operation *o) {
  const int32_t x = o->in.of[0], width = width_of(l, o);
  const brim_at input = brim_read(l, x), few = brim_read_chosen(l, x);
  bool add = true;
  brim_at dx = brim_wants_gradient(l, x) ? brim_add_gradient_chosen(l, x, &add) : BRIM_NOWHERE;
  gradient(l, o, QUERY, width, few, brim_gradient(l, o->out.of[QUERIES]), dx, add, BRIM_ROW_CHOSEN);
  if (brim_wants_gradient(l, x))
    dx = brim_add_gradient(l, x, &add);
  gradient(l, o, KEY, 2 * width, input, brim_gradient(l, o->out.of[KEYS_VALUES]), dx, add, BRIM_ROW_TOKENS);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  if (few_queries(l, o))
    backward_few(l, o);
  else
    backward_all(l, o);
}

static int products(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]) {
  const int32_t *w = o->weights.of, width = brim_weight_columns(p, w[QUERY]);
  out[QUERIES] = (brim_product){width, width, brim_weight_at(p, w[QUERY]), brim_weight_at(p, w[QUERY_BIAS])};
  out[KEYS_VALUES] = (brim_product){width, 2 * width, brim_weight_at(p, w[KEY]), brim_weight_at(p, w[KEY_BIAS])};
  return 2;
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  (void)length;
  return brim_product_flops(s->program, o->weights.of[QUERY], rows[s->values[o->out.of[QUERIES]].rows]) +
         2 * brim_product_flops(s->program, o->weights.of[KEY], rows[s->values[o->out.of[KEYS_VALUES]].rows]);
}

static const brim_kind kind = {.name = "project",
                               .needs = {BRIM_NEED_ALL},
                               .reads = {.in = 1},
                               .forward = forward,
                               .backward = backward,
                               .flops = flops,
                               .products = products};

brim_projected brim_append_project(brim_program *p, int32_t x, int32_t weight, int32_t bias) {
  const int32_t width = brim_width_of(p, x);
  const brim_projected made = {brim_add_value(p, "queries", BRIM_ROW_TOKENS, width),
                               brim_add_value(p, "keys, values", BRIM_ROW_TOKENS, 2 * width)};
  const brim_operation o = {.kind = &kind,
                            .in = BRIM_LIST(x),
                            .out = BRIM_LIST(made.queries, made.keys_values),
                            .weights = BRIM_LIST(weight, weight + 1, weight + 2, bias, bias + 1, bias + 2)};
  brim_add_operation(p, &o);
  return made;
}
