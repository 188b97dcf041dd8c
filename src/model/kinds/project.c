/* project.c: queries, keys and values of all tokens, in one product; where few queries are wanted, keys and values of all tokens,
 * and queries of those few. With rotary positions queries and keys are turned where they are; their gradients are turned back. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

enum { QUERIES, KEYS_VALUES }; /* out */
enum { MATRIX };               /* weights: one matrix or three that adjoin, and as many biases or none */

static int32_t width_in(const brim_program *p, const brim_operation *o) {
  return brim_weight_columns(p, o->weights.of[MATRIX]);
}

static int32_t width_of(const brim_program *p, const brim_operation *o, int value) {
  return p->values[o->out.of[value]].width;
}

/* The first bias. */
static int32_t bias_of(const brim_operation *o) {
  const int32_t count = o->weights.count;
  return count % 2 ? BRIM_NONE : o->weights.of[count / 2];
}

/* Where the rows of a weight, and elements of a bias, begin that make a value. */
static int32_t row_of(const brim_program *p, const brim_operation *o, int value) {
  return value == QUERIES ? 0 : width_of(p, o, QUERIES);
}

static bool few_queries(const brim_lowering *l, const brim_operation *o) {
  return brim_rows_of(l, o->out.of[QUERIES]) != brim_rows_of(l, o->out.of[KEYS_VALUES]);
}

/* Values that lie side by side from `value` on, `out` columns. */
static void product(brim_lowering *l, const brim_operation *o, int value, int32_t out, brim_at x, brim_at y, brim_row_kind rows) {
  const brim_program *p = brim_program_of(l);
  brim_product_forward(l, &(brim_product_call){.weight = o->weights.of[MATRIX],
                                               .bias = bias_of(o),
                                               .first = row_of(p, o, value),
                                               .in = width_in(p, o),
                                               .out = out,
                                               .rows = rows,
                                               .x = x,
                                               .y = y});
}

/* ---- rotary positions: queries' heads, and as many after them as there are of keys */

static int32_t query_heads(const brim_operation *o) {
  return o->terms.heads;
}

static int32_t key_heads(const brim_operation *o) {
  return o->terms.heads / (o->terms.group > 0 ? o->terms.group : 1);
}

static void rotate(brim_lowering *l, const brim_operation *o, int32_t heads, brim_at x, brim_row_kind rows, bool back) {
  brim_rotary op = {
      .heads = heads, .back = back, .theta = o->terms.theta, .factor = o->terms.factor, .stride = brim_stride(l, x)};
  if (o->terms.theta == 0)
    return;
  op.head_size = width_of(brim_program_of(l), o, QUERIES) / o->terms.heads;
  brim_fill_layout(l, &op.layout);
  brim_fill_rows(l, &op.at, rows);
  brim_fill_typed(l, &op.x, x, BRIM_CHANGES);
  BRIM_CALL(l, rotate, op);
}

/* ---- forward */

static void forward_all(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  const brim_at x = brim_read_factor(l, o->in.of[0]);
  brim_at keys_values;
  const brim_at queries = brim_write_beside(l, o->out.of[QUERIES], o->out.of[KEYS_VALUES], &keys_values);
  if (brim_in_bytes(l)) {
    brim_product_of_bytes(l, o, QUERIES, x, queries, BRIM_ROW_TOKENS);
    brim_product_of_bytes(l, o, KEYS_VALUES, x, keys_values, BRIM_ROW_TOKENS);
  } else {
    product(l, o, QUERIES, width_of(p, o, QUERIES) + width_of(p, o, KEYS_VALUES), x, queries, BRIM_ROW_TOKENS);
  }
  rotate(l, o, query_heads(o) + key_heads(o), queries, BRIM_ROW_TOKENS, false);
}

static void forward_few(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  const brim_at x = brim_read_factor(l, o->in.of[0]), keys_values = brim_write(l, o->out.of[KEYS_VALUES]);
  if (brim_in_bytes(l))
    brim_product_of_bytes(l, o, KEYS_VALUES, x, keys_values, BRIM_ROW_TOKENS);
  else
    product(l, o, KEYS_VALUES, width_of(p, o, KEYS_VALUES), x, keys_values, BRIM_ROW_TOKENS);
  rotate(l, o, key_heads(o), keys_values, BRIM_ROW_TOKENS, false);
  const brim_at few = brim_read_chosen_factor(l, o->in.of[0]), queries = brim_write(l, o->out.of[QUERIES]);
  if (brim_in_bytes(l))
    brim_product_of_bytes(l, o, QUERIES, few, queries, BRIM_ROW_CHOSEN);
  else
    product(l, o, QUERIES, width_of(p, o, QUERIES), few, queries, BRIM_ROW_CHOSEN);
  rotate(l, o, query_heads(o), queries, BRIM_ROW_CHOSEN, false);
}

static void forward(brim_lowering *l, const brim_operation *o) {
  if (few_queries(l, o))
    forward_few(l, o);
  else
    forward_all(l, o);
}

/* ---- backward */

