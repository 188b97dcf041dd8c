/* distances.c: a distance embedding, and what a layer makes of it.
 *
 *   table   norm(weight), or the weight: one value for all layers
 *   place   [queries | keys] = dropout(distances) [Wq Wk] + [bq bk], with the layer's own weights for its queries and keys
 *
 * Rows belong to no text: dropout takes them for the tokens of a text whose place is 0, so that all parts of a step drop the
 * same. Places are multiplied for the rows that the batch's texts reach, which are few where texts are short: nobody reads the
 * others, and their gradient is 0. */
#include "model/calls.h"
#include "model/kinds/kinds.h"
#include "model/kinds/product.h"

/* ---- distances ------------------------------------------------------------------------------------------------ */

enum { EMBEDDING, GAMMA, BETA }; /* weights; the norm may be absent */
enum { MEAN, RSTD };             /* inner, likewise */

static int32_t embedding_width(brim_lowering *l, const brim_operation *o) {
  return brim_weight_columns(brim_program_of(l), o->weights.of[EMBEDDING]);
}

static void normed_forward(brim_lowering *l, const brim_operation *o) {
  brim_prenorm op = {.width = embedding_width(l, o), .eps = (real)o->terms.eps};
  brim_fill_count(l, &op.rows, BRIM_ROW_DISTANCES, 1);
  brim_fill_weight(l, &op.x.at, o->weights.of[EMBEDDING]);
  brim_fill_weight(l, &op.gamma, o->weights.of[GAMMA]);
  brim_fill_weight(l, &op.beta, o->weights.of[BETA]);
  brim_fill(l, &op.mean, brim_write(l, o->inner.of[MEAN]), BRIM_WRITES);
  brim_fill(l, &op.rstd, brim_write(l, o->inner.of[RSTD]), BRIM_WRITES);
  brim_fill_typed(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, prenorm_forward, op);
}

static void normed_backward(brim_lowering *l, const brim_operation *o) {
  brim_prenorm_gradient op = {.width = embedding_width(l, o), .add = brim_has_weight_gradient(l, o->weights.of[EMBEDDING])};
  brim_fill_count(l, &op.rows, BRIM_ROW_DISTANCES, 1);
  brim_fill_weight(l, &op.x.at, o->weights.of[EMBEDDING]);
  brim_fill(l, &op.mean, brim_read(l, o->inner.of[MEAN]), BRIM_READS);
  brim_fill(l, &op.rstd, brim_read(l, o->inner.of[RSTD]), BRIM_READS);
  brim_fill_weight(l, &op.gamma, o->weights.of[GAMMA]);
  brim_fill_typed(l, &op.dy, brim_gradient(l, o->out.of[0]), BRIM_READS);
  if (op.add)
    brim_fill_weight_gradient(l, &op.dx, o->weights.of[EMBEDDING], 0);
  else
    brim_fill(l, &op.dx, brim_spare(l, BRIM_ROW_DISTANCES, op.width), BRIM_WRITES);
  brim_fill_weight_gradient(l, &op.dgamma, o->weights.of[GAMMA], 0);
  brim_fill_weight_gradient(l, &op.dbeta, o->weights.of[BETA], 0);
  BRIM_CALL(l, prenorm_backward, op);
}

static void plain_forward(brim_lowering *l, const brim_operation *o) {
  const int32_t width = embedding_width(l, o);
  brim_gather op = {.width = width, .x_stride = width};
  brim_fill_rows(l, &op.at, BRIM_ROW_DISTANCES);
  brim_fill_weight(l, &op.x, o->weights.of[EMBEDDING]);
  brim_fill(l, &op.y, brim_write(l, o->out.of[0]), BRIM_WRITES);
  BRIM_CALL(l, gather_rows, op);
}

static void plain_backward(brim_lowering *l, const brim_operation *o) {
  brim_add op = {0};
  brim_fill_count(l, &op.count, BRIM_ROW_DISTANCES, embedding_width(l, o));
  brim_fill(l, &op.x, brim_gradient(l, o->out.of[0]), BRIM_READS);
  brim_fill_weight_gradient(l, &op.y, o->weights.of[EMBEDDING], 0);
  BRIM_CALL(l, add, op);
}

static const brim_kind normed_kind = {
    .name = "table", .reads = {.inner = 1 << MEAN | 1 << RSTD}, .forward = normed_forward, .backward = normed_backward};
static const brim_kind plain_kind = {.name = "table", .forward = plain_forward, .backward = plain_backward};

int32_t brim_append_distances(brim_program *p, int32_t distances, brim_normed norm) {
  const int32_t width = p->status ? 0 : brim_weight_columns(p, distances);
  brim_operation o = {.kind = &plain_kind, .weights = BRIM_LIST(distances), .terms = {.eps = norm.eps}};
  if (norm.norm != BRIM_NONE) {
    o.kind = &normed_kind;
    o.weights = (brim_list)BRIM_LIST(distances, norm.norm, norm.norm + 1);
    o.inner = (brim_list)BRIM_LIST(brim_add_exact(p, "mean", BRIM_ROW_DISTANCES, 1),
                                   brim_add_exact(p, "rstd", BRIM_ROW_DISTANCES, 1));
  }
  o.out = (brim_list)BRIM_LIST(brim_add_value(p, "table", BRIM_ROW_DISTANCES, width));
  brim_add_operation(p, &o);
  return o.out.of[0];
}

/* ---- projected ------------------------------------------------------------------------------------------------ */

enum { DROPPED };                          /* inner; absent where nothing is dropped */
enum { QUERY, KEY, QUERY_BIAS, KEY_BIAS }; /* weights, of which two adjoin each */