static void gradient(brim_lowering *l, const brim_operation *o, int value, int32_t out, brim_at x, brim_at dy, brim_at dx,
                     bool add, brim_row_kind rows) {
  const brim_program *p = brim_program_of(l);
  brim_product_backward(l, &(brim_product_gradient){.weight = o->weights.of[MATRIX],
                                                    .bias = bias_of(o),
                                                    .first = row_of(p, o, value),
                                                    .in = width_in(p, o),
                                                    .out = out,
                                                    .rows = rows,
                                                    .x = x,
                                                    .dy = dy,
                                                    .dx = dx,
                                                    .add = add});
}

/* One chain of sums over queries', keys' and values' columns. */
static void backward_all(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  const int32_t x = o->in.of[0];
  const brim_at input = brim_read_factor(l, x);
  bool add = true;
  const brim_at dx = brim_wants_gradient(l, x) ? brim_add_gradient(l, x, &add) : BRIM_NOWHERE;
  rotate(l, o, query_heads(o) + key_heads(o), brim_gradient(l, o->out.of[QUERIES]), BRIM_ROW_TOKENS, true);
  gradient(l, o, QUERIES, width_of(p, o, QUERIES) + width_of(p, o, KEYS_VALUES), input,
           brim_gradient_factor(l, o->out.of[QUERIES]), dx, add, BRIM_ROW_TOKENS);
}

/* The chosen rows' gradient is complete after their queries'; it joins that of all rows, which keys and values begin. */
static void backward_few(brim_lowering *l, const brim_operation *o) {
  const brim_program *p = brim_program_of(l);
  const int32_t x = o->in.of[0];
  const brim_at input = brim_read_factor(l, x), few = brim_read_chosen_factor(l, x);
  bool add = true;
  brim_at dx = brim_wants_gradient(l, x) ? brim_add_gradient_chosen(l, x, &add) : BRIM_NOWHERE;
  rotate(l, o, query_heads(o), brim_gradient(l, o->out.of[QUERIES]), BRIM_ROW_CHOSEN, true);
  gradient(l, o, QUERIES, width_of(p, o, QUERIES), few, brim_gradient_factor(l, o->out.of[QUERIES]), dx, add, BRIM_ROW_CHOSEN);
  if (brim_wants_gradient(l, x))
    dx = brim_add_gradient(l, x, &add);
  rotate(l, o, key_heads(o), brim_gradient(l, o->out.of[KEYS_VALUES]), BRIM_ROW_TOKENS, true);
  gradient(l, o, KEYS_VALUES, width_of(p, o, KEYS_VALUES), input, brim_gradient_factor(l, o->out.of[KEYS_VALUES]), dx, add,
           BRIM_ROW_TOKENS);
}

static void backward(brim_lowering *l, const brim_operation *o) {
  if (few_queries(l, o))
    backward_few(l, o);
  else
    backward_all(l, o);
}

static int products(const brim_program *p, const brim_operation *o, brim_product out[BRIM_MOST_PRODUCTS]) {
  const int64_t weight = brim_weight_at(p, o->weights.of[MATRIX]),
                bias = bias_of(o) == BRIM_NONE ? -1 : brim_weight_at(p, bias_of(o));
  for (int i = 0; i < 2; i++) {
    const int64_t row = row_of(p, o, i);
    out[i] = (brim_product){width_in(p, o), width_of(p, o, i), weight + row * width_in(p, o), bias < 0 ? -1 : bias + row};
  }
  return 2;
}

static double flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS], double length) {
  const brim_program *p = s->program;
  double sum = 0;
  (void)length;
  for (int i = 0; i < 2; i++)
    sum += 2 * rows[s->values[o->out.of[i]].rows] * width_of(p, o, i) * width_in(p, o);
  return sum;
}

/* Of three matrices, or one. */
enum { MATRICES = 7 };

static const brim_kind kind = {.name = "project",
                               .needs = {BRIM_NEED_ALL},
                               .reads = {.in = 1},
                               .half = {.in = 1, .out = 1 << QUERIES | 1 << KEYS_VALUES, .weights = MATRICES},
                               .alike = {.out = 1 << QUERIES | 1 << KEYS_VALUES},
                               .forward = forward,
                               .backward = backward,
                               .flops = flops,
                               .products = products};

/* `count` weights from `first` on. */
static void list_weights(brim_operation *o, int32_t first, int32_t count) {
  for (int32_t i = 0; i < count && first != BRIM_NONE; i++)
    o->weights.of[o->weights.count++] = first + i;
}

brim_projected brim_append_project_heads(brim_program *p, int32_t x, int32_t weight, int32_t matrices, int32_t bias,
                                         brim_heads heads) {
  const int32_t width = brim_width_of(p, x), shared = width / (heads.group > 0 ? heads.group : 1);
  const brim_projected made = {brim_add_value(p, "queries", BRIM_ROW_TOKENS, width),
                               brim_add_value(p, "keys, values", BRIM_ROW_TOKENS, 2 * shared)};
  brim_operation o = {.kind = &kind,
                      .in = BRIM_LIST(x),
                      .out = BRIM_LIST(made.queries, made.keys_values),
                      .terms = {.heads = heads.count, .group = heads.group, .theta = heads.theta, .factor = heads.factor}};
  list_weights(&o, weight, matrices);
  list_weights(&o, bias, matrices);
  brim_add_operation(p, &o);
  return made;
}

brim_projected brim_append_project(brim_program *p, int32_t x, int32_t weight, int32_t bias) {
  return brim_append_project_heads(p, x, weight, 3, bias, (brim_heads){0});
}