static void call_drop(brim_lowering *l, const brim_operation *o, brim_at from, brim_at to, brim_access access) {
  brim_dropout_rows op = {.width = brim_stride(l, from)};
  brim_fill_rows(l, &op.at, BRIM_ROW_DISTANCES); /* and no layout: the rows are of no text */
  brim_fill_dropout(l, &op.dropout, o->terms.dropout, o->terms.site);
  brim_fill(l, &op.x, from, BRIM_READS);
  brim_fill(l, &op.y, to, access);
  BRIM_CALL(l, dropout, op);
}

static int32_t projected_width(brim_lowering *l, const brim_operation *o) {
  return brim_weight_columns(brim_program_of(l), o->weights.of[QUERY]);
}

static void projected_forward(brim_lowering *l, const brim_operation *o) {
  const int32_t width = projected_width(l, o);
  brim_at x = brim_read(l, o->in.of[0]);
  if (o->inner.count > 0) {
    const brim_at dropped = brim_write(l, o->inner.of[DROPPED]);
    call_drop(l, o, x, dropped, BRIM_WRITES);
    x = dropped;
  }
  brim_product_forward_real(l, &(brim_product_call){.weight = o->weights.of[QUERY],
                                                    .bias = o->weights.of[QUERY_BIAS],
                                                    .out = 2 * width,
                                                    .rows = BRIM_ROW_REACHED,
                                                    .x = x,
                                                    .y = brim_write(l, o->out.of[0])});
}

/* What dropout leaves of dx joins the embedding's gradient. */
static void join(brim_lowering *l, const brim_operation *o, brim_at dx, int32_t width) {
  bool add = false;
  const brim_at to = brim_add_gradient(l, o->in.of[0], &add);
  brim_add op = {0};
  if (!add) {
    call_drop(l, o, dx, to, BRIM_WRITES);
    return;
  }
  if (o->inner.count > 0)
    call_drop(l, o, dx, dx, BRIM_CHANGES);
  brim_fill_count(l, &op.count, BRIM_ROW_DISTANCES, width);
  brim_fill(l, &op.x, dx, BRIM_READS);
  brim_fill(l, &op.y, to, BRIM_CHANGES);
  BRIM_CALL(l, add, op);
}

static brim_at zeros(brim_lowering *l, int32_t width) {
  const brim_at at = brim_spare(l, BRIM_ROW_DISTANCES, width);
  brim_zero op = {0};
  brim_fill_count(l, &op.count, BRIM_ROW_DISTANCES, width);
  brim_fill(l, &op.x, at, BRIM_WRITES);
  BRIM_CALL(l, zero, op);
  return at;
}

static void projected_backward(brim_lowering *l, const brim_operation *o) {
  const int32_t width = projected_width(l, o), distances = o->in.of[0];
  const bool wanted = brim_wants_gradient(l, distances);
  const brim_at x = brim_read(l, o->inner.count > 0 ? o->inner.of[DROPPED] : distances), dy = brim_gradient(l, o->out.of[0]),
                dx = wanted ? zeros(l, width) : BRIM_NOWHERE;
  brim_product_backward_real(l, &(brim_product_gradient){.weight = o->weights.of[QUERY],
                                                         .bias = o->weights.of[QUERY_BIAS],
                                                         .out = 2 * width,
                                                         .rows = BRIM_ROW_REACHED,
                                                         .x = x,
                                                         .dy = dy,
                                                         .dx = dx,
                                                         .add = true});
  if (wanted)
    join(l, o, dx, width);
}

static double projected_flops(const brim_call_schedule *s, const brim_operation *o, const double rows[BRIM_ROW_KINDS],
                              double length) {
  (void)length;
  return 2 * brim_product_flops(s->program, o->weights.of[QUERY], rows[BRIM_ROW_REACHED]);
}

static const brim_kind projected = {.name = "place",
                                    .reads = {.in = 1, .inner = 1 << DROPPED},
                                    .forward = projected_forward,
                                    .backward = projected_backward,
                                    .flops = projected_flops};

int32_t brim_append_projected_distances(brim_program *p, int32_t distances, int32_t weight, int32_t bias, brim_drop_at drop) {
  const int32_t width = brim_width_of(p, distances);
  brim_operation o = {.kind = &projected,
                      .in = BRIM_LIST(distances),
                      .weights = BRIM_LIST(weight, weight + 1, bias, bias + 1),
                      .terms = {.dropout = drop.rate, .site = drop.site}};
  if (drop.rate > 0)
    o.inner = (brim_list)BRIM_LIST(brim_add_value(p, "dropped", BRIM_ROW_DISTANCES, width));
  o.out = (brim_list)BRIM_LIST(brim_add_value(p, "queries, keys of distances", BRIM_ROW_DISTANCES, 2 * width));
  brim_add_operation(p, &o);
  return o.out.of[0];
}

/* ---- how many rows ---------------------------------------------------------------------------------------------- */

/* Gradients of weights are summed up in equal pieces of at most so many rows: of a larger embedding all rows are taken, so that
 * the pieces, and with them the bits, do not depend on the batch's longest text. */
enum { PIECE = 512 };

int32_t brim_distances_reached(const brim_program *p, int32_t longest, int32_t *first) {
  const brim_distances *d = NULL;
  for (size_t i = 0; i < p->operation_count && !d; i++)
    if (p->operations[i].terms.distances.rows > 0)
      d = &p->operations[i].terms.distances;
  *first = 0;
  if (!d || d->rule != BRIM_DISTANCE_CENTERED || d->rows > PIECE || longest < 1)
    return d ? d->rows : 0;
  *first = brim_distance_row(d, 1 - longest);
  return brim_distance_row(d, longest - 1) + 1 - *first;
}
